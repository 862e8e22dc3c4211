//! Texts for tokens.

use drover_api::kinds::TokenPurpose;
use drover_api::rest::TokenView;
use jiff::{SignedDuration, Timestamp};

use crate::age::age;
use crate::messages::t;
use crate::search::has_words;

/// The maximum duration of the warning period before expiry.
const MAX_WARNING_PERIOD: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The warning period is the token lifetime divided by this number.
const WARNING_DIVISOR: i32 = 5;

/// Returns a short text for the purpose of a token.
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

/// Returns a sentence for the purpose of a token.
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

/// Returns the effect of deleting a token.
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

/// All purposes with their keys in URLs.
pub const PURPOSES: [(TokenPurpose, &str); 6] = [
    (TokenPurpose::Api, "api"),
    (TokenPurpose::Kubeconfig, "kubeconfig"),
    (TokenPurpose::Session, "login"),
    (TokenPurpose::Browser, "browser"),
    (TokenPurpose::Credential, "kubectl"),
    (TokenPurpose::PasswordChange, "password"),
];

/// The time until a token expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The token does not expire soon.
    Far,
    /// The token expires within the warning period.
    Soon,
    /// The token is expired.
    Past,
}

/// Classifies the time until expiry. The warning period is the last fifth of the lifetime, at most
/// a week.
pub fn end(token: &TokenView, now: Timestamp) -> End {
    let remaining = token.expires_at.duration_since(now);
    let life = token.expires_at.duration_since(token.created_at);
    if !remaining.is_positive() {
        End::Past
    } else if remaining < MAX_WARNING_PERIOD.min(life / WARNING_DIVISOR) {
        End::Soon
    } else {
        End::Far
    }
}

/// Formats a time relative to now: `in 12d`, `3h ago`.
pub fn relative(at: Timestamp, now: Timestamp) -> String {
    if at > now {
        t().durations.until(&age(now, at))
    } else {
        ago(at, now)
    }
}

/// Formats a past time: `3h ago`. A time in the future, from a fast clock, is `0s ago`.
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    t().durations.ago(&age(at, now))
}

/// Reports whether the shown texts of a token contain all entered words.
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
    fn token_is_marked_as_expiring_a_fifth_of_its_lifetime_but_at_most_a_week_before_expiry() {
        const DAY: i64 = 86_400;
        let ends = |life, age| end(&token(0, life), Timestamp::from_second(age).unwrap());
        for (life, age, expected) in [
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
            assert_eq!(ends(life, age), expected, "{life} {age}");
        }
    }

    #[test]
    fn token_filter_matches_displayed_values() {
        let token = token(0, 10);
        for (typed, expected) in [
            ("", true),
            ("backup", true),
            ("JOB ann", true),
            ("api", true),
            ("abc", true),
            ("berlin", false),
            ("backup berlin", false),
        ] {
            assert_eq!(passes(&token, typed), expected, "{typed}");
        }
    }

    #[test]
    fn token_times_are_displayed_relative_to_the_current_time() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(relative(at(100), at(40)), "in 60s");
        assert_eq!(relative(at(40), at(100)), "60s ago");
        assert_eq!(
            ago(at(100), at(40)),
            "0s ago",
            "a time in the future is 0s ago"
        );
    }

    #[test]
    fn each_token_purpose_has_a_unique_key() {
        let mut keys: Vec<_> = PURPOSES.iter().map(|(_, key)| *key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), PURPOSES.len());
    }
}
