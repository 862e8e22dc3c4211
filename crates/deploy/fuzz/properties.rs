//! Properties of the parsers of bundles and release records that are true for any input. The fuzzer
//! checks the properties with generated inputs, and `cargo test` checks them with the corpus.

use drover_deploy::{record, source};

/// Checks that any file of a bundle, and any release record, results in objects or in an error.
pub(crate) fn documents(bytes: &[u8]) {
    let files = source::Files::from([("a.yaml".to_owned(), bytes.to_vec())]);
    for plain in source::parse(&files).unwrap_or_default() {
        assert!(!plain.object.api_version().is_empty() && !plain.object.kind().is_empty());
    }
    let text = String::from_utf8_lossy(bytes);
    for object in record::objects(&text).unwrap_or_default() {
        assert!(!object.kind().is_empty());
    }
    if let Ok(release) = record::decode(bytes) {
        let encoded = record::encode(&release).map(|text| record::decode(text.as_bytes()));
        assert!(encoded.is_err() || encoded.is_ok_and(|decoded| decoded.is_ok()));
    }
}
