//! The rules about what is written to the hub (`drover_access::admission`), asked in process by
//! the embedded hub and over HTTP by one elsewhere.

pub mod account;
pub mod address;
mod embedded;
pub mod install;
pub mod review;
pub mod standing;
pub mod webhook;

use drover_access::admission::{self, Asker, Refusal, RoleName, Write};
use k8s_openapi::api::rbac::v1::{ClusterRole, Role};
use kube::{Api, Client};
use serde_json::Value;
use thiserror::Error;

use super::{HubError, call};

pub(super) use embedded::InProcess;

/// Why something is not stored.
#[derive(Debug, Error)]
pub enum NotAdmitted {
    /// A rule says so.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// What a rule has to know could not be read, so nobody can say.
    #[error("the role that is bound could not be read, so what it grants is not known; try again")]
    Unknown(#[source] HubError),
    /// What was read is no role.
    #[error("the role that is bound is none")]
    Unreadable(#[source] serde_json::Error),
}

/// Decides about one write.
pub async fn decide(
    client: &Client,
    asker: Asker<'_>,
    write: &Write<'_>,
) -> Result<(), NotAdmitted> {
    let role = match admission::role_needed(write, asker) {
        None => None,
        Some(name) => read_role(client, &name).await?,
    };
    Ok(admission::admit(write, asker, role.as_ref())?)
}

async fn read_role(client: &Client, role: &RoleName) -> Result<Option<Value>, NotAdmitted> {
    const READ: &str = "read the role of a binding";
    let found = if let Some(namespace) = &role.namespace {
        let api: Api<Role> = Api::namespaced(client.clone(), namespace);
        let role = call(READ, api.get_opt(&role.name)).await;
        role.map(|role| role.map(serde_json::to_value))
    } else {
        let api: Api<ClusterRole> = Api::all(client.clone());
        let role = call(READ, api.get_opt(&role.name)).await;
        role.map(|role| role.map(serde_json::to_value))
    };
    found
        .map_err(NotAdmitted::Unknown)?
        .transpose()
        .map_err(NotAdmitted::Unreadable)
}
