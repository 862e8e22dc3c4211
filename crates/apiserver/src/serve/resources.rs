//! Routes resource requests to the handlers of verbs.

use std::sync::Arc;

use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::access::ReviewKind;
use crate::resource::{Catalog, Origin, Scope};
use crate::serve::exchange::Exchange;
use crate::serve::input::negotiate::{Transforms, accepted, body_format};
use crate::serve::input::options::{DeleteOptions, ListOptions, WriteOptions, WriteVerb};
use crate::serve::input::request::ResourcePath;
use crate::serve::input::{body, incoming};
use crate::serve::read::selection::Selection;
use crate::serve::read::{list, watch};
use crate::serve::security::RequestSlot;
use crate::serve::shared::{Target, stored_schema, stored_version};
use crate::serve::write::commit::Outcome;
use crate::serve::write::create;
use crate::serve::write::delete::Delete;
use crate::serve::write::patch::{Patch, PatchKind};
use crate::serve::write::replace::{Replace, Source};
use crate::serve::{answer, paths, subresource, transform};
use crate::status::ApiError;

/// Routes an authorized request.
pub(crate) async fn route(
    exchange: &Arc<Exchange>,
    place: RequestSlot,
) -> Result<Response, ApiError> {
    let Some(path) = exchange.info.resource.clone() else {
        return paths::route(exchange).await;
    };
    let catalog = exchange.shared.catalog.load_full();
    let Some(target) = target(&catalog, exchange, &path) else {
        return Ok(unknown(&catalog, &path));
    };
    if !path.subresource.is_empty() {
        return subresource::route(exchange, &target, &path).await;
    }
    check_verb(exchange, &target)?;
    if exchange.shared.answered.contains(&target.group_resource()) {
        return subresource::forward(exchange, &target, &path).await;
    }
    if let Some(kind) = ReviewKind::of_resource(target.group(), &target.resource.plural) {
        return subresource::review(exchange, &target, kind).await;
    }
    if target.is("", "endpoints") {
        exchange
            .warn("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice");
    }
    match exchange.info.verb.as_ref() {
        "get" => list::get(exchange, &target).await,
        "list" => list::list(exchange, &target, &ListOptions::of(&exchange.query)?).await,
        "watch" => watch_route(exchange, &target, place).await,
        "create" if target.is("", "bindings") => {
            let pods = catalog.find("", "v1", "pods");
            let pods = pods.ok_or_else(ApiError::unknown_path)?;
            let pods = Target {
                resource: Arc::clone(pods),
                ..target
            };
            subresource::pods::bind_named(exchange, pods).await
        }
        "create" => create_route(exchange, &target).await,
        "update" => update_route(exchange, &target).await,
        "patch" => patch_route(exchange, &target).await,
        "delete" => delete_route(exchange, &target).await,
        "deletecollection" => delete_collection(exchange, &target).await,
        _ => Err(ApiError::method_not_allowed()),
    }
}

/// Returns the target of a path, or `None` if the path does not match the scope of the resource.
fn target(catalog: &Catalog, exchange: &Exchange, path: &ResourcePath) -> Option<Target> {
    let resource = catalog.find(&path.group, &path.version, &path.resource)?;
    let is_namespaces = path.group.is_empty() && path.resource == "namespaces";
    // The name in a request for a collection comes from the field selector, which is evaluated
    // later.
    let of_collection = matches!(exchange.info.verb.as_ref(), "list" | "watch");
    let name = if of_collection {
        ""
    } else {
        path.name.as_str()
    };
    let namespace = match resource.scope {
        Scope::Cluster if path.namespace.is_empty() => "",
        // A Namespace object belongs to itself, so that permissions in one namespace cover that
        // Namespace object only.
        Scope::Cluster if is_namespaces && path.namespace == path.name => "",
        Scope::Cluster => return None,
        Scope::Namespaced if path.namespace.is_empty() && !name.is_empty() => return None,
        Scope::Namespaced => path.namespace.as_str(),
    };
    Some(Target {
        resource: Arc::clone(resource),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        subresource: path.subresource.clone(),
        stored_version: stored_version(catalog, resource),
        stored_schema: stored_schema(catalog, resource),
    })
}

/// Returns the 404 response. In built-in groups and versions, the response is a Status. In other
/// groups and versions, the response is plain text.
pub(crate) fn unknown(catalog: &Catalog, path: &ResourcePath) -> Response {
    let served = catalog.iter().any(|resource| {
        resource.origin == Origin::BuiltIn
            && resource.group_version.group == path.group
            && (resource.group_version.version == path.version || !path.group.is_empty())
    });
    if served {
        answer::status(&ApiError::unknown_path())
    } else {
        answer::page_not_found()
    }
}

/// Rejects verbs that the resource does not support.
fn check_verb(exchange: &Exchange, target: &Target) -> Result<(), ApiError> {
    let verb = exchange.info.verb.as_ref();
    let resource = &target.resource;
    let everywhere = resource.scope == Scope::Namespaced && target.namespace.is_empty();
    let of_one = matches!(verb, "get" | "update" | "patch" | "delete");
    let fits = resource.verbs.contains(&verb)
        && (!everywhere || matches!(verb, "list" | "watch"))
        && of_one != target.name.is_empty()
        && exchange.method != Method::HEAD;
    if fits {
        return Ok(());
    }
    Err(match resource.origin {
        Origin::BuiltIn => ApiError::method_not_allowed(),
        Origin::Custom if everywhere => ApiError::unknown_path(),
        Origin::Custom => ApiError::verb_not_supported(target.group(), &resource.plural, verb),
    })
}

