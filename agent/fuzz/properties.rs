//! What must hold for any bytes; run by the fuzzer and, over the corpus, by `cargo test`.

use std::collections::BTreeMap;

use drover_agent::registration::data;
use drover_agent::report::health;
use drover_agent::server::ServerBinding;

/// A report's list of components stays small and printable, whatever an API server answers.
pub(crate) fn health(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let found = health::components(false, &text);
    assert!(!found.is_empty() && found.len() <= 65);
    for component in found {
        let all = component
            .name
            .chars()
            .chain(component.message.iter().flat_map(|m| m.chars()));
        assert!(!all.clone().any(char::is_control));
        assert!(all.count() <= 512);
    }
}

/// A binding that is accepted names a host, roots and a Cluster.
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
