//! What a caller may do with users.
//!
//! A caller who is no administrator passes what admission asks of kubectl. REST sets passwords, which
//! kubectl cannot: a caller who sets one can sign in as the user, and so has to have all of the user's
//! rights.

use drover_access::grants::{Names, Place, Roles, Who};
use drover_access::names::{GroupName, UserName};
use drover_api::ids::UserUid;
use drover_api::kinds::User;
use drover_api::rest::UserRights;
use jiff::Timestamp;
use kube::ResourceExt as _;

use drover_http_edge::status::Status;
use drover_hub::Stores;
use drover_hub::stores::grants::Objects;
use drover_hub::stores::groups::groups_of;
use drover_hub::visibility::Visibility;

const USERS: &str = "users";

/// A user as grants know them.
struct Other {
    user: UserName,
    groups: Vec<GroupName>,
}

impl Other {
    fn of(user: &User, stores: &Stores) -> Self {
        Self {
            user: UserName::of(&UserUid::new(user.uid().unwrap_or_default())),
            groups: groups_of(user, stores, Timestamp::now()),
        }
    }

    fn who(&self) -> Who<'_> {
        Who {
            user: &self.user,
            groups: &self.groups,
        }
    }
}

/// What the caller may do with a user.
pub(crate) fn of(visibility: &Visibility, stores: &Stores, user: &User) -> UserRights {
    let (grants, may_administer) = (
        visibility.grants(),
        visibility.grants().administers(visibility.who()),
    );
    let other = Other::of(user, stores);
    let above = user.spec.administrator || grants.administers(other.who());
    let may = |verb| visibility.may(verb, USERS, &Place::Hub) && (may_administer || !above);
    let may_change = may("update");
    UserRights {
        may_change,
        may_delete: may("delete"),
        may_set_password: may_change && check_password(visibility, stores, user).is_ok(),
        may_administer,
    }
}

/// Refuses to set a password of a user who may do what the caller may not.
pub(crate) fn check_password(
    visibility: &Visibility,
    stores: &Stores,
    user: &User,
) -> Result<(), Status> {
    let (grants, who) = (visibility.grants(), visibility.who());
    if grants.administers(who) {
        return Ok(());
    }
    if user.spec.administrator {
        return Err(Status::forbidden(
            "only an administrator sets the password of an administrator",
        ));
    }
    if !user.spec.enabled {
        return Err(Status::forbidden(
            "only an administrator sets the password of a disabled user: enable the user first",
        ));
    }
    let other = Other::of(user, stores);
    let covered = grants.may_act_for(who, other.who());
    covered.map_err(|escalation| {
        Status::forbidden(format!(
            "the user may do what you may not, and a password lets you sign in as the user: {escalation}"
        ))
    })
}

/// Refuses to make a user who gets more rights than the caller has: the caller knows the first
/// password.
pub(crate) fn check_defaults(visibility: &Visibility, stores: &Stores) -> Result<(), Status> {
    let objects = Objects::of(stores);
    let facts = objects.facts();
    let mut roles = Roles::new(&facts, Names::AsTheyAre);
    let defaults = facts.global_roles.iter();
    for (name, role) in defaults.filter(|(_, role)| role.spec.new_user_default) {
        // A role that cannot be resolved gives nothing.
        let Ok(given) = roles.by_global_role(name, role.uid, role.spec) else {
            continue;
        };
        if let Err(escalation) = given.may_be_given(visibility.grants(), visibility.who()) {
            return Err(Status::forbidden(format!(
                "new users get the global role {name:?}, which allows more than your own roles: \
                 {escalation}; ask an administrator"
            )));
        }
    }
    Ok(())
}
