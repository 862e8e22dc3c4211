//! Conversion of stored bytes to the response: the object, its metadata, or a Table.

use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};

use crate::resource::{Origin, Resource};
use crate::serve::answer;
use crate::serve::exchange::Exchange;
use crate::serve::input::negotiate::{Accepted, Format, MetaVersion, Representation};
use crate::serve::limits::heavy::WorkCost;
use crate::serve::shared::Target;
use crate::status::ApiError;
use crate::store::{ItemForm, Stored};

pub(crate) mod table;

use table::TableOptions;

/// The metadata of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListMeta<'a> {
    pub(crate) revision: u64,
    pub(crate) continue_token: Option<&'a str>,
    pub(crate) remaining: Option<u64>,
}

impl ListMeta<'_> {
    pub(crate) fn to_value(self, origin: Origin) -> Value {
        let mut meta = json!({"resourceVersion": self.revision.to_string()});
        if origin == Origin::Custom {
            // Go cannot omit this field for these lists.
            meta["continue"] = "".into();
        }
        if let Some(token) = self.continue_token {
            meta["continue"] = token.into();
        }
        if let Some(remaining) = self.remaining {
            meta["remainingItemCount"] = remaining.into();
        }
        meta
    }
}

/// Reports whether stored bytes can be sent unchanged. The function checks only the first bytes.
pub(crate) fn is_stored_form(resource: &Resource, head: &[u8], stored: &Stored) -> bool {
    resource.storage && stored.value.starts_with(head)
}

/// Appends a stored object as JSON. `head` is the result of [`own_head`].
pub(crate) fn write_object(
    out: &mut Vec<u8>,
    target: &Target,
    head: &[u8],
    stored: &Stored,
) -> Result<(), ApiError> {
    if is_stored_form(&target.resource, head, stored) {
        stored.write_json(out);
        return Ok(());
    }
    let object = target.show(stored)?;
    serde_json::to_writer(out, &object).map_err(ApiError::internal)
}

/// Returns the first bytes of a list as JSON, up to the items.
pub(crate) fn list_head(target: &Target, meta: &ListMeta<'_>) -> Result<Vec<u8>, ApiError> {
    let resource = &target.resource;
    let head = json!({
        "kind": resource.list_kind, "apiVersion": resource.group_version.to_string(),
        "metadata": meta.to_value(resource.origin),
    });
    let mut out = serde_json::to_vec(&head).map_err(ApiError::internal)?;
    out.pop();
    out.extend_from_slice(b",\"items\":[");
    Ok(out)
}

/// The last bytes of a list as JSON.
pub(crate) const LIST_END: &[u8] = b"]}\n";

/// Returns the form of items that a list contains without parsing. Returns `None` if the items of
/// the resource must be parsed.
pub(crate) fn item_form(resource: &Resource) -> Option<ItemForm> {
    let sends_stored = resource.storage && !applies_defaults(resource);
    sends_stored.then(|| ItemForm {
        head: own_head(resource),
        // Items of built-in lists have no kind and version.
        drops_head: resource.origin == Origin::BuiltIn,
    })
}

fn applies_defaults(resource: &Resource) -> bool {
    resource.origin == Origin::Custom && resource.schema.has_defaults()
}

/// Serializes a list as JSON. Copies items without parsing if possible.
pub(crate) fn write_list(
    target: &Target,
    meta: &ListMeta<'_>,
    items: &[Stored],
) -> Result<Vec<u8>, ApiError> {
    let resource = &target.resource;
    let length: usize = items.iter().map(|stored| stored.value.len() + 48).sum();
    let mut out = list_head(target, meta)?;
    out.reserve(length);
    let own_head = own_head(resource);
    for (index, stored) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let start = out.len();
        write_object(&mut out, target, &own_head, stored)?;
        // Items of built-in lists have no kind and version.
        if resource.origin == Origin::BuiltIn && out[start..].starts_with(&own_head) {
            out.drain(start + 1..start + own_head.len());
        }
    }
    out.extend_from_slice(LIST_END);
    Ok(out)
}

/// Returns the first bytes of a stored object that the server can send unchanged. All such objects
/// of the resource start with these bytes.
pub(crate) fn own_head(resource: &Resource) -> Vec<u8> {
    if applies_defaults(resource) {
        // Objects may be older than a default, so that all must be parsed. No stored object starts
        // with this byte.
        return vec![0];
    }
    let version = Value::from(resource.group_version.to_string());
    let kind = Value::from(resource.kind.as_str());
    format!("{{\"apiVersion\":{version},\"kind\":{kind},").into_bytes()
}

