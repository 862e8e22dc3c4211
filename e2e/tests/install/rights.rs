//! Tests the permissions that the chart grants to the server.
//!
//! The server must use each permission within its scope, and must not send forbidden requests. The
//! test compares the permissions with the audit log, because removing each permission in turn would
//! take minutes per permission.

use std::time::Duration;

use drover_e2e::rights::{Account, Exemptions, forbidden};
use drover_e2e::{CommandLine, Image, eventually};
use serde_json::{Value, json};

use crate::stage::{Installed, NAMESPACE};

const GROUP: &str = "management.drover.dev";
const SOON: Duration = Duration::from_mins(1);

const EXEMPTIONS: Exemptions = Exemptions {
    not_limited_by_namespace: &[
        (
            "create fleet.cattle.io/clusterregistrationtokens everywhere",
            "users create objects of Fleet in any namespace",
        ),
        (
            "create fleet.cattle.io/clusters everywhere",
            "users create objects of Fleet in any namespace",
        ),
        (
            "patch fleet.cattle.io/clusters everywhere",
            "users create objects of Fleet in any namespace",
        ),
        (
            "patch fleet.cattle.io/clusters/status everywhere",
            "users create objects of Fleet in any namespace",
        ),
        (
            "list secrets everywhere",
            "users create objects of Fleet in any namespace",
        ),
        (
            "create events.k8s.io/events everywhere",
            "users create objects of Fleet in any namespace",
        ),
        (
            "patch fleet.cattle.io/bundles everywhere",
            "users create objects of Fleet in any namespace",
        ),
        (
            "delete fleet.cattle.io/clusters everywhere",
            "users create objects of Fleet in any namespace",
        ),
        (
            "patch fleet.cattle.io/bundles/status everywhere",
            "users create objects of Fleet in any namespace",
        ),
        (
            "patch fleet.cattle.io/clustergroups/status everywhere",
            "users create objects of Fleet in any namespace",
        ),
        (
            "patch fleet.cattle.io/gitrepos/status everywhere",
            "users create objects of Fleet in any namespace",
        ),
        (
            "get apps/deployments fleet-controller everywhere",
            "Fleet's namespace can be absent, so the chart cannot have a Role in it",
        ),
        (
            "get apps/deployments gitjob everywhere",
            "Fleet's namespace can be absent, so the chart cannot have a Role in it",
        ),
        (
            "get apps/deployments helmops everywhere",
            "Fleet's namespace can be absent, so the chart cannot have a Role in it",
        ),
        (
            "create serviceaccounts/token drover-agent everywhere",
            "users create objects of Fleet in any namespace",
        ),
    ],
    not_audited: &[
        (
            "create fleet.cattle.io/clusterregistrationtokens everywhere",
            "used for the import of clusters with a kubeconfig",
        ),
        (
            "get fleet.cattle.io/clusterregistrationtokens everywhere",
            "used for the import of clusters with a kubeconfig",
        ),
        (
            "delete fleet.cattle.io/clusterregistrationtokens everywhere",
            "used for Fleet's own agents and for bundles of repositories",
        ),
        (
            "patch fleet.cattle.io/clusterregistrations everywhere",
            "used for Fleet's own agents and for bundles of repositories",
        ),
        (
            "delete fleet.cattle.io/clusterregistrations everywhere",
            "used for Fleet's own agents and for bundles of repositories",
        ),
        (
            "get fleet.cattle.io/clusters everywhere",
            "used for Fleet's own agents and for bundles of repositories",
        ),
        (
            "patch fleet.cattle.io/clusterregistrationtokens/status everywhere",
            "used for Fleet's own agents and for bundles of repositories",
        ),
        (
            "patch fleet.cattle.io/clusterregistrations/status everywhere",
            "used for Fleet's own agents and for bundles of repositories",
        ),
        (
            "patch namespaces everywhere",
            "used for Fleet's own agents and for bundles of repositories",
        ),
        (
            "delete serviceaccounts everywhere",
            "used for Fleet's own agents and for bundles of repositories",
        ),
        (
            "create fleet.cattle.io/bundles everywhere",
            "used for Fleet's own agents and for bundles of repositories",
        ),
        (
            "delete fleet.cattle.io/bundles everywhere",
            "used for Fleet's own agents and for bundles of repositories",
        ),
        (
            "delete admissionregistration.k8s.io/validatingwebhookconfigurations drover-rules everywhere",
            "used only on a hub older than the chart supports",
        ),
        (
            "bind rbac.authorization.k8s.io/clusterroles everywhere",
            "the API server checks it as part of the request that writes a binding",
        ),
        (
            "bind rbac.authorization.k8s.io/roles everywhere",
            "the API server checks it as part of the request that writes a binding",
        ),
        (
            "escalate rbac.authorization.k8s.io/clusterroles everywhere",
            "the API server checks it as part of the request that writes a role",
        ),
        (
            "escalate rbac.authorization.k8s.io/roles everywhere",
            "the API server checks it as part of the request that writes a role",
        ),
        (
            "impersonate groups everywhere",
            "only users of an identity provider have groups, and this stage has no provider",
        ),
        (
            "create management.drover.dev/globalrolebindings everywhere",
            "used at the first sign-in of a provider's user with a default role for new users",
        ),
        (
            "create serviceaccounts/token drover-agent everywhere",
            "used when an agent requests a hub token, and no agent of this stage does",
        ),
        (
            "create management.drover.dev/userpreferences everywhere",
            "used for preferences of the web UI, and this stage has no browser",
        ),
        (
            "update management.drover.dev/userpreferences everywhere",
            "used for preferences of the web UI, and this stage has no browser",
        ),
        (
            "delete fleet.cattle.io/contents everywhere",
            "used 15 minutes after the last use of a content",
        ),
        (
            "patch fleet.cattle.io/helmops/status everywhere",
            "used for HelmOps, and this stage has none",
        ),
        (
            "patch fleet.cattle.io/imagescans/status everywhere",
            "used for ImageScans, and this stage has none",
        ),
        (
            "patch fleet.cattle.io/schedules/status everywhere",
            "used for Schedules, and this stage has none",
        ),
        (
            "patch events.k8s.io/events in default",
            "used when the same event of a Cluster repeats after a minute",
        ),
    ],
    // Users define these names, or the names are generated.
    not_limited_by_name: &[
        ("fleet.cattle.io/bundles", "users choose the name"),
        ("fleet.cattle.io/bundles/status", "users choose the name"),
        (
            "fleet.cattle.io/bundledeployments",
            "the name is the name of the Bundle",
        ),
        (
            "fleet.cattle.io/clusters",
            "the name is the name of the Cluster",
        ),
        (
            "fleet.cattle.io/clusters/status",
            "the name is the name of the Cluster",
        ),
        (
            "fleet.cattle.io/clustergroups/status",
            "users choose the name",
        ),
        ("fleet.cattle.io/gitrepos/status", "users choose the name"),
        ("fleet.cattle.io/contents", "the name is a hash"),
        ("configmaps", "users choose the name"),
        ("namespaces", "the name contains the name of the Cluster"),
        (
            "serviceaccounts",
            "the namespace contains the name of the Cluster",
        ),
        (
            "rbac.authorization.k8s.io/clusterroles",
            "the name contains the UID of the role",
        ),
        (
            "rbac.authorization.k8s.io/roles",
            "the name contains the UID of the role",
        ),
        (
            "rbac.authorization.k8s.io/clusterrolebindings",
            "the name contains the UID of the role",
        ),
        (
            "rbac.authorization.k8s.io/rolebindings",
            "the name contains the UID of the role",
        ),
        (
            "secrets",
            "the name of a password Secret contains the UID of the user",
        ),
        ("management.drover.dev/clusters", "users choose the name"),
        ("management.drover.dev/users", "users choose the name"),
        (
            "management.drover.dev/authproviders",
            "users choose the name",
        ),
        ("management.drover.dev/tokens", "the name is random"),
        (
            "management.drover.dev/globalroles",
            "another release may use other names",
        ),
        (
            "management.drover.dev/roletemplates",
            "another release may use other names",
        ),
        ("management.drover.dev/projects", "users choose the name"),
        (
            "management.drover.dev/savedviews",
            "the name contains the UID of the user",
        ),
        (
            "management.drover.dev/userpreferences",
            "the name is the UID of the user",
        ),
        (
            "management.drover.dev/globalrolebindings",
            "users choose the name",
        ),
        (
            "management.drover.dev/clusterroletemplatebindings",
            "users choose the name",
        ),
        (
            "management.drover.dev/projectroletemplatebindings",
            "users choose the name",
        ),
        (
            "management.drover.dev/clusterregistrationtokens",
            "the name is random",
        ),
        (
            "authentication.k8s.io/userextras/management.drover.dev/display-name",
            "the value of the extra field is the name",
        ),
        (
            "authentication.k8s.io/userextras/management.drover.dev/token-id",
            "the value of the extra field is the name",
        ),
        (
            "authentication.k8s.io/userextras/authentication.kubernetes.io/node-name",
            "the value of the extra field is the name",
        ),
        (
            "authentication.k8s.io/userextras/authentication.kubernetes.io/node-uid",
            "the value of the extra field is the name",
        ),
    ],
};

