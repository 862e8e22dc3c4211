//! Removes possible secrets from a request's path and query.
//!
//! The log contains the values of harmless parameters, which an allow list defines. The log
//! contains only the names of all other parameters. A deny list would not contain the secret
//! parameters of later Kubernetes versions.

use std::borrow::Cow;

use drover_api::shell::ENCODED_UPLOAD_SCRIPT;

/// The allow list: parameters of the Kubernetes API that describe the request and contain no
/// secret.
const PLAIN: [&str; 32] = [
    "allowWatchBookmarks",
    "container",
    "dryRun",
    "fieldManager",
    "fieldSelector",
    "fieldValidation",
    "follow",
    "force",
    "gracePeriodSeconds",
    "insecureSkipTLSVerifyBackend",
    "labelSelector",
    "limit",
    "limitBytes",
    "orphanDependents",
    "ports",
    "pretty",
    "previous",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "sinceSeconds",
    "sinceTime",
    "stderr",
    "stdin",
    "stdout",
    "tailLines",
    "timeout",
    "timeoutSeconds",
    "timestamps",
    "tty",
    "watch",
];

/// The commands of the web UI that transfer files (`frontend/core`, `action::transfer`). The log
/// contains all arguments of exactly these commands. [`PATH`] is any path.
const TRANSFERS: [&[&str]; 3] = [
    &["cat", "--", PATH],
    &["tar", "-c", "-f", "-", "-C", PATH, "--", PATH],
    &["sh", "-c", ENCODED_UPLOAD_SCRIPT, "sh", PATH],
];
const PATH: &str = "PATH";
/// One more than the number of words of the longest command in [`TRANSFERS`].
const MAX_WORDS: usize = 9;

/// Replacement for a hidden value.
const HIDDEN: &str = "(hidden)";

/// Removes possible secrets from a path and its query, and returns the result.
///
/// For a command (`exec`), the result contains the program's name without its arguments. Only for
/// the commands that transfer files, the result also contains the arguments.
pub(super) fn redacted(path_and_query: &str) -> Cow<'_, str> {
    let Some((path, query)) = path_and_query.split_once('?') else {
        return Cow::Borrowed(path_and_query);
    };
    let mut out = String::with_capacity(path_and_query.len());
    out.push_str(path);
    let transfers_file = transfers_file(query);
    let mut program = true;
    for (index, pair) in query.split('&').enumerate() {
        out.push(if index == 0 { '?' } else { '&' });
        let Some((name, value)) = pair.split_once('=') else {
            // A pair without `=` can be a value instead of a name.
            out.push_str(if PLAIN.contains(&pair) { pair } else { HIDDEN });
            continue;
        };
        let plain = PLAIN.contains(&name) || (name == "command" && (program || transfers_file));
        program &= name != "command";
        out.push_str(name);
        out.push('=');
        out.push_str(if plain { value } else { HIDDEN });
    }
    Cow::Owned(out)
}

/// Reports whether the command of a query transfers a file. The query has the encoding of the web UI.
fn transfers_file(query: &str) -> bool {
    let words = query
        .split('&')
        .filter_map(|it| it.strip_prefix("command="));
    let words: Vec<&str> = words.take(MAX_WORDS).collect();
    let is_expected = |(word, expected): (&&str, &&str)| *expected == PATH || word == expected;
    TRANSFERS
        .iter()
        .any(|command| words.len() == command.len() && words.iter().zip(*command).all(is_expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redacted_query_contains_only_values_of_known_parameters() {
        for (target, expected) in [
            ("/api/v1/pods", "/api/v1/pods"),
            (
                "/api/v1/pods?watch=true&labelSelector=a%3Db",
                "/api/v1/pods?watch=true&labelSelector=a%3Db",
            ),
            (
                "/x?access_token=abc&token=abc&q=1",
                "/x?access_token=(hidden)&token=(hidden)&q=(hidden)",
            ),
            ("/x?abc", "/x?(hidden)"),
            ("/x?watch&=abc", "/x?watch&=(hidden)"),
            (
                "/p/exec?command=mysql&command=-psecret&container=c",
                "/p/exec?command=mysql&command=(hidden)&container=c",
            ),
            (
                "/p/exec?command=sh&command=-c&command=cat&command=--&command=x",
                "/p/exec?command=sh&command=(hidden)&command=(hidden)&command=(hidden)&command=(hidden)",
            ),
            (
                "/p/exec?command=cat&command=--&command=a&command=b",
                "/p/exec?command=cat&command=(hidden)&command=(hidden)&command=(hidden)",
            ),
            (
                "/p/exec?command=sh&command=-c&command=cat%20x&command=sh&command=a",
                "/p/exec?command=sh&command=(hidden)&command=(hidden)&command=(hidden)&command=(hidden)",
            ),
        ] {
            assert_eq!(redacted(target), expected);
        }
    }

    #[test]
    fn audit_log_contains_the_path_of_a_transferred_file() {
        for target in [
            "/p/exec?container=c&stdout=true&command=cat&command=--&command=%2Fetc%2Fhosts",
            "/p/exec?command=tar&command=-c&command=-f&command=-&command=-C&command=%2F&command=--&command=a",
            "/p/exec?stdin=true&command=sh&command=-c&command=cat%20%3E%22%241%22%20%26%26%20wc%20-c%20%3C%22%241%22&command=sh&command=%2Ftmp%2Fa",
        ] {
            assert_eq!(redacted(target), target);
        }
    }
}
