//! Component health, parsed from the response of `/readyz?verbose`.

use drover_api::kinds::ComponentHealth;

/// Name of the API server in the list of components.
pub const API_SERVER: &str = "kube-apiserver";
/// Maximum number of components in a report.
const MOST: usize = 64;
/// Maximum length of a check's message, in characters.
const MESSAGE: usize = 256;

/// Parses the response. Each line of the response describes one check: `[+]name ok` or `[-]name
/// failed: reason`.
///
/// The API server is the first component. The result omits healthy start-up hooks and the ping
/// check, because users do not need these checks.
pub fn components(ready: bool, text: &str) -> Vec<ComponentHealth> {
    let mut found = vec![ComponentHealth {
        name: API_SERVER.to_owned(),
        healthy: ready,
        message: (!ready).then(|| "the readiness check fails".to_owned()),
    }];
    let checks = text.lines().filter_map(check).filter(|check| {
        !check.healthy || !(check.name == "ping" || check.name.starts_with("poststarthook/"))
    });
    found.extend(checks.take(MOST));
    found
}

/// Returns the health of an API server that did not respond.
pub fn unreachable(reason: &str) -> Vec<ComponentHealth> {
    vec![ComponentHealth {
        name: API_SERVER.to_owned(),
        healthy: false,
        message: Some(short(reason)),
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
    fn failing_health_checks_are_reported_and_healthy_post_start_hooks_are_omitted() {
        let text = "[+]ping ok\n[-]etcd failed: reason withheld\n[+]informer-sync ok\n\
            [+]poststarthook/start-apiextensions-informers ok\n\
            [-]poststarthook/rbac/bootstrap-roles failed: reason withheld\nreadyz check failed\n";
        let seen: Vec<_> = components(false, text)
            .into_iter()
            .map(|c| (c.name, c.healthy, c.message.is_some()))
            .collect();
        let expected = [
            (API_SERVER, false, true),
            ("etcd", false, true),
            ("informer-sync", true, false),
            ("poststarthook/rbac/bootstrap-roles", false, true),
        ];
        assert_eq!(seen, expected.map(|(name, h, m)| (name.to_owned(), h, m)));
    }

    #[test]
    fn unexpected_health_response_is_truncated_and_printable() {
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
