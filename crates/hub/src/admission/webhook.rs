//! What a hub elsewhere is told of the rules: a ValidatingWebhookConfiguration that fails closed.
//!
//! It asks for as little as the rules need: never for what the server itself or Kubernetes
//! writes, so that a server can start while nobody answers, and of roles and bindings only for
//! those that a rule could refuse. The way out, should nobody ever answer again:
//! `kubectl delete validatingwebhookconfiguration drover-rules`.

use drover_access::admission::{
    self, BOOTSTRAP_TOKEN, CERTIFICATES, CLIENT_SIGNERS, DEFAULT_ROLES, DEFINITIONS, HUB_LABEL,
    HUB_PREFIX, RBAC, SELF_APPROVED_SIGNER, SERVERS_SECRETS, SYSTEM_NAMESPACE,
};
use drover_access::names::{ACCOUNT_PREFIX, account};
use drover_api::group::{GROUP, HUB_NAMESPACE, MANAGED_BY, MANAGED_BY_LABEL};
use serde_json::{Value, json};

use super::address::Address;
use crate::webhook_name::{CONFIGURATION, NAMES_END, SERVER_ANNOTATION};

/// Name of the configuration with which it is tried first, and of the object that is tried.
pub(super) const PROBE: &str = "drover-rules-probe";
/// Name of the object with which it is tried whether the rules are in force.
pub(super) const CHECK: &str = "drover-rules-check";
/// Longest that the hub waits for an answer.
const SECONDS: u32 = 5;
/// Whoever is not Kubernetes itself.
const NO_KUBERNETES: &str = "!(request.userInfo.username in ['system:apiserver', 'system:kube-controller-manager']) \
     && !request.userInfo.username.startsWith('system:serviceaccount:kube-system:')";
/// People of Drover.
const PEOPLE: &str = "request.userInfo.username.startsWith('drover:')";
/// The object's name, or how it will begin. What is deleted with others is not named in the
/// request, and what is empty is not there.
const NAME: &str = "(has(request.name) ? request.name : oldObject != null ? \
                    oldObject.metadata.name : object.metadata.?generateName.orValue(''))";
const WRITES: &[&str] = &["CREATE", "UPDATE", "DELETE"];

/// How the hub reaches the server, and whom it believes to be the server.
pub(super) struct Asking<'a> {
    pub(super) address: &'a Address,
    pub(super) trust: Option<&'a str>,
    /// The last part of the path at which it asks.
    pub(super) segment: &'a str,
    /// The server's own name on the hub.
    pub(super) server: &'a str,
}

