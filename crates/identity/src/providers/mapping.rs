//! Pure functions that map a provider's user to the identity in a User's status.

use drover_access::names::GroupName;
use drover_api::kinds::{IdentityGroup, IdentityState, ProviderIdentity, TokenProvider};
use drover_providers::ProviderUser;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// The maximum number of groups of one identity.
const MAX_GROUPS: usize = 1000;
/// The maximum length of a group's display name and of a login, in characters.
const MAX_TEXT: usize = 128;
/// The maximum length of a User's name in characters. `MAX_NUMBER_SUFFIX` is the number of characters that are
/// reserved for a numeric suffix.
const MAX_NAME: usize = 63;
const MAX_NUMBER_SUFFIX: usize = 6;

/// Builds the confirmed identity of a provider's user.
///
/// The identity contains only groups whose ID is valid in a group name, and the number of omitted
/// groups. The function does not escape an invalid ID, because the result can equal the ID of a
/// different group.
pub fn identity(
    provider: &TokenProvider,
    person: &ProviderUser,
    now: Timestamp,
) -> ProviderIdentity {
    let named = person.groups.iter().filter_map(|group| {
        let name = GroupName::of(&provider.name, &group.id)?;
        Some(IdentityGroup {
            name: name.to_string(),
            display_name: group.name.chars().take(MAX_TEXT).collect(),
        })
    });
    let groups: Vec<_> = named.take(MAX_GROUPS).collect();
    let left_out = person.groups.len().saturating_sub(groups.len());
    ProviderIdentity {
        provider: provider.name.clone(),
        provider_uid: provider.uid.clone(),
        id: person.id.clone(),
        login: person.login.chars().take(MAX_TEXT).collect(),
        groups,
        groups_left_out: u32::try_from(left_out).unwrap_or(u32::MAX),
        confirmed_at: Time(now),
        state: IdentityState::Confirmed,
        message: None,
        since: None,
    }
}

/// Converts an identity to the provider's user, for a comparison with the list of allowed users.
pub fn person(identity: &ProviderIdentity) -> ProviderUser {
    let groups = identity.groups.iter().filter_map(|group| {
        let start = format!("{}{}:", drover_access::names::PREFIX, identity.provider);
        let id = group.name.strip_prefix(&start)?;
        Some(drover_providers::Group {
            id: id.to_owned(),
            name: group.display_name.clone(),
        })
    });
    ProviderUser {
        id: identity.id.clone(),
        login: identity.login.clone(),
        display_name: None,
        email: None,
        groups: groups.collect(),
    }
}

/// Returns the identity after a rejection by the provider or by its list of allowed users.
#[must_use]
pub fn refused(identity: &ProviderIdentity, message: &str, now: Timestamp) -> ProviderIdentity {
    not_confirmed(identity, IdentityState::Refused, message, now)
}

/// Returns the identity after a failed refresh.
#[must_use]
pub fn unreachable(identity: &ProviderIdentity, message: &str, now: Timestamp) -> ProviderIdentity {
    not_confirmed(identity, IdentityState::Unreachable, message, now)
}

fn not_confirmed(
    identity: &ProviderIdentity,
    state: IdentityState,
    message: &str,
    now: Timestamp,
) -> ProviderIdentity {
    let since = identity.since.clone().filter(|_| identity.state == state);
    ProviderIdentity {
        state,
        message: Some(message.chars().take(1024).collect()),
        since: since.or(Some(Time(now))),
        ..identity.clone()
    }
}

/// Returns the name of a new User, derived from the login. `number` is the number of the attempt to
/// find an unused name.
pub fn name(login: &str, number: usize) -> String {
    // Uses the part before the "@" of an email address.
    let login = login.split('@').next().unwrap_or_default();
    let fitting = login.to_lowercase();
    let fitting = fitting.chars().map(|c| match c {
        'a'..='z' | '0'..='9' | '.' | '-' => c,
        _ => '-',
    });
    let fitting: String = fitting.take(MAX_NAME - MAX_NUMBER_SUFFIX).collect();
    // Each label between dots must start and end with an alphanumeric character (RFC 1123).
    let labels = fitting.split('.').map(|label| label.trim_matches('-'));
    let labels: Vec<_> = labels.filter(|label| !label.is_empty()).collect();
    let base = if labels.is_empty() {
        "person".to_owned()
    } else {
        labels.join(".")
    };
    match number {
        0 => base,
        _ => format!("{base}-{}", number + 1),
    }
}

#[cfg(test)]
mod tests {
    use drover_api::ids::ProviderUid;
    use drover_providers::Group;

    use super::*;

    fn corp() -> TokenProvider {
        TokenProvider {
            name: "corp".to_owned(),
            uid: ProviderUid::new("p1"),
        }
    }

    fn ann(groups: &[&str]) -> ProviderUser {
        let group = |id: &&str| Group {
            id: (*id).to_owned(),
            name: format!("the {id}"),
        };
        ProviderUser {
            id: "583231".to_owned(),
            login: "Ann.Lee@acme.example".to_owned(),
            display_name: None,
            email: None,
            groups: groups.iter().map(group).collect(),
        }
    }

    #[test]
    fn provider_group_with_invalid_name_is_omitted_and_counted() {
        let long = "g".repeat(254);
        let person = ann(&["org:9919", "Team B", "", &long, "system:masters", "é"]);
        let stored = identity(&corp(), &person, Timestamp::UNIX_EPOCH);
        let names: Vec<_> = stored.groups.iter().map(|group| &*group.name).collect();
        assert_eq!(
            names,
            ["drover:corp:org:9919", "drover:corp:system:masters"]
        );
        assert_eq!(stored.groups_left_out, 4);
        let ids: Vec<_> = super::person(&stored)
            .groups
            .into_iter()
            .map(|g| g.id)
            .collect();
        assert_eq!(ids, ["org:9919", "system:masters"]);
    }

    #[test]
    fn number_of_stored_provider_groups_is_limited() {
        let ids: Vec<_> = (0..1200).map(|n| format!("g{n}")).collect();
        let ids: Vec<_> = ids.iter().map(String::as_str).collect();
        let stored = identity(&corp(), &ann(&ids), Timestamp::UNIX_EPOCH);
        assert_eq!((stored.groups.len(), stored.groups_left_out), (1000, 200));
    }

    #[test]
    fn user_name_is_derived_from_provider_login() {
        for (login, number, expected) in [
            ("ann", 0, "ann"),
            ("ann", 1, "ann-2"),
            ("Ann.Lee@acme.example", 0, "ann.lee"),
            ("ÄNN", 0, "nn"),
            ("..", 0, "person"),
            ("a.-.b..c-", 0, "a.b.c"),
            ("", 2, "person-3"),
            ("@x", 0, "person"),
            ("a b\u{202e}c", 0, "a-b-c"),
        ] {
            assert_eq!(name(login, number), expected, "{login:?}");
        }
        assert!(name(&"x".repeat(300), 9998).len() <= MAX_NAME);
    }

    #[test]
    fn repeated_provider_failures_do_not_change_the_start_time_of_the_outage() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let stored = identity(&corp(), &ann(&[]), at(0));
        let down = unreachable(&unreachable(&stored, "down", at(10)), "still down", at(20));
        assert_eq!(down.since, Some(Time(at(10))));
        assert_eq!(down.confirmed_at, Time(at(0)));
        let out = refused(&down, "gone", at(30));
        assert_eq!(out.since, Some(Time(at(30))));
    }
}
