//! The files of a bundle in the bundle's object.

use std::collections::BTreeMap;

use drover_api::fleet::{Bundle, BundleResource};

use crate::ids::{BASE64_GZIP, ContentError, decode_resource, encode_resource, go_json};

/// Size of a bundle's JSON from which on all files are compressed.
const COMPRESSED_FROM: usize = 1_000_000;
/// Size of the JSON of Fleet around the metadata and the spec: the names of fields, and the status.
const FRAME_SIZE: usize = 197;

/// The text files of a bundle that are compressed. Binary files are always compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// The files of bundles from 1 MB.
    #[default]
    Large,
    /// The files of all bundles.
    All,
}

/// Writes files to a bundle.
pub(super) fn set_resources(
    bundle: &mut Bundle,
    files: &BTreeMap<String, Vec<u8>>,
    previous: &[BundleResource],
    compression: Compression,
) -> Result<(), ContentError> {
    if compression == Compression::All {
        return encode(bundle, files, previous, true);
    }
    encode(bundle, files, previous, false)?;
    if size(bundle) >= COMPRESSED_FROM {
        encode(bundle, files, previous, true)?;
    }
    Ok(())
}

fn encode(
    bundle: &mut Bundle,
    files: &BTreeMap<String, Vec<u8>>,
    previous: &[BundleResource],
    compress: bool,
) -> Result<(), ContentError> {
    let compressed = previous
        .iter()
        .filter(|resource| resource.encoding == BASE64_GZIP);
    let previous: BTreeMap<&str, &BundleResource> = compressed
        .map(|resource| (resource.name.as_str(), resource))
        .collect();
    let resource = |(name, data): (&String, &Vec<u8>)| {
        let old = previous.get(name.as_str()).copied();
        let is_compressed = compress || std::str::from_utf8(data).is_err();
        match old.filter(|old| is_compressed && has_data(old, data)) {
            Some(old) => Ok(old.clone()),
            None => encode_resource(name, data, compress),
        }
    };
    bundle.spec.resources = files.iter().map(resource).collect::<Result<_, _>>()?;
    Ok(())
}

fn has_data(resource: &BundleResource, data: &[u8]) -> bool {
    decode_resource(resource, data.len() as u64).is_ok_and(|old| old == data)
}

/// Returns the size of the bundle's JSON in Fleet, which adds the namespace later.
fn size(bundle: &Bundle) -> usize {
    let mut metadata = bundle.metadata.clone();
    metadata.namespace = None;
    FRAME_SIZE + go_json::to_string(&metadata).len() + go_json::to_string(&bundle.spec).len()
}
