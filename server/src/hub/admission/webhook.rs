//! What a hub elsewhere is told of the rules: a ValidatingWebhookConfiguration that fails closed.
//!
//! It asks for as little as the rules need: never for what the server itself or Kubernetes
//! writes, so that a server can start while nobody answers, and of roles and bindings only for
//! those that a rule could refuse. The way out, should nobody ever answer again:
//! `kubectl delete validatingwebhookconfiguration drover-rules`.

use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_access::admission::SERVERS_SECRETS;
use drover_api::group::{GROUP, HUB_NAMESPACE, MANAGED_BY, MANAGED_BY_LABEL};
use serde_json::{Value, json};
use thiserror::Error;

use super::review::PATH;

/// Name of the configuration.
pub const CONFIGURATION: &str = "drover-rules";
/// Name of the configuration with which it is tried first, and of the object that is tried.
pub(super) const PROBE: &str = "drover-rules-probe";
/// Longest that the hub waits for an answer.
const SECONDS: u32 = 5;
/// Whoever is not Kubernetes itself.
const NO_KUBERNETES: &str = "!(request.userInfo.username in ['system:apiserver', 'system:kube-controller-manager']) \
     && !request.userInfo.username.startsWith('system:serviceaccount:kube-system:')";

/// Where the hub reaches the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// By this URL: scheme, host and port.
    Url(String),
    /// By a Service of the hub.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its port.
        port: u16,
    },
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("write https://HOST[:PORT], or NAMESPACE/NAME[:PORT] for a Service of the hub")]
pub struct AddressError;

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if text.contains("://") {
            let uri: http::Uri = text.parse().map_err(|_| AddressError)?;
            let plain = uri.scheme_str() == Some("https") && matches!(uri.path(), "" | "/");
            let host = uri.host().is_some_and(|host| !host.is_empty());
            let authority = uri.authority().ok_or(AddressError)?.as_str();
            if !plain || !host || uri.query().is_some() || authority.contains('@') {
                return Err(AddressError);
            }
            return Ok(Self::Url(format!("https://{authority}")));
        }
        let (namespace, rest) = text.split_once('/').ok_or(AddressError)?;
        let (name, port) = match rest.split_once(':') {
            Some((name, port)) => (name, port.parse().map_err(|_| AddressError)?),
            None => (rest, 443),
        };
        let label = |text: &str| {
            let fits =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            !text.is_empty() && text.len() <= 63 && text.bytes().all(fits)
        };
        if !label(namespace) || !label(name) || port == 0 {
            return Err(AddressError);
        }
        Ok(Self::Service {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            port,
        })
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Url(url) => f.write_str(url),
            Self::Service {
                namespace,
                name,
                port,
            } => write!(f, "{namespace}/{name}:{port}"),
        }
    }
}

impl Address {
    /// The name that the server's certificate must hold for it.
    pub fn certificate_name(&self) -> Option<String> {
        match self {
            Self::Url(url) => {
                let uri: http::Uri = url.parse().ok()?;
                Some(uri.host()?.trim_matches(['[', ']']).to_ascii_lowercase())
            }
            Self::Service {
                namespace, name, ..
            } => Some(format!("{name}.{namespace}.svc")),
        }
    }

    fn client_config(&self, trust: Option<&str>) -> Value {
        let mut config = match self {
            Self::Url(url) => json!({ "url": format!("{url}{PATH}") }),
            Self::Service {
                namespace,
                name,
                port,
            } => json!({ "service": {
                "namespace": namespace, "name": name, "port": port, "path": PATH,
            } }),
        };
        if let Some(trust) = trust {
            config["caBundle"] = STANDARD.encode(trust).into();
        }
        config
    }
}

/// How the hub reaches the server, and whom it believes to be the server.
pub(super) struct Asking<'a> {
    pub(super) address: &'a Address,
    pub(super) trust: Option<&'a str>,
    /// The server's own name on the hub.
    pub(super) server: &'a str,
}

