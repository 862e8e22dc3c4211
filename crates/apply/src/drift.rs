//! The digest that detects changed objects.

use aws_lc_rs::digest::{Context, Digest, SHA256, digest as sha256};

/// Returns a digest of a set of objects. The input is the UID and the version of each object, in
/// any order.
pub fn digest<'a>(objects: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut objects: Vec<_> = objects.into_iter().collect();
    objects.sort_unstable();
    let mut hash = Context::new(&SHA256);
    for (uid, version) in objects {
        for part in [uid, version] {
            hash.update(part.as_bytes());
            hash.update(&[0]);
        }
    }
    short(hash.finish())
}

/// Returns the version of an object: a digest of its compared fields. Use this version instead of
/// the resource version if the resource version also changes when other fields change.
pub fn version(fields: &[u8]) -> String {
    short(sha256(&SHA256, fields))
}

/// Returns 64 bits of a hash, in hexadecimal.
fn short(hash: Digest) -> String {
    let first = hash.as_ref().first_chunk();
    let first = *first.expect("a SHA-256 digest has 32 bytes");
    format!("{:016x}", u64::from_be_bytes(first))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn digest_changes_when_an_object_is_created_changed_or_deleted() {
        let before = digest([("a", "1"), ("b", "1")]);
        for (objects, change) in [
            (&[("a", "1"), ("b", "2")][..], "changed"),
            (&[("a", "1")], "deleted"),
            (&[("a", "1"), ("b", "1"), ("c", "1")], "created"),
            (&[("a", "1"), ("c", "1")], "recreated"),
            (
                &[("a", "1b"), ("", "1")],
                "the boundary between two fields moved",
            ),
        ] {
            assert_ne!(digest(objects.iter().copied()), before, "{change}");
        }
    }

    proptest! {
        #[test]
        fn drift_digest_depends_only_on_the_set_of_objects(
            objects in proptest::collection::btree_map("[a-c]{1,3}", "[0-9]{1,3}", 0..6),
            other in proptest::collection::btree_map("[a-c]{1,3}", "[0-9]{1,3}", 0..6),
        ) {
            let pairs = |map: &std::collections::BTreeMap<String, String>| -> Vec<(String, String)> {
                map.clone().into_iter().collect()
            };
            let of = |pairs: &[(String, String)]| {
                digest(pairs.iter().map(|(uid, version)| (uid.as_str(), version.as_str())))
            };
            let mut reversed = pairs(&objects);
            reversed.reverse();
            prop_assert_eq!(of(&pairs(&objects)), of(&reversed));
            prop_assert_eq!(of(&pairs(&objects)) == of(&pairs(&other)), objects == other);
        }
    }
}
