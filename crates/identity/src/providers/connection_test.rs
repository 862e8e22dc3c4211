//! Tests the connection to a provider. The results of all protocols have the same type.

use drover_api::rest::{ProviderCheck, ProviderTestResult};
use drover_providers::ProviderError;
use drover_providers::ldap::CheckKind;
use jiff::Timestamp;
use reqwest::Url;
use secrecy::SecretString;

use super::configured::{Configured, ProtocolClient};

/// A check of a connection test.
#[derive(Debug)]
pub struct Check {
    /// The name of the checked feature, for example the discovery document.
    pub what: String,
    /// The result of the check as a text, or the error.
    pub outcome: Result<String, ProviderError>,
}

/// The result of a connection test.
#[derive(Debug)]
pub struct ConnectionTest {
    /// The checks in the order of execution.
    pub checks: Vec<Check>,
    /// True if all checks succeeded, so that users can sign in.
    pub works: bool,
}

/// Tests the connection to a provider. For a provider with password logins, also tests a login and
/// password.
pub async fn run(
    provider: &Configured,
    back: &Url,
    login: Option<(&str, &SecretString)>,
    now: Timestamp,
) -> ConnectionTest {
    let _permit = match provider.acquire(now).await {
        Ok(turn) => turn,
        Err(error) => return ConnectionTest::of_all(vec![Check::new("Request", Err(error))]),
    };
    let test = match &provider.client {
        ProtocolClient::Oidc(oidc) => {
            let checks = oidc.check(back, now).await.into_iter();
            let checks = checks.map(|check| Check::new(check.what, check.found));
            ConnectionTest::of_all(checks.collect())
        }
        ProtocolClient::Github(github) => {
            let checks = github.check(now).await.into_iter();
            let answers = |()| "responds, and accepts the client".to_owned();
            let checks = checks.map(|check| Check::new(check.what, check.outcome.map(answers)));
            ConnectionTest::of_all(checks.collect())
        }
        ProtocolClient::Ldap(directory) => {
            let test = directory.check(login).await;
            // One working server of several is sufficient.
            let works = test.works();
            let checks = test.checks.into_iter();
            let checks = checks.map(|check| Check::new(name(&check.what), check.outcome));
            ConnectionTest {
                checks: checks.collect(),
                works,
            }
        }
    };
    for check in &test.checks {
        provider.record_answer(check.outcome.as_ref(), now);
    }
    test
}

impl Check {
    fn new(what: impl Into<String>, outcome: Result<String, ProviderError>) -> Self {
        Self {
            what: what.into(),
            outcome,
        }
    }

    /// Returns the result of the check in one line. Returns the error with its causes if the check
    /// failed.
    pub fn sentence(&self) -> String {
        match &self.outcome {
            Ok(found) => found.clone(),
            Err(error) => reasons(error),
        }
    }
}

impl ConnectionTest {
    fn of_all(checks: Vec<Check>) -> Self {
        let works = checks.iter().all(|check| check.outcome.is_ok());
        Self { checks, works }
    }

    /// Returns the first failed check.
    pub fn problem(&self) -> Option<(&Check, &ProviderError)> {
        let mut wrong = self
            .checks
            .iter()
            .filter_map(|check| Some((check, check.outcome.as_ref().err()?)));
        wrong.next()
    }
}

impl From<ConnectionTest> for ProviderTestResult {
    fn from(test: ConnectionTest) -> Self {
        let checks = test.checks.iter().map(|check| ProviderCheck {
            what: check.what.clone(),
            works: check.outcome.is_ok(),
            found: check.sentence(),
        });
        Self {
            works: test.works,
            checks: checks.collect(),
        }
    }
}

fn name(checked: &CheckKind) -> String {
    match checked {
        CheckKind::Server(url) => format!("Server {url}"),
        CheckKind::ServiceAccount => "Service account".to_owned(),
        CheckKind::People => "Users".to_owned(),
        CheckKind::Groups => "Groups".to_owned(),
        CheckKind::SignIn => "Sign-in".to_owned(),
    }
}

/// Formats an error with its causes.
pub fn reasons(error: &(dyn std::error::Error + 'static)) -> String {
    let below = std::iter::successors(Some(error), |&error| error.source());
    let words: Vec<_> = below.map(ToString::to_string).collect();
    words.join(": ")
}
