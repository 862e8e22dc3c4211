//! Handlers of the scale subresource (`autoscaling/v1` Scale).

use std::collections::BTreeMap;

use axum::response::Response;
use futures::future::BoxFuture;
use http::StatusCode;
use serde_json::{Value, json};

use super::read_kind;
use crate::access::{Operation, Review};
use crate::builtin;
use crate::merge::{self, Managers, MergeKind, Path, ScaleManagers, UpdateOptions};
use crate::resource::{Origin, ScalePaths};
use crate::select::LabelSelector;
use crate::serve::exchange::Exchange;
use crate::serve::input::negotiate::{Transforms, accepted};
use crate::serve::input::options::{WriteOptions, WriteVerb};
use crate::serve::shared::{Target, object_at};
use crate::serve::write::commit::{self, Edit, Live, MODIFIED, Next};
use crate::serve::write::create::check_roles;
use crate::serve::write::patch::{Patch, PatchKind};
use crate::serve::write::{prepare, validate};
use crate::serve::{metadata, transform};
use crate::status::{ApiError, FieldError, FieldErrorKind};

/// Responds to a request for a Scale.
pub(super) async fn answer(
    exchange: &Exchange,
    target: &Target,
    verb: &str,
) -> Result<Response, ApiError> {
    let accepted = accepted(&exchange.headers, Transforms::Allowed)?;
    let paths = target.resource.scale.as_ref();
    let paths = paths.ok_or_else(|| target.not_found())?;
    let scale = match verb {
        "get" => {
            let object = object_at(&exchange.shared.store, &target.key()).await?;
            let object = object.ok_or_else(|| target.not_found())?;
            let path = paths.spec_replicas.as_str();
            if target.resource.origin == Origin::Custom && at(&object, path).is_null() {
                return Err(ApiError::internal(format!(
                    "the spec replicas field {path:?} does not exist"
                )));
            }
            of(target, paths, &object)
        }
        _ => write(exchange, target, paths, verb).await?,
    };
    transform::answer_object(exchange, target, StatusCode::OK, accepted, scale).await
}

async fn write(
    exchange: &Exchange,
    target: &Target,
    paths: &ScalePaths,
    verb: &str,
) -> Result<Value, ApiError> {
    let (source, options) = if verb == "patch" {
        let kind = PatchKind::of(exchange, &target.resource)?;
        let bytes = exchange.body().await?;
        let options = WriteOptions::of(kind.verb(), &exchange.query, &exchange.headers)?;
        (Source::Patch(Patch::decode(kind, &bytes)?), options)
    } else {
        let options = WriteOptions::of(WriteVerb::Update, &exchange.query, &exchange.headers)?;
        (Source::Scale(read_kind(exchange, "Scale").await?), options)
    };
    let edit = Rescale {
        exchange,
        target,
        paths,
        options: &options,
        source,
    };
    let written = commit::run(&exchange.shared.store, target, options.dry_run, &edit).await?;
    Ok(of(target, paths, &written.object))
}

enum Source {
    Scale(Value),
    Patch(Patch),
}

struct Rescale<'r> {
    exchange: &'r Exchange,
    target: &'r Target,
    paths: &'r ScalePaths,
    options: &'r WriteOptions,
    source: Source,
}

impl Rescale<'_> {
    async fn change(&self, live: Option<&Live>) -> Result<Next, ApiError> {
        let live = live.ok_or_else(|| self.target.not_found())?;
        let owners = Owners::of(self.exchange, self.target, &live.object)?;
        let before = of(self.target, self.paths, &live.object);
        let mut owned = before.clone();
        owners.carrier().to_scale().write(&mut owned);
        let mut scale = match &self.source {
            Source::Scale(scale) => scale.clone(),
            Source::Patch(patch) if patch.creates() => {
                patch.apply_to(self.options, &owned, &owners.kind)?
            }
            Source::Patch(patch) => patch.apply_plain(&before)?,
        };
        self.check(&scale, &live.object)?;
        if !matches!(&self.source, Source::Patch(patch) if patch.creates()) {
            let options = UpdateOptions {
                manager: &self.options.manager,
                now: jiff::Timestamp::now(),
            };
            merge::update(Some(&owned), &mut scale, &owners.kind, options);
        }
        let mut object = live.object.clone();
        let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
        set(&mut object, &self.paths.spec_replicas, replicas.into());
        let old = &live.object;
        let after = Managers::of(&scale).unwrap_or_default();
        let after = owners.carrier().to_object(&after);
        after.write(&mut object);
        let whole = Target {
            subresource: String::new(),
            ..self.target.clone()
        };
        prepare::update(&whole, &mut object, old);
        merge::keep_times(old, &mut object);
        validate::update(&whole, &object, old)?;
        check_roles(self.exchange, &whole, &object, Some(old))?;
        let review = Review {
            caller: &self.exchange.caller,
            operation: Operation::Update,
            resource: &self.target.resource,
            subresource: &self.target.subresource,
            namespace: &self.target.namespace,
            name: &self.target.name,
            object: Some(&scale),
            old: Some(&before),
            dry_run: self.options.dry_run.is_on(),
        };
        self.exchange.shared.admission.admit(review).await?;
        Ok(Next::Put(object))
    }

    fn check(&self, scale: &Value, live: &Value) -> Result<(), ApiError> {
        let name = metadata::name(scale);
        if name != self.target.name {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({url_name})",
                url_name = self.target.name
            )));
        }
        let uid = metadata::uid(scale);
        if !uid.is_empty() && uid != metadata::uid(live) {
            return Err(self.target.conflict(MODIFIED));
        }
        let version = metadata::resource_version(scale);
        if !version.is_empty() && version != metadata::resource_version(live) {
            return Err(self.target.conflict(MODIFIED));
        }
        match scale["spec"]["replicas"].as_i64() {
            Some(replicas) if replicas < 0 => {
                let error = FieldError {
                    kind: FieldErrorKind::Invalid,
                    path: "spec.replicas".to_owned(),
                    value: Some(replicas.into()),
                    detail: "must be greater than or equal to 0".to_owned(),
                };
                let name = &self.target.name;
                Err(ApiError::invalid("autoscaling", "Scale", name, &[error]))
            }
            _ => Ok(()),
        }
    }
}

