//! The rules about what is written to the hub (`drover_access::admission`), asked in process by
//! the embedded hub and over HTTP by one elsewhere.

pub mod account;
pub mod address;
mod embedded;
pub mod install;
pub mod judge;
pub mod review;
pub mod standing;
pub mod webhook;

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
pub enum NotAdmitted {
    /// A rule says so.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// What a rule has to know could not be read, so nobody can say.
    #[error("what is bound could not be read, so what it grants is not known; try again")]
    Unknown(#[source] HubError),
    /// Whether the writer may do everything on the hub could not be asked.
    #[error("whether you may do everything on the hub could not be asked; try again")]
    UnknownWriter(#[source] HubError),
    /// What the hub holds is not known well enough to decide from.
    #[error("{}", .0.message())]
    NotNow(#[source] Status),
    /// What was read is no role.
    #[error("the role that is bound is none")]
    Unreadable(#[source] serde_json::Error),
}

impl From<NotAdmitted> for Status {
    fn from(not: NotAdmitted) -> Self {
        match not {
            NotAdmitted::Refused(refusal) => Self::forbidden(refusal.to_string()),
            NotAdmitted::NotNow(status) => status,
            NotAdmitted::Unknown(error) | NotAdmitted::UnknownWriter(error) => error.into(),
            NotAdmitted::Unreadable(_) => Self::internal(not.to_string()),
        }
    }
}

/// What a write is judged from; cheap to clone.
#[derive(Clone)]
pub struct Judge {
    /// The hub itself, to look roles up and to ask what its own people may.
    pub client: Client,
    /// What it holds.
    pub stores: Stores,
}

impl std::fmt::Debug for Judge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judge")
            .field("stores", &self.stores)
            .finish_non_exhaustive()
    }
}

impl Judge {
    /// Decides about one write that somebody sends to the hub, for example with kubectl.
    pub async fn decide(&self, asker: Asker<'_>, write: &Write<'_>) -> Result<(), NotAdmitted> {
        self.ask(asker, write, &judge::WAITING_ON_HUB).await
    }

    /// Decides about one write that the server makes for a user. All rules apply that apply when the
    /// user sends the write to the hub.
    pub async fn decide_for(&self, user: &UserName, write: &Write<'_>) -> Result<(), NotAdmitted> {
        let writer = user.to_string();
        let write = Write {
            writer: &writer,
            groups: &[],
            ..*write
        };
        self.ask(Asker::for_people(), &write, &judge::WAITING).await
    }

    /// Asks all rules; refusals wait in `room`.
    async fn ask(
        &self,
        asker: Asker<'_>,
        write: &Write<'_>,
        room: &'static Semaphore,
    ) -> Result<(), NotAdmitted> {
        let role = match admission::role_needed(write, asker) {
            None => None,
            Some(name) => read_role(&self.client, &name).await?,
        };
        admission::admit(write, asker, role.as_ref())?;
        if asker.concerns(write.writer) && admission::depends_on_roles(write) {
            judge::judge_writer(&self.client, &self.stores, write, room).await?;
        }
        Ok(())
    }
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
