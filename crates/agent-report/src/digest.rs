//! Digests of the objects that the server applied, by owner. When a digest changes, the server
//! reconciles the owner's objects.

use std::collections::BTreeMap;

use drover_api::drift::Drift;
use drover_apply::drift;

use crate::sums::Tally;

/// Number of watches per owner. Each watch observes one kind.
pub(crate) const WATCHES_PER_OWNER: usize = 3;

/// Returns the digest of every owner for which each watch has completed its first list.
pub(crate) fn digests(
    applied: &BTreeMap<&'static str, [Tally<String>; WATCHES_PER_OWNER]>,
) -> Drift {
    let digests = applied.iter();
    digests
        .filter_map(|(owner, tallies)| Some((*owner, digest(tallies)?)))
        .collect()
}

/// Returns the digest of an owner's objects, or `None` until each watch of the owner has completed
/// its first list.
fn digest(kinds: &[Tally<String>]) -> Option<String> {
    if !kinds.iter().all(Tally::complete) {
        return None;
    }
    let objects = kinds.iter().flat_map(Tally::iter);
    let objects = objects.map(|(uid, version)| (uid, version.as_str()));
    Some(drift::digest(objects))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(objects: &[(&str, &str)]) -> Tally<String> {
        let mut tally = Tally::default();
        tally.begin();
        for (uid, version) in objects {
            tally.listed((*uid).to_owned(), (*version).to_owned());
        }
        tally.finish();
        tally
    }

    #[test]
    fn digest_changes_when_an_object_is_created_changed_or_deleted() {
        let of = |roles: &[(&str, &str)]| digest(&[listed(roles), listed(&[]), listed(&[])]);
        let before = of(&[("a", "1"), ("b", "1")]);
        assert!(before.is_some());
        assert_eq!(of(&[("b", "1"), ("a", "1")]), before);
        for (roles, reason) in [
            (&[("a", "1"), ("b", "2")][..], "changed"),
            (&[("a", "1")], "gone"),
            (&[("a", "1"), ("b", "1"), ("c", "1")], "new"),
            (&[("a", "1"), ("c", "1")], "made again"),
        ] {
            assert_ne!(of(roles), before, "{reason}");
        }
        let unlisted = digest(&[listed(&[]), Tally::default(), listed(&[])]);
        assert_eq!(unlisted, None);
    }
}
