//! GitHub, against a faithful fake of it.

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

/// Where it is.
fn endpoints(fake: &Fake) -> Endpoints {
    Endpoints {
        api: fake.api(),
        web: fake.web(),
    }
}

/// Long enough for any machine, except where nothing will ever come.
fn patience() -> Timeouts {
    Timeouts {
        request: Duration::from_mins(1),
        operation: Duration::from_mins(2),
    }
}

fn github(fake: &Fake) -> Github {
    hurried(fake, patience())
}

/// With less time for each answer.
fn hurried(fake: &Fake, patience: Timeouts) -> Github {
    let secret = SecretString::from(SECRET);
    Github::at(endpoints(fake), &spec(fake), secret, patience).unwrap()
}

/// Begins a sign-in that the account allows: with what the browser comes back.
fn allowed(fake: &Fake, github: &Github, account: u64) -> (String, Pending) {
    let (page, pending) = github.authorize(&BACK.parse().unwrap(), now());
    let query = fake.world().allow(&page, account);
    (query, pending)
}

async fn sign_in(fake: &Fake, github: &Github, account: u64) -> Result<SignedIn, ProviderError> {
    let (query, pending) = allowed(fake, github, account);
    github.redeem(&query, &pending, now()).await
}

/// Ids and names of somebody's groups.
fn groups(person: &drover_providers::Person) -> Vec<(&str, &str)> {
    let groups = person.groups.iter();
    groups.map(|group| (&*group.id, &*group.name)).collect()
}

/// What an error says, with all that is below it.
fn words(error: &(dyn Error + 'static)) -> String {
    let below = std::iter::successors(Some(error), |&error| error.source());
    let words: Vec<_> = below.map(ToString::to_string).collect();
    words.join(": ")
}

/// What becomes of somebody's access by an error.
fn outcome(error: &ProviderError) -> &'static str {
    match error {
        ProviderError::Refused(_) => "refused",
        ProviderError::Unavailable { .. } => "unavailable",
        ProviderError::Misconfigured { .. } => "misconfigured",
        ProviderError::InvalidResponse { .. } => "invalid_response",
    }
}
