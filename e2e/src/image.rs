//! Builds container images from scratch, without a registry.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;
use tokio::process::Command;

use crate::network::search_path;
use crate::scratch::{Scratch, ScratchError};

/// The default command of the images for test pods.
const SLEEP: [&str; 2] = ["/bin/sleep", "2147483647"];

/// The reason why an image cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A temporary folder cannot be created.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// The files cannot be copied.
    #[error("cannot copy the image's files to {path}")]
    Gather {
        /// Path of the file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A required program cannot be started.
    #[error("cannot start {program}: apt-get install buildah busybox-static")]
    Start {
        /// Name of the program.
        program: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The program buildah failed.
    #[error("`buildah {command}` failed: {output}")]
    Buildah {
        /// The arguments of the buildah command.
        command: String,
        /// The output of the buildah command.
        output: String,
    },
}

/// A container image in a docker archive.
#[derive(Debug)]
pub struct Image {
    name: String,
    archive: PathBuf,
    _folder: Scratch,
}

impl Image {
    /// The name of the image that [`Image::tools`] builds.
    pub const TOOLS: &'static str = "drover-e2e/tools:1";

    /// The name of the image that [`Image::kubectl`] builds.
    pub const KUBECTL: &'static str = "drover-e2e/kubectl:1";

    /// Builds a small image for test pods: busybox with all its commands (`sh`, `sleep`, `tar`,
    /// `nc`, `httpd`, `wget`, …). The default command sleeps.
    pub async fn tools() -> Result<Self, ImageError> {
        let files = busybox().await?;
        Self::from_folder(Self::TOOLS, files.path(), &SLEEP).await
    }

    /// Builds the image of [`Image::tools`] with the program kubectl.
    pub async fn kubectl(program: &Path) -> Result<Self, ImageError> {
        let files = busybox().await?;
        let target = files.path().join("bin/kubectl");
        std::fs::copy(program, &target).map_err(gather(program))?;
        Self::from_folder(Self::KUBECTL, files.path(), &SLEEP).await
    }

    /// Builds an image from the files in `root`. `command` is the default command of the image.
    /// `name` contains a tag, such as `drover-agent:test`.
    pub async fn from_folder(
        name: &str,
        root: &Path,
        command: &[&str],
    ) -> Result<Self, ImageError> {
        let folder = Scratch::make("image")?;
        let build_file = folder.path().join("Containerfile");
        let text = format!(
            "FROM scratch\nCOPY . /\nENTRYPOINT []\nCMD {}\n",
            json!(command)
        );
        std::fs::write(&build_file, text).map_err(gather(&build_file))?;
        let archive = folder.path().join("image.tar");
        let build_file = build_file.display().to_string();
        let context = root.display().to_string();
        buildah(
            folder.path(),
            &[
                "bud",
                "--isolation",
                "chroot",
                "--tag",
                name,
                "--file",
                &build_file,
                &context,
            ],
        )
        .await?;
        let destination = format!("docker-archive:{}:{name}", archive.display());
        buildah(folder.path(), &["push", name, &destination]).await?;
        Ok(Self {
            name: name.to_owned(),
            archive,
            _folder: folder,
        })
    }

    /// Returns the name of the image. Pods use the image with `imagePullPolicy: Never`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path of the image archive, for [`Node::load_image`](crate::Node::load_image).
    pub fn archive(&self) -> &Path {
        &self.archive
    }
}

/// Returns a folder with busybox and the links of its commands.
async fn busybox() -> Result<Scratch, ImageError> {
    let files = Scratch::make("image")?;
    let root = files.path();
    for name in ["bin", "tmp", "etc", "www"] {
        let path = root.join(name);
        std::fs::create_dir(&path).map_err(gather(&path))?;
    }
    let busybox = search_path()
        .split(':')
        .map(|folder| Path::new(folder).join("busybox"))
        .find(|path| path.is_file())
        .unwrap_or_else(|| PathBuf::from("/bin/busybox"));
    let target = root.join("bin/busybox");
    std::fs::copy(&busybox, &target).map_err(gather(&busybox))?;
    let list = Command::new(&busybox)
        .arg("--list")
        .output()
        .await
        .map_err(|source| ImageError::Start {
            program: "busybox",
            source,
        })?;
    for applet in String::from_utf8_lossy(&list.stdout).lines() {
        let link = root.join("bin").join(applet);
        if applet != "busybox" {
            symlink("busybox", &link).map_err(gather(&link))?;
        }
    }
    let users = root.join("etc/passwd");
    std::fs::write(&users, "root:x:0:0:root:/:/bin/sh\n").map_err(gather(&users))?;
    Ok(files)
}

/// Returns the output of `buildah inspect` for an image archive. `form` is the format of the
/// archive: `docker-archive` or `oci-archive`.
pub async fn inspect_image(archive: &Path, form: &str) -> Result<String, ImageError> {
    let folder = Scratch::make("image")?;
    let source = format!("{form}:{}", archive.display());
    let id = buildah(folder.path(), &["pull", "--quiet", &source]).await?;
    buildah(folder.path(), &["inspect", "--type", "image", id.trim()]).await
}

/// Runs buildah with a separate image store in `folder`. Returns the output.
async fn buildah(folder: &Path, arguments: &[&str]) -> Result<String, ImageError> {
    let output = Command::new("buildah")
        .arg("--storage-driver=vfs")
        .arg("--root")
        .arg(folder.join("store"))
        .arg("--runroot")
        .arg(folder.join("run"))
        .args(arguments)
        .env("PATH", search_path())
        .env("TMPDIR", folder)
        .stdin(Stdio::null())
        .output()
        .await
        .map_err(|source| ImageError::Start {
            program: "buildah",
            source,
        })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(ImageError::Buildah {
        command: arguments.join(" "),
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

fn gather(path: &Path) -> impl FnOnce(io::Error) -> ImageError {
    let path = path.to_owned();
    move |source| ImageError::Gather { path, source }
}
