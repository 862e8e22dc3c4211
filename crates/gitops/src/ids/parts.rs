//! Large contents: the Content objects of one manifest.
//!
//! The API of a hub limits the size of an object to 1.5 MiB. The compressed data of a larger manifest is
//! in several Contents, its parts. The Content with the manifest's name has no data, and an annotation
//! with the number of parts. The names of the parts follow from the name of the Content, so that the
//! role of an agent can permit them.

use std::collections::BTreeMap;

use drover_api::fleet::{Bundle, Content};
use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::go_json;
use super::{ContentError, Manifest, content_id};

/// Annotation of a Content with the number of its parts.
const PARTS: &str = "management.drover.dev/content-parts";
/// Label of a part with the name of its Content.
const PART_OF: &str = "management.drover.dev/part-of-content";
/// Maximum size of the data of one Content, in bytes. The base64 text of the data is a third longer.
const PART_BYTES: usize = 1 << 20;
/// Maximum number of parts. Agents decompress a complete manifest in memory.
const MAX_PARTS: usize = 32;
/// Size of the JSON of a bundle's files from which on the files are in a separate Content. The hub must
/// also accept the targets and options of the bundle.
const SEPARATE_FROM: usize = 1_000_000;

/// Returns the Contents of a manifest in the order of their creation. The last has the manifest's name, so
/// it exists only after its parts. `sha256` is the hash of the manifest.
///
/// # Errors
///
/// The compression fails, or the compressed manifest is longer than 32 MiB.
pub fn content_objects(sha256: &str, manifest: &Manifest) -> Result<Vec<Content>, ContentError> {
    let name = content_id(sha256);
    let data = manifest.compress()?;
    if data.len() <= PART_BYTES {
        let metadata = ObjectMeta {
            name: Some(name),
            ..ObjectMeta::default()
        };
        return Ok(vec![content(metadata, sha256, Some(data))]);
    }
    let count = data.len().div_ceil(PART_BYTES);
    if count > MAX_PARTS {
        return Err(ContentError::TooManyParts {
            size: data.len(),
            limit: MAX_PARTS * PART_BYTES,
        });
    }
    let parts = data.chunks(PART_BYTES).enumerate();
    let mut objects: Vec<Content> = parts
        .map(|(index, part)| {
            let metadata = ObjectMeta {
                name: Some(part_name(&name, index)),
                labels: Some([(PART_OF.to_owned(), name.clone())].into()),
                ..ObjectMeta::default()
            };
            content(metadata, "", Some(part.to_vec()))
        })
        .collect();
    let metadata = ObjectMeta {
        name: Some(name),
        annotations: Some([(PARTS.to_owned(), count.to_string())].into()),
        ..ObjectMeta::default()
    };
    objects.push(content(metadata, sha256, None));
    Ok(objects)
}

fn content(metadata: ObjectMeta, sha256: &str, data: Option<Vec<u8>>) -> Content {
    Content {
        metadata,
        content: data.map(ByteString),
        sha256_sum: sha256.to_owned(),
        status: None,
    }
}

/// Returns the names of a Content's parts in the order of their data. A Content with own data has none.
///
/// # Errors
///
/// The annotation is not a number of parts.
pub fn part_names(content: &Content) -> Result<Vec<String>, ContentError> {
    let annotations = content.metadata.annotations.as_ref();
    let Some(text) = annotations.and_then(|annotations| annotations.get(PARTS)) else {
        return Ok(Vec::new());
    };
    let count = text
        .parse()
        .ok()
        .filter(|count| (1..=MAX_PARTS).contains(count));
    let count = count.ok_or_else(|| ContentError::PartCount {
        annotation: PARTS,
        found: text.clone(),
        limit: MAX_PARTS,
    })?;
    let name = content.metadata.name.as_deref().unwrap_or_default();
    Ok((0..count).map(|index| part_name(name, index)).collect())
}

/// Returns the name of the Content that a part belongs to. Returns the object's own name if the object is
/// not a part.
#[must_use]
pub fn whole_name(content: &Content) -> String {
    let labels = content.metadata.labels.as_ref();
    let whole = labels.and_then(|labels: &BTreeMap<String, String>| labels.get(PART_OF));
    whole
        .or(content.metadata.name.as_ref())
        .cloned()
        .unwrap_or_default()
}

