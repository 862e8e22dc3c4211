use drover_api::fleet::ClusterGroup;
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A change of the state of the hub. Numbers select a cluster.
#[derive(Clone, Debug)]
enum Change {
    /// A new object of a cluster with a label.
    Label(u8, u8),
    /// A new object of a cluster with the same labels.
    Touch(u8),
    Remove(u8),
    /// A new selector of the group.
    Group(u8),
    /// A new bundle deployment.
    Deployment(u8, bool),
    RemoveDeployment(u8),
}

fn any_change() -> impl Strategy<Value = Change> {
    let cluster = || 0..6_u8;
    prop_oneof![
        (cluster(), 0..3_u8).prop_map(|(cluster, label)| Change::Label(cluster, label)),
        cluster().prop_map(Change::Touch),
        cluster().prop_map(Change::Remove),
        (0..3_u8).prop_map(Change::Group),
        (cluster(), any::<bool>()).prop_map(|(cluster, ready)| Change::Deployment(cluster, ready)),
        cluster().prop_map(Change::RemoveDeployment),
    ]
}

/// The objects on the hub.
#[derive(Default)]
struct Hub {
    clusters: BTreeMap<u8, Arc<FleetCluster>>,
    group: Option<Arc<ClusterGroup>>,
    deployments: BTreeMap<String, Arc<BundleDeployment>>,
}

impl Hub {
    fn change(&mut self, change: &Change) {
        match change {
            Change::Label(number, label) => {
                let cluster = json!({
                    "metadata": { "name": format!("c{number}"), "namespace": "fleet-default",
                                  "labels": { "tier": label.to_string() } },
                    "spec": {}, "status": { "namespace": namespace(*number) },
                });
                let cluster = serde_json::from_value(cluster).unwrap();
                self.clusters.insert(*number, Arc::new(cluster));
            }
            Change::Touch(number) => {
                if let Some(cluster) = self.clusters.get_mut(number) {
                    *cluster = Arc::new(FleetCluster::clone(cluster));
                }
            }
            Change::Remove(number) => {
                self.clusters.remove(number);
            }
            Change::Group(label) => {
                let group = json!({
                    "metadata": { "name": "group", "namespace": "fleet-default" },
                    "spec": { "selector": { "matchLabels": { "tier": label.to_string() } } },
                });
                self.group = Some(Arc::new(serde_json::from_value(group).unwrap()));
            }
            Change::Deployment(number, ready) => {
                let mut deployment = BundleDeployment::default();
                let status = deployment.status.get_or_insert_default();
                status.ready = *ready;
                status.applied_deployment_id = "s-1:1".to_owned();
                self.deployments
                    .insert(namespace(*number), Arc::new(deployment));
            }
            Change::RemoveDeployment(number) => {
                self.deployments.remove(&namespace(*number));
            }
        }
    }

    fn compute(&self, compiled: &mut Compiled) {
        let clusters = self.clusters.values().cloned().collect();
        let groups = Groups::new(self.group.iter().cloned().collect());
        compiled.select(clusters, &groups, None).unwrap();
        compiled.observe(&self.deployments);
    }
}

fn namespace(number: u8) -> String {
    drover_gitops::ids::cluster_namespace("fleet-default", &format!("c{number}"))
}

fn compiled() -> Compiled {
    let bundle = json!({
        "metadata": { "name": "shop", "namespace": "fleet-default" },
        "spec": { "targets": [
            { "clusterGroup": "group", "defaultNamespace": "grouped" },
            { "clusterSelector": { "matchLabels": { "tier": "1" } }, "defaultNamespace": "first" },
        ] },
    });
    let bundle: Bundle = serde_json::from_value(bundle).unwrap();
    Compiled::new(Version::of(&bundle), bundle, |_| None).unwrap()
}

fn facts_of(
    compiled: &Compiled,
) -> Vec<(&str, &Target, Option<&BundleDeployment>, &DeploymentState)> {
    let members = compiled.members().map(|member| {
        let deployment = member.deployment.as_deref();
        (&*member.name, &member.target, deployment, &member.state)
    });
    members.collect()
}

proptest! {
    #[test]
    fn incremental_targets_and_states_equal_full_computation(
        changes in proptest::collection::vec(any_change(), 0..60),
    ) {
        let (mut hub, mut incremental) = (Hub::default(), compiled());
        for change in changes {
            hub.change(&change);
            hub.compute(&mut incremental);
            let mut full = compiled();
            hub.compute(&mut full);
            prop_assert_eq!(facts_of(&incremental), facts_of(&full));
            prop_assert_eq!(&incremental.aggregate, &full.aggregate);
        }
    }
}

#[test]
fn verified_deployment_is_checked_again_after_a_change() {
    let (mut hub, mut compiled) = (Hub::default(), compiled());
    hub.change(&Change::Label(1, 1));
    hub.change(&Change::Deployment(1, true));
    hub.compute(&mut compiled);
    let verified = |compiled: &Compiled, is_released| {
        let member = compiled.members().next().unwrap();
        member.is_verified(is_released)
    };
    compiled.members_mut().next().unwrap().set_verified(true);
    hub.change(&Change::Touch(1));
    hub.compute(&mut compiled);
    assert!(verified(&compiled, true));
    assert!(!verified(&compiled, false));
    let paused = hub.clusters.get_mut(&1).unwrap();
    Arc::make_mut(paused).spec.paused = true;
    hub.compute(&mut compiled);
    assert!(!verified(&compiled, true));
    compiled.members_mut().next().unwrap().set_verified(true);
    hub.change(&Change::Deployment(1, true));
    hub.compute(&mut compiled);
    assert!(!verified(&compiled, true));
}

#[test]
fn bundle_that_names_no_valid_content_is_an_error() {
    let sha256 = drover_gitops::ids::sha256_hex(b"files");
    let compile = |name: &str, present: Option<&str>| {
        let mut bundle = Bundle::default();
        name.clone_into(&mut bundle.spec.contents_id);
        let content = present.map(|sha256| {
            Arc::new(Content {
                sha256_sum: sha256.to_owned(),
                ..Content::default()
            })
        });
        Compiled::new(Version::of(&bundle), bundle, |_| content.clone())
    };
    let name = content_id(&sha256);
    assert_eq!(compile(&name, Some(&sha256)).unwrap().content(), name);
    for wrong in [compile(&name, None), compile("s-other", Some(&sha256))] {
        assert!(matches!(wrong, Err(BundleError::NoContent(_))));
    }
}
