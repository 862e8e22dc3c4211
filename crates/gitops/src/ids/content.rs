//! Contents: the files of bundles, compressed and named by hash.

use std::io::{Read as _, Write as _};

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_api::fleet::BundleResource;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::go_json;

/// Encoding of resources that are compressed.
pub const BASE64_GZIP: &str = "base64+gz";

/// Maximum length of the names of Contents.
const NAME_LENGTH: usize = 63;

/// An encoded resource or content that cannot be read.
#[derive(Debug, Error)]
pub enum ContentError {
    /// The text is not base64.
    #[error("cannot decode the content: the text is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// The data is not gzip.
    #[error("cannot decompress the content: the data is not gzip: {0}")]
    Gzip(#[from] std::io::Error),
    /// The decompressed data is longer than the limit.
    #[error("cannot decompress the content: the data has more than {0} bytes")]
    TooLong(u64),
    /// The data is not the JSON of a manifest.
    #[error("cannot read the manifest: {0}")]
    Json(#[from] serde_json::Error),
    /// The hash of the data differs from the hash in the object.
    #[error("the content has the SHA-256 {actual}, and its object names {expected}")]
    Hash {
        /// Hash of the data.
        actual: String,
        /// Hash in the object.
        expected: String,
    },
    /// The data is longer than all parts together may be.
    #[error(
        "the files of the bundle have {size} bytes after compression, and the limit is {limit} bytes: add \
         paths to a .fleetignore, or divide the bundle"
    )]
    TooManyParts {
        /// Size of the data in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A Content states a wrong number of parts.
    #[error("the annotation {annotation} is {found:?}, and must be a number between 1 and {limit}")]
    PartCount {
        /// Name of the annotation.
        annotation: &'static str,
        /// The value.
        found: String,
        /// Maximum number of parts.
        limit: usize,
    },
}

/// Returns the SHA-256 of data in hexadecimal digits.
#[must_use]
pub fn sha256_hex(data: &[u8]) -> String {
    hex(digest(&SHA256, data).as_ref())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // A write to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the name of the Content whose data has this SHA-256.
#[must_use]
pub fn content_id(sha256_hex: &str) -> String {
    let mut name = format!("s-{sha256_hex}");
    name.truncate(NAME_LENGTH);
    name
}

/// The files of a bundle, as a Content stores them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The files, sorted by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<BundleResource>,
}

impl Manifest {
    /// Returns the JSON that a Content stores. The SHA-256 of this JSON names the Content.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json = go_json::to_string(self);
        json.push('\n');
        json
    }

    /// Returns the SHA-256 of the JSON.
    #[must_use]
    pub fn sha256(&self) -> String {
        sha256_hex(self.to_json().as_bytes())
    }

    /// Returns the name of the Content.
    #[must_use]
    pub fn id(&self) -> String {
        content_id(&self.sha256())
    }

    /// Returns the compressed JSON.
    ///
    /// # Errors
    ///
    /// The compression fails.
    pub fn compress(&self) -> Result<Vec<u8>, ContentError> {
        gzip(self.to_json().as_bytes())
    }

    /// Reads the data of a Content.
    ///
    /// # Errors
    ///
    /// The data is not a manifest, has a different hash, or is longer than `limit` bytes.
    pub fn decompress(data: &[u8], sha256: &str, limit: u64) -> Result<Self, ContentError> {
        let json = gunzip(data, limit)?;
        let actual = sha256_hex(&json);
        if !sha256.is_empty() && sha256 != actual {
            let expected = sha256.to_owned();
            return Err(ContentError::Hash { actual, expected });
        }
        Ok(serde_json::from_slice(&json)?)
    }
}

/// Returns the content and encoding of a file in a bundle. Binary files are always compressed.
///
/// # Errors
///
/// The compression fails.
pub fn encode_resource(
    name: &str,
    data: &[u8],
    compress: bool,
) -> Result<BundleResource, ContentError> {
    let name = name.to_owned();
    match std::str::from_utf8(data) {
        Ok(text) if !compress => Ok(BundleResource {
            name,
            content: text.to_owned(),
            encoding: String::new(),
        }),
        _ => Ok(BundleResource {
            name,
            content: STANDARD.encode(gzip(data)?),
            encoding: BASE64_GZIP.to_owned(),
        }),
    }
}

/// Returns the data of a file in a bundle.
///
/// # Errors
///
/// The encoding is wrong, or the data is longer than `limit` bytes.
pub fn decode_resource(resource: &BundleResource, limit: u64) -> Result<Vec<u8>, ContentError> {
    let encoding = resource.encoding.as_str();
    if encoding != "base64" && !encoding.starts_with("base64+") {
        return Ok(resource.content.clone().into_bytes());
    }
    let data = STANDARD.decode(&resource.content)?;
    if encoding == BASE64_GZIP {
        return gunzip(&data, limit);
    }
    Ok(data)
}

fn gzip(data: &[u8]) -> Result<Vec<u8>, ContentError> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data)?;
    Ok(encoder.finish()?)
}

fn gunzip(data: &[u8], limit: u64) -> Result<Vec<u8>, ContentError> {
    let mut text = Vec::new();
    GzDecoder::new(data)
        .take(limit.saturating_add(1))
        .read_to_end(&mut text)?;
    if text.len() as u64 > limit {
        return Err(ContentError::TooLong(limit));
    }
    Ok(text)
}
