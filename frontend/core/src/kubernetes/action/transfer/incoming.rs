//! The messages of a container during a transfer (`v4.channel.k8s.io` and `v5.channel.k8s.io`).

use serde_json::Value;

use super::MAX_BYTES;
use crate::messages::t;
use crate::quantity;

const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
/// The maximum length of the kept error output, in bytes.
const MAX_ERROR_OUTPUT: usize = 4096;
/// The maximum length of an unknown error in a text for the user, in characters.
const MAX_WORDS: usize = 300;

/// The reason why a transfer failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferProblem {
    /// The container does not contain the program.
    NoProgram(&'static str),
    /// The path does not exist.
    NotFound,
    /// The user of the container may not access the path.
    NoPermission,
    /// The path is a folder.
    IsFolder,
    /// A part of the path is not a folder.
    NotFolder,
    /// The file system is read-only.
    ReadOnly,
    /// The file system is full.
    NoSpace,
    /// The container does not run.
    NotRunning,
    /// The file or archive is larger than [`MAX_BYTES`].
    TooLarge,
    /// The cluster did not open the connection.
    NotOpened,
    /// The connection ended before the transfer.
    Lost,
    /// The program wrote a different number of bytes than the file has.
    Incomplete,
    /// The browser cannot read the file of the user.
    UnreadableFile(String),
    /// The browser cannot save the file.
    NotSaved,
    /// A different error, with the message of the container or the cluster.
    Other(String),
}

impl TransferProblem {
    /// Returns the text of the error with the next step.
    pub fn words(&self) -> String {
        let words = match self {
            Self::NoProgram(program) => return t().transfer.no_program(program),
            Self::NotFound => t().transfer.not_found(),
            Self::NoPermission => t().transfer.no_permission(),
            Self::IsFolder => t().transfer.is_folder(),
            Self::NotFolder => t().transfer.not_folder(),
            Self::ReadOnly => t().transfer.read_only(),
            Self::NoSpace => t().transfer.no_space(),
            Self::NotRunning => t().transfer.not_running(),
            #[expect(
                clippy::cast_precision_loss,
                reason = "the limit is a small power of two"
            )]
            Self::TooLarge => {
                return t().transfer.too_large(&quantity::bytes(MAX_BYTES as f64));
            }
            Self::NotOpened => t().transfer.not_opened(),
            Self::Lost => t().transfer.lost(),
            Self::Incomplete => t().transfer.incomplete_upload(),
            Self::UnreadableFile(name) => return t().transfer.unreadable(name),
            Self::NotSaved => t().transfer.not_saved(),
            Self::Other(message) => return t().transfer.failed(message),
        };
        words.to_owned()
    }

    /// Finds a known error in the output of a program.
    fn of_output(output: &str) -> Option<Self> {
        let output = output.to_lowercase();
        let found = [
            ("permission denied", Self::NoPermission),
            ("operation not permitted", Self::NoPermission),
            ("is a directory", Self::IsFolder),
            ("not a directory", Self::NotFolder),
            ("read-only file system", Self::ReadOnly),
            ("no space left", Self::NoSpace),
            ("quota exceeded", Self::NoSpace),
            ("no such file or directory", Self::NotFound),
            // Messages of the shells of Busybox and Debian.
            ("nonexistent directory", Self::NotFound),
            ("directory nonexistent", Self::NotFound),
        ]
        .into_iter()
        .find(|(words, _)| output.contains(words));
        found.map(|(_, problem)| problem)
    }
}

/// The messages that the page has received during one transfer.
#[derive(Debug)]
pub struct Incoming {
    program: &'static str,
    received: u64,
    errors: Vec<u8>,
    /// The size of the uploaded file.
    expected: Option<u64>,
    /// The output of the script of an upload.
    output: Vec<u8>,
}

impl Incoming {
    /// Creates the state before the first message. `program` is the program in the container.
    pub fn new(program: &'static str) -> Self {
        Self {
            program,
            received: 0,
            errors: Vec::new(),
            expected: None,
            output: Vec::new(),
        }
    }

    /// Creates the state of an upload of a file with this size.
    pub fn of_upload(program: &'static str, size: u64) -> Self {
        Self {
            expected: Some(size),
            ..Self::new(program)
        }
    }

    /// Reports whether the messages of a channel are the content of a file.
    pub fn is_content(channel: u8) -> bool {
        channel == STDOUT
    }

    /// Counts bytes of the content. Returns the number of all bytes, or an error above the limit.
    pub fn count(&mut self, bytes: u64) -> Result<u64, TransferProblem> {
        self.received = self.received.saturating_add(bytes);
        if self.received > MAX_BYTES {
            return Err(TransferProblem::TooLarge);
        }
        Ok(self.received)
    }

