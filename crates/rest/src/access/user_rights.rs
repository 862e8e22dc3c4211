//! Determines the caller's permissions on users.
//!
//! Writes of callers who are not administrators are subject to the same admission rules as with
//! kubectl. The REST API can also set passwords. A caller who sets a password can sign in as the
//! user, and therefore must have all permissions of the user.

use drover_access::grants::{Names, RightsHolder, Roles, Scope};
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

/// The RBAC subject names of a user and of the user's groups.
struct UserSubjects {
    user: UserName,
    groups: Vec<GroupName>,
}

impl UserSubjects {
    fn of(user: &User, stores: &Stores) -> Self {
        Self {
            user: UserName::of(&UserUid::new(user.uid().unwrap_or_default())),
            groups: groups_of(user, stores, Timestamp::now()),
        }
    }

    fn rights_holder(&self) -> RightsHolder<'_> {
        RightsHolder {
            user: &self.user,
            groups: &self.groups,
        }
    }
}

/// Returns the caller's permissions on a user.
pub(crate) fn of(visibility: &Visibility, stores: &Stores, user: &User) -> UserRights {
    let (grants, may_administer) = (
        visibility.grants(),
        visibility.grants().administers(visibility.rights_holder()),
    );
    let other = UserSubjects::of(user, stores);
    let above = user.spec.administrator || grants.administers(other.rights_holder());
    let may = |verb| visibility.may(verb, USERS, &Scope::Hub) && (may_administer || !above);
    let may_change = may("update");
    UserRights {
        may_change,
        may_delete: may("delete"),
        may_set_password: may_change && check_password(visibility, stores, user).is_ok(),
        may_administer,
    }
}

/// Returns an error if the user has permissions that the caller does not have. The caller then must
/// not set the user's password.
pub(crate) fn check_password(
    visibility: &Visibility,
    stores: &Stores,
    user: &User,
) -> Result<(), Status> {
    let (grants, holder) = (visibility.grants(), visibility.rights_holder());
    if grants.administers(holder) {
        return Ok(());
    }
    if user.spec.administrator {
        return Err(Status::forbidden(
            "only an administrator can set the password of an administrator",
        ));
    }
    if !user.spec.enabled {
        return Err(Status::forbidden(
            "only an administrator can set the password of a disabled user: enable the user first",
        ));
    }
    let other = UserSubjects::of(user, stores);
    let covered = grants.may_act_for(holder, other.rights_holder());
    covered.map_err(|escalation| {
        Status::forbidden(format!(
            "cannot set the password of this user, because the user has permissions that you do \
             not have: {escalation}"
        ))
    })
}

/// Returns an error if the new user would have permissions that the caller does not have. The
/// caller could sign in as the user, because the caller chooses the first password.
pub(crate) fn check_defaults(visibility: &Visibility, stores: &Stores) -> Result<(), Status> {
    let objects = Objects::of(stores);
    let facts = objects.facts();
    let mut roles = Roles::new(&facts, Names::Current);
    let defaults = facts.global_roles.iter();
    for (name, role) in defaults.filter(|(_, role)| role.spec.new_user_default) {
        // A role that cannot be resolved grants no permissions.
        let Ok(granted) = roles.resolve_global_role(name, role.uid, role.spec) else {
            continue;
        };
        if let Err(escalation) =
            granted.check_grantable(visibility.grants(), visibility.rights_holder())
        {
            return Err(Status::forbidden(format!(
                "cannot create a user: new users get the global role {name:?}, which has \
                 permissions that you do not have: {escalation}; ask an administrator"
            )));
        }
    }
    Ok(())
}
