//! Bodies of unauthenticated requests: login, registration, challenges.

use std::net::IpAddr;
use std::sync::LazyLock;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use http_body_util::Limited;
use serde::de::DeserializeOwned;

use super::body::Json;
use crate::listen::ConnectionSlot;
use crate::networks::{NetworkLimits, NetworkSlot, sender};
use crate::status::Status;

/// Maximum number of unauthenticated bodies that the server reads concurrently, in total and from
/// one network. The number limits memory, because each body can have [`super::body::BODY_BYTES`].
const MAX_CONCURRENT: (usize, usize) = (512, 32);

/// Maximum number of agents' bodies that the server reads concurrently, in total and from one
/// network. Networks from which agents have proved their keys have a separate limit of the same
/// size.
const MAX_CONCURRENT_AGENTS: (usize, usize) = (256, 32);
/// Maximum size of an agent's body, in bytes. The body contains a key, a signature and a version.
const MAX_AGENT_BYTES: usize = 16 * 1024;
/// Time limit for receiving an agent's body.
const AGENT_TIMEOUT: Duration = Duration::from_secs(10);

static READING: LazyLock<Reading> = LazyLock::new(Reading::default);

/// The concurrency limits of the request bodies that the server reads.
struct Reading {
    strangers: NetworkLimits,
    new_agents: NetworkLimits,
    known_agents: NetworkLimits,
}

impl Default for Reading {
    fn default() -> Self {
        let of_agents = || NetworkLimits::new(MAX_CONCURRENT_AGENTS.0, MAX_CONCURRENT_AGENTS.1);
        Self {
            strangers: NetworkLimits::new(MAX_CONCURRENT.0, MAX_CONCURRENT.1),
            new_agents: of_agents(),
            known_agents: of_agents(),
        }
    }
}

impl Reading {
    fn take_slot(&self, address: IpAddr) -> Option<NetworkSlot> {
        self.strangers.take(address)
    }

    fn agent(&self, address: IpAddr, is_known: bool) -> Option<NetworkSlot> {
        let known = is_known.then(|| self.known_agents.take(address)).flatten();
        known.or_else(|| self.new_agents.take(address))
    }
}

/// A [`Json`] body of an unauthenticated client, with a limit on concurrent reads.
#[derive(Debug)]
pub struct UnauthenticatedJson<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for UnauthenticatedJson<T> {
    type Rejection = Status;

    async fn from_request(request: Request, state: &S) -> Result<Self, Status> {
        // Refuse the request without waiting, because a waiting request holds the data that its
        // connection has received.
        let slot = READING.take_slot(sender(request.extensions()));
        let _place = slot.ok_or_else(too_many)?;
        let Json(value) = Json::from_request(request, state).await?;
        Ok(Self(value))
    }
}

/// A [`Json`] body of a client that claims to be an agent. The maximum size is 16 KiB.
#[derive(Debug)]
pub struct AgentJson<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for AgentJson<T> {
    type Rejection = Status;

    async fn from_request(request: Request, state: &S) -> Result<Self, Status> {
        let address = sender(request.extensions());
        let connection = request.extensions().get::<ConnectionSlot>();
        let is_known = connection.is_some_and(|connection| connection.is_agents_network(address));
        let _place = READING.agent(address, is_known).ok_or_else(too_many)?;
        let request = request.map(|body| Body::new(Limited::new(body, MAX_AGENT_BYTES)));
        let reading = Json::from_request(request, state);
        let Json(value) = tokio::time::timeout(AGENT_TIMEOUT, reading)
            .await
            .map_err(|_| Status::timeout("timeout while reading the request body"))??;
        Ok(Self(value))
    }
}

fn too_many() -> Status {
    Status::too_many_requests(
        "the server is reading too many requests from your network; try again",
        1,
    )
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::extract::ConnectInfo;
    use futures::FutureExt as _;
    use http::header::CONTENT_TYPE;
    use serde_json::Value;

    use super::*;

    fn from(address: [u8; 4], body: Body) -> Request {
        Request::post("/v1/login")
            .header(CONTENT_TYPE, "application/json")
            .extension(ConnectInfo(SocketAddr::from((address, 1))))
            .body(body)
            .unwrap()
    }

    async fn read(request: Request) -> Result<Value, Status> {
        UnauthenticatedJson::from_request(request, &())
            .await
            .map(|UnauthenticatedJson(value)| value)
    }

    #[tokio::test]
    async fn endless_bodies_from_one_network_do_not_block_other_networks() {
        let (here, there) = ([198, 51, 100, 1], [198, 51, 100, 2]);
        let mut waiting: Vec<_> = (0..MAX_CONCURRENT.1)
            .map(|_| {
                let endless = futures::stream::pending::<Result<bytes::Bytes, std::io::Error>>();
                Box::pin(read(from(here, Body::from_stream(endless))))
            })
            .collect();
        for one in &mut waiting {
            assert!(one.now_or_never().is_none(), "the body is being read");
        }
        let refused = read(from(here, Body::from("{}"))).await.unwrap_err();
        assert_eq!(refused.code(), 429);
        assert!(read(from(there, Body::from("{}"))).await.is_ok());
        drop(waiting);
        assert!(read(from(here, Body::from("{}"))).await.is_ok());
    }

    #[test]
    fn slow_bodies_from_many_networks_do_not_block_agents() {
        let reading = Reading::default();
        let of = |n: u16| {
            let [high, low] = n.to_be_bytes();
            IpAddr::from([high, low, 0, 1])
        };
        let log_ins: Vec<_> = (0..1000).filter_map(|n| reading.take_slot(of(n))).collect();
        assert_eq!(log_ins.len(), MAX_CONCURRENT.0);
        let agent = IpAddr::from([192, 0, 2, 1]);
        assert!(reading.agent(agent, false).is_some());
        let agents: Vec<_> = (0..1000)
            .filter_map(|n| reading.agent(of(n), false))
            .collect();
        assert_eq!(agents.len(), MAX_CONCURRENT_AGENTS.0);
        assert!(reading.agent(agent, false).is_none());
        assert!(reading.agent(agent, true).is_some());
    }

    #[tokio::test]
    async fn too_large_request_body_of_an_agent_is_rejected() {
        let large = Body::from(" ".repeat(MAX_AGENT_BYTES + 1));
        let read = AgentJson::<Value>::from_request(from([192, 0, 2, 1], large), &()).await;
        assert!(read.is_err());
    }
}
