//! Reasons why bundles are not deployed.

use drover_gitops::ids::BundleValuesError;
use drover_gitops::policy::Refusal;
use drover_gitops::rollout::RolloutError;
use drover_gitops::targeting::TargetError;
use drover_hub::HubError;
use thiserror::Error;

use super::copies::CopyError;
use crate::contents::ContentsError;

/// The reason why a bundle is not deployed.
#[derive(Debug, Error)]
pub(crate) enum BundleError {
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Copy(CopyError),
    #[error(transparent)]
    Contents(#[from] ContentsError),
    #[error(
        "spec.valuesHash: the Secret {0} with the Helm values does not exist; apply the bundle again with \
         its values"
    )]
    NoValues(String),
    #[error(
        "spec.contentsId: the Content {0} does not exist, or its name is not the hash of its files; apply \
         the bundle again with its files"
    )]
    NoContent(String),
    #[error(transparent)]
    Values(#[from] BundleValuesError),
}

impl From<CopyError> for BundleError {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Hub(error) => Self::Hub(error),
            error => Self::Copy(error),
        }
    }
}
