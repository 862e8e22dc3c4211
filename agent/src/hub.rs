//! The hub from which the agent pulls its bundle deployments.

use drover_agent_link::hub::{HubAccess, HubAccessError, HubPlace};
use drover_agent_link::registration::Store;
use kube::Client;
use thiserror::Error;
use tokio::sync::watch;

use crate::fleet_hub::{FleetHub, FleetHubError};

/// The hub of a Drover server, or a hub with Fleet's registration.
#[derive(Debug)]
pub(crate) enum HubSource {
    /// The agent obtains short-lived tokens with the cluster's key.
    Drover(HubAccess<Store>),
    /// The agent registers as Fleet's agent does, and has a long-lived token.
    Fleet(Box<FleetHub>),
}

/// The agent has no access to the hub.
#[derive(Debug, Error)]
pub(crate) enum HubSourceError {
    #[error(transparent)]
    Drover(#[from] HubAccessError),
    #[error(transparent)]
    Fleet(#[from] FleetHubError),
}

impl HubSourceError {
    /// Returns the reason in PascalCase.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Drover(error) => error.reason(),
            Self::Fleet(error) => error.reason(),
        }
    }
}

impl HubSource {
    /// Returns a client of the hub, and the places of the cluster's objects. After a failed attempt, waits
    /// until the next attempt is due.
    pub(crate) async fn client(&self) -> Result<(Client, HubPlace), HubSourceError> {
        match self {
            Self::Drover(access) => Ok(access.client().await?),
            Self::Fleet(hub) => Ok(Box::pin(hub.client()).await?),
        }
    }

    /// Returns the places, which change if the client is no longer valid for them.
    pub(crate) fn places(&self) -> watch::Receiver<Option<HubPlace>> {
        match self {
            Self::Drover(access) => access.places(),
            Self::Fleet(hub) => hub.places(),
        }
    }

    /// Closes the connections to the hub. Only Drover's hub has windows.
    pub(crate) fn disconnect(&self) {
        match self {
            Self::Drover(access) => access.disconnect(),
            Self::Fleet(_) => {}
        }
    }

    /// Reports that another replica of the agent deploys the bundles.
    pub(crate) fn stand_by(&self) {
        match self {
            Self::Drover(_) => {}
            Self::Fleet(hub) => hub.stand_by(),
        }
    }
}
