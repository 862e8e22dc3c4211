//! Whether the server is ready, check by check.

use std::sync::Arc;

use parking_lot::RwLock;

type Check = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// The checks behind `/readyz`; clones share them.
#[derive(Clone, Default)]
pub struct Health {
    checks: Arc<RwLock<Vec<(&'static str, Check)>>>,
}

/// What the checks found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings(Vec<(&'static str, Result<(), String>)>);

impl Health {
    /// A health without checks: ready.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a check that looks at something in memory and never waits.
    ///
    /// What it says when it fails is shown to anyone, so it names no secret.
    pub fn check(
        &self,
        name: &'static str,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.checks.write().push((name, Arc::new(check)));
    }

    /// Runs every check, in the order they were added.
    pub fn examine(&self) -> Findings {
        let checks = self.checks.read().clone();
        Findings(
            checks
                .into_iter()
                .map(|(name, check)| (name, check()))
                .collect(),
        )
    }
}

impl Findings {
    /// Whether every check passed.
    pub fn all_passed(&self) -> bool {
        self.0.iter().all(|(_, result)| result.is_ok())
    }

    /// One line a check, as the Kubernetes API server writes it.
    pub fn report(&self, endpoint: &str) -> String {
        let mut text = String::new();
        for (name, result) in &self.0 {
            match result {
                Ok(()) => text.extend(["[+]", name, " ok\n"]),
                Err(why) => text.extend(["[-]", name, " failed: ", why, "\n"]),
            }
        }
        text.push_str(endpoint);
        text.push_str(if self.all_passed() {
            " check passed\n"
        } else {
            " check failed\n"
        });
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_says_which_check_fails_and_why() {
        let health = Health::new();
        health.check("audit", || Ok(()));
        health.check("hub", || Err("out of reach for 12 s".to_owned()));
        let findings = health.examine();
        assert!(!findings.all_passed());
        assert_eq!(
            findings.report("readyz"),
            "[+]audit ok\n[-]hub failed: out of reach for 12 s\nreadyz check failed\n"
        );
    }
}
