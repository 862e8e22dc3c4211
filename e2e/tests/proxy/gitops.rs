//! A deployment of a bundle while programs are killed.

use std::path::PathBuf;
use std::time::Duration;

use drover_e2e::{World, eventually, fault_file};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_mins(1);
/// Objects in the bundle.
const OBJECTS: usize = 3;
/// Maximum number of writes of one deployment.
const MAX_WRITES: u32 = 30;

/// Returns a bundle with a chart for the cluster `east`.
fn bundle() -> Value {
    let template = "{{ range $number, $_ := until 3 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: \
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

/// A program that ends with SIGKILL after a number of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Killed {
    Server,
    Agent,
}

impl Killed {
    /// Returns the file with the number of writes.
    fn file(self, world: &World) -> PathBuf {
        match self {
            Self::Server => fault_file(world.hub.folder()),
            Self::Agent => fault_file(world.east.cluster.folder()),
        }
    }

    async fn restart(self, world: &mut World) {
        match self {
            Self::Server => world.server.restart().await.unwrap(),
            Self::Agent => {
                for agent in world.east.agents() {
                    agent.restart().unwrap();
                }
            }
        }
    }
}

async fn change(world: &World, round: &str) {
    let patch = json!({ "spec": { "helm": { "values": { "round": round } } } }).to_string();
    let words = "patch bundles.fleet.cattle.io shop --namespace fleet-default --type merge --patch";
    let words = words.split(' ').chain([patch.as_str()]);
    world.hub.kubectl(words).await.unwrap();
}

/// Changes the bundle, and kills a program after its write with the number `write`. Returns false if the
/// program has completed the deployment with fewer writes.
async fn interrupt(world: &mut World, killed: Killed, write: u32) -> bool {
    let round = format!("{killed:?}-{write}");
    let file = killed.file(world);
    std::fs::write(&file, write.to_string()).unwrap();
    change(world, &round).await;
    let interrupted = async {
        let subject = format!("the end of the program after {write} writes");
        let ended = eventually(&subject, SOON, async || {
            if file.exists() {
                Err("the file exists")
            } else {
                Ok(())
            }
        });
        ended.await.is_ok()
    };
    let is_interrupted = tokio::select! {
        ended = interrupted => ended,
        () = wait_for_round(world, &round) => !file.exists(),
    };
    if is_interrupted {
        killed.restart(world).await;
        wait_for_round(world, &round).await;
    } else {
        std::fs::remove_file(&file).unwrap();
    }
    is_interrupted
}

pub(crate) async fn bundle_is_deployed_completely_after_programs_are_killed(world: &mut World) {
    let file = world.hub.folder().join("bundle.json");
    std::fs::write(&file, bundle().to_string()).unwrap();
    let file = file.display().to_string();
    world.hub.kubectl(["apply", "-f", &file]).await.unwrap();
    wait_for_round(world, "start").await;
    let (mut revision, _) = newest_release(world).await;
    assert_eq!(revision, 1);

    for killed in [Killed::Server, Killed::Agent] {
        let mut write = 1;
        while interrupt(world, killed, write).await {
            let (next, status) = newest_release(world).await;
            assert_eq!(status, "deployed", "{killed:?} after {write} writes");
            // Only an interrupted deployment is repeated.
            let most = if killed == Killed::Agent { 2 } else { 1 };
            let added = next - revision;
            assert!(
                (1..=most).contains(&added),
                "{added} revisions after {killed:?} with {write} writes"
            );
            revision = next;
            write += 1;
            assert!(write < MAX_WRITES, "{killed:?} writes without end");
        }
        // The server writes the values, the bundle deployment and the status. The agent writes more.
        assert!(write > 3, "{killed:?} completed with {write} writes");
        (revision, _) = newest_release(world).await;
    }

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
