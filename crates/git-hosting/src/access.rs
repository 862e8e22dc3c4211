//! Authentication and authorization of a git request.

use std::collections::BTreeMap;

use drover_access::grants::Scope;
use drover_access::identity::{Account, Principal};
use drover_access::names::{AUTHENTICATED, UserName};
use drover_access::same_origin;
use drover_access::same_origin::Head;
use drover_api::group::GROUP;
use drover_audit::{AuditCaller, AuditNotes};
use drover_http_edge::listen::ConnectionSlot;
use drover_http_edge::networks;
use drover_http_edge::status::Status;
use drover_hub::visibility::Visibility;
use drover_hub::{Hub, HubError, call};
use drover_identity::Authenticator;
use drover_identity::caller::check_token;
use http::header::{AUTHORIZATION, ORIGIN};
use http::request::Parts;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Api;
use kube::api::PostParams;

use crate::backend::Service;
use crate::credential;
use crate::name::RepositoryName;

/// The resource of repositories in the rules of global roles and of ClusterRoles on the hub. No
/// objects of this resource exist.
const RESOURCE: &str = "gitrepositories";
/// Header with which browsers describe the origin of a request (Fetch Metadata, W3C).
const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// Authenticates the caller, and records the caller for the audit log.
pub(crate) async fn authenticate(
    authenticator: &Authenticator,
    head: &mut Parts,
) -> Result<Principal, Status> {
    // A browser also adds the password of an earlier basic authentication to requests that pages of
    // other origins cause. git sends none of these headers.
    let from_browser =
        head.headers.contains_key(SEC_FETCH_SITE) || head.headers.contains_key(ORIGIN);
    if from_browser && head.headers.contains_key(AUTHORIZATION) {
        let checked = same_origin::check_origin(Head::from(&*head));
        checked.map_err(|error| Status::forbidden(error.to_string()))?;
    }
    credential::password_as_bearer(&mut head.headers);
    let from = networks::sender(&head.extensions);
    let principal = authenticator.principal(Head::from(&*head), from).await?;
    AuditNotes::of(&head.extensions).who(AuditCaller::from(&principal));
    if let Some(slot) = head.extensions.get::<ConnectionSlot>() {
        slot.authenticated();
    }
    if let Principal::User(identity) = &principal {
        check_token(identity)?;
    }
    Ok(principal)
}

/// Checks whether the caller may use the service. The result does not depend on the existence of the
/// repository.
pub(crate) async fn authorize(
    hub: &Hub,
    principal: &Principal,
    repository: &RepositoryName,
    service: Service,
) -> Result<(), Status> {
    let verb = match service {
        Service::UploadPack => "get",
        Service::ReceivePack => "update",
    };
    let allowed = match principal {
        Principal::User(identity) => {
            let visibility = Visibility::of(hub.stores(), identity);
            let (holder, name) = (visibility.rights_holder(), repository.as_str());
            let grants = visibility.grants();
            grants.may(holder, verb, RESOURCE, name, &Scope::Hub)
        }
        Principal::Account(account) => account_may(hub, account, verb, repository).await?,
    };
    if allowed {
        return Ok(());
    }
    let (action, role) = match principal {
        Principal::User(_) => ("your roles on the hub do not allow you", "a global role"),
        Principal::Account(_) => (
            "the hub does not allow the service account",
            "a ClusterRole",
        ),
    };
    Err(Status::forbidden(format!(
        "{action} to {verb} gitrepositories {repository:?}: ask an administrator for {role} with the \
         verb {verb} for gitrepositories.{GROUP}",
        repository = repository.as_str()
    )))
}

/// Asks the hub for the permission of a service account.
async fn account_may(
    hub: &Hub,
    account: &Account,
    verb: &str,
    repository: &RepositoryName,
) -> Result<bool, HubError> {
    let review = review(account, verb, repository);
    let reviews: Api<SubjectAccessReview> = Api::all(hub.client());
    let params = PostParams::default();
    let asking = reviews.create(&params, &review);
    let answer = call("check the permission for a git repository", asking).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

fn review(account: &Account, verb: &str, repository: &RepositoryName) -> SubjectAccessReview {
    let (namespace, _) = account.name.object();
    let groups = [
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
        AUTHENTICATED.to_owned(),
    ];
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, value) in &account.extras {
        extra.entry(key.clone()).or_default().push(value.clone());
    }
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(account.name.to_string()),
            uid: Some(account.uid.clone()),
            groups: Some(groups.to_vec()),
            extra: Some(extra),
            resource_attributes: Some(ResourceAttributes {
                group: Some(GROUP.to_owned()),
                resource: Some(RESOURCE.to_owned()),
                verb: Some(verb.to_owned()),
                name: Some(repository.as_str().to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}

/// Returns the name of the caller for the reflog.
pub(crate) fn caller_name(principal: &Principal) -> String {
    match principal {
        Principal::User(identity) => UserName::of(&identity.user_uid).to_string(),
        Principal::Account(account) => account.name.to_string(),
    }
}
