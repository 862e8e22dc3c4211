//! Tests of projects in a real cluster, with their namespaces, quotas and limits.

use drover_api::kinds::Project;
use drover_e2e::{ControlPlane, eventually};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::rig::{Rig, SOON, start};

/// Creates and changes Project objects directly on the hub.
struct Projects<'a> {
    rig: &'a Rig,
    api: Api<Project>,
}

impl<'a> Projects<'a> {
    fn of(rig: &'a Rig) -> Self {
        Self {
            rig,
            api: Api::all(rig.server.hub.client()),
        }
    }

    async fn make(&self, name: &str, spec: Value) {
        let mut spec = spec;
        spec["cluster"] = json!({ "name": "shop" });
        let project = json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": "Project",
            "metadata": { "name": name }, "spec": spec,
        });
        let project = serde_json::from_value(project).unwrap();
        let params = PostParams::default();
        self.api.create(&params, &project).await.unwrap();
    }

    async fn change(&self, name: &str, spec: Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        let params = PatchParams::default();
        self.api.patch(name, &params, &patch).await.unwrap();
    }

    async fn wait_for(&self, name: &str, reason: &str, namespaces: &[&str]) -> String {
        let case = format!("{name} to be {reason} with {namespaces:?}");
        let mut message = String::new();
        let waited = eventually(&case, SOON, async || {
            let project = self
                .api
                .get(name)
                .await
                .map_err(|error| error.to_string())?;
            let status = project.status.unwrap_or_default();
            let own: Vec<_> = status
                .namespaces
                .iter()
                .map(|own| own.name.as_str())
                .collect();
            let ready = status.conditions.iter().find(|it| it.type_ == "Ready");
            let message = ready.map(|ready| (ready.reason.as_str(), ready.message.clone()));
            match message {
                Some((found, message)) if found == reason && own == namespaces => Ok(message),
                _ => Err(format!("{status:?}")),
            }
        });
        message.push_str(&waited.await.unwrap());
        message
    }

    async fn wait_until_gone(&self, name: &str) {
        eventually(&format!("{name} to be deleted"), SOON, async || {
            let found = self.rig.server.hub.client();
            let found = Api::<Project>::all(found).get_opt(name).await;
            match found.map_err(|error| error.to_string())? {
                None => Ok(()),
                Some(project) => Err(format!("{project:?}")),
            }
        })
        .await
        .unwrap();
    }

    async fn delete(&self, name: &str) {
        let params = DeleteParams::default();
        self.api.delete(name, &params).await.unwrap();
    }

    async fn uid(&self, name: &str) -> String {
        self.api.get(name).await.unwrap().metadata.uid.unwrap()
    }
}

async fn kubectl(cluster: &ControlPlane, line: &str) -> String {
    let done = cluster.kubectl(line.split(' ')).await;
    done.unwrap_or_else(|error| panic!("{line}: {error}"))
        .stdout
}

async fn get(cluster: &ControlPlane, name: &str) -> Value {
    let text = kubectl(cluster, &format!("get {name} -o json")).await;
    serde_json::from_str(&text).unwrap()
}

fn labels(namespace: &Value) -> &Value {
    &namespace["metadata"]["labels"]
}

