//! Properties of the crate `drover-agent-link` that are true for any input. The fuzzer checks the
//! properties with generated inputs, and `cargo test` checks the properties with the corpus.

use std::collections::BTreeMap;

use drover_agent_link::binding::{ServerBinding, data};

/// Checks that every binding that the parser accepts has a host, CA certificates and a Cluster's
/// UID.
pub(crate) fn binding(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.splitn(3, '\0').map(str::to_owned);
    let keys = [data::CLUSTER_UID, data::SERVER_URL, data::SERVER_CA];
    let map: BTreeMap<_, _> = keys
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), parts.next()?)))
        .collect();
    if let Ok(binding) = ServerBinding::read(&map) {
        assert!(!binding.host.is_empty() && !binding.roots.is_empty());
        assert!(!binding.cluster_uid.as_str().is_empty());
    }
}
