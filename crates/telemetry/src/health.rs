//! The server's readiness checks.

use std::sync::Arc;

use parking_lot::RwLock;

type NamedCheck = (&'static str, CheckEffect, Check);
type Check = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// The readiness checks of `/readyz`. Clones share the checks.
#[derive(Clone, Default)]
pub struct Health {
    checks: Arc<RwLock<Vec<NamedCheck>>>,
}

/// The effect of a failed check on the readiness of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckEffect {
    /// The server is not ready.
    Decides,
    /// The report contains the failure, but the server is ready.
    IsNoted,
}

/// The results of all checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings(Vec<(&'static str, CheckEffect, Result<(), String>)>);

impl Health {
    /// Creates a `Health` without checks, which is ready.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a readiness check.
    ///
    /// The check must return without waiting, so the check only reads memory. The error must not
    /// contain secrets, because anonymous clients can read the error.
    pub fn check(
        &self,
        name: &'static str,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.add(name, CheckEffect::Decides, Arc::new(check));
    }

    /// Adds a check that does not affect readiness. The response of `/readyz` contains its result.
    pub fn note(
        &self,
        name: &'static str,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.add(name, CheckEffect::IsNoted, Arc::new(check));
    }

    fn add(&self, name: &'static str, weight: CheckEffect, check: Check) {
        self.checks.write().push((name, weight, check));
    }

    /// Runs all checks, in the order of registration.
    pub fn examine(&self) -> Findings {
        let checks = self.checks.read().clone();
        Findings(
            checks
                .into_iter()
                .map(|(name, weight, check)| (name, weight, check()))
                .collect(),
        )
    }
}

impl Findings {
    /// Returns true if all checks that affect readiness passed.
    pub fn all_passed(&self) -> bool {
        let mut all = self.0.iter();
        all.all(|(_, weight, result)| *weight == CheckEffect::IsNoted || result.is_ok())
    }

    /// Returns one line for each check, in the format of the Kubernetes API server.
    pub fn report(&self, endpoint: &str) -> String {
        let mut text = String::new();
        for (name, weight, result) in &self.0 {
            match (result, weight) {
                (Ok(()), _) => text.extend(["[+]", name, " ok\n"]),
                (Err(reason), CheckEffect::Decides) => {
                    text.extend(["[-]", name, " failed: ", reason, "\n"]);
                }
                (Err(reason), CheckEffect::IsNoted) => {
                    text.extend(["[!]", name, ": ", reason, "\n"]);
                }
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
    fn health_report_contains_the_failed_check_and_its_reason() {
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

    #[test]
    fn failed_informational_check_is_reported_and_does_not_affect_readiness() {
        let health = Health::new();
        health.note("rules", || Err("nobody asks".to_owned()));
        let findings = health.examine();
        assert!(findings.all_passed());
        assert_eq!(
            findings.report("readyz"),
            "[!]rules: nobody asks\nreadyz check passed\n"
        );
    }
}
