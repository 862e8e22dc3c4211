//! Negotiates the version of the tunnel protocol in the opening handshake.
//!
//! The agent lists all versions that it supports in [`VERSION_HEADER`]. The server selects the
//! highest version that both ends support, and returns the version in the same header of its 101
//! response. Without a common version, the server rejects the request with status 426 and its own
//! versions in [`KNOWN_HEADER`].
//!
//! A server supports two adjacent versions, so that agents can be upgraded after the server.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};

/// Name of the header with protocol versions. A request of an agent contains all offered versions,
/// separated by commas. The response contains the selected version.
pub const VERSION_HEADER: HeaderName = HeaderName::from_static("drover-protocol");
/// Name of the header with the versions that the server supports, separated by commas. Present if
/// the server rejects the request.
pub const KNOWN_HEADER: HeaderName = HeaderName::from_static("drover-protocol-known");

/// Protocol version of a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// The report stream sends complete snapshots.
    V1,
    /// The report stream sends only the sections that changed.
    V2,
}

impl Version {
    /// All versions supported by this build, oldest first.
    pub const KNOWN: [Self; 2] = [Self::V1, Self::V2];
    /// The protocol version that this build prefers.
    pub const LATEST: Self = Self::V2;

    /// Returns the version with this number. Returns `None` if this build does not support the
    /// version.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::KNOWN
            .into_iter()
            .find(|known| known.number() == number)
    }

    /// Returns the version number that the headers contain.
    pub const fn number(self) -> u32 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number())
    }
}

/// Error of the negotiation of the protocol version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// The header is missing, or is not a list of numbers.
    #[error("the {VERSION_HEADER} header is missing or is not a list of version numbers")]
    Unreadable,
    /// Server and agent support no common version.
    #[error(
        "the agent supports tunnel protocol {offered}, and this server supports {supported}: \
         upgrade the older of agent and server",
        supported = list(&Version::KNOWN)
    )]
    NoneInCommon {
        /// Versions offered by the agent, newest last.
        offered: String,
    },
    /// The server chose a version that the agent did not offer.
    #[error(
        "the server selected tunnel protocol {version}, which this agent does not support: upgrade \
         the older of agent and server",
        version = .0
    )]
    NotOffered(String),
}

impl VersionError {
    /// Returns the headers of the 426 response.
    pub fn headers(&self) -> HeaderMap {
        HeaderMap::from_iter([(KNOWN_HEADER, header(&Version::KNOWN))])
    }
}

fn list(versions: &[Version]) -> String {
    versions
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

fn header(versions: &[Version]) -> HeaderValue {
    HeaderValue::from_str(&list(versions)).expect("digits, commas and spaces are a header value")
}

/// Returns the value of [`VERSION_HEADER`] in an agent's request.
pub fn offer(versions: &[Version]) -> HeaderValue {
    header(versions)
}

/// Returns the value of [`VERSION_HEADER`] in a server's response.
pub fn chosen(version: Version) -> HeaderValue {
    header(&[version])
}

/// Selects the highest version that the agent offers and this build supports. The server calls this
/// function.
pub fn negotiate(request: &HeaderMap) -> Result<Version, VersionError> {
    let offered = numbers(request)?;
    offered
        .iter()
        .filter_map(|number| Version::from_number(*number))
        .max()
        .ok_or_else(|| {
            let offered = offered
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ");
            VersionError::NoneInCommon { offered }
        })
}

/// Reads the version that the server selected from `offered`. The agent calls this function.
pub fn confirm(answer: &HeaderMap, offered: &[Version]) -> Result<Version, VersionError> {
    let [number] = numbers(answer)?[..] else {
        return Err(VersionError::Unreadable);
    };
    Version::from_number(number)
        .filter(|version| offered.contains(version))
        .ok_or_else(|| VersionError::NotOffered(number.to_string()))
}

/// Parses at most 32 version numbers. Agents of released versions offer two or three.
fn numbers(headers: &HeaderMap) -> Result<Vec<u32>, VersionError> {
    let mut found = Vec::new();
    for value in headers.get_all(VERSION_HEADER) {
        for number in value
            .to_str()
            .map_err(|_| VersionError::Unreadable)?
            .split(',')
            .take(32)
        {
            found.push(
                number
                    .trim()
                    .parse()
                    .map_err(|_| VersionError::Unreadable)?,
            );
        }
    }
    found.sort_unstable();
    found.dedup();
    if found.is_empty() {
        Err(VersionError::Unreadable)
    } else {
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::{KNOWN_HEADER, VERSION_HEADER, Version, VersionError, chosen, confirm};
    use super::{negotiate, offer};
    use http::{HeaderMap, HeaderValue};

    fn headers(values: &[&'static str]) -> HeaderMap {
        let value = |value: &&'static str| (VERSION_HEADER, HeaderValue::from_static(value));
        values.iter().map(value).collect()
    }

    #[test]
    fn highest_common_protocol_version_is_selected() {
        let chosen = |values: &[&'static str]| negotiate(&headers(values)).unwrap();
        assert_eq!(chosen(&["1"]), Version::V1);
        assert_eq!(chosen(&["2, 1"]), Version::V2);
        assert_eq!(chosen(&["1", "2"]), Version::V2);
        assert_eq!(chosen(&["3,2,1"]), Version::V2);
        assert_eq!(chosen(&["99, 1"]), Version::V1);
    }

    #[test]
    fn protocol_version_error_lists_versions_of_server_and_agent() {
        let error = negotiate(&headers(&["4, 3"])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the agent supports tunnel protocol 3, 4, and this server supports 1, 2: upgrade the \
             older of agent and server"
        );
        assert_eq!(error.headers()[KNOWN_HEADER], "1, 2");
    }

    #[test]
    fn malformed_version_offers_are_rejected() {
        for values in [
            &[][..],
            &[""],
            &["two"],
            &["1,"],
            &["-1"],
            &["1", "\u{7f}x"[1..].as_ref()],
        ] {
            assert_eq!(
                negotiate(&headers(values)),
                Err(VersionError::Unreadable),
                "{values:?}"
            );
        }
    }

    #[test]
    fn agent_rejects_a_protocol_version_that_the_agent_did_not_offer() {
        let answer = |version| HeaderMap::from_iter([(VERSION_HEADER, version)]);
        assert_eq!(
            confirm(&answer(chosen(Version::V1)), &Version::KNOWN),
            Ok(Version::V1)
        );
        let not_offered = Err(VersionError::NotOffered("2".to_owned()));
        assert_eq!(
            confirm(&answer(chosen(Version::V2)), &[Version::V1]),
            not_offered
        );
        let both = confirm(&answer(offer(&Version::KNOWN)), &Version::KNOWN);
        assert_eq!(both, Err(VersionError::Unreadable));
    }
}
