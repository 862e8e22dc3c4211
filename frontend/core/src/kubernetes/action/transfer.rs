//! Download and upload of files of a container: commands, messages of the exec protocol, errors.
//!
//! The commands are `cat` and `tar`, and a constant script for uploads. Each path is one argument, and
//! no shell interprets a path. The content of a container is never parsed, and never selects the name of a file.

mod incoming;

pub use incoming::{Incoming, TransferProblem};

use drover_api::shell::UPLOAD_SCRIPT;

use crate::shell::word;
use crate::terminal::PodContainer;

/// The maximum size of one transferred file or archive.
pub const MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// The protocols of a download in order of preference.
pub const DOWNLOAD_PROTOCOLS: [&str; 2] = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
/// The protocol of an upload. Earlier protocols cannot end the standard input of a command.
pub const UPLOAD_PROTOCOLS: [&str; 1] = ["v5.channel.k8s.io"];
/// The channel of the standard input.
pub const STDIN: u8 = 0;
/// The message that ends the standard input.
pub const END_OF_STDIN: [u8; 2] = [255, STDIN];
/// The maximum length of a path, in bytes (`PATH_MAX` of Linux).
const MAX_PATH: usize = 4096;

/// A path of a file or folder in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerPath(String);

impl ContainerPath {
    /// Parses a path. Returns `None` for an empty or long path, and for a path that ends with `..`,
    /// because such a path has no name.
    pub fn parse(text: &str) -> Option<Self> {
        let path = match text.trim_end_matches('/') {
            "" if text.is_empty() => return None,
            "" => "/",
            path => path,
        };
        let is_valid = path.len() <= MAX_PATH && !path.contains('\0');
        (is_valid && !path.ends_with("/..") && path != "..").then(|| Self(path.to_owned()))
    }

    /// Returns the path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Splits the path into the folder and the name.
    fn split(&self) -> (&str, &str) {
        match self.0.rsplit_once('/') {
            Some(("", "")) => ("/", "."),
            Some(("", name)) => ("/", name),
            Some((folder, name)) => (folder, name),
            None => (".", self.0.as_str()),
        }
    }

    /// Returns the name of the saved file. The user's path contains the name; the container does
    /// not select the name.
    pub fn file_name(&self) -> String {
        let (_, name) = self.split();
        let allowed = |letter: char| !letter.is_control() && !"\\:*?\"<>|".contains(letter);
        let replaced = |letter| if allowed(letter) { letter } else { '_' };
        match name {
            "." => "files".to_owned(),
            name => name.chars().map(replaced).collect(),
        }
    }

    /// Returns the path of a file in this folder.
    fn join(&self, name: &str) -> String {
        match self.0.as_str() {
            "/" => format!("/{name}"),
            folder => format!("{folder}/{name}"),
        }
    }
}

/// One command that transfers a file or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Writes the content of a file to the standard output.
    File(ContainerPath),
    /// Writes an archive of a folder to the standard output.
    Folder(ContainerPath),
    /// Writes the standard input to a file in a folder.
    Upload {
        /// The folder in the container.
        folder: ContainerPath,
        /// The name of the file.
        name: String,
    },
}

impl Transfer {
    /// Returns the program in the container.
    pub const fn program(&self) -> &'static str {
        match self {
            Self::File(_) => "cat",
            Self::Folder(_) => "tar",
            Self::Upload { .. } => "sh",
        }
    }

    /// Returns the program and its arguments. The audit log contains the arguments of exactly these
    /// commands.
    fn command(&self) -> Vec<String> {
        let mut command = vec![self.program().to_owned()];
        let mut add = |arguments: &[&str]| command.extend(arguments.iter().map(|&it| it.into()));
        match self {
            Self::File(path) => add(&["--", path.as_str()]),
            Self::Folder(path) => {
                let (folder, name) = path.split();
                add(&["-c", "-f", "-", "-C", folder, "--", name]);
            }
            Self::Upload { folder, name } => {
                add(&["-c", UPLOAD_SCRIPT, "sh", &folder.join(name)]);
            }
        }
        command
    }

    /// Returns the path of the exec request through the proxy, with the query.
    pub fn path(&self, container: &PodContainer) -> String {
        let command = self.command();
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        container.exec_path(&command, matches!(self, Self::Upload { .. }))
    }

    /// Returns the transfer of a folder if `problem` shows that the file is a folder.
    #[must_use]
    pub fn instead(&self, problem: &TransferProblem) -> Option<Self> {
        match (self, problem) {
            (Self::File(path), TransferProblem::IsFolder) => Some(Self::Folder(path.clone())),
            _ => None,
        }
    }

    /// Returns the name of the saved file.
    pub fn saved_as(&self) -> String {
        match self {
            Self::File(path) => path.file_name(),
            Self::Folder(path) => format!("{}.tar", path.file_name()),
            Self::Upload { name, .. } => name.clone(),
        }
    }
}

/// Reports whether a file of the user can have this name in a container.
pub fn is_file_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']) && name.len() <= 255
}

