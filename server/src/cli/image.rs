//! `drover agent image`: the agent's container image, made here, without a registry or a daemon.
//!
//! One tar that every tool loads: an OCI layout (`oci-layout`, `index.json`, `blobs/`) with the
//! `manifest.json` of `docker save` beside it, which names the same blobs. The same program gives
//! the same bytes, whenever and wherever it is made.

mod archive;
mod elf;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub(crate) use archive::{Image, Platform};
pub(crate) use elf::{Elf, ElfError};

use super::failure::Failure;
use super::terminal::{PrintError, notice, output_is_screen};
use crate::args::{AgentImage, ImageFormat};

/// The agent's program beside this one.
const AGENT_PROGRAM: &str = "drover-agent";
/// A program greater than this is none.
const MAX_PROGRAM_BYTES: u64 = 512 * 1024 * 1024;

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImageError {
    /// Nobody knows where this program is, so nor what is beside it.
    #[error(
        "cannot find out where this program lies: {0}; name the agent's program with --agent-binary FILE"
    )]
    Here(#[source] io::Error),
    /// The agent's program cannot be read.
    #[error("cannot read the agent's program {path}: {source}; name it with --agent-binary FILE")]
    Program {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no program that an image without anything else can run.
    #[error("{path} cannot be the agent's program: {source}")]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ElfError,
    },
    /// The name cannot be an image's.
    #[error(
        "{0:?} is no image name; write [REGISTRY/]NAME:TAG in lower case, for example registry.example.com/drover-agent:1.0"
    )]
    Name(String),
    /// A person would get binary data on the screen.
    #[error("an image is not for the screen; write a file with --file FILE, or pipe it on")]
    Screen,
    /// The archive could not be put together.
    #[error("cannot make the image: {0}")]
    Build(#[source] io::Error),
    /// The file could not be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Writes the image where it was wanted.
pub(crate) fn run(args: &AgentImage) -> Result<(), Failure> {
    let ImageFormat::Tar = args.format;
    if args.file.is_none() && output_is_screen() {
        return Err(ImageError::Screen.into());
    }
    let name = match &args.name {
        Some(name) => name.clone(),
        None => format!("{AGENT_PROGRAM}:{}", env!("CARGO_PKG_VERSION")),
    };
    let image = load(args.agent_binary.as_deref(), &name)?;
    match &args.file {
        Some(path) => save(&image, path)?,
        None => image
            .write(BufWriter::new(io::stdout().lock()))
            .map_err(PrintError::from)?,
    }
    notice(&format!(
        "Image {name} for {}, {}.",
        image.platform(),
        image.digest()
    ));
    Ok(())
}

/// Makes the image of the agent's program.
fn load(program: Option<&Path>, name: &str) -> Result<Image, ImageError> {
    check_name(name)?;
    let path = match program {
        Some(path) => path.to_path_buf(),
        None => std::env::current_exe()
            .map_err(ImageError::Here)?
            .with_file_name(AGENT_PROGRAM),
    };
    let unread = |source| ImageError::Program {
        path: path.clone(),
        source,
    };
    let size = std::fs::metadata(&path).map_err(unread)?.len();
    if size > MAX_PROGRAM_BYTES {
        let limit = format!("it is longer than {MAX_PROGRAM_BYTES} bytes");
        return Err(unread(io::Error::other(limit)));
    }
    let bytes = std::fs::read(&path).map_err(unread)?;
    let elf = Elf::parse(&bytes).map_err(|source| ImageError::Unfit {
        path: path.clone(),
        source,
    })?;
    let platform = elf
        .platform()
        .map_err(|source| ImageError::Unfit { path, source })?;
    Image::build(name, platform, &bytes).map_err(ImageError::Build)
}

fn save(image: &Image, path: &Path) -> Result<(), ImageError> {
    let failed = |source| ImageError::Write {
        path: path.to_path_buf(),
        source,
    };
    let file = std::fs::File::create(path).map_err(failed)?;
    let mut out = BufWriter::new(file);
    image.write(&mut out).map_err(failed)?;
    out.flush().map_err(failed)
}

/// The characters that the distribution specification allows, and a tag.
fn check_name(name: &str) -> Result<(), ImageError> {
    let wrong = || ImageError::Name(name.to_owned());
    let (repository, tag) = name.rsplit_once(':').ok_or_else(wrong)?;
    let part = |part: &str| {
        let ends = [part.bytes().next(), part.bytes().last()];
        ends.into_iter()
            .all(|b| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit()))
            && part.bytes().all(|b| {
                b.is_ascii_lowercase()
                    || b.is_ascii_digit()
                    || matches!(b, b'.' | b'_' | b'-' | b':')
            })
    };
    let tag_fits = (1..=128).contains(&tag.len())
        && !tag.starts_with(['.', '-'])
        && tag
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    if tag_fits && repository.split('/').all(part) {
        Ok(())
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images_have_a_tag_and_no_capitals() {
        for name in [
            "drover-agent:0.1.0",
            "registry.example.com/drover-agent:0.1.0",
            "localhost:5000/a/b_c:latest",
        ] {
            check_name(name).unwrap();
        }
        for name in [
            "drover-agent",
            "Drover:1",
            "a//b:1",
            "a:",
            "a:b c",
            "-a:1",
            "localhost:5000/a",
            "",
            ":1",
            "a:\u{e9}",
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
