//! Looks up the groups of a user.

use drover_access::names::GroupName;
use drover_api::kinds::User;
use jiff::Timestamp;

use crate::Stores;
use crate::stores::identity_status;

/// Returns the current groups of a user: the groups in the user's valid provider identities. A user
/// without a provider identity has no groups.
pub fn groups_of(user: &User, stores: &Stores, now: Timestamp) -> Vec<GroupName> {
    let identities = user.status.iter().flat_map(|status| &status.identities);
    let valid = identities.filter(|one| identity_status::check_identity(one, stores, now).is_ok());
    let groups = valid.flat_map(|one| {
        let names = one
            .groups
            .iter()
            .filter_map(|group| GroupName::parse(&group.name));
        // Ignores groups in the status that belong to another provider.
        names.filter(|name| name.provider() == one.provider)
    });
    groups.collect()
}
