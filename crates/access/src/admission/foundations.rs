//! Admission of the server's namespace and of the definitions of Drover's kinds.
//!
//! If a user deletes the namespace or a definition, Kubernetes deletes all contained objects.
//! Kubernetes deletes these objects with an account that is exempt from admission.

use drover_api::group::{GROUP, HUB_NAMESPACE};

use super::{Operation, Refusal, Write};

/// Path of the owner references. Kubernetes deletes an object after the deletion of its owners.
const OWNERS: &str = "/metadata/ownerReferences";

pub(super) fn admit_namespace(write: &Write<'_>) -> Result<(), Refusal> {
    let goes = write.operation == Operation::Delete || write.changes(OWNERS);
    if write.object_name() != HUB_NAMESPACE || !goes {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "the namespace {HUB_NAMESPACE:?} is protected while Drover is installed, because the \
         namespace contains the server's keys and all passwords: to remove Drover from this hub, \
         stop the server, run \"kubectl delete validatingwebhookconfiguration drover-rules\", \
         then delete the namespace"
    )))
}

pub(super) fn admit_definition(write: &Write<'_>) -> Result<(), Refusal> {
    let group = write.object_name().split_once('.').map(|(_, group)| group);
    if group != Some(GROUP) {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "only Drover's server can write the CustomResourceDefinitions of {GROUP}: start the \
         server, which installs and upgrades the CustomResourceDefinitions"
    )))
}

#[cfg(test)]
mod tests;
