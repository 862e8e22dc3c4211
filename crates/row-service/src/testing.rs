//! A cluster for tests: responses by path, and watches that tests control.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use drover_access::permit::Target;
use drover_proxy::AccessKey;
use drover_rows::Include;
use drover_rows::protocol::{ListProblem, ListSpec, ViewSpec};
use futures::channel::mpsc;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::clusters::{Clusters, Credential, Format, problem};
use crate::source::SourceKey;

/// Returns the identity of a user.
pub(crate) fn identity(user: &str) -> AccessKey {
    AccessKey::new(Target::Hub, user.to_owned(), Vec::new())
}

/// Returns the key of a source of the user `ann`.
pub(crate) fn key(cluster: &str, path: &str) -> SourceKey {
    SourceKey {
        identity: identity("ann"),
        cluster: cluster.into(),
        path: path.to_owned(),
        include: Include::Metadata,
    }
}

pub(crate) fn pods(clusters: &[&str]) -> ListSpec {
    ListSpec {
        api_version: "v1".to_owned(),
        plural: "pods".to_owned(),
        clusters: clusters.iter().map(|name| (*name).to_owned()).collect(),
        namespaces: Vec::new(),
    }
}

pub(crate) fn view() -> ViewSpec {
    ViewSpec {
        sort: "name".to_owned(),
        count: 10,
        ..ViewSpec::default()
    }
}

/// Returns the credential of a page with this session.
pub(crate) fn credential(session: &str) -> Arc<Credential> {
    let request = http::Request::get("/").header("cookie", session).body(());
    Arc::new(Credential::of(&request.unwrap()))
}

fn table(names: &[&str]) -> Value {
    let rows = names.iter().map(|name| {
        json!({"cells": [name], "object": {"metadata": {"name": name, "namespace": "shop"}}})
    });
    json!({
        "kind": "Table", "metadata": {"resourceVersion": "1"},
        "columnDefinitions": [{"name": "Name", "type": "string"}],
        "rows": rows.collect::<Vec<_>>(),
    })
}

/// The responses of a hostile cluster.
#[derive(Clone, Copy)]
pub(crate) enum Hostility {
    /// The cluster does not respond.
    Silent,
    /// The objects of a page have several MiB.
    LargeObjects,
    /// The list has many rows.
    ManyRows,
}

impl Hostility {
    /// Returns the response to a request.
    async fn answer(self, path: &str) -> Result<Body, ListProblem> {
        match self {
            Self::Silent => std::future::pending().await,
            Self::LargeObjects => {
                let object = || Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 5 << 20]));
                let objects = std::iter::repeat_with(object).take(4);
                Ok(Body::from_stream(futures::stream::iter(objects)))
            }
            Self::ManyRows if path.contains("watch=true") => std::future::pending().await,
            Self::ManyRows => {
                let page = path.split("continue=").nth(1).map_or(0, str::len);
                let names: Vec<String> = (0..500)
                    .map(|row| format!("<b>{page}-{row}\x1b[2J"))
                    .collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let mut table = table(&names);
                if page < 20 {
                    table["metadata"]["continue"] = "x".repeat(page + 1).into();
                }
                Ok(Body::from(table.to_string()))
            }
        }
    }
}

/// Clusters with fixed users and pods.
#[derive(Default)]
pub(crate) struct FakeClusters {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The users of sessions, by cookie.
    users: HashMap<String, String>,
    pods: HashMap<String, Vec<&'static str>>,
    watches: HashMap<String, Vec<mpsc::UnboundedSender<Result<Bytes, std::io::Error>>>>,
    hostile: HashMap<String, Hostility>,
    /// The usage of the pods, by cluster.
    usage: HashMap<String, Value>,
    /// The requests, with the session of each request.
    requests: Vec<(String, String)>,
    /// True if each watch ends without events.
    ends_watches: bool,
}

impl FakeClusters {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Sets the user of a session. `None` ends the session, and the watches of the session.
    pub(crate) fn set_user(&self, session: &str, user: Option<&str>) {
        let mut state = self.state.lock();
        if let Some(user) = user {
            state.users.insert(session.to_owned(), user.to_owned());
        } else {
            state.watches.clear();
            state.users.remove(session);
        }
    }

