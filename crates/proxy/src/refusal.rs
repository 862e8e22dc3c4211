//! Errors that Drover itself returns for a request to a cluster.

use drover_access::headers::Unrepresentable;
use drover_access::impersonation::ImpersonationError;
use drover_access::path::PathError;
use drover_access::permit::Denied;
use drover_api::client_error::ClientError;
use drover_tunnel::SendError;
use drover_tunnel::tunnel::HeadTimeout;
use http::StatusCode;
use thiserror::Error;

use super::open::AbortReason;
use drover_agent_gateway::tunnels::{NoTunnel, TunnelSendError};
use drover_audit::AuditFull;
use drover_http_edge::status::Status;
use drover_identity::{IdentifyError, LookupError};

/// The reason why Drover refuses a request to a cluster.
#[derive(Debug, Error)]
pub enum Refusal {
    /// The queue of the audit log has no space for a record of the request.
    #[error(
        "cannot record the request in the audit log: {cause}; try again, and ask an \
         administrator to check the disk of the audit log", cause = .0
    )]
    Unrecorded(#[from] AuditFull),
    /// Different URL parsers can interpret the path differently.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The path of the request is a URL with a host, or the request has several `Host` headers.
    #[error(
        "the request contains conflicting hosts: send exactly one Host header, and a path \
         instead of a full URL"
    )]
    Host,
    /// The request has no valid token.
    #[error(transparent)]
    Identity(#[from] IdentifyError),
    /// The user has no access to the cluster or hub.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The cluster does not exist.
    #[error("cluster {name:?} not found: \"drover cluster list\" lists all clusters", name = .0)]
    NoCluster(String),
    /// The cluster is being deleted.
    #[error("cluster {name:?} is being deleted", name = .0)]
    Deleting(String),
    /// The requested identity cannot be impersonated.
    #[error(transparent)]
    ActingAs(#[from] ImpersonationError),
    /// The user lacks the verb `impersonate`.
    #[error(
        "your roles do not allow you to impersonate users (--as): ask an administrator for a role"
    )]
    MayNotActAs,
    /// The cluster's RBAC does not allow the impersonation.
    #[error(
        "cluster {cluster:?} does not allow you to impersonate {target}: the RBAC of the cluster \
         must allow {user:?} to impersonate {target}"
    )]
    ClusterForbidsActingAs {
        /// Name of the cluster.
        cluster: String,
        /// The user's name on the cluster.
        user: String,
        /// The requested identity, for example `user "drover:user:…"`.
        target: String,
    },
    /// The cluster did not respond to the access review.
    #[error(
        "cannot check on cluster {name:?} whether you are allowed to impersonate this user: try \
         again, or omit --as", name = .0
    )]
    ActingAsUnknown(String),
    /// A name in an impersonation header is not a valid header value.
    #[error(transparent)]
    Header(#[from] Unrepresentable),
    /// The response is a service worker script. A service worker runs after its page is closed.
    #[error(
        "cannot return a service worker of a cluster, because the service worker would run after \
         its page is closed"
    )]
    ServiceWorker,
    /// A browser session requests the service proxy of a cluster. The application behind the
    /// service proxy could misuse the session.
    #[error(
        "a browser session cannot open pods and services of a cluster: \
         use \"kubectl port-forward\" or \"kubectl proxy\""
    )]
    SessionAtProxy,
    /// A browser with a session would render a response of a cluster as a page.
    #[error(
        "a browser session cannot open responses of a cluster as a page: open the \
         cluster from Drover's own page, or use \"kubectl get --raw\""
    )]
    SessionShows,
    /// The cluster has no usable tunnel.
    #[error(
        "cluster {name:?} is unreachable: {cause}; check the agent with \"kubectl -n \
         drover-agent get pods\" on the cluster, and the state with \"drover cluster list\""
    )]
    Unreachable {
        /// Name of the cluster.
        name: String,
        /// Reason why the cluster has no usable tunnel.
        cause: NoTunnel,
    },
    /// The tunnel returned no response.
    #[error("{}", send_message(name, cause))]
    Tunnel {
        /// Name of the cluster.
        name: String,
        /// Error of the tunnel.
        cause: SendError,
    },
    /// A request to the hub (`local`) failed.
    #[error("the hub is unreachable; ask an administrator to check the API server of the hub")]
    Hub(#[source] ClientError),
    /// The hub did not respond in time.
    #[error("the hub did not respond within {seconds} s; try again", seconds = .0.0.as_secs())]
    HubSlow(HeadTimeout),
    /// The cluster redirects the client to a path of this server outside the cluster's prefix.
    #[error(
        "cluster {name:?} responded with a redirect to a path outside of the cluster; Drover \
         does not forward this response", name = .0
    )]
    RedirectElsewhere(String),
    /// The permit was withdrawn before the response arrived.
    #[error("the request was aborted: {cause}", cause = .0)]
    Revoked(AbortReason),
}

fn send_message(name: &str, cause: &SendError) -> String {
    let advice = match cause {
        SendError::BudgetExceeded(_) => "try again in a few seconds",
        SendError::Closed(_) | SendError::Draining | SendError::RefusedByAgent => {
            "the request had no effect; try again"
        }
        SendError::Lost(_) | SendError::Reset(_) => {
            "the effect of the request is unknown: check before you try again"
        }
        SendError::HeadTimeout(_) => {
            "its API server is slow or down, and the effect of the request is unknown"
        }
        SendError::Request(_) => "change the request",
    };
    format!("cluster {name:?}: {cause}; {advice}")
}

impl Refusal {
    /// Converts a send error to a refusal with the name of the cluster.
    pub(super) fn sending(name: &str, error: TunnelSendError) -> Self {
        let name = name.to_owned();
        match error {
            TunnelSendError::NoTunnel(cause) => Self::Unreachable { name, cause },
            TunnelSendError::Send(cause) => Self::Tunnel { name, cause },
        }
    }

    /// Returns the reason in `PascalCase`, from a fixed set, for the audit log and the metrics.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Unrecorded(_) => "AuditLogFull",
            Self::Path(_) => "BadPath",
            Self::Host => "BadHost",
            Self::Identity(IdentifyError::CrossOrigin(_)) => "ForeignPage",
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

    /// Converts the refusal into the response.
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

    /// Returns true if the response has a `Retry-After` header.
    ///
    /// When client-go receives this header, client-go repeats a request with any verb up to ten
    /// times. Therefore the server sets the header only if the request had no effect and a retry
    /// can soon succeed. In all other cases, kubectl could repeat a change or wait for a long time.
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
