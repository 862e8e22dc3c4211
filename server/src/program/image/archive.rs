//! The archive: layer, configuration and manifests of the OCI image specification 1.1, and the
//! manifest of `docker save`.

use std::fmt;
use std::io::{self, Write};

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Value, json};
use tar::{Builder, EntryType, Header};

/// User ID of the image's process. The ID is not root, and common images do not contain the ID in
/// /etc/passwd.
const USER: u64 = 65_532;
/// Modification time of all files in the image. A fixed time makes builds reproducible.
const CREATED: &str = "1970-01-01T00:00:00Z";

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The platform of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    /// The platform linux/amd64.
    Amd64,
    /// The platform linux/arm64.
    Arm64,
}

impl Platform {
    fn architecture(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "linux/{}", self.architecture())
    }
}

/// A program in the root folder of an image.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// File name.
    pub(crate) name: &'static str,
    /// Content of the file.
    pub(crate) bytes: Vec<u8>,
}

/// A blob of the image. Its SHA-256 digest identifies the blob.
#[derive(Clone, Debug)]
pub(crate) struct Blob {
    hex: String,
    bytes: Vec<u8>,
}

impl Blob {
    fn new(bytes: Vec<u8>) -> Self {
        let hash = digest(&SHA256, &bytes);
        let hex = hash
            .as_ref()
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 15])
            .filter_map(|digit| char::from_digit(digit.into(), 16))
            .collect();
        Self { hex, bytes }
    }

    fn of(value: &Value) -> Self {
        Self::new(value.to_string().into_bytes())
    }

    /// Returns the digest as `sha256:` and hexadecimal digits.
    pub(crate) fn digest(&self) -> String {
        format!("sha256:{}", self.hex)
    }

    fn path(&self) -> String {
        format!("blobs/sha256/{}", self.hex)
    }

    fn descriptor(&self, media_type: &str) -> Value {
        json!({"mediaType": media_type, "digest": self.digest(), "size": self.bytes.len()})
    }
}

/// A complete image in memory.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    name: String,
    platform: Platform,
    layer: Blob,
    config: Blob,
    manifest: Blob,
}

impl Image {
    /// Builds an image that runs the first program. `name` is `[REGISTRY/]NAME:TAG`.
    pub(crate) fn build(
        name: &str,
        platform: Platform,
        first: &Program,
        others: &[&Program],
    ) -> io::Result<Self> {
        let programs = std::iter::once(first).chain(others.iter().copied());
        let layer = Blob::new(layer(programs)?);
        let config = Blob::of(&configuration(platform, first.name, &layer));
        let manifest = Blob::of(&json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config.descriptor(CONFIG),
            "layers": [layer.descriptor(LAYER)],
        }));
        Ok(Self {
            name: name.to_owned(),
            platform,
            layer,
            config,
            manifest,
        })
    }

    /// Returns the name and the tag of the image.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the platform of the image.
    pub(crate) fn platform(&self) -> Platform {
        self.platform
    }

    /// Returns the digest of the image's manifest.
    pub(crate) fn digest(&self) -> String {
        self.manifest.digest()
    }

    /// Writes the image as a tar archive.
    pub(crate) fn write(&self, out: impl Write) -> io::Result<()> {
        let mut archive = Builder::new(out);
        for directory in ["blobs/", "blobs/sha256/"] {
            append(&mut archive, directory, EntryType::Directory, 0o755, &[])?;
        }
        let mut blobs = [&self.layer, &self.config, &self.manifest];
        blobs.sort_by(|a, b| a.hex.cmp(&b.hex));
        for blob in blobs {
            file(&mut archive, &blob.path(), &blob.bytes)?;
        }
        file(
            &mut archive,
            "index.json",
            self.index().to_string().as_bytes(),
        )?;
        file(
            &mut archive,
            "manifest.json",
            self.docker().to_string().as_bytes(),
        )?;
        let layout = json!({"imageLayoutVersion": "1.0.0"});
        file(&mut archive, "oci-layout", layout.to_string().as_bytes())?;
        archive.into_inner()?.flush()
    }

    /// Returns `index.json`. The index has two annotations: the full name for containerd, and the
    /// tag for other tools.
    fn index(&self) -> Value {
        let mut descriptor = self.manifest.descriptor(MANIFEST);
        let (_, tag) = self.name.rsplit_once(':').unwrap_or(("", "latest"));
        descriptor["annotations"] = json!({
            "io.containerd.image.name": familiar(&self.name),
            "org.opencontainers.image.ref.name": tag,
        });
        descriptor["platform"] =
            json!({"architecture": self.platform.architecture(), "os": "linux"});
        json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [descriptor]})
    }

    /// Returns `manifest.json` of `docker save`.
    fn docker(&self) -> Value {
        json!([{
            "Config": self.config.path(),
            "RepoTags": [self.name],
            "Layers": [self.layer.path()],
        }])
    }
}

/// Returns the full name in the form of containerd: `drover-agent:1` is
/// `docker.io/library/drover-agent:1`.
fn familiar(name: &str) -> String {
    match name.split_once('/') {
        None => format!("docker.io/library/{name}"),
        Some((host, _)) if host.contains(['.', ':']) || host == "localhost" => name.to_owned(),
        Some(_) => format!("docker.io/{name}"),
    }
}

fn configuration(platform: Platform, program: &str, layer: &Blob) -> Value {
    json!({
        "created": CREATED,
        "architecture": platform.architecture(),
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Entrypoint": [format!("/{program}")],
            "WorkingDir": "/",
            "Labels": {
                "org.opencontainers.image.title": program,
                "org.opencontainers.image.version": env!("CARGO_PKG_VERSION"),
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [layer.digest()]},
        "history": [{"created": CREATED, "created_by": "drover"}],
    })
}

/// Returns the only layer of the image. The layer contains the programs, owned by root and writable
/// only by root.
fn layer<'a>(programs: impl Iterator<Item = &'a Program>) -> io::Result<Vec<u8>> {
    let mut layer = Builder::new(Vec::new());
    for Program { name, bytes } in programs {
        append(&mut layer, name, EntryType::Regular, 0o755, bytes)?;
    }
    layer.into_inner()
}

fn file<W: Write>(archive: &mut Builder<W>, path: &str, bytes: &[u8]) -> io::Result<()> {
    append(archive, path, EntryType::Regular, 0o644, bytes)
}

fn append<W: Write>(
    archive: &mut Builder<W>,
    path: &str,
    kind: EntryType,
    mode: u32,
    bytes: &[u8],
) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(u64::try_from(bytes.len()).map_err(io::Error::other)?);
    archive.append_data(&mut header, path, bytes)
}

#[cfg(test)]
mod tests;
