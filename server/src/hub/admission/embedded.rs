//! The rules as the embedded hub asks them.

use std::sync::OnceLock;

use drover_access::admission::{Asker, Operation, Write};
use drover_apiserver::access::{Admission, Operation as HubOperation, Review};
use drover_apiserver::status::ApiError;
use futures::future::BoxFuture;
use kube::Client;

use super::{NotAdmitted, decide};

/// Asked by the embedded hub before each write.
pub(in crate::hub) struct InProcess {
    asker: Asker<'static>,
    /// The hub itself, to look roles up; it is there before anybody can write.
    client: OnceLock<Client>,
}

impl InProcess {
    pub(in crate::hub) fn new(server: &'static str) -> Self {
        Self {
            asker: Asker::embedded(server),
            client: OnceLock::new(),
        }
    }

    pub(in crate::hub) fn reads(&self, client: Client) {
        // Set once, when the hub is opened.
        let _ = self.client.set(client);
    }

    async fn ask(&self, review: Review<'_>) -> Result<(), ApiError> {
        let operation = match review.operation {
            HubOperation::Create => Operation::Create,
            HubOperation::Update => Operation::Update,
            HubOperation::Delete => Operation::Delete,
        };
        let version = &review.resource.group_version;
        let write = Write {
            writer: &review.caller.name,
            groups: &review.caller.groups,
            operation,
            group: &version.group,
            resource: &review.resource.plural,
            subresource: review.subresource,
            namespace: review.namespace,
            name: review.name,
            object: review.object,
            old: review.old,
        };
        // Only the hub's first objects are written before it has a client, by itself.
        let Some(client) = self.client.get() else {
            return Ok(());
        };
        match decide(client, self.asker, &write).await {
            Ok(()) => Ok(()),
            Err(NotAdmitted::Refused(refusal)) => Err(ApiError::forbidden(
                &version.group,
                &review.resource.plural,
                review.name,
                refusal,
            )),
            Err(unknown) => {
                let error = &unknown as &dyn std::error::Error;
                tracing::warn!(error, "a write to the hub could not be judged");
                Err(ApiError::internal(unknown))
            }
        }
    }
}

impl Admission for InProcess {
    fn admit<'a>(&'a self, review: Review<'a>) -> BoxFuture<'a, Result<(), ApiError>> {
        Box::pin(self.ask(review))
    }
}
