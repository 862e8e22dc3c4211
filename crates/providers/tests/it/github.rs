//! Tests of the GitHub client against a fake GitHub server.

mod checks;
mod faults;
mod hostile;
mod people;
mod sign_in;
mod tokens;

use std::error::Error;
use std::time::Duration;

use drover_api::kinds::auth_provider::{GithubSpec, SecretKey};
use drover_providers::ProviderError;
use drover_providers::code_flow::Pending;
use drover_providers::github::{Endpoints, Github, SignedIn, Timeouts};
use jiff::Timestamp;
use secrecy::SecretString;

use drover_testkit::github::Fake;
use drover_testkit::github::world::{CLIENT, SECRET};

const BACK: &str = "https://drover.test/v1/sign-in/github";

fn now() -> Timestamp {
    "2026-11-22T09:00:00Z".parse().unwrap()
}

fn spec(fake: &Fake) -> GithubSpec {
    GithubSpec {
        url: None,
        client_id: CLIENT.to_owned(),
        client_secret: SecretKey::default(),
        ca_bundle: Some(fake.certificate()),
    }
}

/// Returns the endpoints of the fake GitHub server.
fn endpoints(fake: &Fake) -> Endpoints {
    Endpoints {
        api: fake.api(),
        web: fake.web(),
    }
}

/// Timeouts that are long enough for slow machines.
fn timeouts() -> Timeouts {
    Timeouts {
        request: Duration::from_mins(1),
        operation: Duration::from_mins(2),
    }
}

fn github(fake: &Fake) -> Github {
    github_with(fake, timeouts())
}

/// Returns a client of the fake with these timeouts.
fn github_with(fake: &Fake, timeouts: Timeouts) -> Github {
    let secret = SecretString::from(SECRET);
    Github::at(endpoints(fake), &spec(fake), secret, timeouts).unwrap()
}

/// Starts a sign-in, and gives consent with the account `account`. Returns the callback query.
fn allowed(fake: &Fake, github: &Github, account: u64) -> (String, Pending) {
    let (page, pending) = github.authorize(&BACK.parse().unwrap(), now());
    let query = fake.world().allow(&page, account);
    (query, pending)
}

async fn sign_in(fake: &Fake, github: &Github, account: u64) -> Result<SignedIn, ProviderError> {
    let (query, pending) = allowed(fake, github, account);
    github.redeem(&query, &pending, now()).await
}

/// Returns the IDs and names of a user's groups.
fn groups(person: &drover_providers::ProviderUser) -> Vec<(&str, &str)> {
    let groups = person.groups.iter();
    groups.map(|group| (&*group.id, &*group.name)).collect()
}

/// Formats an error with all its sources.
fn message(error: &(dyn Error + 'static)) -> String {
    let below = std::iter::successors(Some(error), |&error| error.source());
    let message: Vec<_> = below.map(ToString::to_string).collect();
    message.join(": ")
}

/// Returns a short name of an error variant.
fn outcome(error: &ProviderError) -> &'static str {
    match error {
        ProviderError::Refused(_) => "refused",
        ProviderError::Unavailable { .. } => "unavailable",
        ProviderError::Misconfigured { .. } => "misconfigured",
        ProviderError::InvalidResponse { .. } => "invalid_response",
    }
}
