//! The recipe `xtask wording-sample`: draws text samples, which a reviewer grades by the wording
//! rules. The recipe reads the files of one commit, and the commit's hash is the seed. Each run for
//! a commit therefore draws the same sample. CONTRIBUTING.md describes the grading.

mod prose;
mod rust;

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::build::root;

/// The number of texts of each category in the sample.
const CATEGORIES: [(Category, usize); 5] = [
    (Category::DocComment, 100),
    (Category::UiString, 60),
    (Category::Message, 40),
    (Category::TestName, 40),
    (Category::Documentation, 30),
];

/// The category of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Category {
    DocComment,
    UiString,
    Message,
    TestName,
    Documentation,
}

impl Category {
    const fn title(self) -> &'static str {
        match self {
            Self::DocComment => "Doc comments",
            Self::UiString => "UI strings",
            Self::Message => "Log and error messages",
            Self::TestName => "Test names",
            Self::Documentation => "Sentences of documentation",
        }
    }
}

/// A text, with its file and line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sample {
    category: Category,
    file: String,
    line: usize,
    text: String,
}

/// The reason why the sample cannot be drawn.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WordingError {
    /// Git cannot be started or its output cannot be read.
    #[error("cannot run git {command}")]
    Git {
        command: &'static str,
        source: io::Error,
    },
    /// Git rejected the request.
    #[error("git {command} failed: {message}")]
    GitFailed {
        command: &'static str,
        message: String,
    },
    /// The reader of standard output closed the pipe.
    #[error("cannot write the sample to standard output")]
    Write(#[from] io::Error),
}

/// Arguments of `xtask wording-sample`.
#[derive(clap::Args)]
pub(crate) struct WordingSample {
    /// The commit to draw from (its hash is the seed)
    #[arg(default_value = "HEAD")]
    commit: String,
}

impl WordingSample {
    pub(crate) fn run(self) -> Result<(), WordingError> {
        let revision = format!("{}^{{commit}}", self.commit);
        let hash = git("rev-parse", &["--verify", &revision])?;
        let hash = hash.trim();
        let mut blobs = Blobs::open()?;
        let mut samples = Vec::new();
        for file in git("ls-tree", &["-r", "--name-only", hash])?.lines() {
            if is_read(file) {
                let text = blobs.read(hash, file)?;
                samples.extend(extract(file, &text));
            }
        }
        if samples
            .iter()
            .any(|sample| sample.file.starts_with(rust::CATALOGUE))
        {
            // If a message catalogue exists, other literals of the UI's sources are identifiers.
            samples.retain(|sample| {
                sample.category != Category::UiString || sample.file.starts_with(rust::CATALOGUE)
            });
        }
        print(hash, &samples)?;
        Ok(())
    }
}

/// Folder of the German message catalogue. The wording rules apply to English texts.
const GERMAN: &str = "frontend/core/src/messages/german";

/// Reports whether the wording rules apply to the texts of a file.
fn is_read(file: &str) -> bool {
    let is_source = has_extension(file, "rs") && !file.starts_with(GERMAN);
    is_source || is_documentation(file)
}

fn has_extension(file: &str, extension: &str) -> bool {
    Path::new(file)
        .extension()
        .is_some_and(|own| own == extension)
}

fn is_documentation(file: &str) -> bool {
    let guide = file.starts_with("docs/") && has_extension(file, "md");
    guide || ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].contains(&file)
}

/// Extracts all texts of a file.
fn extract(file: &str, text: &str) -> Vec<Sample> {
    if is_documentation(file) {
        prose::extract(file, text)
    } else {
        rust::extract(file, text)
    }
}

/// Draws `count` samples. Computes a hash of seed, location and text for each text, and returns the
/// texts with the smallest hashes.
fn draw<'a>(
    seed: &str,
    category: Category,
    count: usize,
    samples: &'a [Sample],
) -> Vec<&'a Sample> {
    let mut ranked: Vec<(u64, &Sample)> = samples
        .iter()
        .filter(|sample| sample.category == category)
        .map(|sample| {
            let key = format!("{seed} {} {} {}", sample.file, sample.line, sample.text);
            (hash(&key), sample)
        })
        .collect();
    ranked.sort_by_key(|(rank, sample)| (*rank, &sample.file, sample.line));
    ranked
        .into_iter()
        .take(count)
        .map(|(_, sample)| sample)
        .collect()
}

