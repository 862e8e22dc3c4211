//! A deployment by an agent that runs as a pod, with a read-only file system and its limits.

use std::time::Duration;

use drover_e2e::{World, eventually};
use serde_json::json;

const SOON: Duration = Duration::from_mins(2);

pub(crate) async fn agent_pod_renders_and_deploys_a_chart(world: &mut World) {
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\n\
                    data: {color: {{ .Values.color | quote }}}\n";
    let bundle = json!({
        "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Bundle",
        "metadata": { "name": "shop", "namespace": "fleet-default" },
        "spec": {
            "defaultNamespace": "shop", "helm": { "values": { "color": "red" } },
            "resources": [
                { "name": "Chart.yaml", "content": "apiVersion: v2\nname: shop\nversion: 1.0.0\n" },
                { "name": "templates/shop.yaml", "content": template },
            ],
            "targets": [{ "clusterName": "east" }],
        },
    });
    let file = world.hub.folder().join("bundle.json");
    std::fs::write(&file, bundle.to_string()).unwrap();
    let file = file.display().to_string();
    world.hub.kubectl(["apply", "-f", &file]).await.unwrap();
    eventually("the object of the chart", SOON, async || {
        let words = "get configmap shop --namespace shop -o jsonpath={.data.color}";
        let found = world.east.cluster.kubectl(words.split(' ')).await;
        match found.map(|found| found.stdout) {
            Ok(color) if color == "red" => Ok(()),
            found => {
                let words = "get bundledeployments --all-namespaces -o jsonpath={.items[*].status}";
                let status = world.hub.kubectl(words.split(' ')).await;
                Err(format!(
                    "{found:?}, {:?}",
                    status.map(|status| status.stdout)
                ))
            }
        }
    })
    .await
    .unwrap();
    world.hub.kubectl(["delete", "-f", &file]).await.unwrap();
}