    /// Reads a message without the content of a file. Returns the result if the message is the last
    /// message.
    pub fn read(&mut self, channel: u8, message: &[u8]) -> Option<Result<(), TransferProblem>> {
        match channel {
            STDERR => extend(&mut self.errors, message),
            STDOUT if self.expected.is_some() => extend(&mut self.output, message),
            STATUS => return Some(self.result(message)),
            _ => {}
        }
        None
    }

    /// Returns the result from the `metav1.Status` of the status channel.
    fn result(&self, status: &[u8]) -> Result<(), TransferProblem> {
        let status: Value = serde_json::from_slice(status).unwrap_or_default();
        let errors = String::from_utf8_lossy(&self.errors);
        if status["status"] == "Success" {
            let written = String::from_utf8_lossy(&self.output).trim().parse().ok();
            let is_complete = self.expected.is_none() || self.expected == written;
            return is_complete.then_some(()).ok_or(TransferProblem::Incomplete);
        }
        let causes = status["details"]["causes"].as_array();
        let code = causes.into_iter().flatten().find_map(|cause| {
            let is_code = cause["reason"] == "ExitCode";
            cause["message"]
                .as_str()?
                .parse::<i32>()
                .ok()
                .filter(|_| is_code)
        });
        let message = status["message"].as_str().unwrap_or_default();
        match code {
            // GNU tar: the archive contains a file that a program changed during the download.
            Some(1) if self.program == "tar" && has_only_changed_files(&errors) => Ok(()),
            // A container runtime reports a program that it cannot start with these codes.
            Some(126 | 127) if self.expected.is_none() => {
                Err(TransferProblem::NoProgram(self.program))
            }
            Some(_) => Err(TransferProblem::of_output(&errors)
                .unwrap_or_else(|| other(if errors.is_empty() { message } else { &errors }))),
            None => Err(self.not_started(message)),
        }
    }

    /// Returns the reason why the container runtime did not start the program.
    fn not_started(&self, message: &str) -> TransferProblem {
        let lower = message.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|words| lower.contains(words));
        if has(&["executable file", "no such file or directory"]) {
            TransferProblem::NoProgram(self.program)
        } else if has(&["not running", "container_exited", "container not found"]) {
            TransferProblem::NotRunning
        } else {
            other(message)
        }
    }
}

/// Keeps the first bytes of an output.
fn extend(output: &mut Vec<u8>, message: &[u8]) {
    let room = MAX_ERROR_OUTPUT.saturating_sub(output.len());
    output.extend(message.iter().take(room));
}

fn has_only_changed_files(errors: &str) -> bool {
    let mut lines = errors.lines().filter(|line| !line.is_empty()).peekable();
    let is_note = |line: &str| {
        line.ends_with("file changed as we read it") || line.contains(": Removing leading")
    };
    lines.peek().is_some() && lines.all(is_note)
}

