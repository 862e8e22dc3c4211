//! What only those write who administer Drover, whatever rights they have by other roles.
//!
//! | what | why |
//! |---|---|
//! | an AuthProvider | it says who somebody is, an administrator included |
//! | settings that affect security ([`Setting::needs_administrator`]) | they decide which agent runs in every cluster, and how long credentials count |
//! | the agent image of a cluster | the agent may do everything in its cluster |
//! | whoever administers Drover, by their User object or by a role | nobody shuts out those above them |
//! | owner references and finalizers of every kind of Drover | the garbage collector deletes an object whose owner does not exist, so the right to update would include the right to delete |

use drover_api::group::GROUP;
use serde_json::Value;

use super::roles::{Giver, Known, Person};
use super::{Operation, Refusal, Write, roles};
use crate::grants::Grants;
use crate::names::UserName;
use crate::setting::Setting;

/// Whether a write depends on whether its writer administers Drover.
pub(super) fn concerns(write: &Write<'_>) -> bool {
    matter(write).is_some()
}

/// What a write is about that is not for everybody.
enum Matter {
    Provider,
    Setting,
    Image,
    User,
    /// Owner references or finalizers, by the field's name.
    Ownership(&'static str),
}

/// Fields with which an update deletes an object later, or prevents its deletion.
const OWNERSHIP: [&str; 2] = ["ownerReferences", "finalizers"];

fn matter(write: &Write<'_>) -> Option<Matter> {
    if write.group != GROUP || !write.subresource.is_empty() {
        return None;
    }
    if let Some(field) = changed_ownership(write) {
        return Some(Matter::Ownership(field));
    }
    let deleted = write.operation == Operation::Delete;
    let stored = write.operation != Operation::Create;
    match write.resource {
        "authproviders" => Some(Matter::Provider),
        "settings" if deleted || write.changes("/spec/value") => {
            let setting = Setting::parse(write.called())?;
            setting.needs_administrator().then_some(Matter::Setting)
        }
        "clusters" if !deleted && write.changes("/spec/agent/image") => Some(Matter::Image),
        "users" if stored && changes_somebody(write) => Some(Matter::User),
        _ => None,
    }
}

/// Which of [`OWNERSHIP`] a write changes. Roles, bindings and projects have a stricter rule: nobody
/// but the server changes theirs, see [`roles`].
fn changed_ownership(write: &Write<'_>) -> Option<&'static str> {
    if write.operation == Operation::Delete || roles::concerns(write) {
        return None;
    }
    let mut fields = OWNERSHIP.into_iter();
    fields.find(|field| write.changes(&format!("/metadata/{field}")))
}

/// Labels and annotations are nobody's rights.
fn changes_somebody(write: &Write<'_>) -> bool {
    write.operation == Operation::Delete || write.changes("/spec")
}

/// Whom a write changes or deletes, if it does that to somebody.
pub fn changed_user(write: &Write<'_>) -> Option<UserName> {
    if !matches!(matter(write)?, Matter::User) {
        return None;
    }
    let uid = write.of_old("/metadata/uid").and_then(Value::as_str)?;
    Some(UserName::of(&drover_api::ids::UserUid::new(uid)))
}

pub(super) fn admit(
    write: &Write<'_>,
    writer: &Giver,
    changed: Option<&Person>,
    known: Known<'_>,
) -> Result<(), Refusal> {
    let Some(matter) = matter(write) else {
        return Ok(());
    };
    let what = match matter {
        Matter::Provider => "an AuthProvider says who somebody is".to_owned(),
        Matter::Setting => format!("the setting {:?} affects security", write.called()),
        Matter::Image => "spec.agent.image decides what runs in the cluster with all rights".into(),
        Matter::User if above_others(write, changed, known) => {
            format!("{:?} administers Drover", write.called())
        }
        Matter::User => return Ok(()),
        Matter::Ownership(field) => format!(
            "metadata.{field} of {} decides when Kubernetes deletes {:?}",
            write.resource,
            write.called()
        ),
    };
    if writer.administers(known) {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "{what}: only those who administer Drover change that; ask one of them"
    )))
}

/// Whether somebody administers Drover, or will once they are enabled again: disabled, they have no
/// grant.
fn above_others(write: &Write<'_>, changed: Option<&Person>, known: Known<'_>) -> bool {
    let flag = write.of_old("/spec/administrator").and_then(Value::as_bool);
    flag == Some(true)
        || changed.is_some_and(|person| Grants::administers_if_enabled(known.facts, person.who()))
}

#[cfg(test)]
mod tests;