/// Makes the server send requests that require the permissions that the server has not used yet.
async fn cause_remaining_requests(installed: &mut Installed) {
    for line in [
        // The chart installs the rules; an administrator without access can delete them.
        "delete validatingwebhookconfiguration drover-rules",
        // The server alone writes this binding while the rules are active.
        "delete clusterrolebinding drover-hub-administrators-0",
    ] {
        installed.tools.kubectl(line).await.unwrap();
    }
    objects_rejected_by_the_rules(installed).await;
    for line in [
        "--namespace=drover-system rollout restart deployment drover",
        "--namespace=drover-system rollout status deployment drover --timeout=1m",
        "create namespace accounts",
    ] {
        installed.tools.kubectl(line).await.unwrap();
    }
    installed.wait_until_usable().await;
    for line in [
        "user create bob --administrator --generate-password",
        "user delete bob --yes",
        "cluster import west",
        "setting set session-ttl 8h",
        "setting set token-default-ttl 30d",
        "view save nodes /objects/nodes",
        "view save nodes /objects/nodes?sort=-name",
        "view delete nodes",
    ] {
        installed.drover(line).await.unwrap();
    }
    wait_for_token_conditions(installed).await;
    deploy_a_bundle(installed).await;
    bindings(installed).await;
    roles_on_the_hub(installed).await;
    members(installed).await;
    manage_a_provider(installed).await;
    installed
        .drover("cluster delete west --yes --wait")
        .await
        .unwrap();
    as_person(installed).await;
    as_account(installed, "accounts", "puller").await;
    as_account(installed, "default", "fetcher").await;
    // The server looks up a token that is missing in its cache on the hub.
    let unknown = format!("drover_bcdfghjkmnpq_{}", "b".repeat(32));
    let refused = on_the_hub(installed, "unknown", &unknown);
    assert!(
        !refused
            .output(["get", "--raw=/api"])
            .await
            .unwrap()
            .status
            .success()
    );
}

