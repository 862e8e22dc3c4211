//! Path of a proxied request: `/k8s/clusters/{name}/…`.
//!
//! The server parses the path of a request once. The server rejects ambiguous paths and does not
//! normalize paths.

use http::Uri;
use http::uri::PathAndQuery;
use thiserror::Error;

use drover_api::group::LOCAL_CLUSTER;

/// Prefix of the paths of proxied requests.
pub const CLUSTER_PATH_PREFIX: &str = "/k8s/clusters/";
/// Maximum length of a cluster name, as in the Cluster kind.
const MAX_NAME: usize = 63;

/// The cluster in the path of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterName {
    /// The hub itself.
    Local,
    /// A managed cluster.
    Named(String),
}

/// The parsed path of a proxied request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterPath {
    /// The cluster of the request.
    pub cluster: ClusterName,
    /// The path and query for the cluster's API server, unchanged from the client's request.
    pub rest: PathAndQuery,
}

/// Reasons to reject a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// The path does not start with [`CLUSTER_PATH_PREFIX`].
    #[error("the path must be /k8s/clusters/<name>/<Kubernetes path>")]
    NotClusterPath,
    /// The cluster name is invalid.
    #[error(
        "the cluster's name must have 1 to 63 characters: lower-case letters, digits and \"-\""
    )]
    BadName,
    /// The path has a segment `.` or `..`, either as text or percent-encoded.
    #[error("the path must not have a segment \".\" or \"..\"")]
    DotSegment,
    /// The path has a backslash or a control character, either as text or percent-encoded. The same
    /// error applies to an encoded slash in a segment that the API server can interpret as a name.
    #[error("the path must not have a backslash, an encoded slash or a control character")]
    Ambiguous,
}

impl ClusterName {
    /// Parses the segment of a path.
    pub fn parse(name: &str) -> Result<Self, PathError> {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let good = (1..=MAX_NAME).contains(&name.len())
            && name.bytes().all(inner)
            && !name.starts_with('-')
            && !name.ends_with('-');
        match name {
            LOCAL_CLUSTER => Ok(Self::Local),
            _ if good => Ok(Self::Named(name.to_owned())),
            "." | ".." => Err(PathError::DotSegment),
            _ => Err(PathError::BadName),
        }
    }
}

impl ClusterPath {
    /// Parses the target of a request.
    pub fn parse(uri: &Uri) -> Result<Self, PathError> {
        let target = uri.path_and_query().map_or("", PathAndQuery::as_str);
        let after = target
            .strip_prefix(CLUSTER_PATH_PREFIX)
            .ok_or(PathError::NotClusterPath)?;
        let end = after.find(['/', '?']).unwrap_or(after.len());
        let (name, rest) = after.split_at(end);
        let cluster = ClusterName::parse(name)?;
        let rest = match rest {
            "" => "/".to_owned(),
            query if query.starts_with('?') => format!("/{query}"),
            rest => rest.to_owned(),
        };
        check_api_path(rest.split('?').next().unwrap_or_default())?;
        let rest = PathAndQuery::try_from(rest).map_err(|_| PathError::Ambiguous)?;
        Ok(Self { cluster, rest })
    }
}

/// Rejects a path (without query) that two programs can interpret as different resources. The
/// server and the agent call this function, so both programs reject the same paths.
pub(crate) fn check_api_path(path: &str) -> Result<(), PathError> {
    // A URI parser interprets an empty first segment as an authority.
    if !path.starts_with('/') || path.starts_with("//") {
        return Err(PathError::Ambiguous);
    }
    // Most paths contain no encoded byte, parameter or invalid byte.
    let special = |b: u8| matches!(b, b'%' | b';' | b'\\') || b.is_ascii_control();
    if !path.bytes().any(special) {
        let dotted = path.split('/').any(|segment| matches!(segment, "." | ".."));
        return if dotted {
            Err(PathError::DotSegment)
        } else {
            Ok(())
        };
    }
    for segment in path.split('/') {
        let mut plain = Vec::with_capacity(segment.len());
        let mut bytes = segment.bytes();
        while let Some(byte) = bytes.next() {
            let byte = if byte == b'%' {
                decoded(&mut bytes)?
            } else {
                byte
            };
            // An encoded slash is a separator for some programs and a character for others.
            if matches!(byte, b'\\' | b'/') || byte.is_ascii_control() {
                return Err(PathError::Ambiguous);
            }
            plain.push(byte);
        }
        // Servers that remove path parameters interpret `..;x` as `..`.
        let bare = plain.split(|b| *b == b';').next().unwrap_or_default();
        if bare == b"." || bare == b".." {
            return Err(PathError::DotSegment);
        }
    }
    Ok(())
}