/// Waits until a namespace has the label of this project. For `None`, waits until the namespace has
/// no project label.
async fn wait_for_label(cluster: &ControlPlane, namespace: &str, project: Option<&str>) {
    let case = format!("{namespace} to be labelled {project:?}");
    eventually(&case, SOON, async || {
        let found = get(cluster, &format!("namespace {namespace}")).await;
        let label = labels(&found)["management.drover.dev/project"].as_str();
        (label == project)
            .then_some(())
            .ok_or_else(|| found.to_string())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn project_namespaces_have_quotas_and_are_released_without_project_metadata() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let _agent = start(&cluster, "pod-0").await;
    let projects = Projects::of(&rig);
    let spec = json!({
        "namespaces": [{ "name": "dev" }, { "name": "test" }],
        "quota": {
            "project": { "pods": "10" },
            "namespace": { "pods": "5", "requests.cpu": "0.5" },
        },
        "containerDefaults": { "limits": { "memory": "1024Mi" } },
        "podSecurity": "Restricted",
    });
    projects.make("web", spec).await;
    projects.wait_for("web", "Applied", &["dev", "test"]).await;
    let web = projects.uid("web").await;
    let created = get(&cluster, "namespace dev").await;
    let label = |label: &str| labels(&created)[label].clone();
    assert_eq!(label("management.drover.dev/project"), json!(web));
    assert_eq!(label("pod-security.kubernetes.io/enforce"), "restricted");
    assert_eq!(label("app.kubernetes.io/managed-by"), "drover");
    let quota = get(&cluster, "resourcequota drover-project -n dev").await;
    let hard = json!({ "pods": "5", "requests.cpu": "500m" });
    assert_eq!(quota["spec"]["hard"], hard);
    let limits = get(&cluster, "limitrange drover-project -n dev").await;
    assert_eq!(limits["spec"]["limits"][0]["default"]["memory"], "1Gi");

    // A third namespace would exceed the quota of the project.
    let three = json!([{ "name": "dev" }, { "name": "test" }, { "name": "x" }]);
    projects.change("web", json!({ "namespaces": three })).await;
    let message = projects.wait_for("web", "LimitsInvalid", &["dev", "test"]);
    let message = message.await;
    assert!(
        message.contains("the sum of 3 namespace quotas of 5"),
        "{message}"
    );
    assert!(cluster.kubectl(["get", "namespace", "x"]).await.is_err());

    // A namespace that leaves the project stays without objects of Drover. A namespace that stays
    // in the project is unchanged.
    let one = json!([{ "name": "dev" }]);
    projects.change("web", json!({ "namespaces": one })).await;
    projects.wait_for("web", "Applied", &["dev"]).await;
    assert_namespace_is_unmanaged(&cluster, "test").await;
    let same = get(&cluster, "resourcequota drover-project -n dev").await;
    let version = |of: &Value| of["metadata"]["resourceVersion"].clone();
    assert_eq!(version(&same), version(&quota));
    projects.delete("web").await;
    projects.wait_until_gone("web").await;
    assert_namespace_is_unmanaged(&cluster, "dev").await;
}

#[tokio::test]
async fn manual_changes_in_project_namespaces_are_reverted_within_seconds() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let _agent = start(&cluster, "pod-0").await;
    let projects = Projects::of(&rig);
    let spec = json!({
        "namespaces": [{ "name": "dev" }],
        "quota": { "project": { "pods": "10" }, "namespace": { "pods": "5" } },
        "containerDefaults": { "limits": { "memory": "1Gi" } },
    });
    projects.make("web", spec).await;
    projects.wait_for("web", "Applied", &["dev"]).await;
    let web = projects.uid("web").await;
    let quota = "resourcequota drover-project -n dev";
    let hard = || json!({ "pods": "5" });
    let wait_until_restored = async |line: &str, pointer: &str, expected: Value| {
        let is_as_wanted = async || {
            let found = cluster
                .kubectl(format!("get {line} -o json").split(' '))
                .await;
            let found = found.map_err(|error| error.to_string())?;
            let found: Value =
                serde_json::from_str(&found.stdout).map_err(|error| error.to_string())?;
            let same = found.pointer(pointer) == Some(&expected);
            same.then_some(()).ok_or_else(|| found.to_string())
        };
        eventually(line, SOON, is_as_wanted).await.unwrap();
    };
    kubectl(&cluster, &format!("delete {quota}")).await;
    wait_until_restored(quota, "/spec/hard", hard()).await;
    let more = r#"{"spec":{"hard":{"pods":"500"}}}"#;
    kubectl(&cluster, &format!("patch {quota} --type=merge -p {more}")).await;
    wait_until_restored(quota, "/spec/hard", hard()).await;
    kubectl(&cluster, "delete limitrange drover-project -n dev").await;
    let limit = "/spec/limits/0/default/memory";
    wait_until_restored("limitrange drover-project -n dev", limit, json!("1Gi")).await;
    let unlabel = "label namespace dev management.drover.dev/project-";
    kubectl(&cluster, unlabel).await;
    wait_for_label(&cluster, "dev", Some(&web)).await;
}

/// Asserts that a namespace contains no label and no object of a project.
async fn assert_namespace_is_unmanaged(cluster: &ControlPlane, name: &str) {
    let remaining = get(cluster, &format!("namespace {name}")).await;
    assert_eq!(
        labels(&remaining),
        &json!({ "kubernetes.io/metadata.name": name })
    );
    for kind in ["resourcequotas", "limitranges"] {
        let remaining = get(cluster, &format!("{kind} -n {name}")).await;
        assert_eq!(remaining["items"], json!([]), "{kind} in {name}");
    }
}

#[tokio::test]
async fn existing_namespace_is_adopted_only_on_request_and_can_move_to_another_project() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let _agent = start(&cluster, "pod-0").await;
    let projects = Projects::of(&rig);
    kubectl(&cluster, "create namespace bank").await;
    let adopted = || json!({ "namespaces": [{ "name": "bank", "adopt": true }] });

    let requested = json!({ "namespaces": [{ "name": "bank" }] });
    projects.make("vault", requested).await;
    let message = projects.wait_for("vault", "NamespaceTaken", &[]).await;
    assert!(
        message.contains("\"bank\"") && message.contains("adopt"),
        "{message}"
    );
    // A label in the cluster does not change the owner of a namespace.
    let vault = projects.uid("vault").await;
    let label = format!("label namespace bank management.drover.dev/project={vault}");
    kubectl(&cluster, &label).await;
    let again = json!({ "description": "looked at again" });
    projects.change("vault", again).await;
    wait_for_label(&cluster, "bank", None).await;
    projects.change("vault", adopted()).await;
    projects.wait_for("vault", "Applied", &["bank"]).await;
    wait_for_label(&cluster, "bank", Some(&vault)).await;
    rig.server.user(&rig.admin, "ann").await;
    let body = json!({ "role": "read-only", "user": "ann" });
    let value = rig
        .server
        .post("/v1/projects/vault/members", &rig.admin, body);
    value.await.expect(201);
    wait_for_rights(&cluster, "bank", true).await;

    // The namespace moves after the first project releases it. Bindings of the first project are
    // removed.
    projects.make("web", adopted()).await;
    let message = projects.wait_for("web", "NamespaceTaken", &[]).await;
    assert!(message.contains("\"vault\""), "{message}");
    let none = json!({ "namespaces": [] });
    projects.change("vault", none).await;
    projects.wait_for("web", "Applied", &["bank"]).await;
    projects.wait_for("vault", "Applied", &[]).await;
    let web = projects.uid("web").await;
    wait_for_label(&cluster, "bank", Some(&web)).await;
    wait_for_rights(&cluster, "bank", false).await;
}

