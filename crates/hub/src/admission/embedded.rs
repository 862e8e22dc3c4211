//! In-process admission for the embedded hub.

use std::sync::OnceLock;

use drover_access::admission::{AdmissionContext, Operation, Write};
use drover_apiserver::access::{Admission, Operation as HubOperation, Review};
use drover_apiserver::status::ApiError;
use futures::future::BoxFuture;
use http::StatusCode;

use super::{AdmissionError, WriteAuthorizer};

/// The admission plugin that the embedded hub calls before each write.
#[derive(Debug)]
pub(crate) struct InProcess {
    context: AdmissionContext<'static>,
    /// The authorizer. Until the authorizer is set, the hub accepts only writes of the server's
    /// account.
    authorizer: OnceLock<WriteAuthorizer>,
}

impl InProcess {
    pub(crate) fn new(server: &'static str) -> Self {
        Self {
            context: AdmissionContext::embedded(server),
            authorizer: OnceLock::new(),
        }
    }

    /// Sets the authorizer that checks the writes of accounts other than the server's. The hub
    /// rejects these writes until the authorizer is set.
    pub(crate) fn set_authorizer(&self, authorizer: WriteAuthorizer) {
        // The server calls this once, after it creates the stores.
        let _ = self.authorizer.set(authorizer);
    }

    async fn check(&self, review: Review<'_>) -> Result<(), ApiError> {
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
        if !self.context.concerns(write.writer) {
            return Ok(());
        }
        let Some(authorizer) = self.authorizer.get() else {
            return Err(unavailable("the server is starting; try again"));
        };
        match authorizer.check(self.context, &write).await {
            Ok(()) => Ok(()),
            Err(AdmissionError::Refused(refusal)) => Err(ApiError::forbidden(
                &version.group,
                &review.resource.plural,
                review.name,
                refusal,
            )),
            Err(AdmissionError::Unavailable(status)) => Err(unavailable(status.message())),
            Err(error) => {
                let source = &error as &dyn std::error::Error;
                tracing::warn!(error = source, "failed to check a write to the hub");
                Err(ApiError::internal(error))
            }
        }
    }
}

fn unavailable(message: &str) -> ApiError {
    ApiError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "ServiceUnavailable",
        message,
    )
}

impl Admission for InProcess {
    fn admit<'a>(&'a self, review: Review<'a>) -> BoxFuture<'a, Result<(), ApiError>> {
        Box::pin(self.check(review))
    }
}