/// Returns an unknown error without control characters.
fn other(message: &str) -> TransferProblem {
    let visible = |letter: char| {
        if letter.is_control() { ' ' } else { letter }
    };
    let words: String = message
        .trim()
        .chars()
        .map(visible)
        .take(MAX_WORDS)
        .collect();
    TransferProblem::Other(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn ended(program: &'static str, errors: &str, status: &Value) -> Result<(), TransferProblem> {
        let mut incoming = Incoming::new(program);
        assert_eq!(incoming.read(STDERR, errors.as_bytes()), None);
        let status = status.to_string();
        incoming.read(STATUS, status.as_bytes()).unwrap()
    }

    fn exit(code: &str) -> Value {
        json!({"status": "Failure", "reason": "NonZeroExitCode", "message": "command terminated",
            "details": {"causes": [{"reason": "ExitCode", "message": code}]}})
    }

    #[test]
    fn error_output_of_a_program_names_the_problem() {
        for (errors, expected) in [
            (
                "cat: can't open '/x': No such file or directory",
                TransferProblem::NotFound,
            ),
            (
                "cat: /root/x: Permission denied",
                TransferProblem::NoPermission,
            ),
            ("cat: read error: Is a directory", TransferProblem::IsFolder),
            (
                "dd: failed to open '/etc/hosts/a': Not a directory",
                TransferProblem::NotFolder,
            ),
            (
                "dd: can't open '/a': Read-only file system",
                TransferProblem::ReadOnly,
            ),
            (
                "dd: error writing '/a': No space left on device\n1+0 records in",
                TransferProblem::NoSpace,
            ),
            (
                "cat: \u{1b}[31mstrange",
                TransferProblem::Other("cat:  [31mstrange".to_owned()),
            ),
            ("", TransferProblem::Other("command terminated".to_owned())),
        ] {
            assert_eq!(ended("cat", errors, &exit("1")), Err(expected), "{errors}");
        }
    }

    #[test]
    fn program_that_does_not_start_is_named() {
        let missing = json!({"status": "Failure", "reason": "InternalError", "message":
            "exec: \"tar\": executable file not found in $PATH: unknown"});
        let no_program = Err(TransferProblem::NoProgram("tar"));
        assert_eq!(ended("tar", "", &missing), no_program);
        assert_eq!(ended("tar", "", &exit("127")), no_program);
        let stopped = json!({"status": "Failure", "message": "container is not running"});
        assert_eq!(ended("tar", "", &stopped), Err(TransferProblem::NotRunning));
        let unknown = json!({"status": "Failure", "message": "timeout"});
        let unknown = ended("tar", "", &unknown);
        assert_eq!(unknown, Err(TransferProblem::Other("timeout".to_owned())));
    }

    #[test]
    fn archive_with_a_changed_file_is_complete() {
        let success = json!({"status": "Success"});
        assert_eq!(ended("cat", "", &success), Ok(()));
        let changed = "tar: log/a: file changed as we read it\n";
        assert_eq!(ended("tar", changed, &exit("1")), Ok(()));
        let denied = format!("{changed}tar: log/b: Cannot open: Permission denied\n");
        let problem = Err(TransferProblem::NoPermission);
        assert_eq!(ended("tar", &denied, &exit("2")), problem);
        assert_eq!(ended("tar", &denied, &exit("1")), problem);
        assert!(ended("tar", "", &exit("1")).is_err());
    }

    #[test]
    fn upload_with_missing_bytes_is_an_error() {
        let ended = |output: &[&str]| {
            let mut upload = Incoming::of_upload("sh", 70_000);
            for part in output {
                assert_eq!(upload.read(STDOUT, part.as_bytes()), None);
            }
            upload.read(STATUS, br#"{"status": "Success"}"#).unwrap()
        };
        assert_eq!(ended(&["700", "00\n"]), Ok(()));
        // BSD pads the number.
        assert_eq!(ended(&["   70000\n"]), Ok(()));
        for output in [&["32768\n"][..], &[], &["-1"], &["x"]] {
            let incomplete = Err(TransferProblem::Incomplete);
            assert_eq!(ended(output), incomplete, "{output:?}");
        }
    }

    #[test]
    fn error_of_a_shell_names_the_problem() {
        let ended = |errors: &str, code| {
            let mut upload = Incoming::of_upload("sh", 1);
            assert_eq!(upload.read(STDERR, errors.as_bytes()), None);
            let status = exit(code).to_string();
            upload.read(STATUS, status.as_bytes()).unwrap()
        };
        for errors in [
            "sh: can't create /x/a: nonexistent directory",
            "sh: 1: cannot create /x/a: Directory nonexistent",
            "sh: line 1: /x/a: No such file or directory",
        ] {
            assert_eq!(ended(errors, "2"), Err(TransferProblem::NotFound));
        }
        let missing = "sh: cat: not found";
        let other = TransferProblem::Other(missing.to_owned());
        assert_eq!(ended(missing, "127"), Err(other));
    }

    #[test]
    fn content_above_the_limit_is_an_error() {
        let mut incoming = Incoming::new("cat");
        assert_eq!(incoming.count(MAX_BYTES - 1), Ok(MAX_BYTES - 1));
        assert_eq!(incoming.count(1), Ok(MAX_BYTES));
        assert_eq!(incoming.count(1), Err(TransferProblem::TooLarge));
        assert_eq!(incoming.count(u64::MAX), Err(TransferProblem::TooLarge));
        assert!(TransferProblem::TooLarge.words().contains("1 GiB"));
    }

    proptest! {
        #[test]
        fn messages_of_a_hostile_container_need_bounded_memory(
            messages: Vec<(u8, Vec<u8>)>,
            repeated in 0..100_usize,
        ) {
            let mut incoming = Incoming::new("tar");
            for (channel, message) in &messages {
                for _ in 0..=repeated {
                    if let Some(Err(problem)) = incoming.read(*channel, message) {
                        prop_assert!(problem.words().len() < 8 * MAX_WORDS);
                    }
                }
            }
            prop_assert!(incoming.errors.len() <= MAX_ERROR_OUTPUT);
        }
    }
}
