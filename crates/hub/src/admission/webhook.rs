//! The ValidatingWebhookConfiguration for an external hub. The configuration fails closed.
//!
//! The webhooks match only the writes that a rule can reject. The webhooks exclude writes of the
//! server and of Kubernetes components, so that a server can start while the webhook is
//! unreachable. For roles and bindings, the webhooks match only the objects that a rule can reject.
//! To recover from an unreachable webhook, run `kubectl delete validatingwebhookconfiguration
//! drover-rules`.

use drover_access::admission::{
    self, BOOTSTRAP_TOKEN, CERTIFICATES, CLIENT_SIGNERS, DEFAULT_ROLES, DEFINITIONS, HUB_LABEL,
    HUB_PREFIX, RBAC, SELF_APPROVED_SIGNER, SERVERS_SECRETS, SYSTEM_NAMESPACE,
};
use drover_access::names::{ACCOUNT_PREFIX, account};
use drover_api::group::{GROUP, HUB_NAMESPACE, MANAGED_BY, MANAGED_BY_LABEL};
use serde_json::{Value, json};

use super::address::Address;
use crate::webhook_name::{CONFIGURATION, NAMES_END, SERVER_ANNOTATION};

/// The name of the configuration for the first connection test, and of the test object.
pub(super) const PROBE: &str = "drover-rules-probe";
/// The name of the object that tests the installed configuration.
pub(super) const CHECK: &str = "drover-rules-check";
/// The webhook timeout of the hub in seconds.
const TIMEOUT_SECONDS: u32 = 5;
/// A CEL condition that excludes writes of Kubernetes components.
const NOT_KUBERNETES: &str = "!(request.userInfo.username in ['system:apiserver', 'system:kube-controller-manager']) \
     && !request.userInfo.username.startsWith('system:serviceaccount:kube-system:')";
/// A CEL condition that matches writes of Drover users.
const DROVER_USERS: &str = "request.userInfo.username.startsWith('drover:')";
/// A CEL expression for the object's name or its `generateName`. The request has no name if a
/// client deletes a collection, and optional fields may be absent.
const NAME: &str = "(has(request.name) ? request.name : oldObject != null ? \
                    oldObject.metadata.name : object.metadata.?generateName.orValue(''))";
const WRITES: &[&str] = &["CREATE", "UPDATE", "DELETE"];

/// The inputs of the configuration: the webhook's address and the server's account.
pub(super) struct WebhookConfig<'a> {
    pub(super) address: &'a Address,
    pub(super) trust: Option<&'a str>,
    /// The secret segment of the webhook's path.
    pub(super) segment: &'a str,
    /// The server's account on the hub.
    pub(super) server: &'a str,
}

