//! Why somebody may or may not: who can do something in a cluster, and by which role.

pub(super) mod beside;
mod known;

use axum::extract::State;
use drover_access::grants::{Answer, BindingKind, Question, Through as GrantThrough};
use drover_access::names::UserName;
use drover_api::ids::ClusterUid;
use drover_api::rest::{Explanation, Through, ThroughView};
use drover_rbac::Asked;
use jiff::Timestamp;
use kube::ResourceExt as _;
use serde::Deserialize;

use self::beside::Beside;
use self::known::{Known, sees_everywhere};
use super::RestState;
use super::body::Query;
use super::caller::Caller;
use super::sight::{Sight, place_of_cluster};
use crate::hub::Stores;
use crate::identity::groups::groups_of;
use crate::status::Status;

/// Roles that are told at most.
const MOST: usize = 500;

/// What is asked about.
#[derive(Clone, Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct ExplainQuery {
    /// Name of the cluster.
    cluster: String,
    /// Such as `get`.
    verb: String,
    /// API group; the core if absent.
    #[serde(default)]
    group: String,
    /// Plural, with `/subresource` if it is about one; or a path that begins with `/`.
    resource: String,
    /// Name of the object; all of them if absent.
    #[serde(default)]
    object: String,
    /// Namespace; all of them, and what is in none, if absent.
    namespace: Option<String>,
    /// Name of the person; the caller if absent, `*` for everybody.
    user: Option<String>,
}

/// Who can do this in a cluster, and by which role and binding.
#[utoipa::path(get, path = "/v1/access/explain", tag = "access", params(ExplainQuery),
    responses((status = 200, body = Explanation)))]
pub(super) async fn explain(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Query(query): Query<ExplainQuery>,
) -> Result<axum::Json<Explanation>, Status> {
    let sight = Sight::of(state.hub.stores(), &caller);
    let cluster = sight.cluster(&query.cluster)?;
    let asked_about = match query.user.as_deref() {
        None => Some(caller.user_name.clone()),
        Some("*") => None,
        Some(name) => Some(name.to_owned()),
    };
    if asked_about.as_ref() != Some(&caller.user_name) {
        let place = place_of_cluster(&cluster);
        sight.must("list", "clusterroletemplatebindings", &place)?;
    }
    let stores = state.hub.stores();
    let names = asked_about.as_ref().map(|name| names_of(stores, name));
    let uid = ClusterUid::new(cluster.uid().unwrap_or_default());
    let question = Question {
        cluster: &uid,
        verb: &query.verb,
        asked: asked(&query),
        namespace: query.namespace.as_deref(),
    };
    // Whatever somebody has in every cluster is for those to know who manage that, and for themselves.
    let everywhere = asked_about.as_ref() == Some(&caller.user_name)
        || caller.administrator
        || sees_everywhere(&sight);
    let meant = |subject: &str| {
        let names = names.as_ref();
        names.is_none_or(|names| names.iter().any(|name| name == subject))
    };
    let about = |answer: &Answer<'_>| {
        let kind = answer.grant.binding.kind;
        if matches!(kind, BindingKind::Global | BindingKind::Administrator) && !everywhere {
            return false;
        }
        meant(answer.grant.subject.as_str())
    };
    let found = sight.grants().who_can(question);
    let found = found.iter().filter(|answer| about(answer));
    let known = Known::to(&sight, stores, &uid, names.as_deref().unwrap_or_default());
    let mut through: Vec<_> = found.map(|answer| view(&known, answer)).collect();
    let beside = Beside {
        asking: &state.asking,
        asker: caller.user_uid.as_str(),
        tunnels: &state.tunnels,
        inside: &sight.grants().downstream(&uid),
        cluster: &uid,
        verb: &query.verb,
        asked: asked(&query),
        namespace: query.namespace.as_deref(),
    };
    let (others, unasked) = beside.ask(meant).await;
    through.extend(others.into_iter().map(|one| named(&known, one)));
    let more = through.len() > MOST;
    through.truncate(MOST);
    Ok(axum::Json(Explanation {
        user: asked_about,
        through,
        more,
        unasked,
    }))
}

fn asked(query: &ExplainQuery) -> Asked<'_> {
    if query.resource.starts_with('/') {
        return Asked::Path(&query.resource);
    }
    let (resource, subresource) = query
        .resource
        .split_once('/')
        .unwrap_or((&query.resource, ""));
    Asked::Resource {
        group: &query.group,
        resource,
        subresource,
        name: &query.object,
    }
}

/// The names under which a person and their groups appear; none for somebody who is not there, whom
/// the answer does not give away.
fn names_of(stores: &Stores, name: &str) -> Vec<String> {
    let Some(user) = stores.users.by_name(name) else {
        return Vec::new();
    };
    let uid = drover_api::ids::UserUid::new(user.uid().unwrap_or_default());
    let mut names = vec![UserName::of(&uid).to_string()];
    let groups = groups_of(&user, stores, Timestamp::now());
    names.extend(groups.iter().map(ToString::to_string));
    names
}

fn view(known: &Known<'_>, answer: &Answer<'_>) -> ThroughView {
    let grant = answer.grant;
    let (through, cluster_role) = match &answer.through {
        GrantThrough::Rule => (Through::Rule, None),
        GrantThrough::Known(name) => (Through::Known, Some(name.clone())),
        GrantThrough::Perhaps(name) => (Through::Perhaps, Some(name.clone())),
    };
    ThroughView {
        subject: grant.subject.to_string(),
        user: known.name_of(grant.subject.as_str()),
        role: grant.role.name.clone(),
        binding_kind: grant.binding.kind.name().to_owned(),
        binding: grant.binding.name.clone(),
        through,
        cluster_role,
    }
}

fn named(known: &Known<'_>, view: ThroughView) -> ThroughView {
    ThroughView {
        user: known.name_of(&view.subject),
        ..view
    }
}
