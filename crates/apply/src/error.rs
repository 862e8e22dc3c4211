//! Errors of reading and writing objects in a cluster, and the timeout for each call.

use std::time::Duration;

use drover_api::client_error::{ClientError, shorten_parse_error};
use thiserror::Error;

use crate::limits::MAX_OBJECTS;

/// Timeout of a call to a cluster.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// The reason why the server cannot change the objects in a cluster.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// The service account in the cluster lacks the permission, because the manifest in the cluster
    /// is from an earlier version.
    #[error(
        "cannot {operation}: Drover's service account in the cluster lacks the permission; apply this \
         version's manifest or chart again"
    )]
    Forbidden {
        /// The failed operation: verb and object.
        operation: String,
        /// Error of the Kubernetes client.
        source: ClientError,
    },
    /// An object with the desired name exists, but does not have the owner's label.
    #[error(
        "cannot {operation}: an object with this name exists and is not managed by Drover; \
         delete or rename the existing object"
    )]
    NameTaken {
        /// The failed operation: verb and object.
        operation: String,
    },
    /// The API server returned an error, or the connection failed.
    #[error("cannot {operation}: {source}")]
    Call {
        /// The failed operation: verb and object.
        operation: String,
        /// Error of the Kubernetes client.
        source: ClientError,
    },
    /// The call exceeded [`CALL_TIMEOUT`].
    #[error("cannot {operation}: no response within {seconds} s", seconds = CALL_TIMEOUT.as_secs())]
    CallTimeout {
        /// The failed operation: verb and object.
        operation: String,
    },
    /// The inventory is not complete, because too many objects have the label.
    #[error(
        "cannot check all objects of the kind {kind}: more than {MAX_OBJECTS} objects have \
         Drover's label; Drover checks only the first objects of the list"
    )]
    TooMany {
        /// Kind of the objects.
        kind: String,
    },
    /// The cluster contains more than [`MAX_OBJECTS`] objects to list.
    #[error("cannot {operation}: the cluster has more than {MAX_OBJECTS} of these objects")]
    ListTooLong {
        /// The failed operation: verb and objects.
        operation: String,
    },
    /// The object waits for a finalizer.
    #[error(
        "cannot {operation}: a finalizer of a different controller delays the deletion; check this \
         controller"
    )]
    FinalizerPending {
        /// The failed operation: verb and object.
        operation: String,
    },
    /// The reconciliation exceeded its timeout.
    #[error(
        "the reconciliation did not finish within {seconds} s; will retry",
        seconds = .0.as_secs()
    )]
    Timeout(Duration),
    /// Several operations failed.
    #[error("{first_error}; and {count} more errors", first_error = .first, count = .others)]
    Several {
        /// The first of the errors.
        first: Box<Self>,
        /// Number of errors in addition to the first error.
        others: usize,
    },
}

/// An error and the namespace of its object.
#[derive(Debug)]
pub struct Failure {
    /// Namespace of the object. Empty for cluster-scoped objects.
    pub namespace: String,
    /// The error of the operation on the object.
    pub error: ApplyError,
}

impl Failure {
    /// Creates a failure that affects all objects in the cluster.
    pub const fn in_cluster(error: ApplyError) -> Self {
        Self {
            namespace: String::new(),
            error,
        }
    }
}

/// Combines errors into one error with the first error and the number of further errors.
pub fn combine(errors: impl IntoIterator<Item = ApplyError>) -> Result<(), ApplyError> {
    let mut errors = errors.into_iter();
    let first = errors.next();
    let others = errors.count();
    match first {
        None => Ok(()),
        Some(only) if others == 0 => Err(only),
        Some(first) => Err(ApplyError::Several {
            first: Box::new(first),
            others,
        }),
    }
}

/// Awaits a call within [`CALL_TIMEOUT`]. `operation` is a verb and an object, for example "create
/// ClusterRole a".
pub async fn call<T>(
    operation: String,
    call: impl Future<Output = kube::Result<T>>,
) -> Result<T, ApplyError> {
    match tokio::time::timeout(CALL_TIMEOUT, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => {
            let source = ClientError::from(shorten_parse_error(error));
            Err(if has_code(&source, 403) {
                ApplyError::Forbidden { operation, source }
            } else {
                ApplyError::Call { operation, source }
            })
        }
        Err(_) => Err(ApplyError::CallTimeout { operation }),
    }
}

/// Converts the error for a missing object to `Ok`.
pub fn unless_gone<T>(result: Result<T, ApplyError>) -> Result<(), ApplyError> {
    match result {
        Err(ApplyError::Call { source, .. }) if is_gone(&source) => Ok(()),
        result => result.map(drop),
    }
}

/// Returns true if the error means that the object does not exist.
pub fn is_gone(error: &kube::Error) -> bool {
    has_code(error, 404)
}

/// Returns true for a conflict error: the object already exists, or its version is not the expected
/// version.
pub fn is_conflict(error: &kube::Error) -> bool {
    has_code(error, 409)
}

pub(crate) fn has_code(error: &kube::Error, code: u16) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeout(operation: &str) -> ApplyError {
        ApplyError::CallTimeout {
            operation: operation.to_owned(),
        }
    }

    #[test]
    fn combined_apply_error_contains_first_error_and_number_of_further_errors() {
        assert!(combine([]).is_ok());
        let one = combine([timeout("a")]).unwrap_err().to_string();
        assert_eq!(one, "cannot a: no response within 15 s");
        let three = combine([timeout("a"), timeout("b"), timeout("c")]);
        let three = three.unwrap_err().to_string();
        assert_eq!(
            three,
            "cannot a: no response within 15 s; and 2 more errors"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn request_to_cluster_without_a_response_times_out() {
        let pending = std::future::pending::<kube::Result<()>>();
        let error = call("list pods".to_owned(), pending).await.unwrap_err();
        assert!(matches!(error, ApplyError::CallTimeout { .. }), "{error}");
    }
}
