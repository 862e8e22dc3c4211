//! The rules as the embedded hub asks them.

use std::sync::OnceLock;

use drover_access::admission::{Asker, Operation, Write};
use drover_apiserver::access::{Admission, Operation as HubOperation, Review};
use drover_apiserver::status::ApiError;
use futures::future::BoxFuture;
use http::StatusCode;

use super::{AdmissionError, WriteAuthorizer};

/// Asked by the embedded hub before each write.
#[derive(Debug)]
pub(crate) struct InProcess {
    asker: Asker<'static>,
    /// Set before anybody but the server can write.
    authorizer: OnceLock<WriteAuthorizer>,
}

impl InProcess {
    pub(crate) fn new(server: &'static str) -> Self {
        Self {
            asker: Asker::embedded(server),
            authorizer: OnceLock::new(),
        }
    }

    /// From now on others than the server can write, and are judged by this.
    pub(crate) fn set_authorizer(&self, authorizer: WriteAuthorizer) {
        // Set once, when the server has stores.
        let _ = self.authorizer.set(authorizer);
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
        if !self.asker.concerns(write.writer) {
            return Ok(());
        }
        let Some(authorizer) = self.authorizer.get() else {
            return Err(unavailable("the server is starting; try again"));
        };
        match authorizer.check(self.asker, &write).await {
            Ok(()) => Ok(()),
            Err(AdmissionError::Refused(refusal)) => Err(ApiError::forbidden(
                &version.group,
                &review.resource.plural,
                review.name,
                refusal,
            )),
            Err(AdmissionError::Unavailable(status)) => Err(unavailable(status.message())),
            Err(unknown) => {
                let error = &unknown as &dyn std::error::Error;
                tracing::warn!(error, "a write to the hub could not be judged");
                Err(ApiError::internal(unknown))
            }
        }
    }
}

fn unavailable(why: &str) -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", why)
}

impl Admission for InProcess {
    fn admit<'a>(&'a self, review: Review<'a>) -> BoxFuture<'a, Result<(), ApiError>> {
        Box::pin(self.ask(review))
    }
}
