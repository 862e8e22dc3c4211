//! Why Drover itself answers instead of the cluster, and what it says then.

use drover_access::headers::Unrepresentable;
use drover_access::impersonation::ImpersonationError;
use drover_access::path::PathError;
use drover_access::permit::Denied;
use drover_api::client_error::ClientError;
use drover_tunnel::SendError;
use drover_tunnel::tunnel::HeadTimeout;
use http::StatusCode;
use thiserror::Error;

use super::open::CutReason;
use drover_agent_gateway::tunnels::{NoTunnel, TunnelSendError};
use drover_audit::AuditFull;
use drover_http_edge::status::Status;
use drover_identity::{IdentifyError, LookupError};

/// A request that Drover answers itself, with an error.
#[derive(Debug, Error)]
pub enum Refusal {
    /// It could not be recorded.
    #[error(
        "{0}; nothing is done that cannot be recorded: try again, and ask an administrator to look at the audit log's disk"
    )]
    Unrecorded(#[from] AuditFull),
    /// Its target is not one path for every reader.
    #[error(transparent)]
    Path(#[from] PathError),
    /// It names a host in its target, or several.
    #[error(
        "the request names its host ambiguously: send a path, and one Host header that agrees with it"
    )]
    Host,
    /// Nobody is proved to have sent it.
    #[error(transparent)]
    Identity(#[from] IdentifyError),
    /// That person may not go there.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// There is no such cluster.
    #[error("there is no cluster {0:?}: \"drover cluster list\" shows those there are")]
    NoCluster(String),
    /// The cluster is on its way out.
    #[error("cluster {0:?} is being deleted")]
    Deleting(String),
    /// It asks to act as somebody whom nobody may act as here.
    #[error(transparent)]
    ActingAs(#[from] ImpersonationError),
    /// The person has no right to act as anybody.
    #[error("only administrators may act as somebody else (--as)")]
    MayNotActAs,
    /// The cluster does not let this person act as that one.
    #[error(
        "cluster {cluster:?} does not allow you to impersonate {what}: its RBAC must let {who:?} impersonate it"
    )]
    ClusterForbidsActingAs {
        /// Name of the cluster.
        cluster: String,
        /// The person, as the cluster knows them.
        who: String,
        /// `user "drover:user:…"`
        what: String,
    },
    /// The cluster could not be asked whether it allows that.
    #[error(
        "cluster {0:?} could not be asked whether it allows you to act as somebody else: try again, or leave --as out"
    )]
    ActingAsUnknown(String),
    /// A name cannot be put in a header.
    #[error(transparent)]
    Header(#[from] Unrepresentable),
    /// A script for a service worker would outlive the page.
    #[error("service workers cannot be served through Drover")]
    ServiceWorker,
    /// What is behind a proxy of a cluster would act in the name of whoever is signed in.
    #[error(
        "what a cluster's pods and services serve is not for a browser that is signed in to Drover: \
         use \"kubectl port-forward\" or \"kubectl proxy\""
    )]
    SessionAtProxy,
    /// A browser that is signed in would show an answer of a cluster as a page.
    #[error(
        "what a cluster answers is not shown in a browser that is signed in to Drover: open the \
         cluster from Drover's own page, or use \"kubectl get --raw\""
    )]
    SessionShows,
    /// No tunnel to the cluster.
    #[error(
        "cluster {name:?} cannot be reached: {cause}; look at its agent with \"kubectl -n drover-agent get pods\" on that cluster, and at \"drover cluster list\""
    )]
    Unreachable {
        /// Name of the cluster.
        name: String,
        /// Which of the ways.
        cause: NoTunnel,
    },
    /// The tunnel did not bring an answer.
    #[error("{}", send_message(name, cause))]
    Tunnel {
        /// Name of the cluster.
        name: String,
        /// What the tunnel says.
        cause: SendError,
    },
    /// The hub did not answer a request to `local`.
    #[error("the hub cannot be reached; an administrator has to look at its API server")]
    Hub(#[source] ClientError),
    /// The hub did not answer in time.
    #[error("the hub did not answer within {} s", .0.0.as_secs())]
    HubSlow(HeadTimeout),
    /// The cluster's side wants the client to go somewhere else on this server.
    #[error(
        "cluster {0:?} answered with a redirect that leads out of it; Drover does not pass it on"
    )]
    RedirectElsewhere(String),
    /// What it stood on was withdrawn while it waited.
    #[error("the request was stopped: {0}")]
    Revoked(CutReason),
}

fn send_message(name: &str, cause: &SendError) -> String {
    let advice = match cause {
        SendError::BudgetExceeded(_) => "try again in some seconds",
        SendError::Closed(_) | SendError::Draining | SendError::RefusedByAgent => {
            "nothing was done; try again"
        }
        SendError::Lost(_) | SendError::Reset(_) => {
            "it is not known whether the request was carried out: look before trying again"
        }
        SendError::HeadTimeout(_) => {
            "its API server is slow or down; it is not known whether the request was carried out"
        }
        SendError::Request(_) => "send it in another form",
    };
    format!("cluster {name:?}: {cause}; {advice}")
}

