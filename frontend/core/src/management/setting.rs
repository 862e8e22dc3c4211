//! Descriptions of settings: effect, limits and input type.

use crate::messages::{Group, english, t};

type Settings = Group<english::Settings>;

/// The type of the input element of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A text field.
    Text,
    /// A duration such as `30d`.
    Lifetime,
    /// A selection from a list of values.
    OneOf(&'static [&'static str]),
}

/// A section of the settings screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Settings of the server address and the agent.
    Address,
    /// Lifetimes of tokens and sessions.
    Lifetimes,
    /// Settings of logs.
    Logs,
    /// Settings that this page does not know, because the server is newer.
    Other,
}

impl Section {
    /// All sections, in the order of the screen.
    pub const ALL: [Self; 4] = [Self::Address, Self::Lifetimes, Self::Logs, Self::Other];

    /// Returns the heading of the section.
    pub fn words(self) -> &'static str {
        match self {
            Self::Address => t().settings.address_and_agent(),
            Self::Lifetimes => t().settings.token_lifetimes(),
            Self::Logs => t().settings.logs(),
            Self::Other => t().settings.other(),
        }
    }
}

/// The description of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// The section that shows the setting.
    pub part: Section,
    /// The text for the allowed values.
    pub bounds: &'static str,
    /// The text for the effect of a change.
    pub concerns: &'static str,
    /// The type of the input element.
    pub entry: Entry,
}

type Text = fn(&Settings) -> &'static str;

#[derive(Clone, Copy)]
struct SettingInfo {
    part: Section,
    bounds: Text,
    concerns: Text,
    entry: Entry,
}

const PULL_POLICIES: Entry = Entry::OneOf(&["IfNotPresent", "Always", "Never"]);

const UNKNOWN: SettingInfo = SettingInfo {
    part: Section::Other,
    bounds: Settings::no_bounds,
    concerns: Settings::unknown,
    entry: Entry::Text,
};

const NOTES: [(&str, SettingInfo); 12] = [
    (
        "server-url",
        SettingInfo {
            part: Section::Address,
            bounds: Settings::server_url_bounds,
            concerns: Settings::server_url_effect,
            entry: Entry::Text,
        },
    ),
    (
        "agent-image",
        SettingInfo {
            part: Section::Address,
            bounds: Settings::agent_image_bounds,
            concerns: Settings::agent_image_effect,
            entry: Entry::Text,
        },
    ),
    (
        "agent-image-registry",
        SettingInfo {
            part: Section::Address,
            bounds: Settings::agent_image_registry_bounds,
            concerns: Settings::agent_image_registry_effect,
            entry: Entry::Text,
        },
    ),
    (
        "agent-image-pull-policy",
        SettingInfo {
            part: Section::Address,
            bounds: Settings::agent_image_pull_policy_bounds,
            concerns: Settings::agent_image_pull_policy_effect,
            entry: PULL_POLICIES,
        },
    ),
    (
        "token-max-ttl",
        SettingInfo {
            part: Section::Lifetimes,
            bounds: Settings::lifetime_bounds,
            concerns: Settings::token_max_ttl_effect,
            entry: Entry::Lifetime,
        },
    ),
    (
        "token-default-ttl",
        SettingInfo {
            part: Section::Lifetimes,
            bounds: Settings::lifetime_bounds,
            concerns: Settings::token_default_ttl_effect,
            entry: Entry::Lifetime,
        },
    ),
    (
        "kubeconfig-token-ttl",
        SettingInfo {
            part: Section::Lifetimes,
            bounds: Settings::lifetime_bounds,
            concerns: Settings::kubeconfig_token_ttl_effect,
            entry: Entry::Lifetime,
        },
    ),
    (
        "session-ttl",
        SettingInfo {
            part: Section::Lifetimes,
            bounds: Settings::lifetime_bounds,
            concerns: Settings::session_ttl_effect,
            entry: Entry::Lifetime,
        },
    ),
    (
        "session-idle-ttl",
        SettingInfo {
            part: Section::Lifetimes,
            bounds: Settings::lifetime_bounds,
            concerns: Settings::session_idle_ttl_effect,
            entry: Entry::Lifetime,
        },
    ),
    (
        "groups-refresh",
        SettingInfo {
            part: Section::Lifetimes,
            bounds: Settings::groups_refresh_bounds,
            concerns: Settings::groups_refresh_effect,
            entry: Entry::Lifetime,
        },
    ),
    (
        "provider-grace",
        SettingInfo {
            part: Section::Lifetimes,
            bounds: Settings::provider_grace_bounds,
            concerns: Settings::provider_grace_effect,
            entry: Entry::Lifetime,
        },
    ),
    (
        "log-filter",
        SettingInfo {
            part: Section::Logs,
            bounds: Settings::log_filter_bounds,
            concerns: Settings::log_filter_effect,
            entry: Entry::Text,
        },
    ),
];

/// Returns the description of a setting.
pub fn note(name: &str) -> Note {
    let found = NOTES.iter().find(|(known, _)| *known == name);
    let known = found.map_or(UNKNOWN, |(_, known)| *known);
    Note {
        part: known.part,
        bounds: (known.bounds)(&t().settings),
        concerns: (known.concerns)(&t().settings),
        entry: known.entry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifetime;

    #[test]
    fn setting_unknown_to_the_ui_can_be_edited() {
        assert_eq!(note("tomorrow").concerns, t().settings.unknown());
        assert_eq!(note("session-ttl").entry, Entry::Lifetime);
    }

    #[test]
    fn lifetime_limits_in_setting_texts_are_valid_durations() {
        for text in ["60s", "3650d"] {
            let bounds = t().settings.lifetime_bounds();
            assert!(bounds.contains(text) && lifetime::parse(text).is_some());
        }
    }

    #[test]
    fn each_known_setting_has_a_ui_section_and_a_text_with_limits() {
        for (name, _) in NOTES {
            let note = note(name);
            assert!(
                note.part != Section::Other && !note.bounds.is_empty(),
                "{name}"
            );
        }
    }
}
