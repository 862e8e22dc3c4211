//! The route that explains a permission in a cluster. The response lists the users who have the
//! permission, and the bindings that grant the permission.

mod built_in;
pub(crate) mod cluster_bindings;
mod discovery;
mod resource;
mod visible_users;

use axum::extract::State;
use drover_access::grants::{
    AllowingGrant, BindingKind, PermissionOrigin as GrantThrough, Question, Scope,
};
use drover_access::identity::Identity;
use drover_access::names::UserName;
use drover_api::ids::ClusterUid;
use drover_api::kinds::Cluster;
use drover_api::rest::{ExplainedResource, Explanation, PermissionOrigin, ThroughView};
use drover_rbac::RuleTarget;
use jiff::Timestamp;
use kube::ResourceExt as _;
use serde::Deserialize;

use self::cluster_bindings::ClusterBindings;
use self::discovery::discover;
use self::resource::{Resource, Served, resolve};
use self::visible_users::{VisibleUsers, sees_everywhere};
use crate::RestState;
use drover_http_edge::body::Query;
use drover_http_edge::status::Status;
use drover_hub::Stores;
use drover_hub::stores::groups::groups_of;
use drover_hub::visibility::{Visibility, cluster_scope};
use drover_identity::caller::Caller;

/// Maximum number of bindings in a response.
const MAX_BINDINGS: usize = 500;

/// Query parameters that select a permission and a user.
#[derive(Clone, Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(crate) struct ExplainQuery {
    /// Name of the cluster.
    cluster: String,
    /// The verb, for example `get`.
    verb: String,
    /// API group of the resource. Absent if `resource` contains the group.
    #[serde(default)]
    group: String,
    /// The resource in kubectl's syntax: `deployments`, `deployment`, `deploy`, `deployments.apps`
    /// or `deployments.v1.apps`, each with an optional `/subresource`. A non-resource path begins
    /// with `/`.
    resource: String,
    /// Name of the object. Absent for all objects.
    #[serde(default)]
    object: String,
    /// Namespace. Absent for all namespaces and for cluster-scoped objects.
    namespace: Option<String>,
    /// Name of the user. Absent for the caller, `*` for all users.
    user: Option<String>,
}

/// Lists the users who have a permission in a cluster, and the bindings that grant the permission.
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
        let scope = cluster_scope(&cluster);
        visibility.require("list", "clusterroletemplatebindings", &scope)?;
    }
    let stores = state.hub.stores();
    let uid = ClusterUid::new(cluster.uid().unwrap_or_default());
    let names = match asked_about.as_deref() {
        None => None,
        Some(name) if name == caller.user_name => Some(names_of(stores, name)),
        Some(name) => Some(names_of_other_user(
            &state,
            &visibility,
            &caller,
            &cluster,
            name,
        )?),
    };
    let (target, unresolved) = target(&state, &caller, &uid, &query).await?;
    let question = Question {
        cluster: &uid,
        verb: &query.verb,
        rule_target: target.rule_target(&query.object),
        namespace: query.namespace.as_deref(),
    };
    // Only callers who can list global bindings, and the user itself, can see the user's roles in
    // every cluster.
    let everywhere =
        asked_about.as_ref() == Some(&caller.user_name) || sees_everywhere(&visibility);
    let matches = |subject: &str| {
        let names = names.as_ref();
        names.is_none_or(|names| names.iter().any(|name| name == subject))
    };
    let about = |answer: &AllowingGrant<'_>| {
        let kind = answer.grant.binding.kind;
        if matches!(kind, BindingKind::Global | BindingKind::Administrator) && !everywhere {
            return false;
        }
        matches(answer.grant.subject.as_str())
    };
    let found = visibility.grants().who_can(question);
    let found = found.iter().filter(|answer| about(answer));
    let visible = VisibleUsers::new(
        &visibility,
        stores,
        &uid,
        names.as_deref().unwrap_or_default(),
    );
    let mut through: Vec<_> = found.map(|answer| view(&visible, answer)).collect();
    let bindings = ClusterBindings {
        limiter: &state.cluster_queries,
        caller: caller.user_uid.as_str(),
        tunnels: &state.tunnels,
        members: &visibility.grants().downstream(&uid),
        cluster: &uid,
        verb: &query.verb,
        target: target.rule_target(&query.object),
        namespace: query.namespace.as_deref(),
    };
    let (others, unasked) = bindings.find(matches).await;
    through.extend(others.into_iter().map(|one| named(&visible, one)));
    let more = through.len() > MAX_BINDINGS;
    through.truncate(MAX_BINDINGS);
    Ok(axum::Json(Explanation {
        user: asked_about,
        resource: target.explained(),
        unresolved,
        through,
        more,
        unasked,
    }))
}

