//! Bodies of requests whose senders are not known yet: log-in, registration, challenges.

use std::net::IpAddr;
use std::sync::LazyLock;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use http_body_util::Limited;
use serde::de::DeserializeOwned;

use super::body::Json;
use crate::listen::Place;
use crate::networks::{Share, Shares, sender};
use crate::status::Status;

/// Such bodies that are read at once, from everywhere and from one network. Each may hold
/// [`super::body::BODY_BYTES`] and take its time, so that more of them could fill memory.
const AT_ONCE: (usize, usize) = (512, 32);

/// Bodies of agents that are read at once, from everywhere and from one network; as many again are for
/// networks from which agents have proved their keys.
const OF_AGENTS: (usize, usize) = (256, 32);
/// Largest body of an agent. It holds a key, a signature and a version.
const AGENTS_BYTES: usize = 16 * 1024;
/// Longest that an agent's body may take to arrive.
const AGENTS_WITHIN: Duration = Duration::from_secs(10);

static READING: LazyLock<Reading> = LazyLock::new(Reading::default);

/// Bodies that are being read.
struct Reading {
    strangers: Shares,
    new_agents: Shares,
    known_agents: Shares,
}

impl Default for Reading {
    fn default() -> Self {
        let of_agents = || Shares::new(OF_AGENTS.0, OF_AGENTS.1);
        Self {
            strangers: Shares::new(AT_ONCE.0, AT_ONCE.1),
            new_agents: of_agents(),
            known_agents: of_agents(),
        }
    }
}

impl Reading {
    fn stranger(&self, address: IpAddr) -> Option<Share> {
        self.strangers.take(address)
    }

    fn agent(&self, address: IpAddr, is_known: bool) -> Option<Share> {
        let known = is_known.then(|| self.known_agents.take(address)).flatten();
        known.or_else(|| self.new_agents.take(address))
    }
}

/// As [`Json`], from a stranger.
#[derive(Debug)]
pub struct StrangersJson<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for StrangersJson<T> {
    type Rejection = Status;

    async fn from_request(request: Request, state: &S) -> Result<Self, Status> {
        // Not waited for: what waits holds what the connection has received.
        let place = READING.stranger(sender(request.extensions()));
        let _place = place.ok_or_else(too_many)?;
        let Json(value) = Json::from_request(request, state).await?;
        Ok(Self(value))
    }
}

/// As [`Json`], small, from a client that says that it is an agent.
#[derive(Debug)]
pub struct AgentsJson<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for AgentsJson<T> {
    type Rejection = Status;

    async fn from_request(request: Request, state: &S) -> Result<Self, Status> {
        let address = sender(request.extensions());
        let connection = request.extensions().get::<Place>();
        let is_known = connection.is_some_and(|connection| connection.is_agents_network(address));
        let _place = READING.agent(address, is_known).ok_or_else(too_many)?;
        let request = request.map(|body| Body::new(Limited::new(body, AGENTS_BYTES)));
        let reading = Json::from_request(request, state);
        let Json(value) = tokio::time::timeout(AGENTS_WITHIN, reading)
            .await
            .map_err(|_| Status::timeout("the request's body did not arrive in time"))??;
        Ok(Self(value))
    }
}

fn too_many() -> Status {
    Status::too_many_requests(
        "too many requests from your network are being read at once; try again",
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
        StrangersJson::from_request(request, &())
            .await
            .map(|StrangersJson(value)| value)
    }

    #[tokio::test]
    async fn bodies_that_never_end_from_one_network_keep_nobody_else_out() {
        let (here, there) = ([198, 51, 100, 1], [198, 51, 100, 2]);
        let mut waiting: Vec<_> = (0..AT_ONCE.1)
            .map(|_| {
                let endless = futures::stream::pending::<Result<bytes::Bytes, std::io::Error>>();
                Box::pin(read(from(here, Body::from_stream(endless))))
            })
            .collect();
        for one in &mut waiting {
            assert!(one.now_or_never().is_none(), "it is being read");
        }
        let refused = read(from(here, Body::from("{}"))).await.unwrap_err();
        assert_eq!(refused.code(), 429);
        assert!(read(from(there, Body::from("{}"))).await.is_ok());
        drop(waiting);
        assert!(read(from(here, Body::from("{}"))).await.is_ok());
    }

    #[test]
    fn slow_bodies_from_many_networks_keep_no_agent_out() {
        let reading = Reading::default();
        let of = |n: u16| {
            let [high, low] = n.to_be_bytes();
            IpAddr::from([high, low, 0, 1])
        };
        let log_ins: Vec<_> = (0..1000).filter_map(|n| reading.stranger(of(n))).collect();
        assert_eq!(log_ins.len(), AT_ONCE.0);
        let agent = IpAddr::from([192, 0, 2, 1]);
        assert!(reading.agent(agent, false).is_some());
        let agents: Vec<_> = (0..1000)
            .filter_map(|n| reading.agent(of(n), false))
            .collect();
        assert_eq!(agents.len(), OF_AGENTS.0);
        assert!(reading.agent(agent, false).is_none());
        assert!(reading.agent(agent, true).is_some());
    }

    #[tokio::test]
    async fn large_body_of_an_agent_is_refused() {
        let large = Body::from(" ".repeat(AGENTS_BYTES + 1));
        let read = AgentsJson::<Value>::from_request(from([192, 0, 2, 1], large), &()).await;
        assert!(read.is_err());
    }
}