/// Deploys a bundle with Helm values and a copied ConfigMap, and changes and deletes the bundle.
async fn deploy_a_bundle(installed: &Installed) {
    let of_fleet = |kind: &str, spec: Value| {
        json!({
            "apiVersion": "fleet.cattle.io/v1alpha1", "kind": kind,
            "metadata": { "name": "shop", "namespace": "fleet-default" }, "spec": spec,
        })
    };
    let bundle = |size: u32| {
        let chart = "apiVersion: v2\nname: shop\nversion: 1.0.0\n";
        let resources = json!([{ "name": "Chart.yaml", "content": chart }]);
        let spec = json!({
            "helm": { "values": { "size": size } }, "resources": resources,
            "downstreamResources": [{ "kind": "ConfigMap", "name": "shop" }],
            "targets": [{ "clusterSelector": {} }],
        });
        of_fleet("Bundle", spec)
    };
    let group = of_fleet("ClusterGroup", json!({ "selector": {} }));
    let repo = of_fleet("GitRepo", json!({ "repo": "https://127.0.0.1:1/shop.git" }));
    // The server copies the ConfigMap to the namespaces of the clusters.
    let copied = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "shop", "namespace": "fleet-default" },
        "data": { "region": "north" },
    });
    apply(installed, &[group, repo, copied, bundle(1)]).await;
    let deployed = "get bundledeployments -A -l fleet.cattle.io/bundle-name=shop -o name";
    soon_prints(installed, deployed, "shop").await;
    apply(installed, &[bundle(2)]).await;
    let status =
        "get clustergroup/shop gitrepo/shop -n fleet-default -o jsonpath={.items[*].status}";
    soon_prints(installed, status, "GitPolling").await;
    let stage = "get secrets -A -o jsonpath={.items[?(@.metadata.name==\"shop\")].data.values}";
    // {"size":2} in base64.
    soon_prints(installed, stage, "eyJzaXplIjoyfQ==").await;
    for kind in ["bundle", "gitrepo", "clustergroup", "configmap"] {
        let line = format!("delete {kind} shop -n fleet-default --timeout=1m");
        installed.tools.kubectl(&line).await.unwrap();
    }
}