/// The resource or the path of the permission in the request.
enum Target {
    Path(String),
    Resource(Resource),
}

impl Target {
    fn rule_target<'a>(&'a self, object: &'a str) -> RuleTarget<'a> {
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

    fn explained(&self) -> Option<ExplainedResource> {
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

/// Maximum length of the parameter `resource`: a name, a version, a group and a subresource.
const MAX_RESOURCE: usize = 512;

/// Resolves the parameter `resource`. The second value contains the reason if the server did not
/// use the cluster's discovery.
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
        let problem = format!("must have at most {MAX_RESOURCE} characters");
        return Err(Status::invalid("resource", problem));
    }
    let user = caller.user_uid.as_str();
    let discovered = discover(&state.cluster_queries, user, &state.tunnels, cluster).await;
    let group = Some(query.group.as_str()).filter(|group| !group.is_empty());
    let (resolved, unresolved) = match discovered {
        Ok(kinds) => (resolve(&query.resource, group, Served::All(&kinds)), None),
        Err(reason) => {
            let kinds = built_in::kinds();
            let served = Served::BuiltIn(&kinds, &reason);
            (resolve(&query.resource, group, served), Some(reason))
        }
    };
    let resource = resolved.map_err(|error| Status::invalid("resource", error.to_string()))?;
    Ok((Target::Resource(resource), unresolved))
}

/// Returns the RBAC subject names of the user `name` and of the user's groups. `name` is not the
/// caller. The error is the same for a missing user and a user who is not visible to the caller.
fn names_of_other_user(
    state: &RestState,
    visibility: &Visibility,
    caller: &Identity,
    cluster: &Cluster,
    name: &str,
) -> Result<Vec<String>, Status> {
    let stores = state.hub.stores();
    // A caller who can bind roles can search all users by name, as with GET /v1/access/people.
    let scope = cluster_scope(cluster);
    let can_bind = visibility.may("create", "clusterroletemplatebindings", &scope);
    if can_bind && !visibility.may("list", "users", &Scope::Hub) {
        state.lookups.check(&caller.user_uid)?;
    }
    let names = names_of(stores, name);
    let uid = ClusterUid::new(cluster.uid().unwrap_or_default());
    let is_visible =
        || can_bind || VisibleUsers::new(visibility, stores, &uid, &[]).contains_any(&names);
    if names.is_empty() || !is_visible() {
        return Err(Status::not_found("User", name));
    }
    Ok(names)
}

/// Returns the RBAC subject names of a user and of the user's groups. Returns an empty list if the
/// user does not exist.
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

fn view(visible: &VisibleUsers<'_>, answer: &AllowingGrant<'_>) -> ThroughView {
    let grant = answer.grant;
    let (through, cluster_role) = match &answer.through {
        GrantThrough::Rule => (PermissionOrigin::Rule, None),
        GrantThrough::Known(name) => (PermissionOrigin::Known, Some(name.clone())),
        GrantThrough::Perhaps(name) => (PermissionOrigin::Perhaps, Some(name.clone())),
    };
    ThroughView {
        subject: grant.subject.to_string(),
        user: visible.name_of(grant.subject.as_str()),
        role: grant.role.name.clone(),
        binding_kind: grant.binding.kind.name().to_owned(),
        binding: grant.binding.name.clone(),
        through,
        cluster_role,
    }
}

fn named(visible: &VisibleUsers<'_>, view: ThroughView) -> ThroughView {
    ThroughView {
        user: visible.name_of(&view.subject),
        ..view
    }
}
