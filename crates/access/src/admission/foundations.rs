//! What Drover's objects stand on: the server's namespace, and the definitions of its kinds.
//!
//! Who deletes one of these deletes what it holds, and Kubernetes does it for them, under a name
//! that no rule concerns.

use drover_api::group::{GROUP, HUB_NAMESPACE};

use super::{Operation, Refusal, Write};

/// Whoever owns a thing takes it along.
const OWNERS: &str = "/metadata/ownerReferences";

pub(super) fn admit_namespace(write: &Write<'_>) -> Result<(), Refusal> {
    let goes = write.operation == Operation::Delete || write.changes(OWNERS);
    if write.called() != HUB_NAMESPACE || !goes {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "the namespace {HUB_NAMESPACE:?} holds the server's keys and everybody's password, and is \
         deleted last: to remove Drover from this hub, stop its server, then \"kubectl delete \
         validatingwebhookconfiguration drover-rules\""
    )))
}

pub(super) fn admit_definition(write: &Write<'_>) -> Result<(), Refusal> {
    let group = write.called().split_once('.').map(|(_, group)| group);
    if group != Some(GROUP) {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "only Drover's server writes the definitions of {GROUP}, and with one go all objects of its \
         kind: start the server, which installs and upgrades them"
    )))
}

#[cfg(test)]
mod tests;
