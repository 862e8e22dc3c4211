//! Removes possible secrets from a request's path and query.
//!
//! The log contains the values of harmless parameters, which an allow list defines. The log
//! contains only the names of all other parameters. A deny list would not contain the secret
//! parameters of later Kubernetes versions.

use std::borrow::Cow;

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

/// Replacement for a hidden value.
const HIDDEN: &str = "(hidden)";

/// Removes possible secrets from a path and its query, and returns the result.
///
/// For a command (`exec`), the result contains the program's name without its arguments.
pub(super) fn redacted(path_and_query: &str) -> Cow<'_, str> {
    let Some((path, query)) = path_and_query.split_once('?') else {
        return Cow::Borrowed(path_and_query);
    };
    let mut out = String::with_capacity(path_and_query.len());
    out.push_str(path);
    let mut program = true;
    for (index, pair) in query.split('&').enumerate() {
        out.push(if index == 0 { '?' } else { '&' });
        let Some((name, value)) = pair.split_once('=') else {
            // A pair without `=` can be a value instead of a name.
            out.push_str(if PLAIN.contains(&pair) { pair } else { HIDDEN });
            continue;
        };
        let plain = PLAIN.contains(&name) || (name == "command" && program);
        program &= name != "command";
        out.push_str(name);
        out.push('=');
        out.push_str(if plain { value } else { HIDDEN });
    }
    Cow::Owned(out)
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
        ] {
            assert_eq!(redacted(target), expected);
        }
    }
}
