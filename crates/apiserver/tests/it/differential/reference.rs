//! Builds and runs the Go program with the reference implementation: the Go libraries of
//! kube-apiserver.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// Builds the Go program on the first call; panics without Go.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("differential");
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("differential");
        let output = Command::new("go")
            .args(["build", "-mod=readonly", "-o"])
            .arg(&built)
            .arg(".")
            .current_dir(sources)
            .output()
            .expect("Go is installed");
        assert!(
            output.status.success(),
            "go build failed:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        built
    })
}

/// Returns the results of the Go program, in the order of the cases.
pub(super) fn ask(cases: &[Value]) -> Vec<Answer> {
    let mut child = Command::new(program())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // The program also logs its answers.
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        scope.spawn(move || {
            for case in cases {
                writeln!(stdin, "{case}").unwrap();
            }
        });
        stdout
            .lines()
            .map(|line| Answer::of(serde_json::from_str(&line.unwrap()).unwrap()))
            .collect()
    });
    assert!(child.wait().unwrap().success());
    assert_eq!(
        answers.len(),
        cases.len(),
        "the Go program did not answer all cases"
    );
    answers
}

/// A result of the Go program, or its error message.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    Result(Value),
    Error(String),
}

impl Answer {
    fn of(mut answer: Value) -> Self {
        match answer["error"].as_str() {
            Some(error) => {
                assert!(!error.starts_with("case: "), "{error}");
                Self::Error(error.to_owned())
            }
            None => Self::Result(answer["result"].take()),
        }
    }
}
