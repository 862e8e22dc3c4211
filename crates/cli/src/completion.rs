//! Completion of command lines, with the names of clusters, kinds and objects.

mod lookup;
mod words;

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;

use clap::Command;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};
use clap_complete::env::{CompleteEnv, Shells};

use crate::failure::Failure;
use crate::terminal::print_bytes;
use lookup::Lookup;
use words::Words;

/// The variable that contains the name of the shell during completion.
const VARIABLE: &str = "DROVER_COMPLETE";
/// The directive for kubectl's completion that disables the completion of files.
const NO_FILES: &str = ":4";

/// The values that an argument accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Completed {
    Clusters,
    Namespaces,
    Objects,
    Pods,
    /// The objects of one of Fleet's kinds on the hub, by the name of the kind in paths.
    Fleet(&'static str),
}

/// Returns the script that registers the completion in a shell.
pub(crate) fn script(shell: clap_complete::Shell) -> Result<Vec<u8>, Failure> {
    let shells = Shells::builtins();
    let name = shell.to_string();
    let mut script = Vec::new();
    let failed = |reason: String| Failure::Other(format!("cannot create the script: {reason}"));
    let completer = shells
        .completer(&name)
        .ok_or_else(|| failed(format!("the shell {name} is not supported")))?;
    completer
        .write_registration(VARIABLE, "drover", "drover", "drover", &mut script)
        .map_err(|error| failed(error.to_string()))?;
    Ok(script)
}

/// Prints the candidates if a shell has started the program for completion. Returns false for all
/// other starts.
pub fn complete_for_shell(command: impl Fn() -> Command) -> Result<bool, Failure> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let words = Words::after_separator(&arguments);
    let completed = CompleteEnv::with_factory(|| with_candidates(command(), &words))
        .var(VARIABLE)
        .completer("drover")
        .bin("drover")
        .try_complete(arguments, None);
    completed.map_err(|error| Failure::Usage(error.to_string()))
}

/// Prints the candidates in the format that kubectl expects from the program
/// `kubectl_complete-drover`.
pub fn complete_for_kubectl(command: Command, arguments: Vec<OsString>) -> Result<(), Failure> {
    let words = Words::of(&arguments);
    let mut command = with_candidates(command, &words);
    command.build();
    let index = arguments.len().saturating_sub(1);
    let candidates = complete(&mut command, arguments, index, None).unwrap_or_default();
    let mut text = String::new();
    for candidate in candidates {
        let value = candidate.get_value().to_string_lossy();
        let help = candidate.get_help().map(ToString::to_string);
        let help = help.and_then(|help| help.lines().next().map(str::to_owned));
        let separator = if help.is_some() { "\t" } else { "" };
        let help = help.unwrap_or_default();
        // Writing to a String cannot fail.
        let _infallible = writeln!(text, "{value}{separator}{help}");
    }
    text.push_str(NO_FILES);
    text.push('\n');
    Ok(print_bytes(text.as_bytes())?)
}

/// Adds the candidates from the server to all arguments with names of clusters and objects.
fn with_candidates(command: Command, words: &Words) -> Command {
    let name = command.get_name().to_owned();
    add_candidates(command, &[&name], words)
}

fn add_candidates(command: Command, path: &[&str], words: &Words) -> Command {
    let command = command.mut_args(|argument| {
        let long = argument.get_long().map(str::to_owned);
        match completed(path, argument.get_id().as_str(), long.as_deref()) {
            Some(values) => {
                let words = words.clone();
                argument.add(ArgValueCompleter::new(move |current: &OsStr| {
                    candidates(values, &words, current)
                }))
            }
            None => argument,
        }
    });
    command.mut_subcommands(|inner| {
        let name = inner.get_name().to_owned();
        let path: Vec<&str> = path.iter().copied().chain([name.as_str()]).collect();
        add_candidates(inner, &path, words)
    })
}

