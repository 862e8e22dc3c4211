//! Properties of the parsers of bundles and release records that are true for any input. The fuzzer
//! checks the properties with generated inputs, and `cargo test` checks them with the corpus.

use std::path::{Component, Path};

use drover_api::fleet::{BundleDeploymentOptions, BundleResource};
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

/// Checks that the files of a bundle stay in its folder and below the limit. The first lines are a name and
/// an encoding, and the rest is the content.
pub(crate) fn resources(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.splitn(3, '\n').map(str::to_owned);
    let mut part = || parts.next().unwrap_or_default();
    let resource = BundleResource {
        name: part(),
        encoding: part(),
        content: part(),
    };
    let Ok(files) = source::decode(&[resource]) else {
        return;
    };
    let size: usize = files.values().map(Vec::len).sum();
    assert!(size as u64 <= source::MAX_BUNDLE_BYTES);
    for name in files.keys() {
        let mut components = Path::new(name).components();
        let is_inside = |it| matches!(it, Component::Normal(_) | Component::CurDir);
        assert!(components.all(is_inside), "{name}");
    }
    let names = files.keys().map(String::as_str);
    let _ = source::Style::of(names, &BundleDeploymentOptions::default());
}
