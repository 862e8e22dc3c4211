//! Objects of one kind on the hub.

use drover_api::fleet::{GROUP, VERSION};
use drover_api::group::LOCAL_CLUSTER;
use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::api::{ClusterApi, JSON};
use super::objects::{Query, list_pages};
use crate::client::{CallError, Client, Refusal};

/// Number of objects in a page of a list.
const PAGE: u32 = 500;

/// The objects of one kind on the hub, in a namespace or in all namespaces.
#[derive(Debug)]
pub(crate) struct HubObjects {
    client: Client,
    hub: ClusterApi,
    path: Vec<String>,
}

impl HubObjects {
    /// Returns access to objects of one of Fleet's kinds. `plural` is the name of the kind in paths.
    pub(crate) fn fleet(client: &Client, plural: &str, namespace: Option<&str>) -> Self {
        Self::new(client, &["apis", GROUP, VERSION], namespace, plural)
    }

    /// Returns access to the Secrets of a namespace.
    pub(crate) fn secrets(client: &Client, namespace: &str) -> Self {
        Self::new(client, &["api", "v1"], Some(namespace), "secrets")
    }

    fn new(client: &Client, start: &[&str], namespace: Option<&str>, plural: &str) -> Self {
        let namespace = namespace.into_iter().flat_map(|it| ["namespaces", it]);
        let path = start.iter().copied().chain(namespace).chain([plural]);
        Self {
            client: client.clone(),
            hub: ClusterApi::new(client, LOCAL_CLUSTER),
            path: path.map(str::to_owned).collect(),
        }
    }

    /// Returns all objects with the labels of a selector.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        labels: Option<String>,
    ) -> Result<Vec<T>, CallError> {
        let query = Query {
            labels,
            chunk_size: PAGE,
            ..Query::default()
        };
        let mut pages = list_pages(&self.hub, &self.path, &query, JSON);
        let mut objects = Vec::new();
        while let Some(mut page) = pages.next().await? {
            let Value::Array(items) = page["items"].take() else {
                return Err(self.hub.unreadable("the list has no items"));
            };
            for item in items {
                objects.push(self.parse(item)?);
            }
        }
        Ok(objects)
    }

    /// Returns an object.
    pub(crate) async fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T, CallError> {
        self.hub.get(&self.named(name), &[], JSON).await
    }

    /// Returns an object, or nothing if it does not exist. Without the definition of the kind on the hub, the
    /// result is an error.
    pub(crate) async fn find<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, CallError> {
        match self.get(name).await {
            Err(error) if error.refusal().is_some_and(is_absent) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Creates an object.
    pub(crate) async fn create<T: DeserializeOwned>(
        &self,
        object: &(impl Serialize + Sync),
    ) -> Result<T, CallError> {
        self.client.post(&self.segments(None), object).await
    }

    /// Replaces an object.
    pub(crate) async fn replace<T: DeserializeOwned>(
        &self,
        name: &str,
        object: &(impl Serialize + Sync),
    ) -> Result<T, CallError> {
        let path = self.segments(Some(name));
        self.client.call(Method::PUT, &path, object).await
    }

    /// Changes fields of an object with a JSON merge patch.
    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        name: &str,
        patch: &(impl Serialize + Sync),
    ) -> Result<T, CallError> {
        self.hub.merge_patch(&self.named(name), &[], patch).await
    }

    /// Deletes an object, if it has the UID.
    pub(crate) async fn delete(&self, name: &str, uid: &Value) -> Result<(), CallError> {
        let body = json!({ "preconditions": { "uid": uid } });
        let path = self.segments(Some(name));
        self.client
            .command(Method::DELETE, &path, Some(&body))
            .await
    }

    /// Deletes an object, if it exists and has the UID.
    pub(crate) async fn delete_if_present(&self, name: &str, uid: &Value) -> Result<(), CallError> {
        match self.delete(name, uid).await {
            Err(error) if error.refusal().is_none_or(|refusal| refusal.code != 404) => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the path of all objects or of one object, for requests of [`Client`].
    fn segments<'a>(&'a self, name: Option<&'a str>) -> Vec<&'a str> {
        let start = ["k8s", "clusters", LOCAL_CLUSTER].into_iter();
        let path = self.path.iter().map(String::as_str);
        start.chain(path).chain(name).collect()
    }

    fn named(&self, name: &str) -> Vec<String> {
        let path = self.path.iter().cloned();
        path.chain([name.to_owned()]).collect()
    }

    fn parse<T: DeserializeOwned>(&self, item: Value) -> Result<T, CallError> {
        serde_json::from_value(item).map_err(|error| self.hub.unreadable(&error.to_string()))
    }
}

/// Reports whether an object does not exist. Without the definition of its kind, the error has another reason.
fn is_absent(refusal: &Refusal) -> bool {
    refusal.code == 404 && refusal.reason == "NotFound"
}
