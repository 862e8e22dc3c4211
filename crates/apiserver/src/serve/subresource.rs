//! Handlers of subresources (status, scale, token, eviction, binding, finalize), and of reviews,
//! which are never stored.

use std::sync::Arc;

use axum::response::Response;
use http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::access::{
    Attributes, Operation, Review, ReviewKind, Reviews, Target as AccessTarget, issue_requested,
};
use crate::builtin;
use crate::merge::{self, MergeKind, UpdateOptions};
use crate::resource::Origin;
use crate::schema::Node;
use crate::serve::exchange::Exchange;
use crate::serve::input::incoming;
use crate::serve::input::negotiate::{Accepted, Transforms, accepted, body_format};
use crate::serve::input::options::{DryRun, WriteOptions, WriteVerb};
use crate::serve::input::request::ResourcePath;
use crate::serve::limits::heavy::WorkCost;
use crate::serve::read::list;
use crate::serve::resources::{patch_route, update_route};
use crate::serve::shared::{Target, object_at};
use crate::serve::write::create;
use crate::serve::{answer, metadata};
use crate::status::ApiError;

pub(crate) mod pods;
mod scale;

/// Subresources of running pods. The server reads the pod, and then passes the request to the
/// embedding program.
const OF_A_POD: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];

/// Routes a request to the handler of its subresource.
pub(crate) async fn route(
    exchange: &Arc<Exchange>,
    target: &Target,
    path: &ResourcePath,
) -> Result<Response, ApiError> {
    let resource = &target.resource;
    let core = target.group().is_empty();
    let verb = exchange.info.verb.as_ref();
    // Writes of these subresources change parts of the object.
    let is_part = match path.subresource.as_str() {
        "status" => resource.status,
        "ephemeralcontainers" | "resize" => core && resource.plural == "pods",
        "approval" => target.is("certificates.k8s.io", "certificatesigningrequests"),
        _ => false,
    };
    if path.rest.is_empty() && exchange.method != Method::HEAD {
        match (resource.plural.as_str(), path.subresource.as_str(), verb) {
            (_, _, "get") if is_part => return list::get(exchange, target).await,
            (_, "approval", "update" | "patch") if is_part => {
                check_signer(exchange, target).await?;
                return match verb {
                    "patch" => patch_route(exchange, target).await,
                    _ => update_route(exchange, target).await,
                };
            }
            (_, _, "update") if is_part => return update_route(exchange, target).await,
            (_, _, "patch") if is_part => return patch_route(exchange, target).await,
            (_, "scale", "get" | "update" | "patch") if resource.scale.is_some() => {
                return scale::answer(exchange, target, verb).await;
            }
            ("namespaces", "finalize", "update") if core => {
                return update_route(exchange, target).await;
            }
            ("serviceaccounts", "token", "create") if core => return token(exchange, target).await,
            ("pods", "eviction", "create") if core => return pods::evict(exchange, target).await,
            ("pods", "binding", "create") if core => return pods::bind(exchange, target).await,
            _ => {}
        }
    }
    forward(exchange, target, path).await
}

/// Checks that the caller has the verb `approve` for the signer of a CertificateSigningRequest
/// (admission plugin `CertificateApproval`). RBAC rules contain the full name of the signer, or its
/// domain.
async fn check_signer(exchange: &Exchange, target: &Target) -> Result<(), ApiError> {
    let request = object_at(&exchange.shared.store, &target.key()).await?;
    let request = request.ok_or_else(|| target.not_found())?;
    let signer = request["spec"]["signerName"].as_str().unwrap_or_default();
    let domain = signer.split('/').next().unwrap_or_default();
    let may = |name: &str| {
        let attributes = Attributes {
            caller: &exchange.caller,
            verb: "approve",
            target: AccessTarget::Resource {
                group: target.group(),
                version: "*",
                resource: "signers",
                subresource: "",
                namespace: "",
                name,
            },
        };
        exchange.shared.authorizer.authorize(&attributes).allowed
    };
    if may(signer) || may(&format!("{domain}/*")) {
        return Ok(());
    }
    Err(target.forbidden(format!(
        "user not permitted to approve requests with signerName {signer:?}"
    )))
}

/// Runs admission for an operation on a subresource.
async fn admit(
    exchange: &Exchange,
    target: &Target,
    operation: Operation,
    object: Option<&Value>,
    dry_run: DryRun,
) -> Result<(), ApiError> {
    let review = Review {
        caller: &exchange.caller,
        operation,
        resource: &target.resource,
        subresource: &target.subresource,
        namespace: &target.namespace,
        name: &target.name,
        object,
        old: None,
        dry_run: dry_run.is_on(),
    };
    exchange.shared.admission.admit(review).await
}

