//! The compressed form of stored objects.

use std::io::{self, Read as _, Write as _};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde_json::Value;

/// An object as compressed JSON.
#[derive(Clone, Debug)]
pub(crate) struct Compressed {
    bytes: Arc<[u8]>,
    /// The size of the JSON in bytes.
    pub(crate) plain: usize,
}

impl Compressed {
    /// Compresses the JSON of an object.
    pub(crate) fn new(json: &[u8]) -> io::Result<Self> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(json)?;
        Ok(Self {
            bytes: encoder.finish()?.into(),
            plain: json.len(),
        })
    }

    /// Returns the size in memory in bytes.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the object.
    pub(crate) fn object(&self) -> io::Result<Value> {
        let mut json = Vec::with_capacity(self.plain);
        DeflateDecoder::new(&*self.bytes).read_to_end(&mut json)?;
        Ok(serde_json::from_slice(&json)?)
    }
}