/// Waits until the output of a kubectl command contains a text.
async fn soon_prints(installed: &Installed, line: &str, text: &str) {
    eventually(text, SOON, async || {
        match installed.tools.kubectl(line).await {
            Ok(output) if output.contains(text) => Ok(()),
            Ok(output) => Err(output),
            Err(error) => Err(error.to_string()),
        }
    })
    .await
    .unwrap();
}

/// Creates one binding of each kind. The server adds the UIDs of the role and the subject.
async fn bindings(installed: &Installed) {
    // The rules read the referenced objects when they are active again.
    soon(installed, "get validatingwebhookconfiguration drover-rules").await;
    let (west, subject) = (
        json!({ "name": "west" }),
        json!({ "user": { "name": "ann" } }),
    );
    let bound = |kind: &str, role: &str, mut spec: Value| {
        spec["role"] = json!({ "name": role });
        spec["subject"] = subject.clone();
        object(kind, "ann", &spec)
    };
    let shop = object("Project", "shop", &json!({ "cluster": west }));
    apply(installed, &[shop]).await;
    let all = [
        bound("GlobalRoleBinding", "viewer", json!({})),
        bound(
            "ClusterRoleTemplateBinding",
            "cluster-viewer",
            json!({ "cluster": west }),
        ),
        bound(
            "ProjectRoleTemplateBinding",
            "read-only",
            json!({ "project": { "name": "shop" } }),
        ),
    ];
    apply(installed, &all).await;
    for binding in all {
        let kind = binding["kind"].as_str().unwrap().to_lowercase();
        let ready = "--for=condition=Ready --timeout=1m";
        let line = format!("wait {kind}s.{GROUP}/ann {ready}");
        installed.tools.kubectl(&line).await.unwrap();
    }
}

/// Binds a global role to two users. The role grants permissions on the whole hub and in two
/// namespaces. Then changes the role, and removes the role from both users.
async fn roles_on_the_hub(installed: &Installed) {
    installed
        .tools
        .kubectl("create namespace apart")
        .await
        .unwrap();
    installed
        .drover("user create joe --generate-password")
        .await
        .unwrap();
    let role = |verb: &str| {
        let rules = json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": [verb] }]);
        let namespaced = json!({ "apart": rules, "accounts": rules });
        let spec = json!({ "rules": rules, "namespacedRules": namespaced });
        object("GlobalRole", "keeper", &spec)
    };
    let bound = |name: &str| {
        let spec = json!({
            "role": { "name": "keeper" }, "subject": { "user": { "name": name } },
        });
        object("GlobalRoleBinding", &format!("keeper-{name}"), &spec)
    };
    apply(installed, &[role("get")]).await;
    apply(installed, &[bound("ann")]).await;
    let there = |case: &str| format!("get {case} --namespace=apart -o yaml");
    holds(installed, &there("roles,rolebindings"), "configmaps", true).await;
    apply(installed, &[role("list"), bound("joe")]).await;
    holds(installed, &there("roles"), "- list", true).await;
    let joe = installed
        .drover("user get joe --output=json")
        .await
        .unwrap();
    let joe: Value = serde_json::from_str(&joe).unwrap();
    let joe = joe["uid"].as_str().unwrap();
    holds(installed, &there("rolebindings"), joe, true).await;
    // Deleting the users also deletes their bindings and the derived objects.
    installed.drover("user delete joe --yes").await.unwrap();
    holds(installed, &there("rolebindings"), joe, false).await;
    let line = format!("delete globalrolebindings.{GROUP} keeper-ann");
    installed.tools.kubectl(&line).await.unwrap();
    let kinds = "clusterroles,clusterrolebindings,roles,rolebindings";
    let remaining = format!("get {kinds} --all-namespaces -l {GROUP}/hub-access=role -o yaml");
    holds(installed, &remaining, "keeper", false).await;
}

