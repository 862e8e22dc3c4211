//! The manifest of the agent for clusters that the server imports with a kubeconfig.

use std::collections::BTreeMap;
use std::sync::Arc;

use drover_access::setting::Setting;
use drover_agent_gateway::registration::import::default_image;
use drover_agent_gateway::registration::manifest::{FleetManifest, PodOptions};
use drover_fleet::{AgentManifest, AgentValues};
use drover_hub::settings::Settings;

/// Returns the function that creates the manifest with the current settings.
pub(super) fn manifest(settings: Settings) -> AgentManifest {
    Arc::new(move |values| {
        let objects = of(&settings, values).objects();
        objects.map_err(|error| error.to_string())
    })
}

fn of(settings: &Settings, values: &AgentValues) -> FleetManifest {
    let spec = &values.cluster.spec;
    FleetManifest {
        image: default_image(
            &settings.in_effect(Setting::AgentImage),
            &settings.in_effect(Setting::AgentImageRegistry),
        ),
        image_pull_policy: settings.in_effect(Setting::AgentImagePullPolicy),
        pod: PodOptions {
            env: spec.agent_env_vars.clone(),
            tolerations: spec.agent_tolerations.clone(),
            affinity: spec.agent_affinity.clone(),
            resources: spec.agent_resources.clone(),
            pull_secrets: spec.agent_pull_secrets.clone().unwrap_or_default(),
            generation: spec.redeploy_agent_generation,
        },
        client_id: spec.client_id.clone(),
        labels: BTreeMap::new(),
        bootstrap: values.bootstrap.clone(),
        token: values.token.clone(),
    }
}
