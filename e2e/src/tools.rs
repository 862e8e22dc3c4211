//! The real Kubernetes programs: declared as Go `tool`s in `e2e/kubernetes/go.mod`, built once and
//! cached outside the checkout, by the hash of what they are built from.

mod build;

use std::path::PathBuf;

pub use build::BuildError;

/// A program of a real Kubernetes cluster, or one that talks to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// The cluster's store.
    Etcd,
    /// The Kubernetes API server.
    KubeApiserver,
    /// The Kubernetes controllers.
    KubeControllerManager,
    /// The Kubernetes command line.
    Kubectl,
    /// The program that places pods on nodes.
    KubeScheduler,
    /// The program that runs pods on a node.
    Kubelet,
    /// The program that makes Service addresses reachable on a node.
    KubeProxy,
    /// Helm 3.
    Helm,
    /// The provider of the `metrics.k8s.io` API.
    MetricsServer,
}

impl Tool {
    /// Every tool.
    pub const ALL: [Self; 9] = [
        Self::Etcd,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::Kubectl,
        Self::KubeScheduler,
        Self::Kubelet,
        Self::KubeProxy,
        Self::Helm,
        Self::MetricsServer,
    ];

    /// The program's file name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::Kubectl => "kubectl",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kubelet => "kubelet",
            Self::KubeProxy => "kube-proxy",
            Self::Helm => "helm",
            Self::MetricsServer => "metrics-server",
        }
    }

    /// What Go names it, which is after its package.
    const fn built_as(self) -> &'static str {
        match self {
            Self::Etcd => "server",
            other => other.name(),
        }
    }

    const fn package(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::KubeApiserver => "k8s.io/kubernetes/cmd/kube-apiserver",
            Self::KubeControllerManager => "k8s.io/kubernetes/cmd/kube-controller-manager",
            Self::Kubectl => "k8s.io/kubernetes/cmd/kubectl",
            Self::KubeScheduler => "k8s.io/kubernetes/cmd/kube-scheduler",
            Self::Kubelet => "k8s.io/kubernetes/cmd/kubelet",
            Self::KubeProxy => "k8s.io/kubernetes/cmd/kube-proxy",
            Self::Helm => "helm.sh/helm/v3/cmd/helm",
            Self::MetricsServer => "sigs.k8s.io/metrics-server/cmd/metrics-server",
        }
    }

    /// Finds the built program, and builds all of them first when the cache does not have them.
    ///
    /// A cold build takes some minutes and prints its progress. Concurrent tests build once.
    pub async fn locate(self) -> Result<PathBuf, BuildError> {
        tokio::task::spawn_blocking(move || self.locate_blocking())
            .await
            .map_err(|source| BuildError::Interrupted {
                tool: self.name(),
                source,
            })?
    }

    /// Does what [`Tool::locate`] does, on the calling thread.
    pub fn locate_blocking(self) -> Result<PathBuf, BuildError> {
        build::locate(self)
    }
}
