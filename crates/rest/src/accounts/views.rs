//! Routes for saved views: named pages of the web UI with their filters.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::State;
use drover_access::admission::check_view_name;
use drover_access::identity::Identity;
use drover_api::ids::{ProjectUid, UserUid};
use drover_api::kinds::{MAX_VIEWS, SavedView, SavedViewSpec, ViewProject, ViewSharing};
use drover_api::rest::{List, ViewUpdate, ViewView};
use drover_api::view_path;
use http::StatusCode;
use kube::{Resource as _, ResourceExt as _};

use crate::RestState;
use crate::authorized_writes::AuthorizedWriter;
use crate::page::PageQuery;
use drover_audit::AuditNotes;
use drover_http_edge::body::{Json, Name, Query};
use drover_http_edge::status::Status;
use drover_hub::Stores;
use drover_hub::visibility::{Visibility, created_at};
use drover_identity::caller::Caller;

/// The maximum number of creations with different names. A name can be in use on the hub and not yet
/// in the store.
const MAX_ATTEMPTS: usize = 3;

fn view(caller: &Identity, view: &SavedView) -> ViewView {
    ViewView {
        id: view.uid().unwrap_or_default(),
        name: view.spec.display_name.clone(),
        path: view.spec.path.clone(),
        shared: view.spec.shared,
        project: view.spec.project.as_ref().map(|it| it.name.clone()),
        owner: view.spec.user_name.clone(),
        own: view.spec.user_uid == caller.user_uid,
        created_at: created_at(view),
    }
}

/// Lists the caller's saved views, the views that are shared with everyone, and the views that are
/// shared with the caller's projects.
#[utoipa::path(get, path = "/v1/views", tag = "views", params(PageQuery),
    responses((status = 200, body = List<ViewView>)))]
pub(crate) async fn list(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<List<ViewView>>, Status> {
    let stores = state.hub.stores();
    let visibility = Visibility::of(stores, &caller);
    let visible = |view: &SavedView| is_visible(stores, &visibility, &caller, view);
    query
        .of(&stores.saved_views, visible, |it| view(&caller, it))
        .map(axum::Json)
}

/// Saves a view of the caller.
#[utoipa::path(post, path = "/v1/views", tag = "views", request_body = ViewUpdate,
    responses((status = 201, body = ViewView)))]
pub(crate) async fn create(
    State(state): State<RestState>,
    Caller(caller): Caller,
    noted: AuditNotes,
    Json(request): Json<ViewUpdate>,
) -> Result<(StatusCode, axum::Json<ViewView>), Status> {
    let stores = state.hub.stores();
    let user = stores.users.by_uid(caller.user_uid.as_str());
    let user = user.ok_or_else(|| Status::not_found("User", &caller.user_name))?;
    let spec = spec(&state, &caller, request)?;
    let mut object = SavedView::new("", spec);
    object.metadata.owner_references = user.owner_ref(&()).map(|owner| vec![owner]);
    let writer = AuthorizedWriter::<SavedView>::new(&state.hub, &caller);
    let mut tried = HashSet::new();
    loop {
        let is_taken =
            |name: &str| tried.contains(name) || stores.saved_views.by_name(name).is_some();
        let name = free_name(&caller.user_uid, is_taken).ok_or_else(too_many)?;
        object.metadata.name = Some(name.clone());
        match writer.create(&object, &object).await {
            Err(status) if is_taken_on_hub(&status) && tried.len() + 1 < MAX_ATTEMPTS => {
                tried.insert(name);
            }
            Err(status) => return Err(status),
            Ok(created) => {
                noted.about(&name);
                return Ok((StatusCode::CREATED, axum::Json(view(&caller, &created))));
            }
        }
    }
}

/// Changes a view of the caller.
#[utoipa::path(put, path = "/v1/views/{id}", tag = "views", request_body = ViewUpdate,
    params(("id" = String, Path, description = "The view's ID")),
    responses((status = 200, body = ViewView)))]
pub(crate) async fn update(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(id): Name,
    Json(request): Json<ViewUpdate>,
) -> Result<axum::Json<ViewView>, Status> {
    let old = own_view(&state, &caller, &id)?;
    let mut changed = SavedView::clone(&old);
    changed.spec = spec(&state, &caller, request)?;
    let writer = AuthorizedWriter::<SavedView>::new(&state.hub, &caller);
    let written = writer.replace(&old, &changed).await?;
    Ok(axum::Json(view(&caller, &written)))
}

