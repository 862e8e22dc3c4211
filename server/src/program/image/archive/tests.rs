use std::collections::BTreeMap;
use std::io::Read;

use super::*;

const NAME: &str = "registry.example.com/drover-agent:0.1.0";

/// Returns the content of each file in an archive, by path. Asserts the mode and the times of the
/// files.
fn read(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(bytes).entries().unwrap() {
        let mut entry = entry.unwrap();
        let header = entry.header();
        assert_eq!(header.mtime().unwrap(), 0);
        assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
        if header.entry_type() == EntryType::Regular {
            let path = entry.path().unwrap().to_str().unwrap().to_owned();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            assert!(
                files.insert(path, content).is_none(),
                "the archive contains the path twice"
            );
        }
    }
    files
}

fn archive(program: &[u8]) -> Vec<u8> {
    let first = Program {
        name: "drover-agent",
        bytes: program.to_vec(),
    };
    let mut bytes = Vec::new();
    Image::build(NAME, Platform::Amd64, &first, &[])
        .unwrap()
        .write(&mut bytes)
        .unwrap();
    bytes
}

fn json_of(files: &BTreeMap<String, Vec<u8>>, path: &str) -> Value {
    serde_json::from_slice(&files[path]).unwrap()
}

/// Returns the blob with the digest in a descriptor. Asserts the digest and the size of the blob.
fn follow<'a>(files: &'a BTreeMap<String, Vec<u8>>, descriptor: &Value) -> &'a [u8] {
    let named = descriptor["digest"].as_str().unwrap();
    let bytes = &files[&format!("blobs/{}", named.replace(':', "/"))];
    assert_eq!(Blob::new(bytes.clone()).digest(), named);
    assert_eq!(descriptor["size"], bytes.len());
    bytes
}

#[test]
fn oci_layout_contains_the_program_with_correct_digests() {
    let files = read(&archive(b"the program"));
    assert_eq!(json_of(&files, "oci-layout")["imageLayoutVersion"], "1.0.0");
    let descriptor = &json_of(&files, "index.json")["manifests"][0];
    assert_eq!(descriptor["annotations"]["io.containerd.image.name"], NAME);
    let manifest: Value = serde_json::from_slice(follow(&files, descriptor)).unwrap();
    let config: Value = serde_json::from_slice(follow(&files, &manifest["config"])).unwrap();
    let layer = follow(&files, &manifest["layers"][0]);
    assert_eq!(
        config["rootfs"]["diff_ids"][0],
        manifest["layers"][0]["digest"]
    );
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Entrypoint"][0], "/drover-agent");
    assert_eq!(config["architecture"], "amd64");
    assert_eq!(
        read(layer),
        [("drover-agent".to_owned(), b"the program".to_vec())].into()
    );
    let mode = tar::Archive::new(layer)
        .entries()
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .header()
        .mode();
    assert_eq!(mode.unwrap(), 0o755);
}

#[test]
fn docker_manifest_and_oci_index_refer_to_the_same_blobs() {
    let files = read(&archive(b"the program"));
    let list = json_of(&files, "manifest.json");
    assert_eq!(list[0]["RepoTags"][0], NAME);
    assert!(files.contains_key(list[0]["Config"].as_str().unwrap()));
    assert!(files.contains_key(list[0]["Layers"][0].as_str().unwrap()));
    assert_eq!(files.len(), 6);
}

#[test]
fn image_bytes_depend_only_on_the_program() {
    assert_eq!(archive(b"one"), archive(b"one"));
    assert_ne!(archive(b"one"), archive(b"two"));
}

#[test]
fn short_image_names_are_completed_as_in_containerd() {
    for (name, whole) in [
        ("drover-agent:1", "docker.io/library/drover-agent:1"),
        ("me/drover-agent:1", "docker.io/me/drover-agent:1"),
        ("localhost/drover-agent:1", "localhost/drover-agent:1"),
        ("localhost:5000/a:1", "localhost:5000/a:1"),
        ("r.example/a:1", "r.example/a:1"),
    ] {
        assert_eq!(familiar(name), whole);
    }
}

#[test]
fn image_entrypoint_is_its_first_program_and_all_programs_are_included() {
    let [first, second] = ["drover", "drover-agent"].map(|name| Program {
        name,
        bytes: name.as_bytes().to_vec(),
    });
    let image = Image::build(NAME, Platform::Amd64, &first, &[&second]).unwrap();
    let config: Value = serde_json::from_slice(&image.config.bytes).unwrap();
    assert_eq!(config["config"]["Entrypoint"], json!(["/drover"]));
    let files = read(&image.layer.bytes);
    let names: Vec<_> = files.keys().collect();
    assert_eq!(names, ["drover", "drover-agent"]);
}
