//! The well-known kinds of Kubernetes.

use super::Kind;

/// Declares kinds. The order is the order of the navigation.
macro_rules! kinds {
    ($($(#[$about:meta])* $constant:ident: $version:literal $plural:literal $name:literal
        $heading:literal $namespaced:literal;)*) => {
        impl Kind {
            $($(#[$about])* pub const $constant: Self = Self {
                plural: $plural,
                name: $name,
                heading: $heading,
                api_version: $version,
                namespaced: $namespaced,
            };)*

            /// Returns the well-known kinds.
            pub fn all() -> impl Iterator<Item = Self> {
                [$(Self::$constant),*].into_iter()
            }
        }
    };
}

kinds! {
    /// The kind Pod.
    PODS: "v1" "pods" "Pod" "Pods" true;
    /// The kind Deployment.
    DEPLOYMENTS: "apps/v1" "deployments" "Deployment" "Deployments" true;
    /// The kind StatefulSet.
    STATEFUL_SETS: "apps/v1" "statefulsets" "StatefulSet" "StatefulSets" true;
    /// The kind DaemonSet.
    DAEMON_SETS: "apps/v1" "daemonsets" "DaemonSet" "DaemonSets" true;
    /// The kind ReplicaSet.
    REPLICA_SETS: "apps/v1" "replicasets" "ReplicaSet" "ReplicaSets" true;
    /// The kind Job.
    JOBS: "batch/v1" "jobs" "Job" "Jobs" true;
    /// The kind CronJob.
    CRON_JOBS: "batch/v1" "cronjobs" "CronJob" "CronJobs" true;
    /// The kind HorizontalPodAutoscaler.
    AUTOSCALERS: "autoscaling/v2" "horizontalpodautoscalers" "HorizontalPodAutoscaler" "HorizontalPodAutoscalers" true;
    /// The kind PodDisruptionBudget.
    DISRUPTION_BUDGETS: "policy/v1" "poddisruptionbudgets" "PodDisruptionBudget" "PodDisruptionBudgets" true;
    /// The kind Service.
    SERVICES: "v1" "services" "Service" "Services" true;
    /// The kind Ingress.
    INGRESSES: "networking.k8s.io/v1" "ingresses" "Ingress" "Ingresses" true;
    /// The kind NetworkPolicy.
    NETWORK_POLICIES: "networking.k8s.io/v1" "networkpolicies" "NetworkPolicy" "NetworkPolicies" true;
    /// The kind EndpointSlice.
    ENDPOINT_SLICES: "discovery.k8s.io/v1" "endpointslices" "EndpointSlice" "EndpointSlices" true;
    /// The kind IngressClass.
    INGRESS_CLASSES: "networking.k8s.io/v1" "ingressclasses" "IngressClass" "IngressClasses" false;
    /// The kind ConfigMap.
    CONFIG_MAPS: "v1" "configmaps" "ConfigMap" "ConfigMaps" true;
    /// The kind Secret.
    SECRETS: "v1" "secrets" "Secret" "Secrets" true;
    /// The kind ResourceQuota.
    RESOURCE_QUOTAS: "v1" "resourcequotas" "ResourceQuota" "ResourceQuotas" true;
    /// The kind LimitRange.
    LIMIT_RANGES: "v1" "limitranges" "LimitRange" "LimitRanges" true;
    /// The kind PersistentVolumeClaim.
    VOLUME_CLAIMS: "v1" "persistentvolumeclaims" "PersistentVolumeClaim" "PersistentVolumeClaims" true;
    /// The kind PersistentVolume.
    VOLUMES: "v1" "persistentvolumes" "PersistentVolume" "PersistentVolumes" false;
    /// The kind StorageClass.
    STORAGE_CLASSES: "storage.k8s.io/v1" "storageclasses" "StorageClass" "StorageClasses" false;
    /// The kind ServiceAccount.
    SERVICE_ACCOUNTS: "v1" "serviceaccounts" "ServiceAccount" "ServiceAccounts" true;
    /// The kind Role.
    ROLES: "rbac.authorization.k8s.io/v1" "roles" "Role" "Roles" true;
    /// The kind RoleBinding.
    ROLE_BINDINGS: "rbac.authorization.k8s.io/v1" "rolebindings" "RoleBinding" "RoleBindings" true;
    /// The kind ClusterRole.
    CLUSTER_ROLES: "rbac.authorization.k8s.io/v1" "clusterroles" "ClusterRole" "ClusterRoles" false;
    /// The kind ClusterRoleBinding.
    CLUSTER_ROLE_BINDINGS: "rbac.authorization.k8s.io/v1" "clusterrolebindings" "ClusterRoleBinding" "ClusterRoleBindings" false;
    /// The kind Node.
    NODES: "v1" "nodes" "Node" "Nodes" false;
    /// The kind Namespace.
    NAMESPACES: "v1" "namespaces" "Namespace" "Namespaces" false;
    /// The kind Event.
    EVENTS: "v1" "events" "Event" "Events" true;
    /// The kind Lease.
    LEASES: "coordination.k8s.io/v1" "leases" "Lease" "Leases" true;
    /// The kind CustomResourceDefinition.
    DEFINITIONS: "apiextensions.k8s.io/v1" "customresourcedefinitions" "CustomResourceDefinition" "CustomResourceDefinitions" false;
}

impl Kind {
    /// The kinds with pod templates.
    pub const WORKLOADS: [Self; 6] = [
        Self::DEPLOYMENTS,
        Self::STATEFUL_SETS,
        Self::DAEMON_SETS,
        Self::JOBS,
        Self::CRON_JOBS,
        Self::PODS,
    ];
}
