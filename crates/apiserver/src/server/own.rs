//! The API for the server's own controllers. The API calls the request handlers directly. The calls
//! bypass the request queues and the audit hook.

use std::sync::Arc;

use axum::body::Body;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use http::Request;
use serde_json::Value;

use crate::access::Caller;
use crate::crd;
use crate::lifecycle::Propagation as OwnPropagation;
use crate::lifecycle::{Act, Hub, ObjectPath, Observed, Page, observe};
use crate::resource::{Catalog, GroupResource, Resource, key, prefix};
use crate::serve::limits::heavy::WorkCost;
use crate::serve::options::{DeleteOptions, Propagation};
use crate::serve::shared::{Shared, object_at};
use crate::serve::write::own::{ControllerWrite, ControllerWriteKind};
use crate::status::ApiError;
use crate::store::{At, List, Rest, Stored};

/// Number of objects per list page.
const PAGE: usize = 500;

/// Implements the controllers' [`Hub`] on the server.
pub(super) struct ServerHub(pub(super) Arc<Shared>);

impl ServerHub {
    async fn resource(&self, wanted: &GroupResource) -> Result<Arc<Resource>, ApiError> {
        if let Some(served) = self.served(wanted) {
            return Ok(served);
        }
        // A CRD without served versions may still have objects.
        let GroupResource { group, resource } = wanted;
        let name = format!("{resource}.{group}");
        let key = key(
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "",
            &name,
        );
        let definition = object_at(&self.0.store, &key).await?;
        definition
            .as_ref()
            .and_then(crd::stored_resource)
            .map(Arc::new)
            .ok_or_else(ApiError::unknown_path)
    }

    fn served(&self, wanted: &GroupResource) -> Option<Arc<Resource>> {
        let catalog = self.0.catalog.load();
        let mut found = None;
        for resource in catalog.iter() {
            if resource.group_resource() == *wanted && (found.is_none() || resource.storage) {
                found = Some(resource);
            }
        }
        found.map(Arc::clone)
    }

    async fn write(
        &self,
        manager: &'static str,
        path: &ObjectPath,
        act: Act,
    ) -> Result<(), ApiError> {
        let own = ControllerWrite {
            shared: &self.0,
            caller: Caller::privileged("system:apiserver"),
            manager,
            resource: self.resource(&path.resource).await?,
            namespace: &path.namespace,
            name: &path.name,
        };
        let write = match act {
            Act::Create(object) => ControllerWriteKind::Create(object),
            Act::Update {
                object,
                subresource,
            } => ControllerWriteKind::Update(object, subresource),
            Act::Apply(object) => ControllerWriteKind::Apply(object),
            Act::Delete {
                uid,
                resource_version,
                propagation,
            } => ControllerWriteKind::Delete(DeleteOptions {
                uid: Some(uid),
                resource_version,
                propagation: Some(match propagation {
                    OwnPropagation::Background => Propagation::Background,
                    OwnPropagation::Foreground => Propagation::Foreground,
                    OwnPropagation::Orphan => Propagation::Orphan,
                }),
                ..DeleteOptions::default()
            }),
        };
        own.write(Request::new(Body::empty()), write).await
    }
}

impl Hub for ServerHub {
    fn catalog(&self) -> Arc<Catalog> {
        self.0.catalog.load_full()
    }

    fn get<'a>(&'a self, path: &'a ObjectPath) -> BoxFuture<'a, Result<Option<Value>, ApiError>> {
        Box::pin(async move {
            let GroupResource { group, resource } = &path.resource;
            let key = key(group, resource, &path.namespace, &path.name);
            object_at(&self.0.store, &key).await
        })
    }

    fn list<'a>(
        &'a self,
        resource: &'a GroupResource,
        namespace: Option<&'a str>,
        after: Option<String>,
    ) -> BoxFuture<'a, Result<Page, ApiError>> {
        Box::pin(async move {
            let GroupResource { group, resource } = resource;
            let list = List {
                prefix: prefix(group, resource, namespace),
                after,
                limit: Some(PAGE),
                at: At::Latest,
                rest: Rest::Peek,
            };
            let page = self.0.store.list(list).await.map_err(ApiError::internal)?;
            let end = page.items.last().map(|stored| stored.key.to_string());
            let read = || page.items.iter().map(Stored::object).collect();
            let items: Result<Vec<Value>, _> = {
                let weight = WorkCost::of_stored(&page.items);
                self.0.reads.run(weight, read).await
            };
            Ok(Page {
                items: items.map_err(ApiError::internal)?,
                next: end.filter(|_| page.remaining > 0),
            })
        })
    }

    fn act<'a>(
        &'a self,
        manager: &'static str,
        path: &'a ObjectPath,
        act: Act,
    ) -> BoxFuture<'a, Result<(), ApiError>> {
        Box::pin(self.write(manager, path, act))
    }

    fn observe(&self) -> BoxStream<'static, Observed> {
        observe(self.0.store.clone(), "/")
    }
}
