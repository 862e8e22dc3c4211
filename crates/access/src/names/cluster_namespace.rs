//! The name of a cluster's namespace on the hub, as Fleet computes it.
//!
//! The namespace contains the cluster's BundleDeployments and the service account of its agent. Fleet's
//! controllers and Drover compute the same name from the namespace and the name of the Fleet Cluster
//! object.

use aws_lc_rs::digest::{SHA256, digest};

/// Maximum length of the name of a namespace.
const MAX_LENGTH: usize = 63;
/// Maximum length of the hashed text of [`key_hash`], in bytes.
const MAX_HASHED: usize = 100;

/// Returns the name of a cluster's namespace. The parameters are the namespace and the name of the Fleet
/// Cluster object. Both contain only ASCII characters.
pub fn cluster_namespace(namespace: &str, name: &str) -> String {
    let hash = key_hash(&format!("{namespace}::{name}"));
    shortened(format!("cluster-{namespace}-{name}-{hash}"))
}

/// Returns the first 12 hexadecimal digits of the hash of a text.
fn key_hash(text: &str) -> String {
    let bytes = text.as_bytes();
    hex_prefix(&bytes[..bytes.len().min(MAX_HASHED)], 12)
}

/// Replaces the end of a name with a hash of the name if the name is too long.
fn shortened(name: String) -> String {
    if name.len() <= MAX_LENGTH {
        return name;
    }
    // The hash follows a "-". A name in Kubernetes contains "-" inside only, so Fleet keeps one character
    // less, and one digit more, if the last kept character is not a lower-case letter or a digit.
    let last = name.as_bytes()[56];
    let (kept, digits) = if last.is_ascii_lowercase() || last.is_ascii_digit() {
        (57, 5)
    } else {
        (56, 6)
    };
    let hash = hex_prefix(name.as_bytes(), digits);
    let kept = name.chars().take(kept);
    kept.chain(['-']).chain(hash.chars()).collect()
}

/// Returns the first hexadecimal digits of the SHA-256 of these bytes.
fn hex_prefix(bytes: &[u8], digits: usize) -> String {
    let hash = digest(&SHA256, bytes);
    let hex = hash.as_ref().iter().flat_map(|byte| [byte >> 4, byte & 15]);
    hex.take(digits)
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are the results of Fleet v0.16.0.
    #[test]
    fn cluster_namespace_is_the_namespace_that_fleet_computes() {
        for (namespace, name, expected) in [
            (
                "fleet-default",
                "shop".to_owned(),
                "cluster-fleet-default-shop-079927a5ce7c",
            ),
            (
                "fleet-local",
                "local".to_owned(),
                "cluster-fleet-local-local-1a3d67d0a899",
            ),
            (
                "fleet-default",
                "a".repeat(63),
                "cluster-fleet-default-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-a794f",
            ),
            (
                "fleet-default",
                "a".repeat(29),
                "cluster-fleet-default-aaaaaaaaaaaaaaaaaaaaaaaaaaaaa-91a02-04843",
            ),
            (
                "fleet-default",
                "a".repeat(28),
                "cluster-fleet-default-aaaaaaaaaaaaaaaaaaaaaaaaaaaa-63ce5b2908f6",
            ),
            (
                "fleet-default",
                format!("{}-bcd", "a".repeat(34)),
                "cluster-fleet-default-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-2d3c90",
            ),
            (
                "fleet-default",
                format!("a-{}-c", "b".repeat(30)),
                "cluster-fleet-default-a-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb-c-331287",
            ),
        ] {
            let computed = cluster_namespace(namespace, &name);
            assert_eq!(computed, expected);
            assert!(computed.len() <= MAX_LENGTH);
        }
    }
}