fn decoded(bytes: &mut impl Iterator<Item = u8>) -> Result<u8, PathError> {
    let mut digit = || {
        let byte = bytes.next().ok_or(PathError::Ambiguous)?;
        char::from(byte).to_digit(16).ok_or(PathError::Ambiguous)
    };
    let (high, low) = (digit()?, digit()?);
    u8::try_from(high * 16 + low).map_err(|_| PathError::Ambiguous)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(target: &str) -> Result<(String, String), PathError> {
        let path = ClusterPath::parse(&target.parse().unwrap())?;
        let name = match path.cluster {
            ClusterName::Local => "<local>".to_owned(),
            ClusterName::Named(name) => name,
        };
        Ok((name, path.rest.to_string()))
    }

    #[test]
    fn cluster_path_parser_returns_cluster_name_and_unchanged_remaining_path() {
        for (target, name, rest) in [
            (
                "/k8s/clusters/a/api/v1/pods?limit=5&x=%2F..",
                "a",
                "/api/v1/pods?limit=5&x=%2F..",
            ),
            ("/k8s/clusters/a", "a", "/"),
            ("/k8s/clusters/a/", "a", "/"),
            ("/k8s/clusters/a?x=1", "a", "/?x=1"),
            ("/k8s/clusters/local/version", "<local>", "/version"),
            ("/k8s/clusters/local-evil/version", "local-evil", "/version"),
            (
                "/k8s/clusters/a/api/v1/x/proxy//y/",
                "a",
                "/api/v1/x/proxy//y/",
            ),
            (
                "/k8s/clusters/a/apis/x/system%3Anode",
                "a",
                "/apis/x/system%3Anode",
            ),
            ("https://elsewhere/k8s/clusters/a/x", "a", "/x"),
        ] {
            assert_eq!(parse(target), Ok((name.into(), rest.into())), "{target}");
        }
    }

    #[test]
    fn ambiguous_path_is_rejected() {
        use PathError::{Ambiguous, BadName, DotSegment, NotClusterPath};
        for (target, expected) in [
            ("/k8s/clusters/", BadName),
            ("/k8s/clusters//x", BadName),
            ("/k8s/clusters/A/x", BadName),
            ("/k8s/clusters/-a/x", BadName),
            ("/k8s/clusters/a_b/x", BadName),
            ("/k8s/clusters/a%2Fb/x", BadName),
            ("/k8s/clusters/%61/x", BadName),
            ("/k8s/clusters/a;b/x", BadName),
            ("/k8s/clusters/../x", DotSegment),
            ("/k8s/clusters/a/../b/x", DotSegment),
            ("/k8s/clusters/a/%2e%2E/b", DotSegment),
            ("/k8s/clusters/a/.%2e;x/b", DotSegment),
            ("/k8s/clusters/a/..;/b", DotSegment),
            ("/k8s/clusters/a/api/.", DotSegment),
            ("/k8s/clusters/a//evil.example/x", Ambiguous),
            ("/k8s/clusters/a/x%2f..%2fy", Ambiguous),
            ("/k8s/clusters/a/x%5c..", Ambiguous),
            ("/k8s/clusters/a/x%00", Ambiguous),
            ("/k8s/clusters/a/x%0d%0a", Ambiguous),
            ("/k8s/clusters/a/x%zz", Ambiguous),
            ("/k8s/clusters/a/x%2", Ambiguous),
            ("/K8s/clusters/a/x", NotClusterPath),
            ("//k8s/clusters/a/x", NotClusterPath),
            ("/k8s/clusters", NotClusterPath),
            ("*", NotClusterPath),
        ] {
            assert_eq!(parse(target), Err(expected), "{target}");
        }
    }

    proptest! {
        #[test]
        fn remaining_cluster_path_never_starts_with_two_slashes(text in "[/a-z.%;2eE0?#\\\\-]{0,24}") {
            if let Ok(uri) = format!("{CLUSTER_PATH_PREFIX}{text}").parse::<Uri>()
                && let Ok(path) = ClusterPath::parse(&uri)
            {
                prop_assert!(path.rest.path().starts_with('/'));
                prop_assert!(!path.rest.as_str().starts_with("//"));
                prop_assert!(!path.rest.path().split('/').any(|s| s == ".." || s == "."));
            }
        }
    }
}
