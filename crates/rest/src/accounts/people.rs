//! The route that searches for users to whom the caller wants to grant a role. A search requires a
//! complete name, and never lists all users.

use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::State;
use drover_access::grants::Scope;
use drover_api::ids::UserUid;
use drover_api::kinds::{GlobalRoleBinding, ProviderIdentity, User};
use drover_api::rest::{List, PersonView};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use jiff::Timestamp;
use kube::{Resource as _, ResourceExt as _};
use serde::Deserialize;

use crate::RestState;
use crate::access::members::member::identities_of;
use crate::access::members::{InCluster, InProject, authorized_target};
use drover_http_edge::body::Query;
use drover_http_edge::status::Status;
use drover_hub::Stores;
use drover_hub::stores::identity_status;
use drover_hub::visibility::Visibility;
use drover_identity::caller::Caller;

/// Maximum number of users in a response.
const MAX_RESULTS: usize = 20;
/// Maximum number of searches per user and minute. The limit allows a search during typing, but
/// prevents the guessing of names.
const MAX_PER_MINUTE: NonZeroU32 = NonZeroU32::new(60).expect("60 is not 0");
/// Number of users in the rate limiter above which the server removes expired entries.
const CLEANUP_THRESHOLD: usize = 1_000;

/// Rate limit of user searches. Clones share the limit.
#[derive(Clone, Debug)]
pub struct Lookups(Arc<DefaultKeyedRateLimiter<UserUid>>);

impl Default for Lookups {
    fn default() -> Self {
        Self(Arc::new(RateLimiter::keyed(Quota::per_minute(
            MAX_PER_MINUTE,
        ))))
    }
}

impl Lookups {
    pub(crate) fn check(&self, user: &UserUid) -> Result<(), Status> {
        if self.0.len() > CLEANUP_THRESHOLD {
            self.0.retain_recent();
        }
        let refuse = |_| Status::too_many_requests("too many user searches; wait a minute", 60);
        self.0.check_key(user).map_err(refuse)
    }
}

/// Query parameters of a user search.
#[derive(Clone, Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PeopleQuery {
    /// Complete name of a user, or the login name at a provider. For an email address, the part
    /// before the `@` is sufficient.
    name: String,
    /// Name of the cluster in which the role will be bound.
    cluster: Option<String>,
    /// Name of the project in which the role will be bound. Without a cluster and a project, the
    /// role is global.
    project: Option<String>,
}

/// Finds users by their complete name or their login name at an identity provider. The caller must
/// have permission to bind roles in the scope. Users with the same login at two providers are
/// different users.
#[utoipa::path(get, path = "/v1/access/people", tag = "access", params(PeopleQuery),
    responses((status = 200, body = List<PersonView>)))]
pub(crate) async fn find(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Query(query): Query<PeopleQuery>,
) -> Result<axum::Json<List<PersonView>>, Status> {
    match (&query.cluster, &query.project) {
        (Some(_), Some(_)) => {
            let only_one = "cannot be combined with a cluster";
            return Err(Status::invalid("project", only_one));
        }
        (Some(cluster), None) => {
            authorized_target::<InCluster>(&state, &caller, cluster, "create")?;
        }
        (None, Some(project)) => {
            authorized_target::<InProject>(&state, &caller, project, "create")?;
        }
        (None, None) => {
            let visibility = Visibility::of(state.hub.stores(), &caller);
            visibility.require("create", &GlobalRoleBinding::plural(&()), &Scope::Hub)?;
        }
    }
    state.lookups.check(&caller.user_uid)?;
    let stores = state.hub.stores();
    let name = query.name.to_lowercase();
    // Exclude users who cannot use a role.
    let usable = |user: &User| user.spec.enabled && user.metadata.deletion_timestamp.is_none();
    let now = Timestamp::now();
    let counts = |one: &ProviderIdentity| identity_status::check_identity(one, stores, now).is_ok();
    let matches = |user: &User| usable(user) && has_name(user, &name, counts);
    let (found, _) = stores.users.page(None, MAX_RESULTS, matches);
    Ok(axum::Json(List {
        items: found.iter().map(|user| view(stores, user)).collect(),
        continue_token: None,
    }))
}

fn view(stores: &Stores, user: &User) -> PersonView {
    PersonView {
        name: user.name_any(),
        display_name: user.spec.display_name.clone(),
        identities: identities_of(stores, user),
    }
}

/// Reports whether `name`, in lower case, is the user's name or the login of an identity. Ignores
/// identities for which `counts` returns false. Returns false for an empty name.
fn has_name(user: &User, name: &str, counts: impl Fn(&ProviderIdentity) -> bool) -> bool {
    let same = |own: &str| own.to_lowercase() == name;
    let is_login = |login: &str| {
        let (before, _) = login.split_once('@').unwrap_or((login, ""));
        same(login) || same(before)
    };
    let mut identities = user.status.iter().flat_map(|status| &status.identities);
    let known = |one: &ProviderIdentity| is_login(&one.login) && counts(one);
    !name.is_empty() && (same(&user.name_any()) || identities.any(known))
}

#[cfg(test)]
mod tests {
    use drover_testkit::kinds::person;

    use super::*;

    #[test]
    fn user_search_matches_only_complete_names_and_logins() {
        let mut ann = person();
        ann.metadata.name = Some("ann-2".to_owned());
        let identity = &mut ann.status.as_mut().unwrap().identities[0];
        identity.login = "Ann@corp.example".to_owned();
        for name in ["ann-2", "ann", "ann@corp.example"] {
            assert!(has_name(&ann, name, |_| true), "{name:?}");
        }
        for name in [
            "",
            "an",
            "ann-",
            "ann@",
            "ann@other.example",
            "corp.example",
        ] {
            assert!(!has_name(&ann, name, |_| true), "{name:?}");
        }
        assert!(!has_name(&ann, "ann", |_| false));
    }

    #[test]
    fn user_searches_are_rate_limited_per_user() {
        let lookups = Lookups::default();
        let (eve, ann) = (UserUid::new("u1"), UserUid::new("u2"));
        let requested = (0..1_000).filter(|_| lookups.check(&eve).is_ok()).count();
        assert!((60..100).contains(&requested), "{requested}");
        assert!(lookups.check(&ann).is_ok());
    }
}