/// Waits until the output of kubectl contains a text. If `expected` is false, waits until the
/// output does not contain the text.
async fn holds(installed: &Installed, line: &str, text: &str, expected: bool) {
    eventually(&format!("{text} in {line}: {expected}"), SOON, async || {
        let output = installed.tools.kubectl(line).await;
        let output = output.map_err(|error| error.to_string())?;
        (output.contains(text) == expected)
            .then_some(())
            .ok_or(output)
    })
    .await
    .unwrap();
}

/// Creates and deletes a project, and members of a cluster and of a project, through the server.
async fn members(installed: &Installed) {
    for line in [
        "project create bank --cluster west",
        "project set bank --description=money",
        "access grant nodes-view --cluster west --user ann",
        "access grant read-only --project bank --user ann",
    ] {
        installed.drover(line).await.unwrap();
    }
    for place in ["--cluster west", "--project bank"] {
        let line = format!("access list {place} --output=json");
        let members = installed.drover(&line).await.unwrap();
        let members: Value = serde_json::from_str(&members).unwrap();
        let roles = ["nodes-view", "read-only"];
        let items = members["items"].as_array().unwrap().iter();
        for member in items.filter(|item| roles.contains(&item["role"].as_str().unwrap())) {
            let id = member["id"].as_str().unwrap();
            let line = format!("access revoke {id} {place}");
            installed.drover(&line).await.unwrap();
        }
    }
    installed.drover("project delete bank --yes").await.unwrap();
}

/// Creates a project that refers to a missing cluster, so that the server writes the project's
/// condition. Also attempts writes that the admission rules reject, such as a change of a built-in
/// role.
async fn objects_rejected_by_the_rules(installed: &Installed) {
    let nowhere = json!({ "cluster": { "name": "nowhere" } });
    apply(installed, &[object("Project", "lost", &nowhere)]).await;
    for line in [
        r#"patch roletemplate cluster-viewer --type=merge --patch={"spec":{"locked":true}}"#,
        r#"patch globalrole viewer --type=merge --patch={"spec":{"newUserDefault":true}}"#,
    ] {
        soon(installed, line).await;
    }
}

/// Repeats a kubectl command until the command succeeds. After a webhook is created or deleted, the
/// hub starts or stops its calls with a short delay.
async fn soon(installed: &Installed, line: &str) {
    eventually(line, SOON, async || {
        installed.tools.kubectl(line).await.map(drop)
    })
    .await
    .unwrap();
}

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": kind,
        "metadata": { "name": name }, "spec": spec,
    })
}

async fn apply(installed: &Installed, objects: &[Value]) {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    let file = installed.east.cluster.folder().join("objects.json");
    std::fs::write(&file, list.to_string()).unwrap();
    soon(installed, &format!("apply --filename={}", file.display())).await;
}

/// Creates an identity provider, changes the provider, waits until the server has written its
/// condition, and deletes the provider.
async fn manage_a_provider(installed: &Installed) {
    let spec = tempfile::NamedTempFile::new().unwrap();
    let oidc = json!({ "oidc": { "issuer": "https://id.example", "clientId": "drover" } });
    std::fs::write(spec.path(), oidc.to_string()).unwrap();
    let file = spec.path().to_str().unwrap();
    let create = format!("provider create corp --public --file {file}");
    installed.drover(&create).await.unwrap();
    let line =
        "get authproviders.management.drover.dev corp -o jsonpath={.status.conditions[*].type}";
    let waited = eventually("a provider's condition", SOON, async || {
        let reported = installed.tools.kubectl(line).await;
        reported
            .map_err(|error| error.to_string())
            .and_then(|reported| {
                let is_told = !reported.is_empty();
                is_told.then_some(()).ok_or_else(|| "none".to_owned())
            })
    });
    waited.await.unwrap();
    let change = async || installed.drover("provider disable corp").await;
    eventually("a change of the provider", SOON, change)
        .await
        .unwrap();
    installed
        .drover("provider delete corp --yes")
        .await
        .unwrap();
}

/// Waits for conditions of registration tokens. The deletion of a cluster also deletes its token.
/// The deletion may happen before the server writes the condition.
async fn wait_for_token_conditions(installed: &Installed) {
    let tokens = "clusterregistrationtokens.management.drover.dev";
    let line = format!("get {tokens} -o jsonpath={{.items[*].status.conditions[*].type}}");
    let waited = eventually("a registration token's condition", SOON, async || {
        let reported = installed.tools.kubectl(&line).await;
        reported
            .map_err(|error| error.to_string())
            .and_then(|reported| {
                let is_told = !reported.is_empty();
                is_told.then_some(()).ok_or_else(|| "none".to_owned())
            })
    });
    waited.await.unwrap();
}