#[tokio::test]
async fn missing_adopted_namespace_is_not_created() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let _agent = start(&cluster, "pod-0").await;
    let projects = Projects::of(&rig);
    let body = json!({ "namespaces": [{ "name": "bnak", "adopt": true }] });
    projects.make("vault", body).await;
    let message = projects.wait_for("vault", "NamespaceNotFound", &[]).await;
    assert!(message.contains("\"bnak\""), "{message}");
    let all = get(&cluster, "namespaces").await.to_string();
    assert!(!all.contains("bnak"), "{all}");
}

#[tokio::test]
async fn recreated_namespace_is_not_adopted_again() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let _agent = start(&cluster, "pod-0").await;
    rig.wait_for("shop", "Ready", ("True", "Ready")).await;
    let projects = Projects::of(&rig);
    kubectl(&cluster, "create namespace bank").await;
    let adopted = || json!({ "namespaces": [{ "name": "bank", "adopt": true }] });
    let uid = async || {
        let found = get(&cluster, "namespace bank").await;
        found["metadata"]["uid"].clone()
    };
    projects.make("vault", adopted()).await;
    projects.wait_for("vault", "Applied", &["bank"]).await;
    let status = projects.api.get("vault").await.unwrap().status.unwrap();
    assert_eq!(json!(status.adopted[0].uid), uid().await);
    // A request over REST stores the current UID of the namespace.
    kubectl(&cluster, "create namespace safe").await;
    let named = json!([{ "name": "safe", "adopt": true }]);
    let body = json!({ "name": "of-rest", "cluster": "shop", "namespaces": named });
    let created = rig.server.post("/v1/projects", &rig.admin, body).await;
    let safe = get(&cluster, "namespace safe").await;
    assert_eq!(
        created.expect(201)["namespaces"][0]["uid"],
        safe["metadata"]["uid"]
    );

    kubectl(&cluster, "delete namespace bank --wait").await;
    kubectl(&cluster, "create namespace bank").await;
    let message = projects.wait_for("vault", "NamespaceReplaced", &[]).await;
    assert!(message.contains("\"bank\""), "{message}");
    wait_for_label(&cluster, "bank", None).await;

    // Request the namespace again.
    projects.change("vault", json!({ "namespaces": [] })).await;
    projects.wait_for("vault", "Applied", &[]).await;
    projects.change("vault", adopted()).await;
    projects.wait_for("vault", "Applied", &["bank"]).await;
}

/// Waits until a namespace contains Drover's role bindings. If `expected` is false, waits until the
/// role bindings are deleted.
async fn wait_for_rights(cluster: &ControlPlane, namespace: &str, expected: bool) {
    let case = format!("permissions in {namespace}: {expected}");
    eventually(&case, SOON, async || {
        let label = "management.drover.dev/access";
        let found = get(cluster, &format!("rolebindings -n {namespace} -l {label}")).await;
        let has = found["items"]
            .as_array()
            .is_some_and(|items| !items.is_empty());
        (has == expected)
            .then_some(())
            .ok_or_else(|| found.to_string())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn project_can_be_deleted_while_its_cluster_is_disconnected_or_deleted() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let agent = start(&cluster, "pod-0").await;
    let projects = Projects::of(&rig);
    for name in ["one", "two"] {
        let namespace = format!("of-{name}");
        projects
            .make(
                name,
                json!({ "namespaces": [{ "name": namespace }], "podSecurity": "Baseline" }),
            )
            .await;
        projects.wait_for(name, "Applied", &[&namespace]).await;
    }
    drop(agent);
    projects
        .wait_for("two", "ClusterNotConnected", &["of-two"])
        .await;
    projects.delete("one").await;
    projects.wait_until_gone("one").await;
    let two = projects.uid("two").await;
    let _agent = start(&cluster, "pod-0").await;
    projects.wait_for("two", "Applied", &["of-two"]).await;
    wait_for_label(&cluster, "of-one", None).await;
    wait_for_label(&cluster, "of-two", Some(&two)).await;

    // The Cluster and its Projects are deleted. The namespaces stay.
    let gone = rig.server.hub.clusters();
    gone.delete("shop", &DeleteParams::default()).await.unwrap();
    projects.wait_until_gone("two").await;
    let remaining = get(&cluster, "namespace of-two").await;
    assert_eq!(
        labels(&remaining),
        &json!({ "kubernetes.io/metadata.name": "of-two" })
    );
}
