//! Bodies of requests whose senders are not known yet: log-in, registration, challenges.

use std::sync::LazyLock;

use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;

use super::body::Json;
use crate::networks::{Shares, sender};
use crate::status::Status;

/// Such bodies that are read at once, from everywhere and from one network. Each may hold
/// [`super::BODY_BYTES`] and take its time, so that more of them could fill memory.
const AT_ONCE: (usize, usize) = (512, 32);

static READING: LazyLock<Shares> = LazyLock::new(|| Shares::new(AT_ONCE.0, AT_ONCE.1));

/// As [`Json`], from a stranger.
#[derive(Debug)]
pub struct StrangersJson<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for StrangersJson<T> {
    type Rejection = Status;

    async fn from_request(request: Request, state: &S) -> Result<Self, Status> {
        // Not waited for: what waits holds what the connection has received.
        let _place = READING.take(sender(request.extensions())).ok_or_else(|| {
            Status::too_many_requests(
                "too many requests from your network are being read at once; try again",
                1,
            )
        })?;
        let Json(value) = Json::from_request(request, state).await?;
        Ok(Self(value))
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::body::Body;
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
}
