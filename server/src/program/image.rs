//! `drover agent image` and `drover server image`: container images, built without a registry or a
//! daemon.
//!
//! The image is one tar file that all common tools load. The file contains an OCI layout
//! (`oci-layout`, `index.json`, `blobs/`), and the `manifest.json` of `docker save` for the same
//! blobs. The build is reproducible: equal programs result in equal bytes.

mod archive;
mod elf;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub(crate) use archive::{Image, Platform, Program};
pub(crate) use elf::{Elf, ElfError};

use drover_cli::{Failure, PrintError, notice, output_is_terminal};

use crate::args::{ImageFormat, ImageOptions};

/// File name of the agent, in the folder of this program.
const AGENT_PROGRAM: &str = "drover-agent";
/// File name of the node agent, in the folder of the agent.
const NODE_AGENT_PROGRAM: &str = "drover-node-agent";
/// File name of the renderer of charts, in the folder of the agent.
const RENDERER_PROGRAM: &str = "drover-render";
/// File name of this program.
const SERVER_PROGRAM: &str = "drover";
/// Maximum size of a program file, in bytes.
const MAX_PROGRAM_BYTES: u64 = 512 * 1024 * 1024;

/// The reason why an image cannot be built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImageError {
    /// The path of this program is unknown.
    #[error(
        "cannot locate this program: {cause}; set the agent program with --agent-binary FILE",
        cause = .0
    )]
    Here(#[source] io::Error),
    /// A program cannot be read.
    #[error(
        "cannot read the program {path}: {source}; set the agent program with --agent-binary FILE"
    )]
    Program {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The program needs files that the image does not contain.
    #[error("cannot use {path} in an image: {source}")]
    Unfit {
        /// Path of the file.
        path: PathBuf,
        /// The missing requirement, such as a dynamic loader.
        source: ElfError,
    },
    /// The programs are for different platforms.
    #[error(
        "cannot build the image: the programs are for different platforms ({platform} and \
         {other_platform}); set an agent program of the same platform with --agent-binary FILE",
        platform = .0,
        other_platform = .1
    )]
    Mixed(Platform, Platform),
    /// The name is not a valid image name.
    #[error(
        "cannot use {name:?} as an image name; write [REGISTRY/]NAME:TAG in lower case, for \
         example registry.example.com/drover-agent:1.0", name = .0
    )]
    Name(String),
    /// Standard output is a terminal.
    #[error("cannot write an image to a terminal; use --file FILE or a pipe")]
    Terminal,
    /// The archive cannot be built.
    #[error("cannot build the image: {cause}", cause = .0)]
    Build(#[source] io::Error),
    /// The file cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Writes the image of the agent and the node agent.
pub(crate) fn of_agent(options: &ImageOptions) -> Result<(), Failure> {
    let [agent, node_agent] = agents(options).map_err(Failure::command)?;
    let renderer = renderer(options).map_err(Failure::command)?;
    let others: Vec<_> = std::iter::once(&node_agent).chain(&renderer).collect();
    write(options, &agent, &others)
}

/// Writes the server's image, which also contains the agents' programs.
pub(crate) fn of_server(options: &ImageOptions) -> Result<(), Failure> {
    let server = server().map_err(Failure::command)?;
    let [agent, node_agent] = agents(options).map_err(Failure::command)?;
    let renderer = renderer(options).map_err(Failure::command)?;
    let others: Vec<_> = [&agent, &node_agent].into_iter().chain(&renderer).collect();
    write(options, &server, &others)
}

fn server() -> Result<PlatformProgram, ImageError> {
    let own = std::env::current_exe().map_err(ImageError::Here)?;
    load(SERVER_PROGRAM, &own)
}

/// Reads the agent, and the node agent in the folder of the agent.
fn agents(options: &ImageOptions) -> Result<[PlatformProgram; 2], ImageError> {
    let agent = agent_binary(options)?;
    let node_agent = agent.with_file_name(NODE_AGENT_PROGRAM);
    Ok([
        load(AGENT_PROGRAM, &agent)?,
        load(NODE_AGENT_PROGRAM, &node_agent)?,
    ])
}

/// Reads the renderer in the folder of the agent. Without the renderer, the agent cannot deploy
/// charts and kustomizations.
fn renderer(options: &ImageOptions) -> Result<Option<PlatformProgram>, ImageError> {
    let path = agent_binary(options)?.with_file_name(RENDERER_PROGRAM);
    if path.is_file() {
        return load(RENDERER_PROGRAM, &path).map(Some);
    }
    notice(&format!(
        "The image cannot deploy charts: {} does not exist; build it with `xtask renderer`.",
        path.display()
    ));
    Ok(None)
}

fn agent_binary(options: &ImageOptions) -> Result<PathBuf, ImageError> {
    if let Some(path) = &options.agent_binary {
        return Ok(path.clone());
    }
    let own = std::env::current_exe().map_err(ImageError::Here)?;
    Ok(own.with_file_name(AGENT_PROGRAM))
}

/// An executable program, and the platform from its ELF header.
type PlatformProgram = (Platform, Program);

/// Writes an image that runs the first program. The image can contain further programs.
fn write(
    options: &ImageOptions,
    first: &PlatformProgram,
    others: &[&PlatformProgram],
) -> Result<(), Failure> {
    let ImageFormat::Tar = options.format;
    if options.file.is_none() && output_is_terminal() {
        return Err(Failure::command(ImageError::Terminal));
    }
    let image = image(options, first, others).map_err(Failure::command)?;
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
    (platform, first): &PlatformProgram,
    others: &[&PlatformProgram],
) -> Result<Image, ImageError> {
    if let Some((other, _)) = others.iter().find(|(other, _)| other != platform) {
        return Err(ImageError::Mixed(*platform, *other));
    }
    let of_version = || format!("{}:{}", first.name, env!("CARGO_PKG_VERSION"));
    let name = options.name.clone().unwrap_or_else(of_version);
    check_name(&name)?;
    let others: Vec<&Program> = others.iter().map(|(_, program)| program).collect();
    Image::build(&name, *platform, first, &others).map_err(ImageError::Build)
}

/// Reads a statically linked program.
fn load(name: &'static str, path: &Path) -> Result<(Platform, Program), ImageError> {
    let failed = |source| ImageError::Program {
        path: path.to_path_buf(),
        source,
    };
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > MAX_PROGRAM_BYTES {
        let limit = format!("longer than {MAX_PROGRAM_BYTES} bytes");
        return Err(failed(io::Error::other(limit)));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
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

/// Checks that the image name has a tag and only characters that the OCI distribution specification
/// allows.
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
    let valid_tag = (1..=128).contains(&tag.len())
        && !tag.starts_with(['.', '-'])
        && tag
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    if valid_tag && repository.split('/').all(part) {
        Ok(())
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_names_have_a_tag_and_lower_case_letters() {
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
