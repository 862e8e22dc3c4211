//! Projects of a real cluster: whose its namespaces are, and what may be used in them.

use drover_api::kinds::Project;
use drover_e2e::{ControlPlane, eventually};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::rig::{Rig, SOON, start};

/// The projects of a hub, written straight to it.
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
        let what = format!("{name} to be {reason} with {namespaces:?}");
        let mut message = String::new();
        let waited = eventually(&what, SOON, async || {
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
            let told = ready.map(|ready| (ready.reason.as_str(), ready.message.clone()));
            match told {
                Some((found, message)) if found == reason && own == namespaces => Ok(message),
                _ => Err(format!("{status:?}")),
            }
        });
        message.push_str(&waited.await.unwrap());
        message
    }

    async fn wait_until_gone(&self, name: &str) {
        eventually(&format!("{name} to be gone"), SOON, async || {
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

async fn get(cluster: &ControlPlane, what: &str) -> Value {
    let text = kubectl(cluster, &format!("get {what} -o json")).await;
    serde_json::from_str(&text).unwrap()
}

fn labels(namespace: &Value) -> &Value {
    &namespace["metadata"]["labels"]
}

/// Waits until a namespace carries the label of this project, or of none.
async fn wait_for_label(cluster: &ControlPlane, namespace: &str, project: Option<&str>) {
    let what = format!("{namespace} to be labelled {project:?}");
    eventually(&what, SOON, async || {
        let found = get(cluster, &format!("namespace {namespace}")).await;
        let label = labels(&found)["management.drover.dev/project"].as_str();
        (label == project).then_some(()).ok_or(found.to_string())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_projects_namespaces_are_made_bounded_and_moved_and_nothing_is_taken_unasked() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let _agent = start(&cluster, "pod-0").await;
    let projects = Projects::of(&rig);

    // Made, with all that the project says.
    projects
        .make(
            "web",
            json!({
                "namespaces": [{ "name": "web-dev" }],
                "quota": { "project": { "pods": "10" }, "namespace": { "pods": "5", "requests.cpu": "0.5" } },
                "containerDefaults": { "limits": { "memory": "1024Mi" } },
                "podSecurity": "Restricted",
            }),
        )
        .await;
    projects.wait_for("web", "Applied", &["web-dev"]).await;
    let web = projects.uid("web").await;
    let made = get(&cluster, "namespace web-dev").await;
    assert_eq!(labels(&made)["management.drover.dev/project"], json!(web));
    assert_eq!(
        labels(&made)["pod-security.kubernetes.io/enforce"],
        "restricted"
    );
    assert_eq!(labels(&made)["app.kubernetes.io/managed-by"], "drover");
    let quota = get(&cluster, "resourcequota drover-project -n web-dev").await;
    assert_eq!(
        quota["spec"]["hard"],
        json!({ "pods": "5", "requests.cpu": "500m" })
    );
    let limits = get(&cluster, "limitrange drover-project -n web-dev").await;
    assert_eq!(limits["spec"]["limits"][0]["default"]["memory"], "1Gi");
    let version = |of: &Value| of["metadata"]["resourceVersion"].clone();

    // One that is there is adopted if somebody says so.
    kubectl(&cluster, "create namespace bank").await;
    projects
        .make("vault", json!({ "namespaces": [{ "name": "bank" }] }))
        .await;
    let told = projects.wait_for("vault", "NamespaceTaken", &[]).await;
    assert!(
        told.contains("\"bank\"") && told.contains("adopt"),
        "{told}"
    );
    // A label in the cluster makes nobody an owner.
    let vault = projects.uid("vault").await;
    let label = format!("label namespace bank management.drover.dev/project={vault}");
    kubectl(&cluster, &label).await;
    projects
        .change("vault", json!({ "description": "looked at again" }))
        .await;
    wait_for_label(&cluster, "bank", None).await;
    projects
        .change(
            "vault",
            json!({ "namespaces": [{ "name": "bank", "adopt": true }] }),
        )
        .await;
    projects.wait_for("vault", "Applied", &["bank"]).await;
    wait_for_label(&cluster, "bank", Some(&vault)).await;

    // It moves once the one that has it lets it go.
    let both = json!([{ "name": "web-dev" }, { "name": "bank", "adopt": true }]);
    projects.change("web", json!({ "namespaces": both })).await;
    let told = projects
        .wait_for("web", "NamespaceTaken", &["web-dev"])
        .await;
    assert!(told.contains("\"vault\""), "{told}");
    projects.change("vault", json!({ "namespaces": [] })).await;
    projects
        .wait_for("web", "Applied", &["bank", "web-dev"])
        .await;
    projects.wait_for("vault", "Applied", &[]).await;
    wait_for_label(&cluster, "bank", Some(&web)).await;
    let same = get(&cluster, "resourcequota drover-project -n web-dev").await;
    assert_eq!(
        version(&same),
        version(&quota),
        "only differences are written"
    );

    // One more would be more than the project may use.
    let three = json!([{ "name": "web-dev" }, { "name": "bank", "adopt": true }, { "name": "x" }]);
    projects.change("web", json!({ "namespaces": three })).await;
    let told = projects
        .wait_for("web", "LimitsInvalid", &["bank", "web-dev"])
        .await;
    assert!(told.contains("3 namespaces with 5 each"), "{told}");
    assert!(cluster.kubectl(["get", "namespace", "x"]).await.is_err());

    // What leaves it stays, without anything of Drover's.
    projects
        .change(
            "web",
            json!({ "namespaces": [{ "name": "bank", "adopt": true }] }),
        )
        .await;
    projects.wait_for("web", "Applied", &["bank"]).await;
    let left = get(&cluster, "namespace web-dev").await;
    assert_eq!(
        labels(&left),
        &json!({ "kubernetes.io/metadata.name": "web-dev" })
    );
    for kind in ["resourcequotas", "limitranges"] {
        let left = get(&cluster, &format!("{kind} -n web-dev")).await;
        assert_eq!(left["items"], json!([]), "{kind}");
    }
    projects.delete("web").await;
    projects.wait_until_gone("web").await;
    let left = get(&cluster, "namespace bank").await;
    assert_eq!(
        labels(&left),
        &json!({ "kubernetes.io/metadata.name": "bank" })
    );
}

#[tokio::test]
async fn a_project_ends_while_its_cluster_is_away_and_with_its_cluster() {
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

    // The Cluster goes, and what speaks of it; the namespaces stay.
    let gone = rig.server.hub.clusters();
    gone.delete("shop", &DeleteParams::default()).await.unwrap();
    projects.wait_until_gone("two").await;
    let left = get(&cluster, "namespace of-two").await;
    assert_eq!(
        labels(&left),
        &json!({ "kubernetes.io/metadata.name": "of-two" })
    );
}
