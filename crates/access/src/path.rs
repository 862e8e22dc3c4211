//! The path of a request on the road: `/k8s/clusters/{name}/…`.
//!
//! Read once, strictly, from the bytes the client sent. What different programs could read
//! differently is refused instead of normalised.

use http::Uri;
use http::uri::PathAndQuery;
use thiserror::Error;

use drover_api::group::LOCAL_CLUSTER;

/// Where the road begins.
pub const ROAD: &str = "/k8s/clusters/";
/// Longest cluster name, as in the Cluster kind.
const MAX_NAME: usize = 63;

/// Which cluster a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterName {
    /// The hub itself.
    Local,
    /// A managed cluster.
    Named(String),
}

/// A path on the road, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterPath {
    /// The cluster.
    pub cluster: ClusterName,
    /// The rest, byte for byte, with its query: what the cluster's API server will see.
    pub rest: PathAndQuery,
}

/// Why a path is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// It does not begin with [`ROAD`].
    #[error("the path must be /k8s/clusters/<name>/<Kubernetes path>")]
    NotTheRoad,
    /// The name is no cluster's name.
    #[error(
        "the cluster's name must have 1 to 63 characters: lower-case letters, digits and \"-\""
    )]
    BadName,
    /// It has `.` or `..` as a segment, encoded or not.
    #[error("the path must not have \".\" or \"..\" as a segment")]
    DotSegment,
    /// It has a backslash or a control character, encoded or not, or an encoded slash before a
    /// name could begin.
    #[error("the path must not have a backslash, an encoded slash or a control character")]
    Ambiguous,
}

impl ClusterPath {
    /// Takes the target of a request apart.
    pub fn parse(uri: &Uri) -> Result<Self, PathError> {
        let target = uri.path_and_query().map_or("", PathAndQuery::as_str);
        let after = target.strip_prefix(ROAD).ok_or(PathError::NotTheRoad)?;
        let end = after.find(['/', '?']).unwrap_or(after.len());
        let (name, rest) = after.split_at(end);
        let cluster = name_of(name)?;
        let rest = match rest {
            "" => "/".to_owned(),
            query if query.starts_with('?') => format!("/{query}"),
            rest => rest.to_owned(),
        };
        check_api_path(rest.split('?').next().unwrap_or_default())?;
        let rest = rest.parse().map_err(|_| PathError::Ambiguous)?;
        Ok(Self { cluster, rest })
    }
}

fn name_of(name: &str) -> Result<ClusterName, PathError> {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let good = (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-');
    match name {
        LOCAL_CLUSTER => Ok(ClusterName::Local),
        _ if good => Ok(ClusterName::Named(name.to_owned())),
        "." | ".." => Err(PathError::DotSegment),
        _ => Err(PathError::BadName),
    }
}

/// Refuses a path, without its query, that two programs could read as different resources of an API
/// server. The server and the agent both call it, so that neither forwards what the other refuses.
pub(crate) fn check_api_path(path: &str) -> Result<(), PathError> {
    // An empty first segment reads as an authority once the path stands alone.
    if !path.starts_with('/') || path.starts_with("//") {
        return Err(PathError::Ambiguous);
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
            // An encoded slash is another segment to some and a character to others.
            if matches!(byte, b'\\' | b'/') || byte.is_ascii_control() {
                return Err(PathError::Ambiguous);
            }
            plain.push(byte);
        }
        // `..;x` is `..` to servers that cut path parameters.
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
    fn a_path_names_one_cluster_and_the_rest_is_kept() {
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
    fn what_could_be_read_in_two_ways_is_refused() {
        use PathError::{Ambiguous, BadName, DotSegment, NotTheRoad};
        for (target, wanted) in [
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
            ("/K8s/clusters/a/x", NotTheRoad),
            ("//k8s/clusters/a/x", NotTheRoad),
            ("/k8s/clusters", NotTheRoad),
            ("*", NotTheRoad),
        ] {
            assert_eq!(parse(target), Err(wanted), "{target}");
        }
    }

    proptest! {
        #[test]
        fn the_rest_never_begins_like_an_authority(text in "[/a-z.%;2eE0?#\\\\-]{0,24}") {
            if let Ok(uri) = format!("{ROAD}{text}").parse::<Uri>()
                && let Ok(path) = ClusterPath::parse(&uri)
            {
                prop_assert!(path.rest.path().starts_with('/'));
                prop_assert!(!path.rest.as_str().starts_with("//"));
                prop_assert!(!path.rest.path().split('/').any(|s| s == ".." || s == "."));
            }
        }
    }
}
