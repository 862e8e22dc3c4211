//! The rules on roles, asked as the caller.

use drover_access::admission::Write;
use drover_access::admission::roles::{Giver, Known, admit};
use drover_access::identity::Identity;
use drover_access::names::UserName;

use crate::hub::Stores;
use crate::hub::grants::Objects;
use crate::status::Status;

/// Whether the rules let the caller write this.
pub(super) async fn judge(
    stores: &Stores,
    caller: &Identity,
    write: &Write<'_>,
) -> Result<(), Status> {
    let objects = Objects::of(stores);
    let facts = objects.facts();
    let grants = stores.grants.fresh(stores);
    let giver = Giver::Person {
        user: UserName::of(&caller.user_uid),
        groups: caller.groups.clone(),
    };
    let known = Known {
        facts: &facts,
        grants: &grants,
    };
    admit(write, &giver, known).map_err(|refusal| Status::forbidden(refusal.to_string()))
}
