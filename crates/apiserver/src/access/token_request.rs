//! `TokenRequest`: the subresource `token` of service accounts.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::token::{BoundTo, Claims, NameAndUid, Subject, Tokens};
use crate::status::{ApiError, FieldError, FieldErrorKind};

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";
const DEFAULT_SECONDS: i64 = 60 * 60;
const MIN_SECONDS: i64 = 10 * 60;
/// The maximum lifetime that a request can contain, in seconds.
pub(super) const MAX_SECONDS: i64 = 1 << 32;

/// The response of a token request, with data for response headers and audit.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenRequest {
    /// The `TokenRequest` object of the response. Its status contains the token.
    pub object: Value,
    /// `Warning` headers of the response.
    pub warnings: Vec<String>,
    /// The audit annotation `authentication.kubernetes.io/issued-credential-id`.
    pub credential_id: String,
}

/// Issues a token for the service account of the request path.
///
/// `request` is the decoded body. An empty object requests the defaults.
pub async fn issue_requested(
    tokens: &Tokens,
    namespace: &str,
    name: &str,
    request: &Value,
) -> Result<TokenRequest, ApiError> {
    match_path(&request["metadata"], namespace, name)?;
    let account = find(tokens, "serviceaccounts", namespace, name).await?;
    let uid = text(&account["metadata"]["uid"]);
    let wanted_uid = text(&request["metadata"]["uid"]);
    if !wanted_uid.is_empty() && wanted_uid != uid {
        let reason = format!(
            "the UID in the token request ({wanted_uid}) does not match the UID of the service \
             account ({uid})"
        );
        return Err(ApiError::conflict(GROUP, KIND, name, reason));
    }
    let mut object = request.clone();
    let now = (tokens.options().clock)();
    complete(&mut object, tokens, namespace, name, uid, now);
    validate(&object)?;
    let bound = bind(tokens, namespace, name, &object["spec"]["boundObjectRef"]).await?;

    let mut warnings = Vec::new();
    let seconds = shorten(&mut object, tokens, &mut warnings);
    let account = NameAndUid {
        name: name.to_owned(),
        uid: uid.to_owned(),
    };
    let subject = Subject::new(namespace.to_owned(), account, bound);
    let audiences = drover_rbac::strings(&object["spec"]["audiences"]);
    let issuer = tokens.options().issuers.first().map_or("", String::as_str);
    let claims = Claims::new(issuer, audiences, subject, now, seconds);
    let token = tokens.issue(&claims).map_err(ApiError::internal)?;
    object["status"] = json!({
        "token": token,
        "expirationTimestamp": seconds_only(now.as_second() + seconds),
    });
    Ok(TokenRequest {
        object,
        warnings,
        credential_id: claims.credential_id(),
    })
}

/// Checks the name and the namespace in the body. Each must be absent, or equal to the value in the
/// request path.
fn match_path(metadata: &Value, namespace: &str, name: &str) -> Result<(), ApiError> {
    for (key, expected) in [("name", name), ("namespace", namespace)] {
        let stored_value = text(&metadata[key]);
        if !stored_value.is_empty() && stored_value != expected {
            let error = FieldError {
                kind: FieldErrorKind::Invalid,
                path: format!("metadata.{key}"),
                value: Some(stored_value.into()),
                detail: format!("must match the service account {key} if specified"),
            };
            return Err(ApiError::invalid(GROUP, KIND, name, &[error]));
        }
    }
    Ok(())
}

/// Sets defaults, and overwrites fields that clients must not set.
fn complete(
    object: &mut Value,
    tokens: &Tokens,
    namespace: &str,
    name: &str,
    uid: &str,
    now: Timestamp,
) {
    if !object.is_object() {
        *object = json!({});
    }
    object["apiVersion"] = format!("{GROUP}/v1").into();
    object["kind"] = KIND.into();
    let metadata = &mut object["metadata"];
    if !metadata.is_object() {
        *metadata = json!({});
    }
    metadata["name"] = name.into();
    metadata["namespace"] = namespace.into();
    metadata["uid"] = uid.into();
    metadata["creationTimestamp"] = seconds_only(now.as_second()).into();
    let spec = &mut object["spec"];
    if !spec.is_object() {
        *spec = json!({});
    }
    if spec["audiences"].as_array().is_none_or(Vec::is_empty) {
        spec["audiences"] = json!(tokens.options().audiences);
    }
    if spec["expirationSeconds"].is_null() {
        spec["expirationSeconds"] = DEFAULT_SECONDS.into();
    }
    // kube-apiserver's response always contains the field.
    if spec.get("boundObjectRef").is_none() {
        spec["boundObjectRef"] = Value::Null;
    }
    object["status"] = json!({});
}

