use drover_apiserver::access::{Attributes, Authorizer, Caller, Impersonation, Target};
use drover_apiserver::status::ApiError;
use http::HeaderMap;
use serde_json::{Value, json};

use super::granting;

fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in list {
        headers.append(*name, value.parse().unwrap());
    }
    headers
}

/// Resolves the impersonation headers `list` of a request that lists pods. Returns the impersonated
/// caller.
fn list_pods(
    impersonation: &Impersonation,
    authorizer: &dyn Authorizer,
    requestor: &Caller,
    list: &[(&'static str, &str)],
) -> Result<Caller, ApiError> {
    let attributes = Attributes {
        caller: requestor,
        verb: "list",
        target: Target::Resource {
            group: "",
            version: "v1",
            resource: "pods",
            subresource: "",
            namespace: "",
            name: "",
        },
    };
    let caller = impersonation.impersonate(&mut headers(list), &attributes, authorizer)?;
    Ok(caller.expect("the headers contain a user"))
}

fn alice(rules: Value, list: &[(&'static str, &str)]) -> Result<Caller, ApiError> {
    let rbac = granting(&[("alice", rules)]);
    list_pods(
        &Impersonation::default(),
        &rbac,
        &Caller::user("alice", []),
        list,
    )
}

fn plain(resources: &[&str]) -> Value {
    json!([{"apiGroups": ["", "authentication.k8s.io"], "resources": resources,
            "verbs": ["impersonate"]}])
}

fn constrained(mode: &str, resources: &[&str]) -> Value {
    json!([
        {"apiGroups": [""], "resources": ["pods"],
         "verbs": [format!("impersonate-on:{mode}:list")]},
        {"apiGroups": ["authentication.k8s.io"], "resources": resources,
         "verbs": [format!("impersonate:{mode}")]},
    ])
}

const BOB: (&str, &str) = ("impersonate-user", "bob");

#[test]
fn request_without_impersonation_headers_runs_as_its_caller() {
    let rbac = granting(&[]);
    let caller = Caller::user("alice", []);
    let attributes = Attributes {
        caller: &caller,
        verb: "get",
        target: Target::Path("/"),
    };
    let answer = Impersonation::default().impersonate(&mut headers(&[]), &attributes, &rbac);
    assert_eq!(answer, Ok(None));
}

#[test]
fn verb_impersonate_permits_impersonation_of_all_users_and_adds_implicit_groups() {
    let caller = alice(plain(&["users"]), &[BOB]).unwrap();
    assert_eq!(caller, Caller::user("bob", ["system:authenticated"]));
    let anonymous = [("impersonate-user", "system:anonymous")];
    let caller = alice(plain(&["users"]), &anonymous).unwrap();
    assert_eq!(caller.groups, ["system:unauthenticated"]);
}

#[test]
fn impersonated_user_groups_uid_and_extras_require_separate_permissions() {
    let parts = [
        ("groups", ("impersonate-group", "g")),
        ("uids", ("impersonate-uid", "7")),
        ("userextras/scopes", ("impersonate-extra-scopes", "s")),
    ];
    for (resource, header) in parts {
        alice(plain(&["users"]), &[BOB, header]).unwrap_err();
        alice(plain(&["users", resource]), &[BOB, header]).unwrap();
    }
}

#[test]
fn impersonated_service_account_has_implicit_groups_unless_groups_are_requested() {
    let account = ("impersonate-user", "system:serviceaccount:d:sa");
    alice(plain(&["users"]), &[account]).unwrap_err();
    let caller = alice(plain(&["serviceaccounts"]), &[account]).unwrap();
    assert_eq!(
        caller.groups,
        [
            "system:serviceaccounts",
            "system:serviceaccounts:d",
            "system:authenticated"
        ]
    );
    let group = ("impersonate-group", "g");
    let caller = alice(plain(&["serviceaccounts", "groups"]), &[account, group]).unwrap();
    assert_eq!(caller.groups, ["g", "system:authenticated"]);
}

// kube-apiserver v1.36.3 returns these messages for the same requests.

#[test]
fn impersonation_denial_reports_first_missing_permission() {
    let refusal = |user: &str| {
        let error = alice(json!([]), &[("impersonate-user", user)]).unwrap_err();
        error.message
    };
    let expected = |mode: &str| {
        format!(
            "pods is forbidden: User \"alice\" cannot impersonate-on:{mode}:list resource \
             \"pods\" in API group \"\" at the cluster scope"
        )
    };
    assert_eq!(refusal("bob"), expected("user-info"));
    assert_eq!(
        refusal("system:serviceaccount:default:x"),
        expected("serviceaccount")
    );
    assert_eq!(refusal("system:node:x"), expected("arbitrary-node"));
}

#[test]
fn denial_of_unconstrained_impersonation_reports_verb_impersonate() {
    let rules = json!([{"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"],
                        "resourceNames": ["bob"]}]);
    let rbac = granting(&[("alice", rules)]);
    let impersonation = Impersonation::default();
    let alice = Caller::user("alice", []);
    list_pods(&impersonation, &rbac, &alice, &[BOB]).unwrap();
    let carol = [("impersonate-user", "carol")];
    let error = list_pods(&impersonation, &rbac, &alice, &carol).unwrap_err();
    assert_eq!(
        error.message,
        "users \"carol\" is forbidden: User \"alice\" cannot impersonate resource \"users\" in \
         API group \"\" at the cluster scope"
    );
}

#[test]
fn constrained_impersonation_requires_permissions_for_identity_and_action() {
    let rules = constrained("user-info", &["users"]);
    assert_eq!(alice(rules.clone(), &[BOB]).unwrap().name, "bob");
    for half in [0, 1] {
        alice(json!([rules[half]]), &[BOB]).unwrap_err();
    }
}

#[test]
fn constrained_impersonation_cannot_add_system_masters() {
    let rules = constrained("user-info", &["users", "groups"]);
    let masters = ("impersonate-group", "system:masters");
    let error = alice(rules.clone(), &[BOB, masters]).unwrap_err();
    assert_eq!(
        error.message,
        "groups.authentication.k8s.io \"system:masters\" is forbidden: User \"alice\" cannot \
         impersonate:user-info resource \"groups\" in API group \"authentication.k8s.io\" at the \
         cluster scope: impersonating the system:masters group is not allowed"
    );
    alice(rules, &[BOB, ("impersonate-group", "team")]).unwrap();
}

#[test]
fn constrained_impersonation_requires_domain_in_extra_keys() {
    let rules = constrained(
        "user-info",
        &["users", "userextras/acme.com/a", "userextras/a"],
    );
    let key = "impersonate-extra-acme.com%2fa";
    alice(rules.clone(), &[BOB, (key, "v")]).unwrap();
    alice(rules.clone(), &[BOB, ("impersonate-extra-a", "v")]).unwrap_err();
    alice(rules, &[BOB, (key, "")]).unwrap_err();
}

#[test]
fn constrained_impersonation_of_nodes_adds_nodes_group() {
    let node = ("impersonate-user", "system:node:n1");
    let caller = alice(constrained("arbitrary-node", &["nodes"]), &[node]).unwrap();
    assert_eq!(caller.groups, ["system:nodes", "system:authenticated"]);
}

#[test]
fn service_account_can_impersonate_only_its_own_node() {
    let name = "system:serviceaccount:d:agent";
    let rbac = granting(&[(name, constrained("associated-node", &["nodes"]))]);
    let mut agent = Caller::user(name, []);
    let key = "authentication.kubernetes.io/node-name".to_owned();
    agent.extra.insert(key, vec!["n1".to_owned()]);
    let as_node = |node: &str| {
        let user = format!("system:node:{node}");
        let header = [("impersonate-user", user.as_str())];
        list_pods(&Impersonation::default(), &rbac, &agent, &header)
    };
    assert_eq!(
        as_node("n1").unwrap().groups,
        ["system:nodes", "system:authenticated"]
    );
    as_node("n2").unwrap_err();
}
