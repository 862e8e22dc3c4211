//! What must hold for any bytes; run by the fuzzer and, over the corpus, by `cargo test`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_api::agent::PROOF_HEADER;
use drover_api::report::Report;
use drover_server::controllers::cluster::heard::{Heard, Lines};
use drover_server::registration::connect::read_proof;
use http::{HeaderMap, HeaderValue};

/// Whatever a hostile agent reports, and however it is cut: no panic, no line without a bound.
pub(crate) fn report(bytes: &[u8]) {
    let (mut lines, mut heard) = (Lines::default(), Heard::default());
    let cut = bytes.first().map_or(1, |first| usize::from(*first).max(1));
    for part in bytes.chunks(cut) {
        let Ok(whole) = lines.push(part) else { return };
        for line in whole {
            assert!(line.len() <= Lines::LONGEST && !line.contains(&b'\n'));
            if let Ok(report) = serde_json::from_slice::<Report>(&line) {
                let version = report.kubernetes_version.clone();
                heard.merge(report);
                assert!(version.is_none() || heard.version == version);
            }
        }
    }
}

/// A proof that is accepted names a replica that can stand in a log.
pub(crate) fn proof(bytes: &[u8]) {
    for value in [
        HeaderValue::from_bytes(bytes).ok(),
        STANDARD.encode(bytes).parse().ok(),
    ] {
        let Some(value) = value else { continue };
        let headers = HeaderMap::from_iter([(http::HeaderName::from_static(PROOF_HEADER), value)]);
        if let Ok(proof) = read_proof(&headers) {
            assert!((1..=253).contains(&proof.replica.len()));
            assert!(proof.replica.bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
}
