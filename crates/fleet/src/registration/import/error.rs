//! The reasons why a cluster is not imported.

use drover_hub::HubError;
use drover_kubeconfig::KubeconfigError;
use thiserror::Error;

use super::target::TargetError;

/// The reason why a cluster is not imported.
#[derive(Debug, Error)]
pub(in crate::registration) enum ImportError {
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error(
        "spec.kubeConfigSecretNamespace names another namespace than the Cluster's; store the Secret in the \
         namespace of the Cluster, and remove the field"
    )]
    OtherNamespace,
    #[error(
        "the Secret {0} does not exist or has no entry value; create the Secret with a kubeconfig in \
         the entry value"
    )]
    Missing(String),
    #[error("the kubeconfig in the Secret {name} is not accepted")]
    Kubeconfig {
        name: String,
        source: KubeconfigError,
    },
    #[error(
        "the ClusterRegistrationToken {0} exists and does not belong to the Cluster; delete the \
         ClusterRegistrationToken"
    )]
    TokenTaken(String),
    #[error("cannot create the agent's manifest: {0}")]
    Manifest(String),
    #[error("cannot generate a client ID")]
    Random,
    #[error(transparent)]
    Target(#[from] TargetError),
}

impl ImportError {
    /// Returns the reason of the condition.
    pub(super) const fn reason(&self) -> &'static str {
        match self {
            Self::Hub(_) | Self::Random => "HubUnavailable",
            Self::OtherNamespace => "SecretNamespaceRefused",
            Self::Missing(_) => "KubeConfigMissing",
            Self::Kubeconfig { .. } => "KubeConfigInvalid",
            Self::TokenTaken(_) => "TokenNameTaken",
            Self::Manifest(_) => "ManifestUnavailable",
            Self::Target(error) => error.reason(),
        }
    }

    /// Reports whether only a change of the Cluster can help.
    pub(super) const fn is_permanent(&self) -> bool {
        matches!(self, Self::OtherNamespace)
    }
}