/// The field owners of the replicas, and the data to convert them.
struct Owners {
    kind: MergeKind,
    managers: Managers,
    api_version: String,
    replicas: BTreeMap<String, Option<Path>>,
}

impl Owners {
    fn of(exchange: &Exchange, target: &Target, live: &Value) -> Result<Self, ApiError> {
        let schema = builtin::kind("autoscaling", "v1", "Scale")
            .ok_or_else(|| ApiError::internal("cannot find the schema of Scale"))?;
        let kind = MergeKind::of_schema("autoscaling/v1", "Scale", schema, &target.subresource);
        let same = target.group_resource();
        let catalog = exchange.shared.catalog.load();
        let replicas = catalog
            .iter()
            .filter(|other| other.group_resource() == same)
            .map(|other| {
                let path = other.scale.as_ref().map(|paths| {
                    let names: Vec<&str> = steps(&paths.spec_replicas).collect();
                    Path::fields(&names)
                });
                (other.group_version.to_string(), path)
            });
        Ok(Self {
            kind,
            managers: Managers::of(live).unwrap_or_default(),
            api_version: target.resource.group_version.to_string(),
            replicas: replicas.collect(),
        })
    }

    fn carrier(&self) -> ScaleManagers<'_> {
        ScaleManagers {
            object: &self.managers,
            api_version: &self.api_version,
            replicas: &self.replicas,
        }
    }
}

impl Edit for Rescale<'_> {
    fn next<'a>(&'a self, live: Option<&'a Live>) -> BoxFuture<'a, Result<Next, ApiError>> {
        Box::pin(self.change(live))
    }
}

/// Creates the Scale of an object.
fn of(target: &Target, paths: &ScalePaths, object: &Value) -> Value {
    let mut shown = serde_json::Map::new();
    for field in [
        "creationTimestamp",
        "name",
        "namespace",
        "resourceVersion",
        "uid",
    ] {
        if let Some(value) = object["metadata"].get(field) {
            shown.insert(field.to_owned(), value.clone());
        }
    }
    let number = |path: &str| at(object, path).as_i64().unwrap_or(0);
    let replicas = number(&paths.spec_replicas);
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": shown,
        "spec": {}, "status": {"replicas": number(&paths.status_replicas)},
    });
    // Go omits the field if it is zero.
    if replicas != 0 {
        scale["spec"]["replicas"] = replicas.into();
    }
    let selector = paths.label_selector.as_deref();
    let selector = selector.map_or(&Value::Null, |path| at(object, path));
    let text = match (target.resource.origin, selector) {
        (_, Value::String(text)) => text.clone(),
        (Origin::BuiltIn, Value::Object(_)) => LabelSelector::from_object(selector)
            .map(|selector| selector.to_string())
            .unwrap_or_default(),
        _ => String::new(),
    };
    if !text.is_empty() {
        scale["status"]["selector"] = text.into();
    }
    scale
}

fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    steps(path).fold(object, |value, step| &value[step])
}

fn set(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for step in steps(path) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[step];
    }
    *place = value;
}

fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.split('.').filter(|step| !step.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_replicas_are_read_and_written_at_their_field_path() {
        let mut object = json!({"spec": {"replicas": 2}});
        assert_eq!(at(&object, ".spec.replicas"), 2);
        set(&mut object, ".spec.size.now", 5.into());
        assert_eq!(object["spec"]["size"]["now"], 5);
        assert_eq!(at(&object, ".status.replicas"), &Value::Null);
    }
}