/// Deletes a view of the caller.
#[utoipa::path(delete, path = "/v1/views/{id}", tag = "views",
    params(("id" = String, Path, description = "The view's ID")),
    responses((status = 204)))]
pub(crate) async fn delete(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(id): Name,
) -> Result<StatusCode, Status> {
    let view = own_view(&state, &caller, &id)?;
    let writer = AuthorizedWriter::<SavedView>::new(&state.hub, &caller);
    writer.delete(&view).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn too_many() -> Status {
    Status::conflict(format!(
        "you have {MAX_VIEWS} saved views, which is the maximum: delete a view and try again"
    ))
}

fn is_taken_on_hub(status: &Status) -> bool {
    status.code() == StatusCode::CONFLICT
}

/// Returns the first name for a view of the user that is not in use. Returns `None` if the user has
/// the maximum number of views: the schema of the kind allows no other names.
fn free_name(owner: &UserUid, is_taken: impl Fn(&str) -> bool) -> Option<String> {
    let mut names = (0..MAX_VIEWS).map(|number| format!("{owner}-{number}"));
    names.find(|name| !is_taken(name))
}

/// Reports whether the caller can see a view. The views of a deleted user are invisible until
/// Kubernetes deletes the views.
fn is_visible(
    stores: &Stores,
    visibility: &Visibility,
    caller: &Identity,
    view: &SavedView,
) -> bool {
    let spec = &view.spec;
    let is_own = spec.user_uid == caller.user_uid;
    let is_shared = match (spec.shared, &spec.project) {
        (ViewSharing::Private, _) | (ViewSharing::Project, None) => false,
        (ViewSharing::Everyone, _) => true,
        (ViewSharing::Project, Some(project)) => stores
            .projects
            .by_uid(project.uid.as_str())
            .is_some_and(|project| visibility.is_member(&project)),
    };
    is_own || is_shared && stores.users.by_uid(spec.user_uid.as_str()).is_some()
}

/// Returns the caller's view with this ID. Returns status 404 for a view that the caller cannot see,
/// so that the response does not reveal whether the view exists.
fn own_view(state: &RestState, caller: &Identity, id: &str) -> Result<Arc<SavedView>, Status> {
    let stores = state.hub.stores();
    let visibility = Visibility::of(stores, caller);
    let view = stores.saved_views.by_uid(id);
    let view = view
        .filter(|view| is_visible(stores, &visibility, caller, view))
        .ok_or_else(|| Status::not_found("SavedView", id))?;
    if view.spec.user_uid == caller.user_uid {
        return Ok(view);
    }
    Err(Status::forbidden(format!(
        "only {owner:?} can change or delete this view: save a view of your own",
        owner = view.spec.user_name
    )))
}

/// Checks the content of a view, and returns the spec of the caller's view.
fn spec(
    state: &RestState,
    caller: &Identity,
    request: ViewUpdate,
) -> Result<SavedViewSpec, Status> {
    check_view_name(&request.name).map_err(|reason| Status::invalid("name", reason))?;
    view_path::check(&request.path)
        .map_err(|reason| Status::invalid("path", reason.to_string()))?;
    let is_for_project = request.shared == ViewSharing::Project;
    if is_for_project != request.project.is_some() {
        return Err(Status::invalid(
            "project",
            "must be the name of a project if shared is Project, and absent otherwise",
        ));
    }
    let visibility = Visibility::of(state.hub.stores(), caller);
    let project = request.project.map(|name| {
        let project = visibility.project(&name)?;
        let uid = ProjectUid::new(project.uid().unwrap_or_default());
        Ok::<_, Status>(ViewProject { name, uid })
    });
    Ok(SavedViewSpec {
        user_name: caller.user_name.clone(),
        user_uid: caller.user_uid.clone(),
        display_name: request.name,
        path: request.path,
        shared: request.shared,
        project: project.transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_with_the_maximum_number_of_views_gets_no_further_name() {
        let owner = UserUid::new("u");
        assert_eq!(free_name(&owner, |_| false).as_deref(), Some("u-0"));
        let taken = |name: &str| !["u-7", "u-9"].contains(&name);
        assert_eq!(free_name(&owner, taken).as_deref(), Some("u-7"));
        assert_eq!(
            free_name(&owner, |name| name != "u-99").as_deref(),
            Some("u-99")
        );
        assert_eq!(free_name(&owner, |name| name != "u-100"), None);
    }
}
