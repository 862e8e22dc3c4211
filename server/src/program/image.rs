//! `drover agent image` and `drover server image`: container images, made here, without a registry or
//! a daemon.
//!
//! One tar that every tool loads: an OCI layout (`oci-layout`, `index.json`, `blobs/`) with the
//! `manifest.json` of `docker save` beside it, which names the same blobs. The same programs give
//! the same bytes, whenever and wherever it is made.

mod archive;
mod elf;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub(crate) use archive::{Image, Platform, Program};
pub(crate) use elf::{Elf, ElfError};

use drover_cli::{Failure, PrintError, notice, output_is_screen};

use crate::args::{ImageFormat, ImageOptions};

/// The agent's program beside this one.
const AGENT_PROGRAM: &str = "drover-agent";
/// This one.
const SERVER_PROGRAM: &str = "drover";
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
    /// A program cannot be read.
    #[error("cannot read the program {path}: {source}; name the agent's with --agent-binary FILE")]
    Program {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no program that an image without anything else can run.
    #[error("{path} cannot be a program of an image: {source}")]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ElfError,
    },
    /// The programs are for different nodes.
    #[error(
        "one program is for {0} and the other for {1}; name an agent's program of the same with --agent-binary FILE"
    )]
    Mixed(Platform, Platform),
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

/// Writes the agent's image.
pub(crate) fn of_agent(options: &ImageOptions) -> Result<(), Failure> {
    let program = agent(options).map_err(Failure::command)?;
    write(options, &program, None)
}

/// Writes the image of this program, which also holds the agent's program for `drover agent image`.
pub(crate) fn of_server(options: &ImageOptions) -> Result<(), Failure> {
    let (server, agent) = server_and_agent(options).map_err(Failure::command)?;
    write(options, &server, Some(&agent))
}

fn agent(options: &ImageOptions) -> Result<Placed, ImageError> {
    load(AGENT_PROGRAM, &agent_binary(options)?)
}

fn server_and_agent(options: &ImageOptions) -> Result<(Placed, Placed), ImageError> {
    let own = std::env::current_exe().map_err(ImageError::Here)?;
    Ok((load(SERVER_PROGRAM, &own)?, agent(options)?))
}

fn agent_binary(options: &ImageOptions) -> Result<PathBuf, ImageError> {
    if let Some(path) = &options.agent_binary {
        return Ok(path.clone());
    }
    let own = std::env::current_exe().map_err(ImageError::Here)?;
    Ok(own.with_file_name(AGENT_PROGRAM))
}

/// A program, and what it runs on.
type Placed = (Platform, Program);

/// Writes the image that runs the first program, and may hold another.
fn write(options: &ImageOptions, first: &Placed, other: Option<&Placed>) -> Result<(), Failure> {
    let ImageFormat::Tar = options.format;
    if options.file.is_none() && output_is_screen() {
        return Err(Failure::command(ImageError::Screen));
    }
    let image = image(options, first, other).map_err(Failure::command)?;
    match &options.file {
        Some(path) => save(&image, path).map_err(Failure::command)?,
        None => image
            .write(BufWriter::new(io::stdout().lock()))
            .map_err(PrintError::from)?,
    }
    notice(&format!(
        "Image {} for {}, {}.",
        image.name(),
        image.platform(),
        image.digest()
    ));
    Ok(())
}

fn image(
    options: &ImageOptions,
    (platform, first): &Placed,
    other: Option<&Placed>,
) -> Result<Image, ImageError> {
    if let Some((other, _)) = other.filter(|(other, _)| other != platform) {
        return Err(ImageError::Mixed(*platform, *other));
    }
    let of_version = || format!("{}:{}", first.name, env!("CARGO_PKG_VERSION"));
    let name = options.name.clone().unwrap_or_else(of_version);
    check_name(&name)?;
    let other = other.map(|(_, program)| program);
    Image::build(&name, *platform, first, other).map_err(ImageError::Build)
}

/// Reads a program that runs without anything else.
fn load(name: &'static str, path: &Path) -> Result<(Platform, Program), ImageError> {
    let unread = |source| ImageError::Program {
        path: path.to_path_buf(),
        source,
    };
    let size = std::fs::metadata(path).map_err(unread)?.len();
    if size > MAX_PROGRAM_BYTES {
        let limit = format!("it is longer than {MAX_PROGRAM_BYTES} bytes");
        return Err(unread(io::Error::other(limit)));
    }
    let bytes = std::fs::read(path).map_err(unread)?;
    let platform = Elf::parse(&bytes).and_then(Elf::platform);
    let platform = platform.map_err(|source| ImageError::Unfit {
        path: path.to_path_buf(),
        source,
    })?;
    Ok((platform, Program { name, bytes }))
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
