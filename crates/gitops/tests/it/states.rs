use drover_api::fleet::{BundleDeployment, StatusBase};
use drover_gitops::states::{Aggregate, DeploymentState, state_of};
use serde::Deserialize;

use crate::cases;

#[derive(Deserialize)]
struct Expected {
    states: Option<Vec<String>>,
    status: StatusBase,
    message: String,
}

#[test]
fn states_and_summaries_equal_fleet() {
    for (input, expected) in cases::<Vec<BundleDeployment>, Expected>("states") {
        let mut aggregate = Aggregate::default();
        let mut names = Vec::new();
        for deployment in &input {
            names.push(
                state_of(deployment, &deployment.spec.deployment_id)
                    .name()
                    .to_owned(),
            );
            let key = deployment.metadata.uid.clone().unwrap();
            aggregate.set(&key, DeploymentState::of(deployment));
        }
        assert_eq!(names, expected.states.unwrap_or_default());
        let mut status = StatusBase::default();
        aggregate.write_status(&mut status);
        // Fleet writes the other fields in other functions.
        status.display.ready_bundle_deployments.clear();
        status.per_cluster_resource_counts.clear();
        assert_eq!(status, expected.status);
        assert_eq!(aggregate.ready_message("Bundle"), expected.message);
    }
}