/// Converts the object to PartialObjectMetadata.
pub(crate) fn metadata_only(object: &Value, version: MetaVersion) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": version.api_version(),
        "metadata": object["metadata"],
    })
}

/// Responds with one object.
pub(crate) async fn answer_object(
    exchange: &Exchange,
    target: &Target,
    code: StatusCode,
    accepted: Accepted,
    object: Value,
) -> Result<Response, ApiError> {
    let is_status = object["kind"] == "Status" && object["apiVersion"] == "v1";
    let value = match accepted.shape {
        _ if is_status => object,
        Representation::Plain => object,
        Representation::Metadata(version) => metadata_only(&object, version),
        Representation::MetadataList(_) => {
            return Err(not_acceptable(
                "you requested PartialObjectMetadataList, but the requested object is not a list",
            ));
        }
        Representation::Table(version) => {
            let options = TableOptions::of(&exchange.query)?;
            let meta = json!({
                "resourceVersion": object["metadata"]["resourceVersion"],
            });
            table::of(target, version, options, &meta, &[object])
        }
    };
    if accepted.format == Format::Yaml {
        return Ok(answer::value(code, accepted.format, &value));
    }
    let mut body = serde_json::to_vec(&value).map_err(ApiError::internal)?;
    body.push(b'\n');
    let body = vec![body.into()];
    Ok(answer::json(&exchange.shared.reads, code, &exchange.headers, body).await)
}

/// Responds with a transformed list.
pub(crate) async fn answer_list(
    exchange: &Exchange,
    target: &Target,
    accepted: Accepted,
    meta: &ListMeta<'_>,
    items: &[Stored],
) -> Result<Response, ApiError> {
    let reads = &exchange.shared.reads;
    let work = || {
        let value = list_value(exchange, target, accepted.shape, meta, items)?;
        answer::encode(accepted.format, &value)
    };
    let body = reads.run(WorkCost::of_stored(items), work).await?;
    Ok(match accepted.format {
        Format::Json => {
            let body = vec![body.into()];
            answer::json(reads, StatusCode::OK, &exchange.headers, body).await
        }
        Format::Yaml => answer::bytes(StatusCode::OK, accepted.format.media_type(), body),
    })
}

fn list_value(
    exchange: &Exchange,
    target: &Target,
    shape: Representation,
    meta: &ListMeta<'_>,
    items: &[Stored],
) -> Result<Value, ApiError> {
    let objects: Vec<Value> = items
        .iter()
        .map(|stored| target.show(stored))
        .collect::<Result<_, _>>()?;
    Ok(match shape {
        Representation::Table(version) => {
            let options = TableOptions::of(&exchange.query)?;
            table::of(
                target,
                version,
                options,
                &meta.to_value(Origin::BuiltIn),
                &objects,
            )
        }
        Representation::MetadataList(version) => metadata_list(&objects, version, meta),
        Representation::Metadata(_) => {
            let kind = go_list(&target.resource);
            return Err(not_acceptable(&format!(
                "you requested PartialObjectMetadata, but the requested object is a list ({kind})"
            )));
        }
        Representation::Plain => json!({
            "kind": target.resource.list_kind,
            "apiVersion": target.resource.group_version.to_string(),
            "metadata": meta.to_value(target.resource.origin), "items": objects,
        }),
    })
}

/// Returns the Go type of a list, for messages.
fn go_list(resource: &Resource) -> String {
    let package = match resource.group_version.group.as_str() {
        _ if resource.origin == Origin::Custom => return "*unstructured.UnstructuredList".into(),
        "" | "events.k8s.io" => "core",
        group => group.split('.').next().unwrap_or(group),
    };
    format!("*{package}.{}", resource.list_kind)
}

fn metadata_list(objects: &[Value], version: MetaVersion, meta: &ListMeta<'_>) -> Value {
    let items: Vec<Value> = objects
        .iter()
        .map(|object| metadata_only(object, version))
        .collect();
    json!({
        "kind": "PartialObjectMetadataList", "apiVersion": version.api_version(),
        "metadata": meta.to_value(Origin::BuiltIn), "items": items,
    })
}

fn not_acceptable(message: &str) -> ApiError {
    ApiError::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
}
