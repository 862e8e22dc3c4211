//! Reads the audit log of the API server.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::error::StartError;
use super::folder::prepare;

/// The audit policy. Logs the metadata of all requests. Omits the stage `RequestReceived`, which
/// would double the number of events.
pub(super) const POLICY: &str = r#"{
  "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
  "omitStages": ["RequestReceived"],
  "rules": [{"level": "Metadata"}]
}
"#;

/// One event of the API server's audit log (`audit.k8s.io/v1` `Event`, level `Metadata`).
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEvent {
    /// ID of the request. All stages of a request have the same ID.
    #[serde(rename = "auditID")]
    pub audit_id: String,
    /// Stage of the request: `ResponseStarted`, `ResponseComplete` or `Panic`.
    pub stage: String,
    /// The path and the query of the request.
    #[serde(rename = "requestURI")]
    pub request_uri: String,
    /// The Kubernetes verb, such as `list`. For paths without a resource, the HTTP method in lower
    /// case.
    pub verb: String,
    /// The authenticated user of the request.
    pub user: AuditUser,
    /// The user whom the caller impersonates, if any.
    pub impersonated_user: Option<AuditUser>,
    /// The `User-Agent` header of the request.
    #[serde(default)]
    pub user_agent: String,
    /// The IP addresses of the client and of its proxies.
    #[serde(default, rename = "sourceIPs")]
    pub source_ips: Vec<String>,
    /// The status of the response. `None` if the event has no response.
    pub response_status: Option<AuditStatus>,
    /// The object to which the request refers.
    pub object_ref: Option<AuditObject>,
    /// Audit annotations, such as the reason why the authorizer allowed the request.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

/// A user in an [`AuditEvent`]: the caller or the impersonated user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditUser {
    /// Name of the user, such as `system:admin`.
    pub username: String,
    /// UID of the user. `None` if the authenticator provides no UID.
    pub uid: String,
    /// Names of the user's groups.
    pub groups: Vec<String>,
    /// Extra fields that the authenticator adds to the user.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The response status in an [`AuditEvent`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AuditStatus {
    /// The HTTP status code.
    pub code: u16,
}

/// The object in an [`AuditEvent`], as the API server derives it from the path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditObject {
    /// The API group. Empty for the core group.
    pub api_group: String,
    /// The plural name of the resource, such as `pods`.
    pub resource: String,
    /// The subresource, such as `exec`. Empty for the resource itself.
    pub subresource: String,
    /// The namespace. Empty for cluster-scoped objects.
    pub namespace: String,
    /// Name of the object. Empty for lists and creations.
    pub name: String,
}

/// Reads the audit log of the API server. Ignores an incomplete last line.
pub(super) fn read(path: &Path) -> Result<Vec<AuditEvent>, StartError> {
    let text = fs::read_to_string(path).map_err(prepare(path))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<AuditEvent>, StartError> {
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .enumerate()
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|source| StartError::ReadAudit {
                line: index + 1,
                source,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"a","stage":"ResponseComplete","requestURI":"/api/v1/pods","verb":"list","user":{"username":"agent","groups":["system:authenticated"]},"impersonatedUser":{"username":"drover:user:1"},"sourceIPs":["127.0.0.1"],"responseStatus":{"metadata":{},"code":200}}"#;

    #[test]
    fn incomplete_last_line_of_audit_log_is_ignored() {
        let events = parse(&format!("{LINE}\n{}", &LINE[..50])).unwrap();
        assert_eq!(events.len(), 1);
        let impersonated = events[0].impersonated_user.as_ref().unwrap();
        assert_eq!(impersonated.username, "drover:user:1");
        assert_eq!(events[0].response_status, Some(AuditStatus { code: 200 }));
    }

    #[test]
    fn error_of_damaged_audit_log_line_contains_the_line_number() {
        let error = parse(&format!("{LINE}\nnonsense\n")).unwrap_err();
        assert_eq!(error.to_string(), "cannot read line 2 of the audit log");
    }
}
