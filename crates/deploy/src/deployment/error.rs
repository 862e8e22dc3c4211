//! Errors of deployments.

use drover_gitops::targeting::SelectorError;

use crate::apply::ReleaseError;
use crate::apply::replace::is_denied;
use crate::cluster::ClusterError;
use crate::hooks::HookError;
use crate::object::ObjectKey;
use crate::record::RecordError;
use crate::release::HistoryError;
use crate::renderer::RenderError;
use crate::source::SourceError;
use crate::values::ValuesError;

/// The reason why a bundle is not deployed, observed or removed.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    /// The files of the bundle are wrong.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The chart or kustomization cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// Values in the cluster cannot be used.
    #[error(transparent)]
    Values(#[from] ValuesError),
    /// A ConfigMap or Secret with values is missing.
    #[error("cannot read the values of {0}: the object does not exist")]
    NoValues(ObjectKey),
    /// The cluster cannot be read.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The objects cannot be applied.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// A hook failed.
    #[error(transparent)]
    Hook(Box<HookError>),
    /// A release record cannot be read or written.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A release record is not valid.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The service account is missing.
    #[error("cannot deploy as the service account {namespace}/{name}: the account does not exist")]
    NoAccount {
        /// Namespace of the agent.
        namespace: String,
        /// Name of the account.
        name: String,
    },
    /// The selector of permitted namespaces is not valid.
    #[error("cannot use allowedTargetNamespaceSelector: {0}")]
    NamespaceSelector(#[from] SelectorError),
    /// The restrictions do not permit the namespace.
    #[error(
        "cannot deploy to the namespace {0}: it does not exist or does not have the labels that \
         allowedTargetNamespaceSelector requires; choose another namespace, or ask the administrator of \
         the cluster to set the labels"
    )]
    Namespace(String),
    /// A copy would replace an object of another owner.
    #[error(
        "cannot copy {0} to the cluster: the namespace has another object of this name; rename the object \
         in downstreamResources"
    )]
    OccupiedCopy(ObjectKey),
    /// The bundle forces a namespace, and contains cluster-scoped objects.
    #[error(
        "invalid cluster scoped object [name={name} kind={kind} apiVersion={api_version}] found, consider \
         using \"defaultNamespace\", not \"namespace\" in fleet.yaml",
        name = .0.name, kind = .0.kind, api_version = .0.api_version
    )]
    ClusterScoped(ObjectKey),
    /// A folder `crds/` of a chart contains another object than a CustomResourceDefinition.
    #[error(
        "cannot deploy {0} in the folder crds/ of the chart: the object is no CustomResourceDefinition; move it \
         to the folder templates/"
    )]
    NoDefinition(ObjectKey),
    /// Another bundle deployment has the release.
    #[error(
        "cannot use the release {namespace}/{name}: it belongs to {owner}; change helm.releaseName or \
         the namespace"
    )]
    OtherOwner {
        /// Namespace of the release.
        namespace: String,
        /// Name of the release.
        name: String,
        /// The owner.
        owner: String,
    },
    /// The objects are not ready in time.
    #[error("timed out waiting for the condition: {0}")]
    NotReady(String),
    /// The upgrade failed, and the previous release is applied again.
    #[error("release {name} failed, and has been rolled back due to atomic being set: {source}")]
    RolledBack {
        /// Name of the release.
        name: String,
        /// The error of the upgrade.
        source: Box<Self>,
    },
    /// The release does not exist.
    #[error("cannot read the release {0}: its record does not exist")]
    NoRelease(String),
}

impl From<HookError> for DeployError {
    fn from(error: HookError) -> Self {
        Self::Hook(Box::new(error))
    }
}

impl DeployError {
    /// Returns true if another try with the same input fails too, because the bundle is wrong.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Source(_)
            | Self::ClusterScoped(_)
            | Self::NoDefinition(_)
            | Self::NamespaceSelector(_)
            | Self::NotReady(_)
            | Self::RolledBack { .. } => true,
            Self::Render(error) => matches!(error, RenderError::Rejected(_)),
            Self::Release(ReleaseError::Cluster(error)) | Self::Cluster(error) => {
                is_rejected(error)
            }
            Self::Hook(error) => !matches!(**error, HookError::Cluster { .. }),
            Self::Record(error) | Self::History(HistoryError::Record(error)) => {
                matches!(error, RecordError::TooLarge { .. })
            }
            _ => false,
        }
    }
}

/// Parts of the API server's messages about objects that do not match the schema of their kind.
const NO_MATCH: [&str; 5] = [
    "strict decoding error",
    "cannot be handled as a",
    "failed to create typed patch object",
    "field not declared in schema",
    "unable to decode",
];

/// Returns true if the API server finds the object invalid. An admission webhook or a policy can accept the
/// same object later.
fn is_rejected(error: &ClusterError) -> bool {
    let ClusterError::Call(drover_apply::ApplyError::Call { source, .. }) = error else {
        return false;
    };
    let source: &kube::Error = source;
    let kube::Error::Api(status) = source else {
        return false;
    };
    if is_denied(&status.message) {
        return false;
    }
    match status.code {
        422 => status.reason == "Invalid",
        400 => NO_MATCH.iter().any(|text| status.message.contains(text)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(code: u16, reason: &str, message: &str) -> DeployError {
        let mut status = kube::core::Status::failure(message, reason);
        status.code = code;
        let source: kube::Error = kube::Error::Api(Box::new(status));
        let error = drover_apply::ApplyError::Call {
            operation: "apply".to_owned(),
            source: source.into(),
        };
        DeployError::Release(ReleaseError::Cluster(error.into()))
    }

    #[test]
    fn only_invalid_objects_are_permanent_errors() {
        for (code, reason, message, expected) in [
            (422, "Invalid", "spec.replicas: Invalid value: -1", true),
            (
                400,
                "BadRequest",
                "strict decoding error: unknown field",
                true,
            ),
            (
                400,
                "BadRequest",
                "admission webhook \"a\" denied the request: no",
                false,
            ),
            (
                422,
                "Invalid",
                "admission webhook \"a\" denied the request: no",
                false,
            ),
            (
                422,
                "Invalid",
                "ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no",
                false,
            ),
            (400, "BadRequest", "the server is starting", false),
            (500, "InternalError", "timeout", false),
        ] {
            let error = rejected(code, reason, message);
            assert_eq!(error.is_permanent(), expected, "{code} {message}");
        }
    }
}
