//! Requests of `drover get` to one cluster.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::client::CallError;
use crate::kubernetes::{ClusterApi, Discovery, ObjectNames, Query, Resource, list_pages};

/// The requested objects.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) wanted: Vec<ObjectNames>,
    /// The namespace. `None` for all namespaces.
    pub(super) namespace: Option<String>,
    pub(super) query: Query,
    pub(super) accept: &'static str,
}

/// A message about a cluster.
#[derive(Debug)]
pub(super) enum Message {
    /// A page of a list, or an object. The text is the part of the command line that the page
    /// belongs to.
    Page(Arc<Resource>, String, Value),
    /// The cluster does not have the kind or the object. The texts are the part of the command line
    /// and the reason.
    Absent(String, String),
    /// A request failed.
    Failed(CallError),
}

/// The receiver of the messages was dropped.
struct Unread;

/// Requests all objects of a cluster. Stops at the first failed request.
pub(super) async fn run(api: ClusterApi, request: Arc<Request>, sender: mpsc::Sender<Message>) {
    let discovery = match Discovery::of(&api).await {
        Ok(discovery) => discovery,
        Err(error) => {
            let _unread = sender.send(Message::Failed(error)).await;
            return;
        }
    };
    let fetch = Fetch {
        api: &api,
        request: &request,
        sender: &sender,
    };
    for objects in &request.wanted {
        if fetch.kind(&discovery, objects).await.is_err() {
            return;
        }
    }
}

struct Fetch<'a> {
    api: &'a ClusterApi,
    request: &'a Request,
    sender: &'a mpsc::Sender<Message>,
}

impl Fetch<'_> {
    async fn kind(&self, discovery: &Discovery, objects: &ObjectNames) -> Result<(), Unread> {
        let verb = if objects.names.is_empty() {
            "list"
        } else {
            "get"
        };
        let resources = discovery.find(&objects.kind, verb);
        if resources.is_empty() {
            let kind = &objects.kind;
            let reason = format!("no selected cluster has the resource {kind:?}");
            return self.send(Message::Absent(kind.clone(), reason)).await;
        }
        for resource in resources {
            let resource = Arc::new(resource.clone());
            if objects.names.is_empty() {
                self.list(&resource, &objects.kind).await?;
            }
            for name in &objects.names {
                self.object(&resource, &objects.kind, name).await?;
            }
        }
        Ok(())
    }

    async fn list(&self, resource: &Arc<Resource>, kind: &str) -> Result<(), Unread> {
        let path = resource.path(self.request.namespace.as_deref(), None);
        let mut pages = list_pages(self.api, &path, &self.request.query, self.request.accept);
        loop {
            match pages.next().await {
                Ok(Some(page)) => {
                    let page = Message::Page(Arc::clone(resource), kind.to_owned(), page);
                    self.send(page).await?;
                }
                Ok(None) => return Ok(()),
                Err(error) => return self.failed(error).await,
            }
        }
    }

    async fn object(&self, resource: &Arc<Resource>, kind: &str, name: &str) -> Result<(), Unread> {
        let path = resource.path(self.request.namespace.as_deref(), Some(name));
        let query = self.request.query.parameters();
        let asked = format!("{kind}/{name}");
        match self.api.get(&path, &query, self.request.accept).await {
            Ok(object) => {
                let page = Message::Page(Arc::clone(resource), asked, object);
                self.send(page).await
            }
            Err(error) if error.refusal().is_some_and(|refusal| refusal.code == 404) => {
                self.send(Message::Absent(asked, error.to_string())).await
            }
            Err(error) => self.failed(error).await,
        }
    }

    async fn failed(&self, error: CallError) -> Result<(), Unread> {
        self.send(Message::Failed(error)).await?;
        Err(Unread)
    }

    async fn send(&self, message: Message) -> Result<(), Unread> {
        self.sender.send(message).await.map_err(|_| Unread)
    }
}
