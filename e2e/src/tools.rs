//! Builds and locates the real Kubernetes programs.
//!
//! The programs are Go tools in `e2e/kubernetes/go.mod`. The first test builds the programs and
//! caches the programs outside of the checkout. The cache key is a hash of the build inputs.

mod build;

use std::path::PathBuf;

pub use build::BuildError;

/// A program of a real Kubernetes cluster, or a client of such a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// etcd, the store of the cluster.
    Etcd,
    /// kube-apiserver, the Kubernetes API server.
    KubeApiserver,
    /// kube-controller-manager, the Kubernetes controllers.
    KubeControllerManager,
    /// kubectl, the Kubernetes command line.
    Kubectl,
    /// kube-scheduler, which assigns pods to nodes.
    KubeScheduler,
    /// kubelet, which runs pods on a node.
    Kubelet,
    /// kube-proxy, which makes Service addresses reachable on a node.
    KubeProxy,
    /// Helm 3, the package manager.
    Helm,
    /// metrics-server, which serves the `metrics.k8s.io` API.
    MetricsServer,
}

impl Tool {
    /// All tools that the tests use.
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

    /// Returns the file name of the program.
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

    /// Returns the file name that the Go compiler derives from the package.
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

    /// Returns the path of the program. Builds all programs if the cache does not contain the
    /// program.
    ///
    /// A build without a cache takes several minutes and prints its progress. Concurrent tests
    /// share one build.
    pub async fn locate(self) -> Result<PathBuf, BuildError> {
        tokio::task::spawn_blocking(move || self.locate_blocking())
            .await
            .map_err(|source| BuildError::Interrupted {
                tool: self.name(),
                source,
            })?
    }

    /// Returns the path of the program like [`Tool::locate`]. Blocks, for synchronous callers.
    pub fn locate_blocking(self) -> Result<PathBuf, BuildError> {
        build::locate(self)
    }
}
