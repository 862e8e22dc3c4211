//! Cluster: a cluster that Fleet deploys to.

use k8s_openapi::api::core::v1::{
    Affinity, EnvVar, LocalObjectReference, ResourceRequirements, Toleration,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

use super::status::{BundleSummary, FleetCondition, ResourceCounts};
use super::wire::{fleet_kind, go_struct};

fleet_kind! {
    /// A cluster that Fleet deploys to. The kind is `Cluster`; the type has a different name than
    /// Drover's own `Cluster`.
    pub struct FleetCluster = "Cluster", "clusters", NamespaceResourceScope {
        /// Desired state.
        "spec" spec: FleetClusterSpec,
        /// Observed state.
        "status" status: Option<FleetClusterStatus>,
    }
}

go_struct! {
    /// Desired state of a cluster.
    pub struct FleetClusterSpec {
        /// True to stage new deployments without release.
        paused: bool,
        /// ID that an agent presents in its registration.
        #[serde(rename = "clientID")]
        client_id: String,
        /// Name of the Secret with a kubeconfig, for the import by the server.
        kube_config_secret: String,
        /// Namespace of the Secret with the kubeconfig.
        kube_config_secret_namespace: String,
        /// A changed number deploys the agent again.
        redeploy_agent_generation: i64,
        /// Environment variables of the agent.
        agent_env_vars: Vec<EnvVar>,
        /// Namespace of the agent.
        agent_namespace: String,
        /// Registry prefix of the agent's image.
        #[serde(rename = "privateRepoURL")]
        private_repo_url: String,
        /// Values for templates, an object.
        template_values: Option<Value>,
        /// Tolerations of the agent.
        agent_tolerations: Vec<Toleration>,
        /// Affinity of the agent.
        agent_affinity: Option<Affinity>,
        /// Resources of the agent.
        agent_resources: Option<ResourceRequirements>,
        /// True if the agent uses the network of its node.
        host_network: Option<bool>,
        /// Priority class and disruption budget of the agent.
        agent_scheduling_customization: Option<AgentSchedulingCustomization>,
        /// Secrets with credentials of the agent's image registry.
        agent_pull_secrets: Option<Vec<LocalObjectReference>>,
    }

    /// Priority class and disruption budget of an agent.
    pub struct AgentSchedulingCustomization {
        /// Priority class of the agent.
        priority_class: Option<PriorityClassSpec>,
        /// Disruption budget of the agent.
        pod_disruption_budget: Option<PodDisruptionBudgetSpec>,
    }

    /// Priority class of an agent.
    pub struct PriorityClassSpec {
        /// Value of the priority.
        value: i64,
        /// `Never` or `PreemptLowerPriority`.
        preemption_policy: Option<String>,
    }

    /// Disruption budget of an agent.
    pub struct PodDisruptionBudgetSpec {
        /// Number or percentage of agent pods that must be available.
        min_available: String,
        /// Number or percentage of agent pods that may be unavailable.
        max_unavailable: String,
    }

    /// Observed state of a cluster.
    pub struct FleetClusterStatus {
        @always {
            /// Number of ready GitRepos.
            ready_git_repos: i64,
            /// Number of GitRepos that should be ready.
            desired_ready_git_repos: i64,
            /// Number of ready HelmOps.
            ready_helm_ops: i64,
            /// Number of HelmOps that should be ready.
            desired_ready_helm_ops: i64,
        }
        /// Conditions of the cluster.
        conditions: Vec<FleetCondition>,
        /// Namespace of the cluster's bundle deployments.
        namespace: String,
        /// Numbers of deployments by state.
        summary: BundleSummary,
        /// Numbers of objects by state.
        resource_counts: ResourceCounts,
        /// Hash of the agent's environment variables.
        agent_env_vars_hash: String,
        /// Registry prefix of the deployed agent's image.
        #[serde(rename = "agentPrivateRepoURL")]
        agent_private_repo_url: String,
        /// True if the deployed agent uses the network of its node.
        agent_host_network: bool,
        /// The `redeploy_agent_generation` of the deployed agent.
        agent_deployed_generation: Option<i64>,
        /// True after the agent's first migration.
        agent_migrated: bool,
        /// True after the migration to the agent's namespace.
        agent_namespace_migrated: bool,
        /// True after the migration from the namespace `cattle-system`.
        cattle_namespace_migrated: bool,
        /// Hash of the agent's affinity.
        agent_affinity_hash: String,
        /// Hash of the agent's resources.
        agent_resources_hash: String,
        /// Hash of the agent's tolerations.
        agent_tolerations_hash: String,
        /// True if the agent's configuration changed after the deployment.
        agent_config_changed: bool,
        /// URL of the hub that the agent uses.
        #[serde(rename = "apiServerURL")]
        api_server_url: String,
        /// Hash of the hub's CA certificates.
        #[serde(rename = "apiServerCAHash")]
        api_server_ca_hash: String,
        /// `strict` or `system-store`.
        #[serde(rename = "agentTLSMode")]
        agent_tls_mode: String,
        /// Texts for lists.
        display: FleetClusterDisplay,
        /// State of the agent.
        agent: FleetAgentStatus,
        /// Interval of the agent's garbage collection, a duration in Go's format.
        garbage_collection_interval: Option<String>,
        /// Hash of the agent's priority class and disruption budget.
        agent_scheduling_customization_hash: String,
        /// True if a Schedule selects the cluster.
        scheduled: bool,
        /// True inside of the deployment window.
        active_schedule: bool,
    }

    /// Texts for lists of clusters.
    pub struct FleetClusterDisplay {
        /// Number of ready bundles and of all bundles, `3/4`.
        ready_bundles: String,
        /// The worst state, or `WaitCheckIn`.
        state: String,
    }

    /// State of an agent.
    pub struct FleetAgentStatus {
        @always {
            /// Time of the last check-in.
            last_seen: Option<Time>,
            /// Namespace of the agent.
            namespace: String,
        }
    }
}