impl WebhookConfig<'_> {
    /// Builds the configuration of all rules.
    pub(super) fn rules(&self) -> Value {
        let webhooks = [
            self.kinds(),
            self.secrets(),
            self.accounts(),
            self.rights(),
            self.default_roles(),
            self.namespace(),
            self.definitions(),
            self.certificates(),
            self.test_object("check", CHECK),
        ];
        let mut rules = configuration(CONFIGURATION, &webhooks);
        rules["metadata"]["annotations"] = json!({ SERVER_ANNOTATION: self.server });
        rules
    }

    /// Returns the webhook that matches creations and updates of Drover's kinds. The webhook also
    /// matches deletions of users, settings, roles, bindings, preferences and saved views.
    fn kinds(&self) -> Value {
        let deleted: Vec<_> = admission::KINDS_CHECKED_ON_DELETE
            .iter()
            .map(|resource| literal(resource))
            .collect();
        let condition = format!(
            "request.operation != 'DELETE' || request.resource.resource in [{}]",
            deleted.join(", ")
        );
        let conditions = [self.not_exempt(), condition];
        let mut kinds = self.webhook("kinds", GROUP, &["*/*"], WRITES, &conditions);
        kinds["rules"][0]["apiVersions"] = json!(["*"]);
        kinds
    }

    fn secrets(&self) -> Value {
        let conditions = [self.not_exempt(), matching_secrets()];
        let webhook = self.webhook("secrets", "", &["secrets"], WRITES, &conditions);
        self.in_private_namespaces(webhook)
    }

    /// Returns the webhook that matches requests for service account tokens. The webhook matches
    /// every request for a token of the server's own account. For tokens of all other accounts, the
    /// webhook matches only the requests of Drover users and service accounts.
    fn accounts(&self) -> Value {
        let condition = match account(self.server) {
            None => users_or_accounts(),
            Some((namespace, name)) => format!(
                "{} || (request.namespace == {} && request.name == {})",
                users_or_accounts(),
                literal(namespace),
                literal(name)
            ),
        };
        let no_node = "!('system:nodes' in request.userInfo.groups)".to_owned();
        let conditions = [self.not_exempt(), no_node, condition];
        let resources = &["serviceaccounts/token"];
        let webhook = self.webhook("accounts", "", resources, &["CREATE"], &conditions);
        self.in_private_namespaces(webhook)
    }

    fn rights(&self) -> Value {
        let resources = &[
            "roles",
            "rolebindings",
            "clusterroles",
            "clusterrolebindings",
        ];
        let conditions = [self.not_exempt(), matching_roles()];
        self.webhook("rights", RBAC, resources, WRITES, &conditions)
    }

    /// Returns the webhook that matches writes to Kubernetes' default roles. The webhook omits the
    /// writes that the webhook for roles matches.
    fn default_roles(&self) -> Value {
        let requested = format!(
            "{} || ({DROVER_USERS} && request.operation == 'DELETE')",
            accounts()
        );
        let in_place = "request.resource.resource == 'clusterroles' \
                        || request.namespace in ['kube-system', 'kube-public']";
        let conditions = [
            self.not_exempt(),
            requested,
            in_place.to_owned(),
            is_default_role(),
        ];
        let resources = &["roles", "clusterroles"];
        self.webhook("default-roles", RBAC, resources, WRITES, &conditions)
    }

    /// Returns the webhook that matches the deletion of the server's namespace. The webhook also
    /// matches new owner references on the namespace, because Kubernetes deletes an object when its
    /// owner is deleted.
    fn namespace(&self) -> Value {
        let own = format!("{NAME} == '{HUB_NAMESPACE}'");
        let goes = "request.operation == 'DELETE' || has(object.metadata.ownerReferences)";
        let conditions = [self.not_exempt(), own, goes.to_owned()];
        let resources = &["namespaces", "namespaces/*"];
        self.webhook(
            "namespace",
            "",
            resources,
            &["UPDATE", "DELETE"],
            &conditions,
        )
    }

    /// Returns the webhook that matches writes to the CustomResourceDefinitions of Drover's kinds.
    fn definitions(&self) -> Value {
        let own = format!("{NAME}.endsWith('.{GROUP}')");
        let resources = &["customresourcedefinitions", "customresourcedefinitions/*"];
        let conditions = [self.not_exempt(), own];
        self.webhook("definitions", DEFINITIONS, resources, WRITES, &conditions)
    }

    /// Returns the webhook that matches writes of Drover users to certificate requests: approvals,
    /// and the creation of requests whose signer approves automatically.
    fn certificates(&self) -> Value {
        let signers: Vec<_> = CLIENT_SIGNERS.iter().map(|name| literal(name)).collect();
        let logs_in = format!(
            "object.spec.signerName == {} || (request.operation == 'UPDATE' \
             && object.spec.signerName in [{}])",
            literal(SELF_APPROVED_SIGNER),
            signers.join(", ")
        );
        let resources = &["certificatesigningrequests/*"];
        let conditions = [self.not_exempt(), DROVER_USERS.to_owned(), logs_in];
        let name = "certificates";
        let mut webhook = self.webhook(name, CERTIFICATES, resources, &["UPDATE"], &conditions);
        let mut requested = webhook["rules"][0].clone();
        requested["resources"] = json!(["certificatesigningrequests"]);
        requested["operations"] = json!(["CREATE"]);
        webhook["rules"] = json!([webhook["rules"][0], requested]);
        webhook
    }

    fn in_private_namespaces(&self, mut webhook: Value) -> Value {
        webhook["namespaceSelector"] = in_namespaces(&admission::private_namespaces(self.server));
        webhook
    }

    /// Builds the configuration of the connection test. The configuration matches only the test
    /// object.
    pub(super) fn probe(&self) -> Value {
        configuration(PROBE, &[self.test_object("probe", PROBE)])
    }

    /// Returns the webhook that matches writes of the test object. The webhook matches the writes
    /// of all accounts, including the server's account.
    fn test_object(&self, webhook: &str, object: &str) -> Value {
        let name = format!("has(request.name) && request.name == '{object}'");
        let mut webhook = self.webhook(webhook, "", &["configmaps"], &["CREATE"], &[name]);
        webhook["namespaceSelector"] = in_namespaces(&[HUB_NAMESPACE]);
        webhook
    }

    /// Returns a CEL condition that excludes the server and Kubernetes components.
    fn not_exempt(&self) -> String {
        format!("{} && {NOT_KUBERNETES}", not(self.server))
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
            "name": format!("{name}{NAMES_END}"),
            "admissionReviewVersions": ["v1"],
            "clientConfig": self.address.client_config(self.trust, self.segment),
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "sideEffects": "None",
            "timeoutSeconds": TIMEOUT_SECONDS,
            "matchConditions": conditions,
            "rules": [{
                "apiGroups": [group], "apiVersions": ["v1"], "resources": resources,
                "operations": operations, "scope": "*",
            }],
        })
    }
}

