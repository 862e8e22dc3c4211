//! Tokens in words.

use drover_api::kinds::TokenPurpose;
use drover_api::rest::TokenView;
use jiff::{SignedDuration, Timestamp};

use crate::age::age;
use crate::messages::t;
use crate::search::has_words;

/// Upper limit of the warning period before expiry.
const SOON: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The warning period as a fraction of the lifetime.
const LAST_PART: i32 = 5;

/// The purpose in a word.
pub fn purpose(purpose: TokenPurpose) -> &'static str {
    match purpose {
        TokenPurpose::Session => t().tokens.session(),
        TokenPurpose::Browser => t().tokens.browser(),
        TokenPurpose::PasswordChange => t().tokens.password_change(),
        TokenPurpose::Api => t().tokens.api(),
        TokenPurpose::Kubeconfig => t().tokens.kubeconfig(),
        TokenPurpose::Credential => t().tokens.kubectl(),
    }
}

/// The purpose in a sentence.
pub fn purpose_in_full(purpose: TokenPurpose) -> &'static str {
    match purpose {
        TokenPurpose::Session => t().tokens.session_help(),
        TokenPurpose::Browser => t().tokens.browser_help(),
        TokenPurpose::PasswordChange => t().tokens.password_change_help(),
        TokenPurpose::Api => t().tokens.api_help(),
        TokenPurpose::Kubeconfig => t().tokens.kubeconfig_help(),
        TokenPurpose::Credential => t().tokens.credential_help(),
    }
}

/// The effect of a token's deletion.
pub fn ending(purpose: TokenPurpose) -> &'static str {
    match purpose {
        TokenPurpose::Session => t().tokens.session_end(),
        TokenPurpose::Browser => t().tokens.browser_end(),
        TokenPurpose::PasswordChange => t().tokens.password_change_end(),
        TokenPurpose::Api => t().tokens.api_end(),
        TokenPurpose::Kubeconfig => t().tokens.kubeconfig_end(),
        TokenPurpose::Credential => t().tokens.credential_end(),
    }
}

/// All purposes, each with a short key for URLs.
pub const PURPOSES: [(TokenPurpose, &str); 6] = [
    (TokenPurpose::Api, "api"),
    (TokenPurpose::Kubeconfig, "kubeconfig"),
    (TokenPurpose::Session, "login"),
    (TokenPurpose::Browser, "browser"),
    (TokenPurpose::Credential, "kubectl"),
    (TokenPurpose::PasswordChange, "password"),
];

/// The time until expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Not soon.
    Far,
    /// Soon.
    Soon,
    /// Expired.
    Past,
}

/// The time until expiry; soon is the last fifth of the lifetime, at most a week.
pub fn end(token: &TokenView, now: Timestamp) -> End {
    let left = token.expires_at.duration_since(now);
    let life = token.expires_at.duration_since(token.created_at);
    if !left.is_positive() {
        End::Past
    } else if left < SOON.min(life / LAST_PART) {
        End::Soon
    } else {
        End::Far
    }
}

/// `in 12d`, `3h ago`.
pub fn relative(at: Timestamp, now: Timestamp) -> String {
    if at > now {
        t().durations.until(&age(now, at))
    } else {
        ago(at, now)
    }
}

/// `3h ago`; never in the future, although clocks differ.
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    t().durations.ago(&age(at, now))
}

/// Whether the shown texts of a token contain all typed words.
pub fn passes(token: &TokenView, typed: &str) -> bool {
    let cluster = token.cluster.as_ref().map(|scope| scope.name.as_str());
    let shown = [
        token.id.as_str(),
        &token.username,
        token.description.as_deref().unwrap_or_default(),
        cluster.unwrap_or_default(),
        purpose(token.purpose),
    ];
    has_words(shown, typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(created: i64, expires: i64) -> TokenView {
        let at = |second| Timestamp::from_second(second).unwrap();
        TokenView {
            id: "abc".to_owned(),
            username: "ann".to_owned(),
            purpose: TokenPurpose::Api,
            cluster: None,
            provider: None,
            description: Some("Backup job".to_owned()),
            created_at: at(created),
            expires_at: at(expires),
            last_used_at: None,
        }
    }

    #[test]
    fn the_end_is_soon_in_the_last_fifth_of_a_life_and_never_for_longer_than_a_week() {
        const DAY: i64 = 86_400;
        let ends = |life, age| end(&token(0, life), Timestamp::from_second(age).unwrap());
        for (life, age, wanted) in [
            (30 * DAY, 0, End::Far),
            (30 * DAY, 23 * DAY, End::Far),
            (30 * DAY, 25 * DAY, End::Soon),
            (365 * DAY, 350 * DAY, End::Far),
            (365 * DAY, 359 * DAY, End::Soon),
            (16 * 3600, 3600, End::Far),
            (16 * 3600, 13 * 3600, End::Soon),
            (DAY, DAY, End::Past),
            (DAY, 2 * DAY, End::Past),
        ] {
            assert_eq!(ends(life, age), wanted, "{life} {age}");
        }
    }

    #[test]
    fn a_token_is_found_by_what_is_shown_of_it() {
        let token = token(0, 10);
        for (typed, wanted) in [
            ("", true),
            ("backup", true),
            ("JOB ann", true),
            ("api", true),
            ("abc", true),
            ("berlin", false),
            ("backup berlin", false),
        ] {
            assert_eq!(passes(&token, typed), wanted, "{typed}");
        }
    }

    #[test]
    fn times_are_told_from_now() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(relative(at(100), at(40)), "in 60s");
        assert_eq!(relative(at(40), at(100)), "60s ago");
        assert_eq!(ago(at(100), at(40)), "0s ago", "clocks differ a little");
    }

    #[test]
    fn every_purpose_has_a_key_of_its_own() {
        let mut keys: Vec<_> = PURPOSES.iter().map(|(_, key)| *key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), PURPOSES.len());
    }
}
