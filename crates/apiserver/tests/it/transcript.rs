//! Runs transcripts: shell commands with their output, recorded with kube-apiserver 1.36.3.
//!
//! A line that starts with `$ ` is a bash command. The lines below the command are its output
//! (stdout and stderr). `[CODE]` is the exit code, unless the code is 0. Placeholders replace
//! times, UIDs, addresses and similar values.
//!
//! To record the transcripts again, run `RECORD_FROM=KUBECONFIG cargo test … kubectl` against a
//! kube-apiserver. The cluster must run the controllers for namespaces, service accounts, root
//! certificates and garbage collection, and no workload controllers.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;
use tokio::process::Command;

use crate::served::{Served, tool};

const LIMIT: Duration = Duration::from_mins(2);

/// Patterns of variable values, with their placeholders.
static NAMES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
        (r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-][\d:]+)", "TIME"),
        (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun),? [A-Z\d][a-z\d]+ +[A-Z\d][a-z\d]+ [\d: ]+(\+0000|\d{4})", "TIME"),
        (r"\d{4}-\d\d-\d\d [\d:.]+ \+0000 UTC", "TIME"),
        (r"(Resource Version:) +\d+", "$1 REVISION"),
        (r#"(resourceVersion"?: ?)"\d+""#, "${1}REVISION"),
        (r"\b\d+(s|m|ms|m\d+s)$", "AGE"),
        (r"\b\d+(s|m|ms|m\d+s)  ", "AGE  "),
        (r"(expected|desired|timeout:) \d+(ms|s)", "$1 AGE"),
        (r"10\.\d+\.\d+\.\d+", "IP"),
        (r"kubectl-edit-\d+", "kubectl-edit-N"),
        (r"kube-api-access-[a-z0-9]{5}", "kube-api-access-RANDOM"),
        (r"https://127\.0\.0\.1:\d+", "https://SERVER"),
    ]
    .map(|(pattern, name)| (Regex::new(pattern).unwrap(), name))
    .into()
});

/// Runs the transcript of a folder, and compares the output.
pub(crate) async fn check_transcript(folder: &str, name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it")
        .join(folder);
    let path = folder.join(format!("{name}.txt"));
    let expected = std::fs::read_to_string(&path).unwrap();
    let commands = expected.lines().filter_map(|line| line.strip_prefix("$ "));
    let hub = Served::new().await;
    let recorded = std::env::var_os("RECORD_FROM").map(PathBuf::from);
    let shell = Shell::new(&hub, &folder.join("files"), recorded.as_deref());
    let mut seen = String::new();
    for command in commands {
        seen.push_str(&shell.run(command).await);
    }
    if recorded.is_some() {
        std::fs::write(&path, seen).unwrap();
        return;
    }
    assert!(seen == expected, "{}", difference(&expected, &seen));
}

/// Describes the first command whose output differs from the transcript.
fn difference(expected: &str, seen: &str) -> String {
    let mut command = "";
    for (expected_value, got) in expected.lines().zip(seen.lines()) {
        if expected_value != got {
            let rest = |text: &str, line: &str| {
                let from = line.as_ptr() as usize - text.as_ptr() as usize;
                let rest: Vec<&str> = text[from..].lines().take(12).collect();
                rest.join("\n")
            };
            let (expected_value, got) = (rest(expected, expected_value), rest(seen, got));
            return format!("{command}\n--- kube-apiserver:\n{expected_value}\n--- here:\n{got}");
        }
        if expected_value.starts_with("$ ") {
            command = expected_value;
        }
    }
    format!("one ends before the other:\n{seen}")
}

struct Shell {
    files: PathBuf,
    home: PathBuf,
    kubeconfig: PathBuf,
    path: std::ffi::OsString,
}

impl Shell {
    fn new(hub: &Served, files: &Path, recorded: Option<&Path>) -> Self {
        let home = hub.folder().join("home");
        std::fs::create_dir(&home).unwrap();
        // kubectl modifies its kubeconfig, so it receives a copy.
        let kubeconfig = home.join("kubeconfig");
        std::fs::copy(recorded.unwrap_or(&hub.kubeconfig()), &kubeconfig).unwrap();
        let programs = [tool("kubectl"), tool("helm")];
        let programs = programs.map(|program| program.parent().unwrap().to_owned());
        let system = std::env::var_os("PATH").unwrap();
        let path = std::env::join_paths(
            programs
                .into_iter()
                .chain(std::env::split_paths(&system).collect::<Vec<_>>()),
        );
        Self {
            files: files.to_owned(),
            home,
            kubeconfig,
            path: path.unwrap(),
        }
    }

    /// Runs the command, and returns the command and its output in the format of a transcript.
    async fn run(&self, command: &str) -> String {
        let ended = Command::new("bash")
            .args(["-c", &format!("exec 2>&1; {command}")])
            .current_dir(&self.files)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", &self.home)
            .env("TMPDIR", &self.home)
            .env("PATH", &self.path)
            .env("TZ", "UTC")
            // The sort order must not depend on the machine.
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(LIMIT, ended).await;
        let output = output
            .unwrap_or_else(|_| panic!("`{command}` did not end before the timeout"))
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut seen = format!("$ {command}\n");
        for line in text.lines() {
            seen.push_str(&self.named(line));
            seen.push('\n');
        }
        if !output.status.success() {
            let code = output.status.code().unwrap_or(-1);
            writeln!(seen, "[{code}]").unwrap();
        }
        seen
    }

    /// Replaces variable values of the line by placeholders, and removes column widths.
    fn named(&self, line: &str) -> String {
        let home = self.home.to_string_lossy();
        let mut line = line.trim_end().replace(&*home, "HOME");
        let indent = line.len() - line.trim_start().len();
        let (space, text) = line.split_at(indent);
        let mut joined = String::from(space);
        // Column separators are spaces, tabs or both, depending on the widest cell.
        let text = text.replace('\t', "  ");
        for (number, word) in text
            .split("  ")
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .enumerate()
        {
            if number > 0 {
                joined.push_str("  ");
            }
            joined.push_str(word);
        }
        line = joined;
        for (pattern, name) in NAMES.iter() {
            line = pattern.replace_all(&line, *name).into_owned();
        }
        line
    }
}
