//! Writes by the server's own controllers. The controllers call the request handlers directly,
//! without HTTP.

use std::sync::Arc;

use axum::body::Body;
use http::Request;
use serde_json::Value;

use crate::access::Caller;
use crate::resource::Resource;
use crate::serve::exchange::Exchange;
use crate::serve::input::options::{DeleteOptions, DryRun, FieldValidation, WriteOptions};
use crate::serve::shared::{Shared, Target, stored_schema, stored_version};
use crate::serve::write::create;
use crate::serve::write::delete::Delete;
use crate::serve::write::patch::Patch;
use crate::serve::write::replace::{Replace, Source};
use crate::status::ApiError;

/// The target and the field manager of a controller's write.
pub(crate) struct ControllerWrite<'o> {
    pub(crate) shared: &'o Arc<Shared>,
    pub(crate) caller: Caller,
    /// The field manager of the write.
    pub(crate) manager: &'static str,
    pub(crate) resource: Arc<Resource>,
    pub(crate) namespace: &'o str,
    pub(crate) name: &'o str,
}

/// The type of write.
pub(crate) enum ControllerWriteKind {
    Create(Value),
    Update(Value, &'static str),
    Apply(Value),
    Delete(DeleteOptions),
}

impl ControllerWrite<'_> {
    /// Runs the write with the options of `request`.
    pub(crate) async fn write(
        self,
        request: Request<Body>,
        write: ControllerWriteKind,
    ) -> Result<(), ApiError> {
        let mut exchange = Exchange::of(self.shared, request);
        exchange.set_requestor(self.caller.clone());
        let options = WriteOptions {
            manager: self.manager.to_owned(),
            dry_run: DryRun::No,
            validation: FieldValidation::Ignore,
            force: true,
        };
        let subresource = match &write {
            ControllerWriteKind::Update(_, subresource) => subresource,
            _ => "",
        };
        let target = self.target(subresource);
        let source = match write {
            ControllerWriteKind::Create(object) => {
                let object = self.complete(object)?;
                return create::create(&exchange, &target, &options, object)
                    .await
                    .map(drop);
            }
            ControllerWriteKind::Delete(options) => {
                let delete = Delete {
                    exchange: &exchange,
                    target: &target,
                    options: &options,
                };
                return delete.run().await.map(drop);
            }
            ControllerWriteKind::Update(object, _) => Source::Object(self.complete(object)?),
            ControllerWriteKind::Apply(object) => Source::Patch(Patch::of_apply(object)),
        };
        let replace = Replace {
            exchange: &exchange,
            target: &target,
            options: &options,
            source,
        };
        replace.run().await.map(drop)
    }

    fn target(&self, subresource: &str) -> Target {
        let catalog = self.shared.catalog.load();
        Target {
            stored_version: stored_version(&catalog, &self.resource),
            stored_schema: stored_schema(&catalog, &self.resource),
            resource: Arc::clone(&self.resource),
            namespace: self.namespace.to_owned(),
            name: self.name.to_owned(),
            subresource: subresource.to_owned(),
        }
    }

    /// Decodes the object as its kind, and sets defaults.
    fn complete(&self, mut object: Value) -> Result<Value, ApiError> {
        let resource = &self.resource;
        object["apiVersion"] = resource.group_version.to_string().into();
        object["kind"] = resource.kind.as_str().into();
        resource.read(&mut object).map_err(ApiError::internal)?;
        resource.fill(&mut object);
        Ok(object)
    }
}
