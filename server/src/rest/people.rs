//! Whom a role could be given to: found by a name that is known in full, never listed.

use axum::extract::State;
use drover_access::grants::Place;
use drover_api::kinds::{GlobalRoleBinding, User};
use drover_api::rest::{List, PersonView};
use kube::{Resource as _, ResourceExt as _};
use serde::Deserialize;

use super::RestState;
use super::body::Query;
use super::caller::Caller;
use super::members::given::identities_of;
use super::members::{InCluster, InProject, place};
use super::sight::Sight;
use crate::status::Status;

/// People who are shown at most: more than have one login at different providers.
const MOST: usize = 20;

/// Whom, and where a role would be given.
#[derive(Clone, Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PeopleQuery {
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
pub(super) async fn find(
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
            let sight = Sight::of(state.hub.stores(), &caller);
            sight.must("create", &GlobalRoleBinding::plural(&()), &Place::Hub)?;
        }
    }
    let known_as = |user: &User| goes_by(user, &query.name);
    let (found, _) = state.hub.stores().users.page(None, MOST, known_as);
    Ok(axum::Json(List {
        items: found.iter().map(|user| view(user)).collect(),
        continue_token: None,
    }))
}

fn view(user: &User) -> PersonView {
    PersonView {
        name: user.name_any(),
        display_name: user.spec.display_name.clone(),
        identities: identities_of(user),
    }
}

/// Whether this is somebody's name, or what they type at a provider; nobody goes by none.
fn goes_by(user: &User, name: &str) -> bool {
    let same = |own: &str| own.to_lowercase() == name.to_lowercase();
    let login = |login: &str| {
        let (before, _) = login.split_once('@').unwrap_or((login, ""));
        same(login) || same(before)
    };
    let mut identities = user.status.iter().flat_map(|status| &status.identities);
    !name.is_empty()
        && (same(&user.name_any()) || identities.any(|identity| login(&identity.login)))
}

#[cfg(test)]
mod tests {
    use drover_api::ids::ProviderUid;
    use drover_api::kinds::{IdentityState, ProviderIdentity, UserSpec, UserStatus};
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn somebody(name: &str, login: &str) -> User {
        let spec = UserSpec {
            display_name: None,
            enabled: true,
            administrator: false,
            must_change_password: false,
        };
        let mut user = User::new(name, spec);
        let identity = ProviderIdentity {
            provider: "corp".to_owned(),
            provider_uid: ProviderUid::new("p1"),
            id: "1".to_owned(),
            login: login.to_owned(),
            groups: Vec::new(),
            groups_left_out: 0,
            confirmed_at: Time(Timestamp::UNIX_EPOCH),
            state: IdentityState::Confirmed,
            message: None,
            since: None,
        };
        user.status = Some(UserStatus {
            identities: vec![identity],
            ..UserStatus::default()
        });
        user
    }

    #[test]
    fn somebody_is_found_by_their_whole_name_here_or_at_a_provider_and_by_no_part_of_it() {
        let ann = somebody("ann-2", "Ann@corp.example");
        for name in ["ann-2", "ann", "ANN", "ann@corp.example"] {
            assert!(goes_by(&ann, name), "{name:?}");
        }
        for name in [
            "",
            "an",
            "ann-",
            "ann@",
            "ann@other.example",
            "corp.example",
        ] {
            assert!(!goes_by(&ann, name), "{name:?}");
        }
        assert!(!goes_by(&somebody("ann", "@"), ""));
    }
}
