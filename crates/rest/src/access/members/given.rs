//! A role that somebody is given, as it is said, as it is written and as it is shown.

use aws_lc_rs::digest::{SHA256, digest};
use drover_access::grants::Place;
use drover_access::names::GroupName;
use drover_api::ids::{ProviderUid, RoleUid, UserUid};
use drover_api::kinds::{BindingSubject, RoleReference, User};
use drover_api::rest::{MemberCreate, MemberIdentity, MemberView};
use jiff::Timestamp;
use kube::ResourceExt as _;

use super::binding::{Binding, Said};
use drover_http_edge::status::Status;
use drover_hub::Stores;
use drover_hub::stores::identity_status;
use drover_hub::visibility::Visibility;
use drover_hub::visibility::created_at;

/// What the id of a member begins with.
pub(crate) const PREFIX: &str = "m-";

/// Which role, and for whom, as the caller says it.
pub(crate) fn wished(request: MemberCreate) -> Result<(RoleReference, BindingSubject), Status> {
    let said = |text: Option<String>| text.filter(|text| !text.is_empty());
    let subject = match (said(request.user), said(request.group)) {
        (Some(user), None) => BindingSubject::user(&user),
        (None, Some(group)) => BindingSubject::group(&group),
        _ => {
            return Err(Status::invalid(
                "user",
                "name either a user, or a group as \"drover:<provider>:<id>\"",
            ));
        }
    };
    let role = RoleReference {
        name: request.role,
        uid: None,
    };
    Ok((role, subject))
}

/// A role and whose it is, with the UID beside each name: what the caller was judged by is what they
/// mean. What is not there is refused later.
pub(crate) struct Given {
    pub(crate) role: RoleReference,
    pub(crate) subject: BindingSubject,
}

impl Given {
    /// Under these names now.
    pub(crate) fn pinned<B: Binding>(
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

    /// The same role for the same subject at the same place is one binding; a role or person that is
    /// made again under its name is another, and so is the binding.
    pub(crate) fn id(&self, place: Option<&str>) -> String {
        let parts = serde_json::json!([place, self.role, self.subject]);
        let hash = digest(&SHA256, parts.to_string().as_bytes());
        let short = hash.as_ref().first_chunk().copied().unwrap_or_default();
        format!("{PREFIX}{:032x}", u128::from_be_bytes(short))
    }
}

/// Which role of whom, in words, for the audit log: nobody can tell later what an id stood for.
pub(crate) fn called<B: Binding>(binding: &B) -> String {
    let Said { role, subject, .. } = binding.said();
    let user = subject.user.as_ref().map(|user| &user.name);
    let group = subject.group.as_ref().map(|group| &group.name);
    let whom = user.or(group).map_or("", String::as_str);
    format!("{} of {whom}", role.name)
}

/// Who somebody is to identity providers whose word counts: another may have the login of one who is
/// not confirmed any more.
pub(crate) fn identities_of(stores: &Stores, user: &User) -> Vec<MemberIdentity> {
    let now = Timestamp::now();
    let identities = user.status.iter().flat_map(|status| &status.identities);
    let counts = identities.filter(|one| identity_status::check_identity(one, stores, now).is_ok());
    let shown = counts.map(|identity| MemberIdentity {
        provider: identity.provider.clone(),
        login: identity.login.clone(),
    });
    shown.collect()
}

/// Whether a member's logins are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logins {
    /// To whoever gives roles there, and has to know to whom.
    Told,
    /// From whoever may see the members and no more.
    Kept,
}

impl Logins {
    /// For whoever has this visibility of a place.
    pub(crate) fn at<B: Binding>(visibility: &Visibility, place: &Place) -> Self {
        if visibility.may("create", &B::plural(&()), place) {
            Self::Told
        } else {
            Self::Kept
        }
    }
}

/// A member, for people.
pub(crate) fn view<B: Binding>(stores: &Stores, binding: &B, logins: Logins) -> MemberView {
    let said = binding.said();
    // Another person may have that name by now.
    let person = said.subject.user.as_ref().and_then(|user| match &user.uid {
        Some(uid) => stores.users.by_uid(uid.as_str()),
        None => stores.users.by_name(&user.name),
    });
    let user = said.subject.user.as_ref().map(|user| user.name.clone());
    let group = said.subject.group.as_ref().map(|group| group.name.clone());
    let conditions = said.status.map(|status| status.conditions.clone());
    MemberView {
        id: binding.name_any(),
        role: said.role.name.clone(),
        display_name: person
            .as_ref()
            .and_then(|person| person.spec.display_name.clone()),
        identities: person
            .filter(|_| logins == Logins::Told)
            .map_or_else(Vec::new, |person| identities_of(stores, &person)),
        user,
        group,
        created_at: created_at(binding),
        conditions: conditions.unwrap_or_default(),
    }
}