/// Returns the values of an argument, by the path of its command.
fn completed(path: &[&str], id: &str, long: Option<&str>) -> Option<Completed> {
    match (path, id, long) {
        (_, _, Some("cluster")) => Some(Completed::Clusters),
        (
            [
                _,
                "get" | "search" | "top" | "label" | "logs" | "exec" | "port-forward",
            ],
            "namespace",
            _,
        ) => Some(Completed::Namespaces),
        ([_, "get"], "objects", _) | ([_, "label"], "words", _) => Some(Completed::Objects),
        ([_, "logs" | "exec" | "port-forward"], "target", _) => Some(Completed::Pods),
        (
            [_, "git", "get" | "sync" | "pause" | "resume" | "delete"] | [_, "rollout", ..],
            "name",
            _,
        ) => Some(Completed::Fleet("gitrepos")),
        ([_, "bundle", "diff"], "name", _) | ([_, "fleet", "bundlediff"], "bundle", _) => {
            Some(Completed::Fleet("bundles"))
        }
        ([_, "cluster", command, ..], "name" | "names", None) if *command != "import" => {
            Some(Completed::Clusters)
        }
        _ => None,
    }
}

/// Requests the candidates. Returns no candidates after an error, because a message would be in the
/// user's command line.
fn candidates(values: Completed, words: &Words, current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return Vec::new();
    };
    let found = runtime.block_on(async {
        let lookup = Lookup::new(words)?;
        match values {
            Completed::Clusters => lookup.clusters().await,
            Completed::Namespaces => lookup.namespaces().await,
            Completed::Objects => lookup.objects(&current).await,
            Completed::Pods => lookup.pods(&current).await,
            Completed::Fleet(plural) => lookup.fleet(plural).await,
        }
    });
    runtime.shutdown_background();
    let found = found.unwrap_or_default().into_iter();
    found
        .filter(|value| value.starts_with(&*current) && is_safe(value))
        .map(CompletionCandidate::new)
        .collect()
}

/// Reports whether a candidate contains only characters without a meaning in shells. The names come
/// from clusters.
fn is_safe(value: &str) -> bool {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '/');
    !value.starts_with('-') && value.chars().all(is_safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_with_names_are_completed() {
        for (path, id, long, values) in [
            (
                &["drover", "get"][..],
                "objects",
                None,
                Some(Completed::Objects),
            ),
            (
                &["drover", "get"],
                "clusters",
                Some("cluster"),
                Some(Completed::Clusters),
            ),
            (
                &["drover", "get"],
                "namespace",
                Some("namespace"),
                Some(Completed::Namespaces),
            ),
            (
                &["drover", "search"],
                "namespace",
                Some("namespace"),
                Some(Completed::Namespaces),
            ),
            (&["drover", "search"], "text", None, None),
            (&["drover", "logs"], "target", None, Some(Completed::Pods)),
            (
                &["drover", "cluster", "get"],
                "name",
                None,
                Some(Completed::Clusters),
            ),
            (
                &["drover", "cluster", "endpoint", "get"],
                "name",
                None,
                Some(Completed::Clusters),
            ),
            (
                &["drover", "git", "sync"],
                "name",
                None,
                Some(Completed::Fleet("gitrepos")),
            ),
            (&["drover", "git", "add"], "name", None, None),
            (
                &["drover", "bundle", "diff"],
                "name",
                None,
                Some(Completed::Fleet("bundles")),
            ),
            (&["drover", "cluster", "import"], "name", None, None),
            (&["drover", "user", "get"], "name", None, None),
        ] {
            assert_eq!(completed(path, id, long), values, "{path:?} {id}");
        }
    }

    #[test]
    fn names_with_a_meaning_in_shells_are_no_candidates() {
        assert!(is_safe("deployment/web-1.x"));
        for name in ["$(reboot)", "a b", "a;b", "`a`", "-o", "a\n", "é"] {
            assert!(!is_safe(name), "{name}");
        }
    }
}
