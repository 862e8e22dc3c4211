//! Roles that people can be given; who writes them does so on the hub, the cluster `local`.

use axum::extract::State;
use drover_access::roles::BUILT_IN_LABEL;
use drover_api::kinds::RoleTemplate;
use drover_api::rest::{List, RoleView};
use kube::ResourceExt;

use super::RestState;
use super::body::Query;
use super::caller::Caller;
use super::page::PageQuery;
use crate::status::Status;

fn view(role: &RoleTemplate) -> RoleView {
    RoleView {
        name: role.name_any(),
        display_name: role.spec.display_name.clone(),
        description: role.spec.description.clone(),
        context: role.spec.context,
        built_in: role.labels().contains_key(BUILT_IN_LABEL),
        locked: role.spec.locked,
    }
}

/// Roles in clusters and projects: what they are called and are for.
#[utoipa::path(get, path = "/v1/roles", tag = "access", params(PageQuery),
    responses((status = 200, body = List<RoleView>)))]
pub(super) async fn list(
    State(state): State<RestState>,
    _caller: Caller,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<List<RoleView>>, Status> {
    query
        .of(&state.hub.stores().role_templates, |_| true, view)
        .map(axum::Json)
}