fn validate(object: &Value) -> Result<(), ApiError> {
    let seconds = expiration(object);
    let detail = if seconds < MIN_SECONDS {
        "may not specify a duration less than 10 minutes"
    } else if seconds > MAX_SECONDS {
        "may not specify a duration larger than 2^32 seconds"
    } else {
        return Ok(());
    };
    let error = FieldError {
        kind: FieldErrorKind::Invalid,
        path: "spec.expirationSeconds".to_owned(),
        value: Some(seconds.into()),
        detail: detail.to_owned(),
    };
    Err(ApiError::invalid(GROUP, KIND, "", &[error]))
}

fn expiration(object: &Value) -> i64 {
    object["spec"]["expirationSeconds"]
        .as_i64()
        .unwrap_or_default()
}

/// Reads the object of `boundObjectRef`, and checks that its UID equals the UID in the reference.
async fn bind(
    tokens: &Tokens,
    namespace: &str,
    account: &str,
    reference: &Value,
) -> Result<BoundTo, ApiError> {
    if reference.is_null() {
        return Ok(BoundTo::Nothing);
    }
    let (api_version, kind) = (text(&reference["apiVersion"]), text(&reference["kind"]));
    let name = text(&reference["name"]);
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let (bound, uid) = match (group, kind) {
        ("", "Pod") => {
            let pod = find(tokens, "pods", namespace, name).await?;
            if text(&pod["spec"]["serviceAccountName"]) != account {
                return Err(ApiError::bad_request(format!(
                    "cannot bind token for serviceaccount {account:?} to pod running with \
                     different serviceaccount name."
                )));
            }
            let node = node_of(tokens, &pod).await?;
            let pod = named(&pod);
            (BoundTo::Pod(pod.clone(), node), pod.uid)
        }
        ("", "Node") => {
            let node = named(&find(tokens, "nodes", "", name).await?);
            (BoundTo::Node(node.clone()), node.uid)
        }
        ("", "Secret") => {
            let secret = named(&find(tokens, "secrets", namespace, name).await?);
            (BoundTo::Secret(secret.clone()), secret.uid)
        }
        _ => return Err(unbindable(api_version, kind)),
    };
    let requested = text(&reference["uid"]);
    if !requested.is_empty() && requested != uid {
        let reason = format!(
            "the UID in the bound object reference ({requested}) does not match the UID in record. \
             The object might have been deleted and then recreated"
        );
        return Err(ApiError::conflict(group, kind, name, reason));
    }
    Ok(bound)
}

fn unbindable(api_version: &str, kind: &str) -> ApiError {
    let group_version = match api_version.split_once('/') {
        Some(_) => api_version.to_owned(),
        None => format!("/{api_version}"),
    };
    ApiError::bad_request(format!(
        "cannot bind token to object of type {group_version}, Kind={kind}"
    ))
}

/// Returns the node of a pod. The result for a deleted node has a name and no UID.
async fn node_of(tokens: &Tokens, pod: &Value) -> Result<Option<NameAndUid>, ApiError> {
    let name = text(&pod["spec"]["nodeName"]);
    if name.is_empty() {
        return Ok(None);
    }
    let node = tokens.objects().find("", "nodes", "", name).await?;
    Ok(Some(node.as_ref().map_or_else(
        || NameAndUid {
            name: name.to_owned(),
            uid: String::new(),
        },
        named,
    )))
}

/// Limits the requested lifetime, and returns the granted lifetime, in seconds.
fn shorten(object: &mut Value, tokens: &Tokens, warnings: &mut Vec<String>) -> i64 {
    let requested = expiration(object);
    match tokens.options().max_lifetime_seconds {
        Some(most) if most > 0 && requested > most => {
            warnings.push(format!(
                "requested expiration of {requested} seconds shortened to {most} seconds"
            ));
            object["spec"]["expirationSeconds"] = most.into();
            most
        }
        _ => requested,
    }
}

async fn find(
    tokens: &Tokens,
    resource: &str,
    namespace: &str,
    name: &str,
) -> Result<Value, ApiError> {
    tokens
        .objects()
        .find("", resource, namespace, name)
        .await?
        .ok_or_else(|| ApiError::not_found("", resource, name))
}

fn named(object: &Value) -> NameAndUid {
    NameAndUid {
        name: text(&object["metadata"]["name"]).to_owned(),
        uid: text(&object["metadata"]["uid"]).to_owned(),
    }
}

/// Formats a time as `metav1.Time` does: RFC 3339 in whole seconds.
pub(crate) fn seconds_only(second: i64) -> String {
    Timestamp::from_second(second)
        .unwrap_or(Timestamp::MAX)
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
