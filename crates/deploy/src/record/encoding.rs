//! The encoding of release records: base64 of gzip of JSON, with a maximum size.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;

use super::Release;

/// Maximum size of an encoded record. A Secret holds up to 1 MiB of data.
pub const MAX_RECORD_BYTES: usize = 1_000_000;
/// Maximum size of a decoded record.
const MAX_DECODED_BYTES: u64 = 128 << 20;
/// Parts of a chart that a large record omits, in this order. Helm's commands `list`, `history`,
/// `rollback` and `uninstall` do not use them.
const OMITTED: [&[&str]; 2] = [&["files"], &["templates", "values", "schema", "lock"]];

/// The reason why a release record cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The record is too large.
    #[error(
        "cannot store the release record: the objects have {size} bytes after compression, more than \
         {MAX_RECORD_BYTES}; split the bundle"
    )]
    TooLarge {
        /// Size of the encoded record without the chart.
        size: usize,
    },
    /// The record cannot be encoded.
    #[error("cannot encode the release record")]
    Encode(#[source] std::io::Error),
    /// The record is not valid.
    #[error("cannot read the release record: the data is not a release of Helm")]
    Decode,
    /// The objects of the record are not valid YAML.
    #[error("cannot read the release record: the manifest is not valid YAML")]
    Manifest,
}

/// Encodes a release. A large record omits the files and templates of the chart.
pub fn encode(release: &Release) -> Result<String, RecordError> {
    let encoded = encode_all(release)?;
    if encoded.len() <= MAX_RECORD_BYTES {
        return Ok(encoded);
    }
    let mut smaller = release.clone();
    let mut size = encoded.len();
    for omitted in OMITTED {
        omit(&mut smaller.chart, omitted);
        let encoded = encode_all(&smaller)?;
        size = encoded.len();
        if size <= MAX_RECORD_BYTES {
            return Ok(encoded);
        }
    }
    Err(RecordError::TooLarge { size })
}

fn omit(chart: &mut Value, parts: &[&str]) {
    let Some(chart) = chart.as_object_mut() else {
        return;
    };
    for part in parts {
        if let Some(value) = chart.get_mut(*part) {
            *value = Value::Null;
        }
    }
}

fn encode_all(release: &Release) -> Result<String, RecordError> {
    let json = serde_json::to_vec(release).map_err(|error| RecordError::Encode(error.into()))?;
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&json).map_err(RecordError::Encode)?;
    let packed = gzip.finish().map_err(RecordError::Encode)?;
    Ok(STANDARD.encode(packed))
}

/// Decodes a release.
pub fn decode(data: &[u8]) -> Result<Release, RecordError> {
    let packed = STANDARD.decode(data).map_err(|_| RecordError::Decode)?;
    let mut json = Vec::new();
    let mut reader = GzDecoder::new(packed.as_slice()).take(MAX_DECODED_BYTES);
    reader
        .read_to_end(&mut json)
        .map_err(|_| RecordError::Decode)?;
    serde_json::from_slice(&json).map_err(|_| RecordError::Decode)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a text that gzip cannot compress well.
    fn noise(length: usize) -> String {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap())
        };
        (0..length).map(|_| next()).collect()
    }

    fn release(chart: Value, manifest: String) -> Release {
        Release {
            name: "a".to_owned(),
            version: 1,
            chart,
            manifest,
            ..Release::default()
        }
    }

    #[test]
    fn decoded_record_equals_the_encoded_record() {
        let release = release(
            json!({"metadata": {"name": "c"}, "files": []}),
            "---\n{}".to_owned(),
        );
        let decoded = decode(encode(&release).unwrap().as_bytes()).unwrap();
        assert_eq!(decoded, release);
    }

    #[test]
    fn large_record_omits_the_chart_and_keeps_the_manifest() {
        let chart =
            json!({"metadata": {"name": "c"}, "files": [noise(1_200_000)], "templates": ["t"]});
        let without_files =
            decode(encode(&release(chart, "m".to_owned())).unwrap().as_bytes()).unwrap();
        assert_eq!(
            without_files.chart,
            json!({"metadata": {"name": "c"}, "files": null, "templates": ["t"]})
        );
        assert_eq!(without_files.manifest, "m");
        let chart = json!({"files": [], "templates": [noise(1_200_000)]});
        let without_templates =
            decode(encode(&release(chart, String::new())).unwrap().as_bytes()).unwrap();
        assert_eq!(
            without_templates.chart,
            json!({"files": null, "templates": null})
        );
    }

    #[test]
    fn record_with_a_large_manifest_is_rejected() {
        let error = encode(&release(json!({}), noise(1_200_000))).unwrap_err();
        assert!(matches!(error, RecordError::TooLarge { .. }), "{error}");
    }

    #[test]
    fn invalid_records_are_rejected() {
        for data in [&b"!"[..], b"YQ==", b""] {
            assert!(matches!(decode(data), Err(RecordError::Decode)));
        }
    }
}
