//! Handlers of pod eviction and binding.

use axum::response::Response;
use futures::future::BoxFuture;
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{decode_as, read_kind};
use crate::access::Operation;
use crate::builtin;
use crate::schema::Path;
use crate::schema::findings::Findings;
use crate::serve::answer;
use crate::serve::exchange::Exchange;
use crate::serve::input::negotiate::{Accepted, Transforms, accepted};
use crate::serve::input::options::{DeleteOptions, DryRun, WriteOptions, WriteVerb};
use crate::serve::input::query::Query;
use crate::serve::metadata;
use crate::serve::shared::Target;
use crate::serve::write::commit::{self, Edit, Live, Next};
use crate::serve::write::delete::{Delete, check_preconditions};
use crate::status::ApiError;

/// Deletes the pod. The server does not enforce disruption budgets.
pub(super) async fn evict(exchange: &Exchange, target: &Target) -> Result<Response, ApiError> {
    let accepted = accepted(&exchange.headers, Transforms::None)?;
    let options = WriteOptions::of(WriteVerb::Create, &exchange.query, &exchange.headers)?;
    let eviction = read_kind(exchange, "Eviction").await?;
    if metadata::name(&eviction) != target.name {
        return Err(ApiError::bad_request(
            "name in URL does not match name in Eviction object",
        ));
    }
    let wished = match &eviction["deleteOptions"] {
        Value::Null => json!({}),
        wished => wished.clone(),
    };
    let mut delete = DeleteOptions::of(&Query::default(), Some(&wished))?;
    if !delete.is_dry_run() {
        delete.dry_run = Some(options.dry_run);
    }
    let dry_run = delete.dry_run.unwrap_or(DryRun::No);
    let body = Some(&eviction);
    super::admit(exchange, target, Operation::Create, body, dry_run).await?;
    let pod = Target {
        subresource: String::new(),
        ..target.clone()
    };
    let disrupt = Disrupt {
        target: &pod,
        options: &delete,
    };
    let noted = commit::run(&exchange.shared.store, &pod, dry_run, &disrupt).await?;
    if delete.resource_version.is_some() && !dry_run.is_on() {
        // The precondition was met; the condition update has changed the version since.
        delete.resource_version = Some(metadata::resource_version(&noted.object).to_owned());
    }
    let delete = Delete {
        exchange,
        target: &pod,
        options: &delete,
    };
    delete.run().await?;
    Ok(success(accepted))
}

/// Adds the condition DisruptionTarget, so that a Job can distinguish an eviction from a failure.
struct Disrupt<'t> {
    target: &'t Target,
    options: &'t DeleteOptions,
}

impl Edit for Disrupt<'_> {
    fn next<'a>(&'a self, live: Option<&'a Live>) -> BoxFuture<'a, Result<Next, ApiError>> {
        let found = live.ok_or_else(|| self.target.not_found());
        let next = found.and_then(|live| {
            check_preconditions(self.options, self.target, &live.object)?;
            let mut pod = live.object.clone();
            let condition = json!({
                "type": "DisruptionTarget", "status": "True", "lastProbeTime": null,
                "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
                "lastTransitionTime": metadata::now(),
            });
            set_condition(&mut pod, condition);
            Ok(Next::Put(pod))
        });
        Box::pin(std::future::ready(next))
    }
}

/// Binds a pod to a node. The Binding in the request body contains the name of the pod. `pods` is
/// the resource `pods`.
pub(crate) async fn bind_named(exchange: &Exchange, pods: Target) -> Result<Response, ApiError> {
    let binding = read_binding(exchange).await?;
    let pod = Target {
        name: metadata::name(&binding).to_owned(),
        subresource: "binding".to_owned(),
        ..pods
    };
    place(exchange, &pod, &binding).await
}

/// Binds the pod to a node.
pub(super) async fn bind(exchange: &Exchange, target: &Target) -> Result<Response, ApiError> {
    let binding = read_binding(exchange).await?;
    place(exchange, target, &binding).await
}

/// Reads a Binding. The labels and annotations of the Binding must be valid for a pod.
async fn read_binding(exchange: &Exchange) -> Result<Value, ApiError> {
    let mut binding = read_kind(exchange, "Binding").await?;
    decode_as("", "v1", "Binding", &mut binding)?;
    let mut found = Findings::default();
    let at = Path::new("metadata");
    let texts = |field: &str| binding["metadata"][field].as_object();
    builtin::metadata::labels(texts("labels"), &at.child("labels"), &mut found);
    builtin::metadata::annotations(texts("annotations"), &at.child("annotations"), &mut found);
    if found.0.is_empty() {
        return Ok(binding);
    }
    let name = metadata::name(&binding);
    Err(ApiError::invalid("", "Binding", name, &found.0))
}