/// Impersonates a user and binds roles. The server checks these requests with access reviews.
async fn as_person(installed: &Installed) {
    let created = installed
        .drover("token create --description=hub --output=json")
        .await
        .unwrap();
    let created: Value = serde_json::from_str(&created).unwrap();
    let admin = on_the_hub(installed, "admin", created["token"].as_str().unwrap());
    eventually(
        "the administrator to have permissions on the hub again",
        SOON,
        async || admin.run(["get", "nodes"]).await.map(drop),
    )
    .await
    .unwrap();
    for namespace in ["accounts", "default"] {
        let place = format!("--namespace={namespace}");
        for line in [
            format!("create clusterrole {namespace} --verb=get --resource=configmaps"),
            format!("create role {namespace} --verb=get --resource=configmaps {place}"),
            format!("create rolebinding a --clusterrole={namespace} --user=somebody {place}"),
            format!("create rolebinding b --role={namespace} --user=somebody {place}"),
        ] {
            admin.run(line.split(' ')).await.unwrap();
        }
    }
    let whoami = ["auth", "whoami", "--as=ann"];
    admin.run(whoami).await.unwrap();
}

/// Sends requests as a service account. The service account's token is bound to a pod.
async fn as_account(installed: &Installed, namespace: &str, name: &str) {
    let pod = json!({ "spec": { "serviceAccountName": name } });
    for line in [
        format!("create serviceaccount {name} --namespace={namespace}"),
        format!(
            "create clusterrolebinding {name} --clusterrole=view --serviceaccount={namespace}:{name}"
        ),
        format!(
            "run {name} --namespace={namespace} --image={} --image-pull-policy=Never --overrides={pod}",
            Image::TOOLS
        ),
        format!(
            "wait pod/{name} --namespace={namespace} --for=condition=PodScheduled --timeout=1m"
        ),
    ] {
        installed.tools.kubectl(&line).await.unwrap();
    }
    let bound = format!("--bound-object-kind=Pod --bound-object-name={name}");
    let line = format!("create token {name} --namespace={namespace} {bound}");
    let token = installed.tools.kubectl(&line).await.unwrap();
    let account = on_the_hub(installed, name, &token);
    account.run(["get", "configmaps"]).await.unwrap();
}

/// Returns a kubectl command for the cluster `local` with this bearer token.
fn on_the_hub(installed: &Installed, name: &str, token: &str) -> CommandLine {
    let server = format!("{}/k8s/clusters/local", installed.url);
    // This connection skips certificate checks. Other tests check the server's certificate.
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "local",
        "clusters": [{ "name": "local", "cluster": {
            "server": server, "insecure-skip-tls-verify": true,
        } }],
        "users": [{ "name": name, "user": { "token": token } }],
        "contexts": [{ "name": "local", "context": { "cluster": "local", "user": name } }],
    });
    let file = installed.east.cluster.folder().join(format!("{name}.yaml"));
    std::fs::write(&file, text.to_string()).unwrap();
    installed.admin.kubectl_with(&file)
}

pub(crate) async fn server_needs_exactly_the_permissions_of_its_chart(installed: &mut Installed) {
    // A new stage contains no user with this name.
    drop(
        installed
            .drover("user create ann --generate-password")
            .await,
    );
    cause_remaining_requests(installed).await;
    let account = Account {
        cluster: &installed.hub,
        namespace: NAMESPACE,
        name: "drover",
    };
    let granted = account.granted().await.unwrap();
    let unseen = EXEMPTIONS.not_audited.iter().map(|(right, _)| *right);
    let missing = unseen.filter(|unseen| granted.iter().all(|right| right.to_string() != *unseen));
    assert_eq!(
        missing.collect::<Vec<_>>(),
        [""; 0],
        "the server lacks these permissions"
    );
    eventually(
        "every permission to be used within its scope",
        SOON,
        async || account.check(&granted, EXEMPTIONS),
    )
    .await
    .unwrap();
    let events = account.events().unwrap();
    let own = events
        .iter()
        .filter(|event| event.impersonated_user.is_none());
    let refused = forbidden(own);
    assert!(refused.is_empty(), "{refused:#?}");
}