/// Computes an FNV-1a hash with the finalizer of splitmix64. The hash is the same in all versions
/// of Rust, unlike the standard library's hash.
fn hash(text: &str) -> u64 {
    let fnv = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mixed = (fnv ^ (fnv >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn print(seed: &str, samples: &[Sample]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "# Wording sample of commit {seed}")?;
    for (category, count) in CATEGORIES {
        let all = samples.iter().filter(|sample| sample.category == category);
        let drawn = draw(seed, category, count, samples);
        writeln!(
            out,
            "\n## {} ({} of {})",
            category.title(),
            drawn.len(),
            all.count()
        )?;
        for (number, sample) in drawn.into_iter().enumerate() {
            let text = sample.text.replace('\n', "\n    ");
            writeln!(
                out,
                "{}. {}:{}\n    {text}",
                number + 1,
                sample.file,
                sample.line
            )?;
        }
    }
    Ok(())
}

/// Runs a git command in the repository and returns its output.
fn git(command: &'static str, arguments: &[&str]) -> Result<String, WordingError> {
    let output = Command::new("git")
        .arg(command)
        .args(arguments)
        .current_dir(root())
        .output()
        .map_err(|source| WordingError::Git { command, source })?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(WordingError::GitFailed { command, message });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A running `git cat-file --batch`. The process ends when the value is dropped.
struct Blobs {
    child: Child,
}

impl Blobs {
    const COMMAND: &'static str = "cat-file";

    fn open() -> Result<Self, WordingError> {
        let child = Command::new("git")
            .args([Self::COMMAND, "--batch"])
            .current_dir(root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Self::error)?;
        Ok(Self { child })
    }

    fn error(source: io::Error) -> WordingError {
        let command = Self::COMMAND;
        WordingError::Git { command, source }
    }

    /// Returns the text of a file at a commit.
    fn read(&mut self, commit: &str, file: &str) -> Result<String, WordingError> {
        self.request(commit, file).map_err(Self::error)
    }

    fn request(&mut self, commit: &str, file: &str) -> io::Result<String> {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        let input = self.child.stdin.as_mut().ok_or_else(closed)?;
        writeln!(input, "{commit}:{file}")?;
        // Read single bytes until the end of the head, so that no byte of the next response is
        // buffered.
        let output = self.child.stdout.as_mut().ok_or_else(closed)?;
        let mut head = String::new();
        BufReader::with_capacity(1, &mut *output).read_line(&mut head)?;
        let size = head
            .split_whitespace()
            .nth(2)
            .and_then(|size| size.parse().ok());
        let size: usize =
            size.ok_or_else(|| io::Error::other(format!("unexpected response: {head}")))?;
        let mut content = vec![0; size + 1];
        output.read_exact(&mut content)?;
        content.pop();
        Ok(String::from_utf8_lossy(&content).into_owned())
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // Ignore the exit code, because the process has completed its work.
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Sample> {
        (0..50)
            .map(|line| Sample {
                category: Category::TestName,
                file: "a.rs".to_owned(),
                line,
                text: format!("test_{line}"),
            })
            .collect()
    }

    #[test]
    fn equal_seeds_draw_equal_text_samples() {
        let samples = samples();
        let mut reversed = samples.clone();
        reversed.reverse();
        let first = draw("abc", Category::TestName, 10, &samples);
        assert_eq!(first.len(), 10);
        assert_eq!(first, draw("abc", Category::TestName, 10, &reversed));
    }

    #[test]
    fn different_seeds_draw_different_text_samples() {
        let samples = samples();
        assert_ne!(
            draw("abc", Category::TestName, 10, &samples),
            draw("abd", Category::TestName, 10, &samples)
        );
    }

    #[test]
    fn sample_contains_texts_of_one_category() {
        assert!(draw("abc", Category::Message, 10, &samples()).is_empty());
    }

    #[test]
    fn wording_sample_includes_documents_and_rust_sources() {
        assert!(is_read("docs/install/upgrade.md"));
        assert!(is_read("README.md"));
        assert!(is_read("server/src/lib.rs"));
        assert!(!is_read("e2e/README.txt"));
        assert!(!is_read("e2e/weaken/a.patch"));
    }
}