async fn place(
    exchange: &Exchange,
    target: &Target,
    binding: &Value,
) -> Result<Response, ApiError> {
    let accepted = accepted(&exchange.headers, Transforms::None)?;
    let options = WriteOptions::of(WriteVerb::Create, &exchange.query, &exchange.headers)?;
    let name = metadata::name(binding);
    if !name.is_empty() && name != target.name {
        return Err(ApiError::bad_request(
            "name in URL does not match name in Binding object",
        ));
    }
    let node = binding["target"]["name"].as_str().unwrap_or_default();
    if node.is_empty() {
        return Err(ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "",
            "target.name: Required value",
        ));
    }
    let body = Some(binding);
    super::admit(exchange, target, Operation::Create, body, options.dry_run).await?;
    let edit = Bind {
        target,
        node,
        binding,
    };
    commit::run(&exchange.shared.store, target, options.dry_run, &edit).await?;
    Ok(success(accepted))
}

struct Bind<'b> {
    target: &'b Target,
    node: &'b str,
    binding: &'b Value,
}

impl Bind<'_> {
    fn placed(&self, live: &Value) -> Result<Value, ApiError> {
        let name = &self.target.name;
        let conflict = |reason: String| ApiError::conflict("", "pods/binding", name, reason);
        if metadata::is_deleting(live) {
            return Err(conflict(format!(
                "pod {name} is being deleted, cannot be assigned to a host"
            )));
        }
        if let Some(node) = live["spec"]["nodeName"]
            .as_str()
            .filter(|node| !node.is_empty())
        {
            return Err(conflict(format!(
                "pod {name} is already assigned to node {node:?}"
            )));
        }
        let gated = live["spec"]["schedulingGates"].as_array();
        if gated.is_some_and(|gates| !gates.is_empty()) {
            return Err(conflict(format!(
                "pod {name} has non-empty .spec.schedulingGates"
            )));
        }
        let mut pod = live.clone();
        pod["spec"]["nodeName"] = self.node.into();
        self.add_texts(&mut pod, "annotations");
        self.add_texts(&mut pod, "labels");
        set_scheduled(&mut pod);
        Ok(pod)
    }

    fn add_texts(&self, pod: &mut Value, field: &str) {
        let Some(more) = self.binding["metadata"][field].as_object() else {
            return;
        };
        let texts = metadata::of(pod)
            .entry(field)
            .or_insert_with(|| Value::Object(Map::new()));
        if let Some(texts) = texts.as_object_mut() {
            texts.extend(more.clone());
        }
    }

    fn next(&self, live: Option<&Live>) -> Result<Next, ApiError> {
        let live = live.ok_or_else(|| self.target.not_found())?;
        let requested = metadata::uid(self.binding);
        if !requested.is_empty() && requested != metadata::uid(&live.object) {
            return Err(self.target.conflict("the pod's UID is another one"));
        }
        let mut pod = self.placed(&live.object)?;
        let generation = metadata::integer(&live.object, "generation").unwrap_or(0);
        if generation > 0 {
            metadata::set(&mut pod, "generation", generation + 1);
        }
        Ok(Next::Put(pod))
    }
}

impl Edit for Bind<'_> {
    fn next<'a>(&'a self, live: Option<&'a Live>) -> BoxFuture<'a, Result<Next, ApiError>> {
        Box::pin(std::future::ready(self.next(live)))
    }
}

/// Sets the condition `PodScheduled` of a pod.
fn set_scheduled(pod: &mut Value) {
    let condition = json!({
        "type": "PodScheduled", "status": "True", "lastProbeTime": null,
        "lastTransitionTime": metadata::now(),
    });
    set_condition(pod, condition);
}

/// Sets a condition of a pod. Replaces a condition of the same type.
fn set_condition(pod: &mut Value, condition: Value) {
    let conditions = &mut pod["status"]["conditions"];
    match conditions.as_array_mut() {
        Some(all) => {
            all.retain(|one| one["type"] != condition["type"]);
            all.push(condition);
        }
        None => *conditions = json!([condition]),
    }
}

fn success(accepted: Accepted) -> Response {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
    });
    answer::value(StatusCode::CREATED, accepted.format, &status)
}