/// Forwards a request to the embedding program. Returns 404 if the program does not implement the
/// path.
pub(crate) async fn forward(
    exchange: &Arc<Exchange>,
    target: &Target,
    path: &ResourcePath,
) -> Result<Response, ApiError> {
    if let Some(connect) = &exchange.shared.connect
        && let Some(answer) = connect
            .connect(&exchange.caller, path, exchange.request())
            .await
    {
        return answer;
    }
    if target.is("", "pods")
        && OF_A_POD.contains(&path.subresource.as_str())
        && object_at(&exchange.shared.store, &target.key())
            .await?
            .is_none()
    {
        return Err(target.not_found());
    }
    let known = match path.subresource.as_str() {
        "status" => target.resource.status,
        "scale" => target.resource.scale.is_some(),
        _ => false,
    };
    Err(match (target.resource.origin, known) {
        (Origin::BuiltIn, true) => ApiError::method_not_allowed(),
        (Origin::BuiltIn, false) => ApiError::unknown_path(),
        (Origin::Custom, true) => ApiError::verb_not_supported(
            target.group(),
            &target.resource.plural,
            &exchange.info.verb,
        ),
        (Origin::Custom, false) => target.not_found(),
    })
}

/// Responds to a review request.
pub(crate) async fn review(
    exchange: &Exchange,
    target: &Target,
    kind: ReviewKind,
) -> Result<Response, ApiError> {
    let accepted = accepted(&exchange.headers, Transforms::None)?;
    let options = WriteOptions::of(WriteVerb::Create, &exchange.query, &exchange.headers)?;
    let mut request = incoming::read(exchange, &target.resource, options.validation).await?;
    let weight = WorkCost::of_values(&target.resource, &[&request]);
    let work = || create::track(exchange, target, &options, None, &mut request);
    exchange.shared.heavy.run(weight, work).await;
    let shared = &exchange.shared;
    let reviews = Reviews {
        authorizer: shared.authorizer.as_ref(),
        authenticator: shared.authenticator.as_ref(),
        audiences: &shared.tokens.options().audiences,
        now: Timestamp::now(),
    };
    let answered = reviews
        .answer(kind, &exchange.caller, &target.namespace, &request)
        .await?;
    Ok(created(accepted, &answered))
}

async fn token(exchange: &Exchange, target: &Target) -> Result<Response, ApiError> {
    let accepted = accepted(&exchange.headers, Transforms::None)?;
    let format = body_format(&exchange.headers, Origin::BuiltIn)?;
    let bytes = exchange.body().await?;
    let mut request = incoming::decode(format, &bytes, "TokenRequest")?.value;
    let options = WriteOptions::of(WriteVerb::Create, &exchange.query, &exchange.headers)?;
    let weight = WorkCost::of_bytes(bytes.len());
    let work = || add_managed_fields(&options, &mut request);
    exchange.shared.heavy.run(weight, work).await?;
    let requested = Some(&request);
    admit(
        exchange,
        target,
        Operation::Create,
        requested,
        options.dry_run,
    )
    .await?;
    let (namespace, name) = (&target.namespace, &target.name);
    let issued = issue_requested(&exchange.shared.tokens, namespace, name, &request).await?;
    for warning in issued.warnings {
        exchange.warn(warning);
    }
    let mut object = issued.object;
    object["kind"] = "TokenRequest".into();
    object["apiVersion"] = "authentication.k8s.io/v1".into();
    metadata::set(&mut object, "name", name.as_str());
    metadata::set(&mut object, "namespace", namespace.as_str());
    metadata::set(&mut object, "creationTimestamp", metadata::now());
    Ok(created(accepted, &object))
}

/// Default lifetime of a requested token, in seconds.
const TOKEN_SECONDS: u32 = 3_600;

/// Adds managed fields to a token request in the same manner as to stored objects.
fn add_managed_fields(options: &WriteOptions, request: &mut Value) -> Result<(), ApiError> {
    let (group, version, kind) = ("authentication.k8s.io", "v1", "TokenRequest");
    let api_version = format!("{group}/{version}");
    let mut owned = request.clone();
    let schema = decode_as(group, version, kind, &mut owned)?;
    owned["apiVersion"] = api_version.as_str().into();
    owned["kind"] = kind.into();
    if owned["spec"].is_null() {
        owned["spec"] = Value::Object(Map::new());
    }
    if owned["spec"]["expirationSeconds"].is_null() {
        owned["spec"]["expirationSeconds"] = TOKEN_SECONDS.into();
    }
    schema.encode(&mut owned);
    let of = MergeKind::of_schema(&api_version, kind, schema, "token");
    let by = UpdateOptions {
        manager: &options.manager,
        now: Timestamp::now(),
    };
    merge::update(None, &mut owned, &of, by);
    if let Some(managers) = metadata::remove(&mut owned, "managedFields") {
        metadata::set(request, "managedFields", managers);
    }
    Ok(())
}

fn created(accepted: Accepted, object: &Value) -> Response {
    answer::value(StatusCode::CREATED, accepted.format, object)
}

/// Decodes a value as an object of the kind `kind`, and returns the schema of this kind.
fn decode_as(
    group: &str,
    version: &str,
    kind: &str,
    value: &mut Value,
) -> Result<Arc<Node>, ApiError> {
    let schema = builtin::kind(group, version, kind)
        .ok_or_else(|| ApiError::internal(format!("cannot find the schema of {kind}")))?;
    schema.decode(value).map_err(|error| {
        ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {error}"
        ))
    })?;
    Ok(schema)
}

/// Reads a request body of a kind other than the kind of the target.
pub(super) async fn read_kind(exchange: &Exchange, kind: &str) -> Result<Value, ApiError> {
    let format = body_format(&exchange.headers, Origin::BuiltIn)?;
    let bytes = exchange.body().await?;
    Ok(incoming::decode(format, &bytes, kind)?.value)
}