impl Asking<'_> {
    /// The rules.
    pub(super) fn rules(&self) -> Value {
        let in_namespaces = |names: &[&str]| {
            json!({ "matchExpressions": [{
                "key": "kubernetes.io/metadata.name", "operator": "In", "values": names,
            }] })
        };
        let mut kinds = self.webhook(
            "kinds",
            GROUP,
            &["*/*"],
            &["CREATE", "UPDATE"],
            &[self.others()],
        );
        kinds["rules"][0]["apiVersions"] = json!(["*"]);
        let mut secrets = self.webhook(
            "secrets",
            "",
            &["secrets"],
            &["CREATE", "UPDATE", "DELETE"],
            &[self.others(), secrets_that_matter()],
        );
        secrets["namespaceSelector"] = in_namespaces(&[HUB_NAMESPACE, "kube-system"]);
        let mut accounts = self.webhook(
            "accounts",
            "",
            &["serviceaccounts/token"],
            &["CREATE"],
            &[
                self.others(),
                "!('system:nodes' in request.userInfo.groups)".to_owned(),
            ],
        );
        accounts["namespaceSelector"] = in_namespaces(&[HUB_NAMESPACE, "kube-system"]);
        let rights = self.webhook(
            "rights",
            "rbac.authorization.k8s.io",
            &[
                "roles",
                "rolebindings",
                "clusterroles",
                "clusterrolebindings",
            ],
            &["CREATE", "UPDATE"],
            &[self.others(), rights_that_matter()],
        );
        configuration(CONFIGURATION, &[kinds, secrets, accounts, rights])
    }

    /// One that asks for nothing but an object that nobody makes.
    pub(super) fn probe(&self) -> Value {
        let name = format!("request.name == '{PROBE}'");
        let mut probe = self.webhook("probe", "", &["configmaps"], &["CREATE"], &[name]);
        probe["namespaceSelector"] = json!({ "matchLabels": {
            "kubernetes.io/metadata.name": HUB_NAMESPACE,
        } });
        configuration(PROBE, &[probe])
    }

    /// Neither the server nor Kubernetes.
    fn others(&self) -> String {
        let server = literal(self.server);
        format!("request.userInfo.username != {server} && {NO_KUBERNETES}")
    }

    fn webhook(
        &self,
        name: &str,
        group: &str,
        resources: &[&str],
        operations: &[&str],
        conditions: &[String],
    ) -> Value {
        let conditions: Vec<_> = (1..)
            .zip(conditions)
            .map(|(number, expression)| json!({ "name": format!("c{number}"), "expression": expression }))
            .collect();
        json!({
            "name": format!("{name}.rules.drover.dev"),
            "admissionReviewVersions": ["v1"],
            "clientConfig": self.address.client_config(self.trust),
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "sideEffects": "None",
            "timeoutSeconds": SECONDS,
            "matchConditions": conditions,
            "rules": [{
                "apiGroups": [group], "apiVersions": ["v1"], "resources": resources,
                "operations": operations, "scope": "*",
            }],
        })
    }
}

fn configuration(name: &str, webhooks: &[Value]) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": name, "labels": { MANAGED_BY_LABEL: MANAGED_BY } },
        "webhooks": webhooks,
    })
}

/// The server's Secrets, and those that hold accounts' tokens; all others must not wait for us.
fn secrets_that_matter() -> String {
    let of_account = "(object != null && has(object.type) && object.type == \
                      'kubernetes.io/service-account-token')";
    let name = "(request.name != '' ? request.name : object.metadata.?generateName.orValue(''))";
    let own = SERVERS_SECRETS
        .iter()
        .map(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => format!("{name}.startsWith({})", literal(prefix)),
            None => format!("{name} == {}", literal(pattern)),
        });
    let own: Vec<_> = own.collect();
    format!(
        "{of_account} || (request.namespace == '{HUB_NAMESPACE}' && ({}))",
        own.join(" || ")
    )
}

/// What persons of Drover write, and bindings of Drover's names or of everybody.
fn rights_that_matter() -> String {
    "request.userInfo.username.startsWith('drover:') || (has(object.subjects) && \
     object.subjects.exists(s, s.name.startsWith('drover:') || s.name in ['system:anonymous', \
     'system:authenticated', 'system:serviceaccounts', 'system:unauthenticated']))"
        .to_owned()
}

/// A text as CEL writes it.
fn literal(text: &str) -> String {
    let mut quoted = String::from("'");
    for letter in text.chars() {
        if matches!(letter, '\'' | '\\') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_urls_of_a_host_or_services() {
        for (text, wanted) in [
            (
                "https://drover.example:8443",
                Some("https://drover.example:8443"),
            ),
            ("https://drover.example/", Some("https://drover.example")),
            ("drover-system/drover", Some("drover-system/drover:443")),
            (
                "drover-system/drover:8443",
                Some("drover-system/drover:8443"),
            ),
            ("http://drover.example", None),
            ("https://drover.example/path", None),
            ("https://me@drover.example", None),
            ("https://", None),
            ("drover", None),
            ("a/b/c", None),
            ("A/b", None),
            ("a/b:0", None),
            ("a/b:x", None),
        ] {
            let got = text
                .parse::<Address>()
                .ok()
                .map(|address| address.to_string());
            assert_eq!(got.as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn whatever_the_server_is_called_is_one_text_in_a_condition() {
        assert_eq!(literal("a'b\\c"), "'a\\'b\\\\c'");
        let address: Address = "https://drover.example".parse().unwrap();
        let asking = Asking {
            address: &address,
            trust: Some("PEM"),
            server: "o'neil",
        };
        let rules = asking.rules();
        for webhook in rules["webhooks"].as_array().unwrap() {
            assert_eq!(webhook["failurePolicy"], "Fail");
            let first = webhook["matchConditions"][0]["expression"]
                .as_str()
                .unwrap();
            assert!(first.contains("username != 'o\\'neil'"), "{first}");
        }
    }
}
