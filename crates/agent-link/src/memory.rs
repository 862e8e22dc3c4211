//! Memory budget of the agent's tunnels, as fractions of the agent's memory limit.

use std::sync::Arc;

use drover_tunnel::ServeOptions;
use drover_tunnel::memory::MemoryLimit;
use drover_tunnel::response_budget::ResponseBudget;

/// Number of sixteenths of the memory limit that responses can use before the server has read these
/// responses. Responses to fast readers can use the same number of sixteenths in addition.
const RESPONSES: u64 = 3;
/// Number of sixteenths of the memory limit that request bodies can use before the API server has
/// read these bodies.
const REQUESTS: u64 = 2;
/// Maximum budget for responses, in bytes. Limits the budget on machines with much memory.
const MAX_RESPONSES: usize = 512 << 20;
const MAX_REQUESTS: usize = 256 << 20;

/// Memory budget that all tunnels of one process share. Clones share the budget.
#[derive(Clone, Debug)]
pub struct TunnelMemory {
    responses: Arc<ResponseBudget>,
    request_bytes: u32,
}

impl TunnelMemory {
    /// Divides the process's memory limit into budgets.
    pub fn new(limit: MemoryLimit) -> Self {
        let (responses, requests) = (
            limit.share(RESPONSES, MAX_RESPONSES),
            limit.share(REQUESTS, MAX_REQUESTS),
        );
        tracing::info!(
            memory.limit_mib = limit.bytes >> 20,
            memory.source = %limit.source,
            memory.responses_mib = responses >> 20,
            memory.requests_mib = requests >> 20,
            "memory limits calculated"
        );
        Self {
            responses: ResponseBudget::new(responses),
            request_bytes: u32::try_from(requests).unwrap_or(u32::MAX),
        }
    }

    /// Returns the options of a tunnel with this budget.
    pub fn options(&self) -> ServeOptions {
        ServeOptions {
            responses: Some(Arc::clone(&self.responses)),
            request_bytes: self.request_bytes,
            ..ServeOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_with_512_mib_limit_reserves_64_mib_for_requests() {
        let memory = TunnelMemory::new(MemoryLimit::new(Some(512 << 20)));
        assert_eq!(memory.request_bytes, 64 << 20);
        assert!(!memory.responses.is_full());
    }
}
