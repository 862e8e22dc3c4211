//! Which groups somebody is in.

use drover_access::names::GroupName;
use drover_api::kinds::User;
use jiff::Timestamp;

use crate::Stores;
use crate::stores::identity_status;

/// The groups that count now: those of the providers whose word about the person stands. People who
/// are known by a password only are in none.
pub fn groups_of(user: &User, stores: &Stores, now: Timestamp) -> Vec<GroupName> {
    let identities = user.status.iter().flat_map(|status| &status.identities);
    let standing =
        identities.filter(|one| identity_status::check_identity(one, stores, now).is_ok());
    let groups = standing.flat_map(|one| {
        let names = one
            .groups
            .iter()
            .filter_map(|group| GroupName::parse(&group.name));
        // Whatever stands in the status: a provider says nothing of another's groups.
        names.filter(|name| name.provider() == one.provider)
    });
    groups.collect()
}