impl Refusal {
    /// Names a failure to send after the cluster.
    pub(super) fn sending(name: &str, error: TunnelSendError) -> Self {
        let name = name.to_owned();
        match error {
            TunnelSendError::NoTunnel(cause) => Self::Unreachable { name, cause },
            TunnelSendError::Send(cause) => Self::Tunnel { name, cause },
        }
    }

    /// `PascalCase` cause for the audit log and the metrics; one of a fixed set.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Unrecorded(_) => "AuditLogFull",
            Self::Path(_) => "BadPath",
            Self::Host => "BadHost",
            Self::Identity(IdentifyError::Foreign(_)) => "ForeignPage",
            Self::Identity(_) => "NoIdentity",
            Self::Denied(Denied::PasswordChangeRequired) => "PasswordChangeRequired",
            Self::Denied(Denied::Expired) => "TokenExpired",
            Self::Denied(Denied::OtherCluster) => "TokenForOtherCluster",
            Self::Denied(Denied::NoBinding) => "NoBinding",
            Self::Denied(Denied::OnlyTheHub) => "AccountBeyondTheHub",
            Self::NoCluster(_) => "NoSuchCluster",
            Self::Deleting(_) => "ClusterDeleting",
            Self::ActingAs(_) | Self::MayNotActAs | Self::ClusterForbidsActingAs { .. } => {
                "ImpersonationForbidden"
            }
            Self::ActingAsUnknown(_) => "ImpersonationUnknown",
            Self::Header(_) => "Unrepresentable",
            Self::ServiceWorker => "ServiceWorker",
            Self::SessionAtProxy => "SessionAtProxy",
            Self::SessionShows => "SessionShows",
            Self::Unreachable {
                cause: NoTunnel::NotConnected,
                ..
            } => "AgentNotConnected",
            Self::Unreachable {
                cause: NoTunnel::Silent,
                ..
            } => "AgentSilent",
            Self::Tunnel { cause, .. } => tunnel_reason(cause),
            Self::Hub(_) => "HubUnreachable",
            Self::HubSlow(_) => "HubTimeout",
            Self::RedirectElsewhere(_) => "RedirectElsewhere",
            Self::Revoked(reason) => reason.as_str(),
        }
    }

    /// The answer.
    pub(super) fn into_status(self) -> Status {
        let message = self.to_string();
        match self {
            Self::Identity(error) => error.into(),
            Self::Path(_) | Self::Host => Status::bad_request(message),
            Self::Denied(Denied::Expired) => Status::unauthorized(message),
            Self::ActingAs(_)
            | Self::Denied(_)
            | Self::MayNotActAs
            | Self::ClusterForbidsActingAs { .. }
            | Self::ServiceWorker
            | Self::SessionAtProxy
            | Self::SessionShows
            | Self::Revoked(_) => Status::forbidden(message),
            Self::NoCluster(name) | Self::Deleting(name) => {
                Status::new(StatusCode::NOT_FOUND, "NotFound", message).about("Cluster", &name)
            }
            Self::Header(_) => Status::internal(message),
            Self::Tunnel { name, cause } => send_status(&cause, message).about("Cluster", &name),
            Self::Unreachable { name, .. } => {
                Status::unavailable(message, 10).about("Cluster", &name)
            }
            Self::HubSlow(_) => Status::timeout(message),
            Self::RedirectElsewhere(name) => {
                Status::new(StatusCode::BAD_GATEWAY, "BadGateway", message).about("Cluster", &name)
            }
            Self::Unrecorded(_) | Self::ActingAsUnknown(_) | Self::Hub(_) => {
                Status::unavailable(message, 5)
            }
        }
    }

    /// Whether the answer carries `Retry-After`.
    ///
    /// client-go repeats a request up to ten times when it sees that header, whatever the verb. So
    /// it stands only where nothing was done and another try may soon succeed; otherwise kubectl
    /// would seem to hang, or would do a thing twice.
    pub(super) const fn invites_retry(&self) -> bool {
        match self {
            Self::Unrecorded(_) | Self::Identity(IdentifyError::Lookup(LookupError::TooMany)) => {
                true
            }
            Self::Tunnel { cause, .. } => cause.retry_is_safe() || is_over_budget(cause),
            _ => false,
        }
    }
}

const fn is_over_budget(cause: &SendError) -> bool {
    matches!(cause, SendError::BudgetExceeded(_))
}

const fn tunnel_reason(cause: &SendError) -> &'static str {
    match cause {
        SendError::Closed(_) => "TunnelClosed",
        SendError::Draining => "AgentDraining",
        SendError::BudgetExceeded(_) => "OverBudget",
        SendError::RefusedByAgent => "RefusedByAgent",
        SendError::Request(_) => "UnsendableRequest",
        SendError::Lost(_) => "TunnelLost",
        SendError::Reset(_) => "ResetByAgent",
        SendError::HeadTimeout(_) => "ClusterTimeout",
    }
}

fn send_status(cause: &SendError, message: String) -> Status {
    match cause {
        SendError::BudgetExceeded(_) => Status::too_many_requests(message, 1),
        SendError::HeadTimeout(_) => Status::timeout(message).retry_after(10),
        SendError::Request(_) => Status::bad_request(message),
        SendError::Closed(_)
        | SendError::Draining
        | SendError::RefusedByAgent
        | SendError::Lost(_)
        | SendError::Reset(_) => Status::unavailable(message, 1),
    }
}
