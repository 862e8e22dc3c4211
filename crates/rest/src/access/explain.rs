//! Why somebody may or may not: who can do something in a cluster, and by which role.

pub(crate) mod beside;
mod built_in;
mod discovery;
mod known;
mod resource;

use axum::extract::State;
use drover_access::grants::{Answer, BindingKind, Place, Question, Through as GrantThrough};
use drover_access::identity::Identity;
use drover_access::names::UserName;
use drover_api::ids::ClusterUid;
use drover_api::kinds::Cluster;
use drover_api::rest::{ExplainedResource, Explanation, Through, ThroughView};
use drover_rbac::RuleTarget;
use jiff::Timestamp;
use kube::ResourceExt as _;
use serde::Deserialize;

use self::beside::Beside;
use self::discovery::discover;
use self::known::{Known, sees_everywhere};
use self::resource::{Resource, Served, resolve};
use crate::RestState;
use drover_http_edge::body::Query;
use drover_http_edge::status::Status;
use drover_hub::Stores;
use drover_hub::stores::groups::groups_of;
use drover_hub::visibility::{Visibility, cluster_scope};
use drover_identity::caller::Caller;

/// Roles that are told at most.
const MOST: usize = 500;

/// What is asked about.
#[derive(Clone, Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(crate) struct ExplainQuery {
    /// Name of the cluster.
    cluster: String,
    /// Such as `get`.
    verb: String,
    /// API group, if `resource` does not name it.
    #[serde(default)]
    group: String,
    /// As kubectl takes it: `deployments`, `deployment`, `deploy`, `deployments.apps`,
    /// `deployments.v1.apps`, each with `/subresource` if it is about one; or a path that begins with
    /// `/`.
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
pub(crate) async fn explain(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Query(query): Query<ExplainQuery>,
) -> Result<axum::Json<Explanation>, Status> {
    let visibility = Visibility::of(state.hub.stores(), &caller);
    let cluster = visibility.cluster(&query.cluster)?;
    let asked_about = match query.user.as_deref() {
        None => Some(caller.user_name.clone()),
        Some("*") => None,
        Some(name) => Some(name.to_owned()),
    };
    if asked_about.as_ref() != Some(&caller.user_name) {
        let place = cluster_scope(&cluster);
        visibility.require("list", "clusterroletemplatebindings", &place)?;
    }
    let stores = state.hub.stores();
    let uid = ClusterUid::new(cluster.uid().unwrap_or_default());
    let names = match asked_about.as_deref() {
        None => None,
        Some(name) if name == caller.user_name => Some(names_of(stores, name)),
        Some(name) => Some(other(&state, &visibility, &caller, &cluster, name)?),
    };
    let (target, unresolved) = target(&state, &caller, &uid, &query).await?;
    let question = Question {
        cluster: &uid,
        verb: &query.verb,
        asked: target.asked(&query.object),
        namespace: query.namespace.as_deref(),
    };
    // Whatever somebody has in every cluster is for those to know who manage that, and for themselves.
    let everywhere =
        asked_about.as_ref() == Some(&caller.user_name) || sees_everywhere(&visibility);
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
    let found = visibility.grants().who_can(question);
    let found = found.iter().filter(|answer| about(answer));
    let known = Known::to(
        &visibility,
        stores,
        &uid,
        names.as_deref().unwrap_or_default(),
    );
    let mut through: Vec<_> = found.map(|answer| view(&known, answer)).collect();
    let beside = Beside {
        asking: &state.asking,
        asker: caller.user_uid.as_str(),
        tunnels: &state.tunnels,
        inside: &visibility.grants().downstream(&uid),
        cluster: &uid,
        verb: &query.verb,
        asked: target.asked(&query.object),
        namespace: query.namespace.as_deref(),
    };
    let (others, unasked) = beside.ask(meant).await;
    through.extend(others.into_iter().map(|one| named(&known, one)));
    let more = through.len() > MOST;
    through.truncate(MOST);
    Ok(axum::Json(Explanation {
        user: asked_about,
        resource: target.words(),
        unresolved,
        through,
        more,
        unasked,
    }))
}

/// What is asked about, as rules name it.
enum Target {
    Path(String),
    Resource(Resource),
}

impl Target {
    fn asked<'a>(&'a self, object: &'a str) -> RuleTarget<'a> {
        match self {
            Self::Path(path) => RuleTarget::Path(path),
            Self::Resource(resource) => RuleTarget::Resource {
                group: &resource.group,
                resource: &resource.plural,
                subresource: &resource.subresource,
                name: object,
            },
        }
    }

    fn words(&self) -> Option<ExplainedResource> {
        match self {
            Self::Path(_) => None,
            Self::Resource(resource) => Some(ExplainedResource {
                group: resource.group.clone(),
                resource: resource.plural.clone(),
                subresource: resource.subresource.clone(),
            }),
        }
    }
}

/// Longest resource: a name, a version and a group of Kubernetes, and a subresource.
const MAX_RESOURCE: usize = 512;

/// What is asked about, and why the cluster was not asked for its resources, if it was not.
async fn target(
    state: &RestState,
    caller: &Identity,
    cluster: &ClusterUid,
    query: &ExplainQuery,
) -> Result<(Target, Option<String>), Status> {
    if query.resource.starts_with('/') {
        return Ok((Target::Path(query.resource.clone()), None));
    }
    if query.resource.len() > MAX_RESOURCE {
        let problem = format!("write at most {MAX_RESOURCE} characters");
        return Err(Status::invalid("resource", problem));
    }
    let asker = caller.user_uid.as_str();
    let discovered = discover(&state.asking, asker, &state.tunnels, cluster).await;
    let group = Some(query.group.as_str()).filter(|group| !group.is_empty());
    let (resolved, unresolved) = match discovered {
        Ok(kinds) => (resolve(&query.resource, group, Served::All(&kinds)), None),
        Err(why) => {
            let kinds = built_in::kinds();
            let served = Served::BuiltIn(&kinds, &why);
            (resolve(&query.resource, group, served), Some(why))
        }
    };
    let resource = resolved.map_err(|error| Status::invalid("resource", error.to_string()))?;
    Ok((Target::Resource(resource), unresolved))
}

/// The names under which somebody else and their groups appear. The answer is the same for a user
/// who does not exist and for one whom the caller may not see.
fn other(
    state: &RestState,
    visibility: &Visibility,
    caller: &Identity,
    cluster: &Cluster,
    name: &str,
) -> Result<Vec<String>, Status> {
    let stores = state.hub.stores();
    // A caller who gives roles may look up anybody by name, as GET /v1/access/people does.
    let place = cluster_scope(cluster);
    let gives = visibility.may("create", "clusterroletemplatebindings", &place);
    if gives && !visibility.may("list", "users", &Place::Hub) {
        state.lookups.check(&caller.user_uid)?;
    }
    let names = names_of(stores, name);
    let uid = ClusterUid::new(cluster.uid().unwrap_or_default());
    let sees = || gives || Known::to(visibility, stores, &uid, &[]).sees(&names);
    if names.is_empty() || !sees() {
        return Err(Status::not_found("User", name));
    }
    Ok(names)
}

/// The names under which a person and their groups appear; none for somebody who is not there.
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