async fn watch_route(
    exchange: &Arc<Exchange>,
    target: &Target,
    place: RequestSlot,
) -> Result<Response, ApiError> {
    let options = ListOptions::of(&exchange.query)?;
    let RequestSlot::Watching(_until_it_streams, slot) = place else {
        return Err(ApiError::internal(
            "cannot start the watch: the request is not registered with the limit of concurrent \
             watches",
        ));
    };
    watch::watch(exchange, target, &options, slot).await
}

async fn create_route(exchange: &Exchange, target: &Target) -> Result<Response, ApiError> {
    let accepted = accepted(&exchange.headers, Transforms::Allowed)?;
    body_format(&exchange.headers, target.resource.origin)?;
    let options = WriteOptions::of(WriteVerb::Create, &exchange.query, &exchange.headers)?;
    let object = incoming::read(exchange, &target.resource, options.validation).await?;
    let object = create::create(exchange, target, &options, object).await?;
    transform::answer_object(exchange, target, StatusCode::CREATED, accepted, object).await
}

/// Responds to an update of an object or subresource.
pub(crate) async fn update_route(
    exchange: &Exchange,
    target: &Target,
) -> Result<Response, ApiError> {
    let accepted = accepted(&exchange.headers, Transforms::Allowed)?;
    let options = WriteOptions::of(WriteVerb::Update, &exchange.query, &exchange.headers)?;
    let object = incoming::read(exchange, &target.resource, options.validation).await?;
    let replace = Replace {
        exchange,
        target,
        options: &options,
        source: Source::Object(object),
    };
    let written = replace.run().await?;
    let code = code_of(written.outcome);
    transform::answer_object(exchange, target, code, accepted, written.object).await
}

/// Responds to a patch of an object or subresource.
pub(crate) async fn patch_route(
    exchange: &Exchange,
    target: &Target,
) -> Result<Response, ApiError> {
    let kind = PatchKind::of(exchange, &target.resource)?;
    let accepted = accepted(&exchange.headers, Transforms::Allowed)?;
    let bytes = exchange.body().await?;
    let options = WriteOptions::of(kind.verb(), &exchange.query, &exchange.headers)?;
    let replace = Replace {
        exchange,
        target,
        options: &options,
        source: Source::Patch(Patch::decode(kind, &bytes)?),
    };
    let written = replace.run().await?;
    let code = code_of(written.outcome);
    transform::answer_object(exchange, target, code, accepted, written.object).await
}

fn code_of(outcome: Outcome) -> StatusCode {
    match outcome {
        Outcome::Created => StatusCode::CREATED,
        Outcome::Updated | Outcome::Removed | Outcome::Unchanged | Outcome::Kept => StatusCode::OK,
    }
}

/// Reads the delete options from the body or the query.
async fn delete_options(exchange: &Exchange) -> Result<DeleteOptions, ApiError> {
    let bytes = exchange.body().await?;
    if bytes.is_empty() {
        return DeleteOptions::of(&exchange.query, None);
    }
    let format = body_format(&exchange.headers, Origin::BuiltIn)?;
    let decoded = body::decode(format, &bytes).map_err(|reason| {
        ApiError::bad_request(format!(
            "couldn't get version/kind; json parse error: {reason}"
        ))
    })?;
    DeleteOptions::of(&exchange.query, Some(&decoded.value))
}

async fn delete_route(exchange: &Exchange, target: &Target) -> Result<Response, ApiError> {
    let accepted = accepted(&exchange.headers, Transforms::Allowed)?;
    let options = delete_options(exchange).await?;
    let delete = Delete {
        exchange,
        target,
        options: &options,
    };
    let deleted = delete.run().await?;
    let silent = options.propagation.is_none() && options.orphan_dependents.is_none();
    if target.is("batch", "jobs") && silent {
        exchange.warn(
            "child pods are preserved by default when jobs are deleted; set \
             propagationPolicy=Background to remove them or set propagationPolicy=Orphan to \
             suppress this warning",
        );
    }
    // Only clients with the deprecated option receive 202.
    let code = match (deleted.gone, options.orphan_dependents) {
        (false, Some(false)) => StatusCode::ACCEPTED,
        _ => StatusCode::OK,
    };
    transform::answer_object(exchange, target, code, accepted, deleted.object).await
}

async fn delete_collection(exchange: &Exchange, target: &Target) -> Result<Response, ApiError> {
    let accepted = accepted(&exchange.headers, Transforms::Allowed)?;
    let list = ListOptions::of(&exchange.query)?;
    let selection = Selection::of(target, &list)?;
    let options = delete_options(exchange).await?;
    let found = list::find(exchange, &selection, &list).await?;
    let mut objects = Vec::with_capacity(found.items.len());
    for stored in &found.items {
        let object = target.show(stored)?;
        let one = Target {
            namespace: crate::serve::metadata::text(&object, "namespace").to_owned(),
            name: crate::serve::metadata::name(&object).to_owned(),
            ..target.clone()
        };
        let delete = Delete {
            exchange,
            target: &one,
            options: &options,
        };
        match delete.run().await {
            Err(error) if error.reason == "NotFound" => {}
            outcome => drop(outcome?),
        }
        let mut object = object;
        if target.resource.origin == Origin::BuiltIn
            && let Some(fields) = object.as_object_mut()
        {
            // Items of built-in lists have no kind and version.
            fields.retain(|name, _| !matches!(name.as_str(), "apiVersion" | "kind"));
        }
        objects.push(object);
    }
    let meta = transform::ListMeta {
        revision: found.revision,
        continue_token: found.continue_token.as_deref(),
        remaining: found.remaining,
    };
    let list: Value = json!({
        "kind": target.resource.list_kind,
        "apiVersion": target.resource.group_version.to_string(),
        "metadata": meta.to_value(target.resource.origin), "items": objects,
    });
    Ok(answer::value(StatusCode::OK, accepted.format, &list))
}
