//! What `/readyz?verbose` says, as component healths.

use drover_api::kinds::ComponentHealth;

/// Name under which the API server itself appears.
pub const API_SERVER: &str = "kube-apiserver";
/// Most components in a report.
const MOST: usize = 64;
/// Most characters of a check's message.
const MESSAGE: usize = 256;

/// Reads the answer: one line a check, `[+]name ok` or `[-]name failed: why`.
///
/// The API server comes first; of its checks the healthy start-up hooks and the plain ping are
/// left out, since they say nothing to people.
pub fn components(ready: bool, text: &str) -> Vec<ComponentHealth> {
    let mut found = vec![ComponentHealth {
        name: API_SERVER.to_owned(),
        healthy: ready,
        message: (!ready).then(|| "its readiness check fails".to_owned()),
    }];
    let checks = text.lines().filter_map(check).filter(|check| {
        !check.healthy || !(check.name == "ping" || check.name.starts_with("poststarthook/"))
    });
    found.extend(checks.take(MOST));
    found
}

/// The API server gave no answer.
pub fn unreachable(why: &str) -> Vec<ComponentHealth> {
    vec![ComponentHealth {
        name: API_SERVER.to_owned(),
        healthy: false,
        message: Some(short(why)),
    }]
}

fn check(line: &str) -> Option<ComponentHealth> {
    let (healthy, rest) = match line.get(..3)? {
        "[+]" => (true, &line[3..]),
        "[-]" => (false, &line[3..]),
        _ => return None,
    };
    let (name, says) = rest.split_once(' ')?;
    Some(ComponentHealth {
        name: short(name),
        healthy,
        message: (!healthy).then(|| short(says)),
    })
}

fn short(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(MESSAGE)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_checks_are_named_and_healthy_hooks_left_out() {
        let text = "[+]ping ok\n[-]etcd failed: reason withheld\n[+]informer-sync ok\n\
            [+]poststarthook/start-apiextensions-informers ok\n\
            [-]poststarthook/rbac/bootstrap-roles failed: reason withheld\nreadyz check failed\n";
        let seen: Vec<_> = components(false, text)
            .into_iter()
            .map(|c| (c.name, c.healthy, c.message.is_some()))
            .collect();
        let wanted = [
            (API_SERVER, false, true),
            ("etcd", false, true),
            ("informer-sync", true, false),
            ("poststarthook/rbac/bootstrap-roles", false, true),
        ];
        assert_eq!(seen, wanted.map(|(name, h, m)| (name.to_owned(), h, m)));
    }

    #[test]
    fn a_strange_answer_is_bounded_and_harmless() {
        use std::fmt::Write as _;

        let mut text = String::from("é\n[?]x ok\n[+]\n[+]noverdict\n");
        for number in 0..1000 {
            writeln!(text, "[-]check{number} {}", "x".repeat(1000)).unwrap();
        }
        let found = components(true, &text);
        assert_eq!(found.len(), MOST + 1);
        assert!(
            found
                .iter()
                .all(|c| c.message.as_ref().is_none_or(|m| m.len() <= MESSAGE))
        );
    }
}