/// Returns a CEL condition that matches the listed default roles, and default roles of other
/// Kubernetes versions.
fn is_default_role() -> String {
    let (beginnings, whole): (Vec<_>, Vec<_>) = DEFAULT_ROLES
        .iter()
        .partition(|pattern| pattern.ends_with('*'));
    let whole: Vec<_> = whole.into_iter().map(literal).collect();
    let begins = beginnings.into_iter().map(|pattern| {
        let beginning = literal(pattern.trim_end_matches('*'));
        format!(" || {NAME}.startsWith({beginning})")
    });
    let marked = labelled("kubernetes.io/bootstrapping");
    let listed = format!(
        "{NAME} in [{}]{}",
        whole.join(", "),
        begins.collect::<String>()
    );
    format!("{listed} || ({NAME}.startsWith('system:') && ({marked}))")
}

/// Returns a CEL condition that is true if the new or the previous object has the label.
fn labelled(label: &str) -> String {
    let labelled = ["object", "oldObject"].map(|object| {
        format!(
            "({object} != null && has({object}.metadata.labels) \
             && {} in {object}.metadata.labels)",
            literal(label)
        )
    });
    labelled.join(" || ")
}

/// Returns a CEL condition that matches service accounts.
fn accounts() -> String {
    format!(
        "request.userInfo.username.startsWith({})",
        literal(ACCOUNT_PREFIX)
    )
}

fn users_or_accounts() -> String {
    format!("{DROVER_USERS} || {}", accounts())
}

/// Returns a CEL condition that excludes writes of this account.
pub(super) fn not(account: &str) -> String {
    format!("request.userInfo.username != {}", literal(account))
}

/// Returns a CEL condition that excludes writes of the accounts `one` and `other`.
pub(super) fn neither(one: &str, other: &str) -> String {
    format!("{} && {}", not(one), not(other))
}

fn in_namespaces(names: &[&str]) -> Value {
    json!({ "matchExpressions": [{
        "key": "kubernetes.io/metadata.name", "operator": "In", "values": names,
    }] })
}

fn configuration(name: &str, webhooks: &[Value]) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": name, "labels": { MANAGED_BY_LABEL: MANAGED_BY } },
        "webhooks": webhooks,
    })
}

/// Returns a CEL condition that matches the server's Secrets, service account token Secrets, and
/// bootstrap tokens of Drover users. The hub writes all other Secrets without a call to the server.
fn matching_secrets() -> String {
    let of_account = "(object != null && has(object.type) && object.type == \
                      'kubernetes.io/service-account-token')";
    let logs_in = format!(
        "({DROVER_USERS} && request.namespace == '{SYSTEM_NAMESPACE}' && object != null \
         && has(object.type) && object.type == '{BOOTSTRAP_TOKEN}')"
    );
    let own = SERVERS_SECRETS
        .iter()
        .map(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => format!("{NAME}.startsWith({})", literal(prefix)),
            None => format!("{NAME} == {}", literal(pattern)),
        });
    let own: Vec<_> = own.collect();
    format!(
        "{of_account} || {logs_in} || (request.namespace == '{HUB_NAMESPACE}' && ({}))",
        own.join(" || ")
    )
}

/// Returns a CEL condition that matches roles and bindings: writes of Drover users, bindings to
/// Drover names or to all users, and all writes of the server's own objects.
fn matching_roles() -> String {
    let namespace_rule = format!(
        "request.operation != 'DELETE' && ({DROVER_USERS} || (has(object.subjects) && object.subjects.exists(s, \
         s.name.startsWith('drover:') || s.name in ['system:anonymous', 'system:authenticated', \
         'system:serviceaccounts', 'system:unauthenticated'])))"
    );
    format!(
        "({namespace_rule}) || {NAME}.startsWith({}) || {}",
        literal(HUB_PREFIX),
        labelled(HUB_LABEL)
    )
}

/// Quotes a text as a CEL string literal.
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
mod tests;
