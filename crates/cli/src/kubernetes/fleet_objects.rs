//! Fleet's objects on the hub.

use drover_api::fleet::{GROUP, VERSION};
use drover_api::group::LOCAL_CLUSTER;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::api::{ClusterApi, JSON};
use super::objects::{Query, list_pages};
use crate::client::{CallError, Client};

/// Number of objects in a page of a list.
const PAGE: u32 = 500;

/// The objects of one of Fleet's kinds in a namespace, or in all namespaces.
#[derive(Debug)]
pub(crate) struct FleetObjects {
    hub: ClusterApi,
    path: Vec<String>,
}

impl FleetObjects {
    /// Returns access to the objects. `plural` is the name of the kind in paths.
    pub(crate) fn new(client: &Client, plural: &str, namespace: Option<&str>) -> Self {
        let start = ["apis", GROUP, VERSION];
        let namespace = namespace.into_iter().flat_map(|it| ["namespaces", it]);
        let path = start.into_iter().chain(namespace).chain([plural]);
        Self {
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

    /// Changes fields of an object with a JSON merge patch.
    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        name: &str,
        patch: &(impl Serialize + Sync),
    ) -> Result<T, CallError> {
        self.hub.merge_patch(&self.named(name), &[], patch).await
    }

    /// Returns the path of an object for requests of [`Client`].
    pub(crate) fn path_of<'a>(&'a self, name: Option<&'a str>) -> Vec<&'a str> {
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