/// Returns the `kubectl cp` command that downloads a file or folder.
pub fn download_command(container: &PodContainer, path: &ContainerPath) -> String {
    let source = word(&format!("{}:{}", container.pod, path.as_str()));
    format!("{} {source} {}", copy(container), word(&path.file_name()))
}

/// Returns the `kubectl cp` command that uploads a file.
pub fn upload_command(container: &PodContainer, folder: &ContainerPath, name: &str) -> String {
    let target = word(&format!("{}:{}", container.pod, folder.join(name)));
    format!("{} {} {target}", copy(container), word(name))
}

fn copy(container: &PodContainer) -> String {
    format!(
        "kubectl --context {} --namespace {} cp --container {}",
        word(&container.cluster),
        word(&container.namespace),
        word(&container.container)
    )
}

#[cfg(test)]
mod tests {
    use drover_api::shell::ENCODED_UPLOAD_SCRIPT;

    use super::*;

    fn container() -> PodContainer {
        PodContainer {
            cluster: "east".to_owned(),
            namespace: "shop".to_owned(),
            pod: "web-1".to_owned(),
            container: "web".to_owned(),
        }
    }

    fn path(text: &str) -> ContainerPath {
        ContainerPath::parse(text).unwrap()
    }

    #[test]
    fn path_has_a_name_that_ends_the_path() {
        for (text, folder, name, saved) in [
            ("/etc/hosts", "/etc", "hosts", "hosts"),
            ("/etc/", "/", "etc", "etc"),
            ("/", "/", ".", "files"),
            ("data", ".", "data", "data"),
            ("a/-x", "a", "-x", "-x"),
            ("/a/.", "/a", ".", "files"),
            ("/a/b:c\n", "/a", "b:c\n", "b_c_"),
        ] {
            assert_eq!(path(text).split(), (folder, name), "{text:?}");
            assert_eq!(path(text).file_name(), saved, "{text:?}");
        }
        for text in ["", "..", "/a/..", "/a/../", "/a\0b", &"a".repeat(5000)] {
            assert_eq!(ContainerPath::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn path_is_one_argument_and_never_an_option() {
        let file = Transfer::File(path("-rf; $(id) 'x'"));
        assert_eq!(file.command(), ["cat", "--", "-rf; $(id) 'x'"]);
        let folder = Transfer::Folder(path("/var/-v"));
        let expected = ["tar", "-c", "-f", "-", "-C", "/var", "--", "-v"];
        assert_eq!(folder.command(), expected);
        let upload = |folder| Transfer::Upload {
            folder: path(folder),
            name: "-a b".to_owned(),
        };
        let script = "cat >\"$1\" && wc -c <\"$1\"";
        let command = |path| ["sh", "-c", script, "sh", path];
        assert_eq!(upload("/tmp/").command(), command("/tmp/-a b"));
        assert_eq!(upload("/").command(), command("/-a b"));
        assert_eq!(upload("$(id)").command(), command("$(id)/-a b"));
    }

    #[test]
    fn request_names_the_container_and_each_argument() {
        assert_eq!(
            Transfer::File(path("/a b/é&c")).path(&container()),
            "/k8s/clusters/east/api/v1/namespaces/shop/pods/web-1/exec?container=web&stdin=false\
             &stdout=true&stderr=true&command=cat&command=--&command=%2Fa%20b%2F%C3%A9%26c"
        );
    }

    #[test]
    fn request_of_an_upload_has_the_text_that_the_audit_log_recognizes() {
        let upload = Transfer::Upload {
            folder: path("/tmp"),
            name: "a".to_owned(),
        };
        let command = format!("command=sh&command=-c&command={ENCODED_UPLOAD_SCRIPT}&command=sh");
        assert!(upload.path(&container()).contains(&command));
    }

    #[test]
    fn folder_is_saved_as_an_archive() {
        let file = Transfer::File(path("/var/log"));
        assert_eq!(file.saved_as(), "log");
        let folder = file.instead(&TransferProblem::IsFolder).unwrap();
        assert_eq!(folder.saved_as(), "log.tar");
        assert_eq!(folder.instead(&TransferProblem::IsFolder), None);
        assert_eq!(file.instead(&TransferProblem::NotFound), None);
    }

    #[test]
    fn file_name_has_no_folder() {
        for name in ["a", "a b", "-x", ".env", "…"] {
            assert!(is_file_name(name), "{name}");
        }
        for name in ["", ".", "..", "a/b", "/a", &"a".repeat(256)] {
            assert!(!is_file_name(name), "{name}");
        }
    }

    #[test]
    fn transfer_has_an_equivalent_kubectl_command() {
        let start = "kubectl --context east --namespace shop cp --container web";
        assert_eq!(
            download_command(&container(), &path("/var/log")),
            format!("{start} web-1:/var/log log")
        );
        assert_eq!(
            upload_command(&container(), &path("/tmp"), "a b"),
            format!("{start} 'a b' 'web-1:/tmp/a b'")
        );
    }
}