impl Asking<'_> {
    /// The rules.
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
            self.tried("check", CHECK),
        ];
        let mut rules = configuration(CONFIGURATION, &webhooks);
        rules["metadata"]["annotations"] = json!({ SERVER_ANNOTATION: self.server });
        rules
    }

    /// Drover's own kinds. Of what is deleted, people, settings and what gives rights matter.
    fn kinds(&self) -> Value {
        let deleted: Vec<_> = admission::JUDGED_WHEN_DELETED
            .iter()
            .map(|resource| literal(resource))
            .collect();
        let matters = format!(
            "request.operation != 'DELETE' || request.resource.resource in [{}]",
            deleted.join(", ")
        );
        let conditions = [self.others(), matters];
        let mut kinds = self.webhook("kinds", GROUP, &["*/*"], WRITES, &conditions);
        kinds["rules"][0]["apiVersions"] = json!(["*"]);
        kinds
    }

    fn secrets(&self) -> Value {
        let conditions = [self.others(), secrets_that_matter()];
        let webhook = self.webhook("secrets", "", &["secrets"], WRITES, &conditions);
        self.in_private_namespaces(webhook)
    }

    /// Tokens of accounts: any for people of Drover and for accounts, the server's for everybody.
    fn accounts(&self) -> Value {
        let matters = match account(self.server) {
            None => people_or_accounts(),
            Some((namespace, name)) => format!(
                "{} || (request.namespace == {} && request.name == {})",
                people_or_accounts(),
                literal(namespace),
                literal(name)
            ),
        };
        let no_node = "!('system:nodes' in request.userInfo.groups)".to_owned();
        let conditions = [self.others(), no_node, matters];
        let what = &["serviceaccounts/token"];
        let webhook = self.webhook("accounts", "", what, &["CREATE"], &conditions);
        self.in_private_namespaces(webhook)
    }

    fn rights(&self) -> Value {
        let what = &[
            "roles",
            "rolebindings",
            "clusterroles",
            "clusterrolebindings",
        ];
        let conditions = [self.others(), rights_that_matter()];
        self.webhook("rights", RBAC, what, WRITES, &conditions)
    }

    /// The roles that Kubernetes restores, as far as they are not asked about already.
    fn default_roles(&self) -> Value {
        let asked = format!(
            "{} || ({PEOPLE} && request.operation == 'DELETE')",
            accounts()
        );
        let in_place = "request.resource.resource == 'clusterroles' \
                        || request.namespace in ['kube-system', 'kube-public']";
        let conditions = [self.others(), asked, in_place.to_owned(), is_default_role()];
        let what = &["roles", "clusterroles"];
        self.webhook("default-roles", RBAC, what, WRITES, &conditions)
    }

    /// The server's namespace, when it goes or is given an owner with whom it would go.
    fn namespace(&self) -> Value {
        let own = format!("{NAME} == '{HUB_NAMESPACE}'");
        let goes = "request.operation == 'DELETE' || has(object.metadata.ownerReferences)";
        let conditions = [self.others(), own, goes.to_owned()];
        let what = &["namespaces", "namespaces/*"];
        self.webhook("namespace", "", what, &["UPDATE", "DELETE"], &conditions)
    }

    /// What Drover's kinds are.
    fn definitions(&self) -> Value {
        let own = format!("{NAME}.endsWith('.{GROUP}')");
        let what = &["customresourcedefinitions", "customresourcedefinitions/*"];
        let conditions = [self.others(), own];
        self.webhook("definitions", DEFINITIONS, what, WRITES, &conditions)
    }

    /// Certificates that a person of Drover approves, or asks for where Kubernetes approves.
    fn certificates(&self) -> Value {
        let signers: Vec<_> = CLIENT_SIGNERS.iter().map(|name| literal(name)).collect();
        let logs_in = format!(
            "object.spec.signerName == {} || (request.operation == 'UPDATE' \
             && object.spec.signerName in [{}])",
            literal(SELF_APPROVED_SIGNER),
            signers.join(", ")
        );
        let what = &["certificatesigningrequests/*"];
        let conditions = [self.others(), PEOPLE.to_owned(), logs_in];
        let name = "certificates";
        let mut webhook = self.webhook(name, CERTIFICATES, what, &["UPDATE"], &conditions);
        let mut asked = webhook["rules"][0].clone();
        asked["resources"] = json!(["certificatesigningrequests"]);
        asked["operations"] = json!(["CREATE"]);
        webhook["rules"] = json!([webhook["rules"][0], asked]);
        webhook
    }

    fn in_private_namespaces(&self, mut webhook: Value) -> Value {
        webhook["namespaceSelector"] = in_namespaces(&admission::private_namespaces(self.server));
        webhook
    }

    /// One that asks for nothing but an object that nobody makes.
    pub(super) fn probe(&self) -> Value {
        configuration(PROBE, &[self.tried("probe", PROBE)])
    }

    /// Asks for an object that nobody makes, the server's own attempts included.
    fn tried(&self, webhook: &str, object: &str) -> Value {
        let name = format!("has(request.name) && request.name == '{object}'");
        let mut tried = self.webhook(webhook, "", &["configmaps"], &["CREATE"], &[name]);
        tried["namespaceSelector"] = in_namespaces(&[HUB_NAMESPACE]);
        tried
    }

    /// Neither the server nor Kubernetes.
    fn others(&self) -> String {
        format!("{} && {NO_KUBERNETES}", not(self.server))
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
            "timeoutSeconds": SECONDS,
            "matchConditions": conditions,
            "rules": [{
                "apiGroups": [group], "apiVersions": ["v1"], "resources": resources,
                "operations": operations, "scope": "*",
            }],
        })
    }
}

/// Whether the object is one of the listed roles, or one that a Kubernetes of another version makes.
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

/// Whether the object has a label, or had it.
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

/// Service accounts.
fn accounts() -> String {
    format!(
        "request.userInfo.username.startsWith({})",
        literal(ACCOUNT_PREFIX)
    )
}

fn people_or_accounts() -> String {
    format!("{PEOPLE} || {}", accounts())
}

/// Whoever is not this account.
pub(super) fn not(account: &str) -> String {
    format!("request.userInfo.username != {}", literal(account))
}

/// Whoever is neither of these accounts.
pub(super) fn also_not(one: &str, other: &str) -> String {
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

/// The server's Secrets, those that hold accounts' tokens, and those of people that are log-ins; all
/// others must not wait for us.
fn secrets_that_matter() -> String {
    let of_account = "(object != null && has(object.type) && object.type == \
                      'kubernetes.io/service-account-token')";
    let logs_in = format!(
        "({PEOPLE} && request.namespace == '{SYSTEM_NAMESPACE}' && object != null \
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

/// What persons of Drover write, bindings of Drover's names or of everybody, and what the server
/// keeps, when it goes as well.
fn rights_that_matter() -> String {
    let given = format!(
        "request.operation != 'DELETE' && ({PEOPLE} || (has(object.subjects) && object.subjects.exists(s, \
         s.name.startsWith('drover:') || s.name in ['system:anonymous', 'system:authenticated', \
         'system:serviceaccounts', 'system:unauthenticated'])))"
    );
    format!(
        "({given}) || {NAME}.startsWith({}) || {}",
        literal(HUB_PREFIX),
        labelled(HUB_LABEL)
    )
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
mod tests;
