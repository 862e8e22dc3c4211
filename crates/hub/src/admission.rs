//! The rules about what is written to the hub (`drover_access::admission`), asked in process by
//! the embedded hub and over HTTP by one elsewhere.

pub mod account;
pub mod address;
mod embedded;
pub mod install;
pub mod review;
pub mod role_check;

pub mod webhook;
pub mod webhook_status;

use drover_access::admission::{self, Asker, Refusal, RoleName, Write};
use drover_access::names::UserName;
use k8s_openapi::api::rbac::v1::{ClusterRole, Role};
use kube::{Api, Client};
use serde_json::Value;
use thiserror::Error;
use tokio::sync::Semaphore;

use super::{HubError, Stores, call};
use drover_http_edge::status::Status;

pub(super) use embedded::InProcess;

/// Why something is not stored.
#[derive(Debug, Error)]
pub enum AdmissionError {
    /// A rule says so.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// What a rule has to know could not be read, so nobody can say.
    #[error("what is bound could not be read, so what it grants is not known; try again")]
    RolesUnknown(#[source] HubError),
    /// Whether the writer may do everything on the hub could not be asked.
    #[error("whether you may do everything on the hub could not be asked; try again")]
    WriterUnknown(#[source] HubError),
    /// What the hub holds is not known well enough to decide from.
    #[error("{}", .0.message())]
    Unavailable(#[source] Status),
    /// What was read is no role.
    #[error("the role that is bound is none")]
    InvalidRole(#[source] serde_json::Error),
}

impl From<AdmissionError> for Status {
    fn from(not: AdmissionError) -> Self {
        match not {
            AdmissionError::Refused(refusal) => Self::forbidden(refusal.to_string()),
            AdmissionError::Unavailable(status) => status,
            AdmissionError::RolesUnknown(error) | AdmissionError::WriterUnknown(error) => {
                error.into()
            }
            AdmissionError::InvalidRole(_) => Self::internal(not.to_string()),
        }
    }
}

/// What a write is judged from; cheap to clone.
#[derive(Clone)]
pub struct WriteAuthorizer {
    /// The hub itself, to look roles up and to ask what its own people may.
    pub client: Client,
    /// What it holds.
    pub stores: Stores,
}

impl std::fmt::Debug for WriteAuthorizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriteAuthorizer")
            .field("stores", &self.stores)
            .finish_non_exhaustive()
    }
}

impl WriteAuthorizer {
    /// Decides about one write that somebody sends to the hub, for example with kubectl.
    pub async fn check(&self, asker: Asker<'_>, write: &Write<'_>) -> Result<(), AdmissionError> {
        self.ask(asker, write, &role_check::WAITING_ON_HUB).await
    }

    /// Decides about one write that the server makes for a user. All rules apply that apply when the
    /// user sends the write to the hub.
    pub async fn check_for_user(
        &self,
        user: &UserName,
        write: &Write<'_>,
    ) -> Result<(), AdmissionError> {
        let writer = user.to_string();
        let write = Write {
            writer: &writer,
            groups: &[],
            ..*write
        };
        self.ask(Asker::for_people(), &write, &role_check::WAITING)
            .await
    }

    /// Asks all rules; refusals wait in `room`.
    async fn ask(
        &self,
        asker: Asker<'_>,
        write: &Write<'_>,
        room: &'static Semaphore,
    ) -> Result<(), AdmissionError> {
        let role = match admission::role_needed(write, asker) {
            None => None,
            Some(name) => read_role(&self.client, &name).await?,
        };
        admission::admit(write, asker, role.as_ref())?;
        if asker.concerns(write.writer) && admission::depends_on_roles(write) {
            role_check::check_writer(&self.client, &self.stores, write, room).await?;
        }
        Ok(())
    }
}

async fn read_role(client: &Client, role: &RoleName) -> Result<Option<Value>, AdmissionError> {
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
        .map_err(AdmissionError::RolesUnknown)?
        .transpose()
        .map_err(AdmissionError::InvalidRole)
}
