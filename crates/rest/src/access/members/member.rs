//! References of a role binding, and the representation of a binding as a member in the REST API.

use aws_lc_rs::digest::{SHA256, digest};
use drover_access::grants::Scope;
use drover_access::names::GroupName;
use drover_api::ids::{ProviderUid, RoleUid, UserUid};
use drover_api::kinds::{BindingSubject, RoleReference, User};
use drover_api::rest::{MemberCreate, MemberIdentity, MemberView};
use jiff::Timestamp;
use kube::ResourceExt as _;

use super::binding::{Binding, BindingFields};
use drover_http_edge::status::Status;
use drover_hub::Stores;
use drover_hub::stores::identity_status;
use drover_hub::visibility::Visibility;
use drover_hub::visibility::created_at;

/// Prefix of the object names of role bindings.
pub(crate) const PREFIX: &str = "m-";

/// Returns the role and the subject in a request to create a binding.
pub(crate) fn parse_request(
    request: MemberCreate,
) -> Result<(RoleReference, BindingSubject), Status> {
    let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
    let subject = match (non_empty(request.user), non_empty(request.group)) {
        (Some(user), None) => BindingSubject::user(&user),
        (None, Some(group)) => BindingSubject::group(&group),
        _ => {
            return Err(Status::invalid(
                "user",
                "set either a user, or a group in the form \"drover:<provider>:<id>\"",
            ));
        }
    };
    let role = RoleReference {
        name: request.role,
        uid: None,
    };
    Ok((role, subject))
}

/// The role and the subject of a binding with their UIDs. A UID is absent if the object does not
/// exist. The admission rules check the UIDs and refuse a binding with an absent UID.
pub(crate) struct References {
    pub(crate) role: RoleReference,
    pub(crate) subject: BindingSubject,
}

impl References {
    /// Adds the UIDs of the role, the user and the group with these names.
    pub(crate) fn pin<B: Binding>(
        stores: &Stores,
        role: &RoleReference,
        subject: &BindingSubject,
    ) -> Self {
        let (mut role, mut subject) = (role.clone(), subject.clone());
        role.uid = B::role_uid(stores, &role.name).map(RoleUid::new);
        if let Some(reference) = &mut subject.user {
            let user = stores.users.by_name(&reference.name);
            reference.uid = user.and_then(|user| user.uid()).map(UserUid::new);
        }
        if let Some(reference) = &mut subject.group {
            let name = GroupName::parse(&reference.name);
            let provider = name.and_then(|name| stores.auth_providers.by_name(name.provider()));
            let uid = provider.and_then(|provider| provider.uid());
            reference.provider_uid = uid.map(ProviderUid::new);
        }
        Self { role, subject }
    }

    /// Returns the name of the binding. The name is a hash of the scope, the role and the subject
    /// with their UIDs. Equal bindings therefore have equal names.
    pub(crate) fn binding_name(&self, target: Option<&str>) -> String {
        let parts = serde_json::json!([target, self.role, self.subject]);
        let hash = digest(&SHA256, parts.to_string().as_bytes());
        let short = hash.as_ref().first_chunk();
        let short = *short.expect("a SHA-256 digest has 32 bytes");
        format!("{PREFIX}{:032x}", u128::from_be_bytes(short))
    }
}

/// Returns the role and the subject of the binding as text for the audit log, because the name of a
/// binding is only a hash.
pub(crate) fn description<B: Binding>(binding: &B) -> String {
    let BindingFields { role, subject, .. } = binding.fields();
    let user = subject.user.as_ref().map(|user| &user.name);
    let group = subject.group.as_ref().map(|group| &group.name);
    let subject = user.or(group).map_or("", String::as_str);
    format!("{} of {subject}", role.name)
}

/// Returns the user's valid identities. Omits invalid identities, because a different user can have
/// taken over the login at the provider.
pub(crate) fn identities_of(stores: &Stores, user: &User) -> Vec<MemberIdentity> {
    let now = Timestamp::now();
    let identities = user.status.iter().flat_map(|status| &status.identities);
    let valid = identities.filter(|one| identity_status::check_identity(one, stores, now).is_ok());
    let shown = valid.map(|identity| MemberIdentity {
        provider: identity.provider.clone(),
        login: identity.login.clone(),
    });
    shown.collect()
}

/// Visibility of the members' logins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logins {
    /// Visible to callers with permission to bind roles in the scope. These callers must identify
    /// users.
    Visible,
    /// Hidden from callers who can only list members.
    Hidden,
}

impl Logins {
    /// Returns the visibility of logins for a caller in a scope.
    pub(crate) fn at<B: Binding>(visibility: &Visibility, scope: &Scope) -> Self {
        if visibility.may("create", &B::plural(&()), scope) {
            Self::Visible
        } else {
            Self::Hidden
        }
    }
}

/// Converts a binding to its representation in the REST API.
pub(crate) fn view<B: Binding>(stores: &Stores, binding: &B, logins: Logins) -> MemberView {
    let fields = binding.fields();
    // Another user can have the name by now.
    let person = fields
        .subject
        .user
        .as_ref()
        .and_then(|user| match &user.uid {
            Some(uid) => stores.users.by_uid(uid.as_str()),
            None => stores.users.by_name(&user.name),
        });
    let user = fields.subject.user.as_ref().map(|user| user.name.clone());
    let group = fields
        .subject
        .group
        .as_ref()
        .map(|group| group.name.clone());
    let conditions = fields.status.map(|status| status.conditions.clone());
    MemberView {
        id: binding.name_any(),
        role: fields.role.name.clone(),
        display_name: person
            .as_ref()
            .and_then(|person| person.spec.display_name.clone()),
        identities: person
            .filter(|_| logins == Logins::Visible)
            .map_or_else(Vec::new, |person| identities_of(stores, &person)),
        user,
        group,
        created_at: created_at(binding),
        conditions: conditions.unwrap_or_default(),
    }
}
