//! Whom a role could be given to: found by a name that is known in full, never listed.

use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::State;
use drover_access::grants::Place;
use drover_api::ids::UserUid;
use drover_api::kinds::{GlobalRoleBinding, ProviderIdentity, User};
use drover_api::rest::{List, PersonView};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use jiff::Timestamp;
use kube::{Resource as _, ResourceExt as _};
use serde::Deserialize;

use crate::RestState;
use crate::access::members::given::identities_of;
use crate::access::members::{InCluster, InProject, place};
use drover_http_edge::body::Query;
use drover_http_edge::status::Status;
use drover_hub::Stores;
use drover_hub::stores::identity_status;
use drover_hub::visibility::Visibility;
use drover_identity::caller::Caller;

/// People who are shown at most: more than have one login at different providers.
const MOST: usize = 20;
/// How often a person may ask, in a minute: as fast as one types, and not as fast as names are guessed.
const A_MINUTE: NonZeroU32 = NonZeroU32::new(60).expect("60 is not 0");
/// People whose asking is remembered before it is looked who has not asked for long.
const REMEMBERED: usize = 1_000;

/// How often people look others up; clones share it.
#[derive(Clone, Debug)]
pub struct Lookups(Arc<DefaultKeyedRateLimiter<UserUid>>);

impl Default for Lookups {
    fn default() -> Self {
        Self(Arc::new(RateLimiter::keyed(Quota::per_minute(A_MINUTE))))
    }
}

impl Lookups {
    pub(crate) fn check(&self, who: &UserUid) -> Result<(), Status> {
        if self.0.len() > REMEMBERED {
            self.0.retain_recent();
        }
        let slow = |_| Status::too_many_requests("you look up too many people; wait a minute", 60);
        self.0.check_key(who).map_err(slow)
    }
}

/// Whom, and where a role would be given.
#[derive(Clone, Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PeopleQuery {
    /// Somebody's name here or at a provider, in full; of an address, what stands before the `@`
    /// will do.
    name: String,
    /// Name of the cluster in which a role would be given.
    cluster: Option<String>,
    /// Name of the project in which a role would be given; a global role if neither is said.
    project: Option<String>,
}

/// Who goes by a name, here or at an identity provider. Whoever may give roles at a place may ask:
/// the same login at two providers is two people, and a role is for one of them.
#[utoipa::path(get, path = "/v1/access/people", tag = "access", params(PeopleQuery),
    responses((status = 200, body = List<PersonView>)))]
pub(crate) async fn find(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Query(query): Query<PeopleQuery>,
) -> Result<axum::Json<List<PersonView>>, Status> {
    match (&query.cluster, &query.project) {
        (Some(_), Some(_)) => {
            let only_one = "name a cluster or a project, not both";
            return Err(Status::invalid("project", only_one));
        }
        (Some(cluster), None) => {
            place::<InCluster>(&state, &caller, cluster, "create")?;
        }
        (None, Some(project)) => {
            place::<InProject>(&state, &caller, project, "create")?;
        }
        (None, None) => {
            let visibility = Visibility::of(state.hub.stores(), &caller);
            visibility.require("create", &GlobalRoleBinding::plural(&()), &Place::Hub)?;
        }
    }
    state.lookups.check(&caller.user_uid)?;
    let stores = state.hub.stores();
    let name = query.name.to_lowercase();
    // Whoever could not use a role is nobody to give one to.
    let may = |user: &User| user.spec.enabled && user.metadata.deletion_timestamp.is_none();
    let now = Timestamp::now();
    let counts = |one: &ProviderIdentity| identity_status::check_identity(one, stores, now).is_ok();
    let known_as = |user: &User| may(user) && goes_by(user, &name, counts);
    let (found, _) = stores.users.page(None, MOST, known_as);
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

/// Whether this, in small letters, is somebody's name, or what they type at a provider whose word
/// counts; nobody goes by none.
fn goes_by(user: &User, name: &str, counts: impl Fn(&ProviderIdentity) -> bool) -> bool {
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
    fn somebody_is_found_by_their_whole_name_here_or_at_a_provider_and_by_no_part_of_it() {
        let mut ann = person();
        ann.metadata.name = Some("ann-2".to_owned());
        let identity = &mut ann.status.as_mut().unwrap().identities[0];
        identity.login = "Ann@corp.example".to_owned();
        for name in ["ann-2", "ann", "ann@corp.example"] {
            assert!(goes_by(&ann, name, |_| true), "{name:?}");
        }
        for name in [
            "",
            "an",
            "ann-",
            "ann@",
            "ann@other.example",
            "corp.example",
        ] {
            assert!(!goes_by(&ann, name, |_| true), "{name:?}");
        }
        assert!(!goes_by(&ann, "ann", |_| false));
    }

    #[test]
    fn names_are_not_guessed_faster_than_they_are_typed() {
        let lookups = Lookups::default();
        let (eve, ann) = (UserUid::new("u1"), UserUid::new("u2"));
        let asked = (0..1_000).filter(|_| lookups.check(&eve).is_ok()).count();
        assert!((60..100).contains(&asked), "{asked}");
        assert!(lookups.check(&ann).is_ok());
    }
}
