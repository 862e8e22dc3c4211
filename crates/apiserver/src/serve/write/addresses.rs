//! Allocation of unique addresses and node ports for Services.

use std::collections::HashSet;

use serde_json::Value;
use tokio::sync::MutexGuard;

use crate::builtin::service;
use crate::schema::findings::Findings;
use crate::serve::exchange::Exchange;
use crate::serve::limits::heavy::WorkCost;
use crate::serve::shared::Target;
use crate::status::{ApiError, FieldError};
use crate::store::List;

/// Locks the allocation. The caller holds the lock from the read of the allocated addresses until
/// the write.
pub(crate) async fn turn<'e>(
    exchange: &'e Exchange,
    target: &Target,
) -> Option<MutexGuard<'e, ()>> {
    if !target.is("", "services") || !target.subresource.is_empty() {
        return None;
    }
    Some(exchange.shared.addresses.lock().await)
}

/// Allocates missing addresses of a new Service. Returns errors for requested addresses that are in
/// use.
pub(crate) async fn assign(
    exchange: &Exchange,
    target: &Target,
    object: &mut Value,
) -> Result<Vec<FieldError>, ApiError> {
    let mut found = Findings::default();
    if !target.is("", "services") {
        return Ok(found.0);
    }
    let list = List::all(target.resource.prefix(None));
    let page = exchange.shared.store.list(list).await;
    let page = page.map_err(ApiError::internal)?;
    let work = || {
        let mut taken = HashSet::new();
        for stored in &page.items {
            let other = stored.object().map_err(ApiError::internal)?;
            taken.extend(service::claims(&other));
        }
        Ok::<_, ApiError>(taken)
    };
    let weight = WorkCost::of_stored(&page.items);
    // The work does not use the permits of `reads`. All writes of Services wait for the mutex, and
    // must not wait for long lists.
    let taken = exchange.shared.heavy.run(weight, work).await?;
    let is_taken = |claim: &str| taken.contains(claim);
    service::collisions(object, &is_taken, &mut found);
    service::assign(object, &is_taken);
    Ok(found.0)
}