/// Returns the name of a part. The name contains 57 digits of the hash of the whole manifest.
fn part_name(whole: &str, index: usize) -> String {
    let hash: String = whole.trim_start_matches("s-").chars().take(57).collect();
    format!("p{index:02}-{hash}")
}

/// The files of a bundle in a separate manifest, and its hash.
#[derive(Clone, Debug, PartialEq)]
pub struct Separated {
    /// The files.
    pub manifest: Manifest,
    /// SHA-256 of the manifest, in hexadecimal digits.
    pub sha256: String,
}

/// Moves the files of a bundle to a separate manifest if the hub would not accept the bundle with its
/// files. The bundle then names the manifest.
#[must_use]
pub fn separate_files(bundle: &mut Bundle) -> Option<Separated> {
    if go_json::to_string(&bundle.spec.resources).len() < SEPARATE_FROM {
        return None;
    }
    let resources = std::mem::take(&mut bundle.spec.resources);
    let manifest = Manifest { resources };
    let sha256 = manifest.sha256();
    bundle.spec.contents_id = content_id(&sha256);
    Some(Separated { manifest, sha256 })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use drover_api::fleet::BundleResource;

    use super::*;

    /// Returns a manifest whose compressed data has about `bytes` bytes.
    fn manifest(bytes: usize) -> Manifest {
        let mut state = 1_u64;
        let letters = (0..bytes * 8 / 6).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            char::from(digits[(state >> 58) as usize])
        });
        let resource = BundleResource {
            name: "a.bin".to_owned(),
            content: letters.collect(),
            encoding: "base64".to_owned(),
        };
        Manifest {
            resources: vec![resource],
        }
    }

    fn objects(manifest: &Manifest) -> Result<Vec<Content>, ContentError> {
        content_objects(&manifest.sha256(), manifest)
    }

    #[test]
    fn parts_of_a_large_manifest_contain_its_data() {
        let large = manifest(5 << 19);
        let objects = objects(&large).unwrap();
        let (whole, parts) = objects.split_last().unwrap();
        assert_eq!(whole.metadata.name, Some(large.id()));
        assert_eq!(whole.content, None);
        let names: Vec<String> = parts
            .iter()
            .map(|part| part.metadata.name.clone().unwrap())
            .collect();
        assert_eq!(part_names(whole).unwrap(), names);
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 3);
        for part in parts {
            assert!(part.content.as_ref().unwrap().0.len() <= PART_BYTES);
            assert!(part.metadata.name.as_ref().unwrap().len() <= 63);
            assert_eq!(whole_name(part), large.id());
        }
        let data = parts
            .iter()
            .flat_map(|part| part.content.clone().unwrap().0);
        let data: Vec<u8> = data.collect();
        let read = Manifest::decompress(&data, &whole.sha256_sum, 64 << 20).unwrap();
        assert_eq!(read, large);
    }

    #[test]
    fn small_manifest_is_in_one_content() {
        let small = manifest(1000);
        let objects = objects(&small).unwrap();
        let [only] = &objects[..] else {
            panic!("{} Contents", objects.len())
        };
        assert!(only.content.is_some());
        assert_eq!(part_names(only).unwrap(), Vec::<String>::new());
        assert_eq!(whole_name(only), small.id());
    }

    #[test]
    fn manifest_above_the_limit_is_an_error() {
        let error = objects(&manifest(33 << 20)).unwrap_err();
        assert!(matches!(error, ContentError::TooManyParts { .. }));
    }

    #[test]
    fn wrong_number_of_parts_is_an_error() {
        for wrong in ["0", "33", "-1", "many", ""] {
            let mut content = Content::default();
            content.metadata.annotations = Some([(PARTS.to_owned(), wrong.to_owned())].into());
            assert!(part_names(&content).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_large_bundles_name_their_content() {
        let mut small = Bundle::default();
        small.spec.resources = manifest(1000).resources;
        assert_eq!(separate_files(&mut small), None);
        assert_eq!(small.spec.contents_id, "");
        let mut large = Bundle::default();
        large.spec.resources = manifest(1_000_000).resources;
        let separate = separate_files(&mut large).unwrap();
        assert_eq!(large.spec.contents_id, separate.manifest.id());
        assert_eq!(large.spec.resources, Vec::new());
    }
}
