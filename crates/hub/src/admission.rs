//! Admission rules for writes to the hub (`drover_access::admission`). The embedded hub calls the
//! rules in process. An external hub calls the rules over HTTP.

pub mod account;
pub mod address;
mod embedded;
pub mod install;
pub mod review;
pub mod role_check;

pub mod webhook;
pub mod webhook_status;

use drover_access::admission::{self, AdmissionContext, Refusal, RoleName, Write};
use drover_access::names::UserName;
use k8s_openapi::api::rbac::v1::{ClusterRole, Role};
use kube::{Api, Client};
use serde_json::Value;
use thiserror::Error;
use tokio::sync::Semaphore;

use super::{HubError, Stores, call};
use drover_http_edge::status::Status;

pub(super) use embedded::InProcess;

/// The error of an admission check.
#[derive(Debug, Error)]
pub enum AdmissionError {
    /// A rule rejects the write.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A call to the hub failed while the check read a role or a binding.
    #[error("cannot read the roles and bindings for this check from the hub; try again")]
    RolesUnknown(#[source] HubError),
    /// A SubjectAccessReview of the writer's permissions failed.
    #[error("cannot check your permissions on the hub; try again")]
    WriterUnknown(#[source] HubError),
    /// The stores are not synced, or do not contain the latest changes on the hub.
    #[error("{}", .0.message())]
    Unavailable(#[source] Status),
    /// The hub returned an object that cannot be serialized as a role.
    #[error("cannot check the binding: the rules of the bound role cannot be parsed")]
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

/// The client and the stores for admission checks. Cloning is cheap.
#[derive(Clone)]
pub struct WriteAuthorizer {
    /// The client for role lookups and SubjectAccessReviews.
    pub client: Client,
    /// The synced objects of the hub.
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
    /// Checks one write that a client, for example kubectl, sends to the hub.
    pub async fn check(
        &self,
        context: AdmissionContext<'_>,
        write: &Write<'_>,
    ) -> Result<(), AdmissionError> {
        self.ask(context, write, &role_check::DIRECT_WAITING).await
    }

    /// Checks one write that the server makes for a user. The check applies the same rules as for a
    /// write that the user sends to the hub.
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
        self.ask(AdmissionContext::for_users(), &write, &role_check::WAITING)
            .await
    }

    /// Checks all rules for one write. A rejected write can wait for newer grants. `room` limits
    /// the number of writes that wait.
    async fn ask(
        &self,
        context: AdmissionContext<'_>,
        write: &Write<'_>,
        room: &'static Semaphore,
    ) -> Result<(), AdmissionError> {
        let role = match admission::role_needed(write, context) {
            None => None,
            Some(name) => read_role(&self.client, &name).await?,
        };
        admission::admit(write, context, role.as_ref())?;
        if context.concerns(write.writer) && admission::depends_on_roles(write) {
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
