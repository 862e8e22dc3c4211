//! Requests to the API of one cluster.

use std::time::Duration;

use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::client::{Call, CallError, Client, ResponseStream, WebSockets};

/// Accepts JSON.
pub(crate) const JSON: &str = "application/json";

/// The API of one cluster, through the server.
#[derive(Clone, Debug)]
pub(crate) struct ClusterApi {
    client: Client,
    name: String,
}

impl ClusterApi {
    /// Returns the API of the cluster with this name.
    pub(crate) fn new(client: &Client, name: &str) -> Self {
        Self {
            client: client.clone(),
            name: name.to_owned(),
        }
    }

    /// Returns the name of the cluster.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Sends a `GET` request and parses the response.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &[String],
        query: &[(&'static str, String)],
        accept: &'static str,
    ) -> Result<T, CallError> {
        let call = self.call(Method::GET, path, query, accept);
        self.client.fetch(&call).await
    }

    /// Sends a JSON merge patch and parses the response.
    pub(crate) async fn merge_patch<T: DeserializeOwned>(
        &self,
        path: &[String],
        query: &[(&'static str, String)],
        body: &(impl Serialize + Sync),
    ) -> Result<T, CallError> {
        let mut call = self.call(Method::PATCH, path, query, JSON);
        let body = serde_json::to_vec(body).map_err(|error| CallError::Unreadable {
            server: self.client.server().to_string(),
            reason: error.to_string(),
        })?;
        call.body = Some(("application/merge-patch+json", body));
        self.client.fetch(&call).await
    }

    /// Opens a response without an end. `idle` limits the time between two chunks.
    pub(crate) async fn open(
        &self,
        path: &[String],
        query: &[(&'static str, String)],
        accept: &'static str,
        idle: Option<Duration>,
    ) -> Result<ResponseStream, CallError> {
        let call = self.call(Method::GET, path, query, accept);
        self.client.open(&call, idle).await
    }

    /// Returns a kube client of the cluster, which also supports WebSockets.
    pub(crate) fn kube_client(&self, namespace: &str) -> kube::Client {
        let sockets = WebSockets::from(self.client.clone());
        sockets.client(&["k8s", "clusters", &self.name], namespace)
    }

    /// Returns the error for a response that a correct API server does not send.
    pub(crate) fn unreadable(&self, reason: &str) -> CallError {
        CallError::Unreadable {
            server: format!("the cluster {}", self.name),
            reason: reason.to_owned(),
        }
    }

    fn call(
        &self,
        method: Method,
        path: &[String],
        query: &[(&'static str, String)],
        accept: &'static str,
    ) -> Call {
        let base = ["k8s", "clusters", self.name.as_str()].map(str::to_owned);
        Call {
            method,
            path: base.into_iter().chain(path.iter().cloned()).collect(),
            query: query.to_vec(),
            accept,
            body: None,
        }
    }
}