    /// Ends each following watch without events.
    pub(crate) fn end_watches(&self) {
        self.state.lock().ends_watches = true;
    }

    pub(crate) fn set_pods(&self, cluster: &str, names: &[&'static str]) {
        self.state
            .lock()
            .pods
            .insert(cluster.to_owned(), names.to_vec());
    }

    /// Sets the responses of a hostile cluster.
    pub(crate) fn set_hostile(&self, cluster: &str, hostility: Hostility) {
        let mut state = self.state.lock();
        state.hostile.insert(cluster.to_owned(), hostility);
    }

    /// Sets the CPU usage of pods in millicores. `None` removes the API of metrics.
    pub(crate) fn set_usage(&self, cluster: &str, usage: Option<&[(&str, u32)]>) {
        let pod = |(name, cpu): &(&str, u32)| {
            json!({"metadata": {"name": name, "namespace": "shop"},
                "containers": [{"usage": {"cpu": format!("{cpu}m"), "memory": "3Mi"}}]})
        };
        let list =
            |pods: &[(&str, u32)]| json!({"items": pods.iter().map(pod).collect::<Vec<_>>()});
        let mut state = self.state.lock();
        match usage.map(list) {
            Some(list) => state.usage.insert(cluster.to_owned(), list),
            None => state.usage.remove(cluster),
        };
    }

    /// Sends an event to all watches of a cluster.
    pub(crate) fn tell(&self, cluster: &str, kind: &str, name: &str) {
        let line = json!({"type": kind, "object": table(&[name])});
        let line = Bytes::from(format!("{line}\n"));
        for watch in self
            .state
            .lock()
            .watches
            .entry(cluster.to_owned())
            .or_default()
        {
            let _ = watch.unbounded_send(Ok(line.clone()));
        }
    }

    /// Returns the sessions of the requests whose query contains a text.
    pub(crate) fn sessions(&self, query: &str) -> Vec<String> {
        let state = self.state.lock();
        let found = state
            .requests
            .iter()
            .filter(|(path, _)| path.contains(query));
        found.map(|(_, session)| session.clone()).collect()
    }

    fn user(&self, credential: &Credential) -> Result<String, ListProblem> {
        let session = credential.session();
        let user = self.state.lock().users.get(&session).cloned();
        user.ok_or_else(|| problem(401, "Unauthorized", "the session has ended"))
    }

    fn answer(&self, session: String, path: &str) -> Result<Body, ListProblem> {
        let mut state = self.state.lock();
        state.requests.push((path.to_owned(), session));
        let cluster = path.split('/').nth(3).unwrap_or_default().to_owned();
        let Some(names) = state.pods.get(&cluster).cloned() else {
            return Err(problem(404, "NotFound", "no such cluster"));
        };
        if path.contains("/apis/metrics.k8s.io/") {
            let usage = state.usage.get(&cluster).cloned();
            let absent = || problem(404, "NotFound", "no metrics");
            return usage
                .map(|it| Body::from(it.to_string()))
                .ok_or_else(absent);
        }
        if !path.contains("watch=true") {
            return Ok(Body::from(table(&names).to_string()));
        }
        if state.ends_watches {
            return Ok(Body::empty());
        }
        let (watch, events) = mpsc::unbounded();
        state.watches.entry(cluster).or_default().push(watch);
        Ok(Body::from_stream(events))
    }
}

impl Clusters for Arc<FakeClusters> {
    fn identity<'a>(
        &'a self,
        credential: &'a Credential,
        path: &'a str,
    ) -> BoxFuture<'a, Result<AccessKey, ListProblem>> {
        Box::pin(async move {
            let user = self.user(credential)?;
            if path.contains("/secret/") {
                return Err(problem(403, "Forbidden", "no role in this cluster"));
            }
            Ok(identity(&user))
        })
    }

    fn get<'a>(
        &'a self,
        credential: &'a Credential,
        path: &'a str,
        _: Format,
    ) -> BoxFuture<'a, Result<Body, ListProblem>> {
        Box::pin(async move {
            self.user(credential)?;
            let cluster = path.split('/').nth(3).unwrap_or_default();
            let hostility = self.state.lock().hostile.get(cluster).copied();
            match hostility {
                Some(hostility) => hostility.answer(path).await,
                None => self.answer(credential.session(), path),
            }
        })
    }
}
