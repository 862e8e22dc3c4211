//! A deployment of a bundle while programs are killed.

use std::time::Duration;

use drover_e2e::{World, eventually};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_mins(1);
/// Times after a change at which a program is killed. A deployment takes about a second.
const KILLED_AFTER: [Duration; 6] = [
    Duration::from_millis(0),
    Duration::from_millis(150),
    Duration::from_millis(300),
    Duration::from_millis(500),
    Duration::from_millis(750),
    Duration::from_millis(1100),
];
/// Objects in the bundle.
const OBJECTS: usize = 20;

/// Returns a bundle with a chart for the cluster `east`.
fn bundle() -> Value {
    let template = "{{ range $number, $_ := until 20 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: \
                    {name: \"shop-{{ $number }}\"}\ndata: {round: {{ $.Values.round | quote }}}\n{{ end }}";
    json!({
        "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Bundle",
        "metadata": { "name": "shop", "namespace": "fleet-default" },
        "spec": {
            "defaultNamespace": "shop",
            "helm": { "releaseName": "shop", "values": { "round": "start" } },
            "resources": [
                { "name": "Chart.yaml", "content": "apiVersion: v2\nname: shop\nversion: 1.0.0\n" },
                { "name": "templates/shop.yaml", "content": template },
            ],
            "targets": [{ "clusterName": "east" }],
        },
    })
}

/// Waits until the hub reports the bundle as ready, and all objects in the cluster have the data.
async fn wait_for_round(world: &World, round: &str) {
    let subject = format!("round {round} in the cluster");
    eventually(&subject, SOON, async || {
        let words = "get bundles.fleet.cattle.io shop --namespace fleet-default -o json";
        let bundle = world.hub.kubectl(words.split(' ')).await;
        let bundle = bundle.map_err(|error| error.to_string())?.stdout;
        let bundle: Value = serde_json::from_str(&bundle).map_err(|error| error.to_string())?;
        let is_current = bundle["status"]["observedGeneration"] == bundle["metadata"]["generation"];
        let ready = &bundle["status"]["display"]["readyClusters"];
        if !is_current || ready != "1/1" {
            return Err(bundle["status"].to_string());
        }
        let rounds = world
            .east
            .cluster
            .kubectl(
                "get configmaps --namespace shop -o jsonpath={.items[*].data.round}".split(' '),
            )
            .await;
        let rounds = rounds.map_err(|error| error.to_string())?.stdout;
        let has_round = rounds.split_whitespace().filter(|found| *found == round);
        if has_round.count() == OBJECTS {
            Ok(())
        } else {
            Err(rounds)
        }
    })
    .await
    .unwrap();
}

/// Returns the revision of the newest release and its state.
async fn newest_release(world: &World) -> (usize, String) {
    let helm = world.east.cluster.helm().await.unwrap();
    let words = "list --all --namespace shop --output json";
    let listed = helm.run(words.split(' ')).await.unwrap().stdout;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let release = &listed[0];
    let revision = release["revision"].as_str().unwrap().parse().unwrap();
    (revision, release["status"].as_str().unwrap().to_owned())
}

async fn kill_server(world: &mut World) {
    world.server.restart().await.unwrap();
}

fn kill_agents(world: &mut World) {
    for agent in world.east.agents() {
        agent.restart().unwrap();
    }
}

pub(crate) async fn bundle_is_deployed_completely_after_programs_are_killed(world: &mut World) {
    let file = world.hub.folder().join("bundle.json");
    std::fs::write(&file, bundle().to_string()).unwrap();
    let file = file.display().to_string();
    world.hub.kubectl(["apply", "-f", &file]).await.unwrap();
    wait_for_round(world, "start").await;
    let (first, _) = newest_release(world).await;
    assert_eq!(first, 1);

    let mut changes = 0;
    for (number, after) in KILLED_AFTER.into_iter().enumerate() {
        for program in ["server", "agents"] {
            let round = format!("{program}-{number}");
            let patch = json!({ "spec": { "helm": { "values": { "round": round } } } }).to_string();
            let words =
                "patch bundles.fleet.cattle.io shop --namespace fleet-default --type merge --patch";
            let words = words.split(' ').chain([patch.as_str()]);
            world.hub.kubectl(words).await.unwrap();
            changes += 1;
            tokio::time::sleep(after).await;
            match program {
                "server" => kill_server(world).await,
                _ => kill_agents(world),
            }
            wait_for_round(world, &round).await;
        }
    }
    let (revision, status) = newest_release(world).await;
    assert_eq!(status, "deployed");
    // An interrupted deployment is repeated once. A complete deployment is not repeated.
    let interrupted = KILLED_AFTER.len();
    assert!(
        (1 + changes..=1 + changes + interrupted).contains(&revision),
        "{revision} revisions after {changes} changes"
    );

    let words = "delete bundles.fleet.cattle.io shop --namespace fleet-default";
    world.hub.kubectl(words.split(' ')).await.unwrap();
    eventually("the deletion of the objects", SOON, async || {
        let words = "get configmaps --namespace shop -o name";
        let left = world.east.cluster.kubectl(words.split(' ')).await;
        let left = left.map_err(|error| error.to_string())?.stdout;
        if left.contains("shop-") {
            Err(left)
        } else {
            Ok(())
        }
    })
    .await
    .unwrap();
}
