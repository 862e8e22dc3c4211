//! A request's target without what could be a secret.
//!
//! Only parameters that are known to hold none are written out; of every other the name alone
//! stays. A list of the bad ones would always lack the next one.

/// Parameters of the Kubernetes API that say what was asked for and hold no secret.
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

/// What stands for a value that is not written out.
const HIDDEN: &str = "(hidden)";

/// Writes a path and its query without what could be a secret.
///
/// Of a command (`exec`), the program's name stays and its arguments go.
pub(super) fn redacted(path_and_query: &str) -> String {
    let Some((path, query)) = path_and_query.split_once('?') else {
        return path_and_query.to_owned();
    };
    let mut out = String::with_capacity(path_and_query.len());
    out.push_str(path);
    let mut program = true;
    for (index, pair) in query.split('&').enumerate() {
        out.push(if index == 0 { '?' } else { '&' });
        let Some((name, value)) = pair.split_once('=') else {
            // A bare word can be a value as well as a name.
            out.push_str(if PLAIN.contains(&pair) { pair } else { HIDDEN });
            continue;
        };
        let plain = PLAIN.contains(&name) || (name == "command" && program);
        program &= name != "command";
        out.push_str(name);
        out.push('=');
        out.push_str(if plain { value } else { HIDDEN });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_known_to_be_harmless_are_written() {
        for (target, wanted) in [
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
            assert_eq!(redacted(target), wanted);
        }
    }

    #[test]
    fn the_plain_names_are_in_order() {
        assert!(PLAIN.is_sorted());
    }
}
