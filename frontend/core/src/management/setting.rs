//! Additional information about settings: effect, bounds and input kind.

use crate::messages::english::Settings;
use crate::messages::t;

/// The input kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Text.
    Text,
    /// A duration such as `30d`.
    Lifetime,
    /// One of these values.
    OneOf(&'static [&'static str]),
}

/// A section of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Address and agent.
    Reach,
    /// Lifetimes.
    Lives,
    /// Logs.
    Logs,
    /// Unknown settings of newer servers.
    Other,
}

impl Part {
    /// All of them, in their order.
    pub const ALL: [Self; 4] = [Self::Reach, Self::Lives, Self::Logs, Self::Other];

    /// The heading.
    pub fn words(self) -> &'static str {
        match self {
            Self::Reach => t().settings.address_and_agent(),
            Self::Lives => t().settings.token_lifetimes(),
            Self::Logs => t().settings.logs(),
            Self::Other => t().settings.other(),
        }
    }
}

/// Information about a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// The section.
    pub part: Part,
    /// The allowed values.
    pub bounds: &'static str,
    /// The effect of a change.
    pub concerns: &'static str,
    /// The input kind.
    pub entry: Entry,
}

type Text = fn(&Settings) -> &'static str;

#[derive(Clone, Copy)]
struct Known {
    part: Part,
    bounds: Text,
    concerns: Text,
    entry: Entry,
}

const PULL_POLICIES: Entry = Entry::OneOf(&["IfNotPresent", "Always", "Never"]);

const UNKNOWN: Known = Known {
    part: Part::Other,
    bounds: Settings::no_bounds,
    concerns: Settings::unknown,
    entry: Entry::Text,
};

const NOTES: [(&str, Known); 12] = [
    (
        "server-url",
        Known {
            part: Part::Reach,
            bounds: Settings::server_url_bounds,
            concerns: Settings::server_url_effect,
            entry: Entry::Text,
        },
    ),
    (
        "agent-image",
        Known {
            part: Part::Reach,
            bounds: Settings::agent_image_bounds,
            concerns: Settings::agent_image_effect,
            entry: Entry::Text,
        },
    ),
    (
        "agent-image-registry",
        Known {
            part: Part::Reach,
            bounds: Settings::agent_image_registry_bounds,
            concerns: Settings::agent_image_registry_effect,
            entry: Entry::Text,
        },
    ),
    (
        "agent-image-pull-policy",
        Known {
            part: Part::Reach,
            bounds: Settings::agent_image_pull_policy_bounds,
            concerns: Settings::agent_image_pull_policy_effect,
            entry: PULL_POLICIES,
        },
    ),
    (
        "token-max-ttl",
        Known {
            part: Part::Lives,
            bounds: Settings::lifetime_bounds,
            concerns: Settings::token_max_ttl_effect,
            entry: Entry::Lifetime,
        },
    ),
    (
        "token-default-ttl",
        Known {
            part: Part::Lives,
            bounds: Settings::lifetime_bounds,
            concerns: Settings::token_default_ttl_effect,
            entry: Entry::Lifetime,
        },
    ),
    (
        "kubeconfig-token-ttl",
        Known {
            part: Part::Lives,
            bounds: Settings::lifetime_bounds,
            concerns: Settings::kubeconfig_token_ttl_effect,
            entry: Entry::Lifetime,
        },
    ),
    (
        "session-ttl",
        Known {
            part: Part::Lives,
            bounds: Settings::lifetime_bounds,
            concerns: Settings::session_ttl_effect,
            entry: Entry::Lifetime,
        },
    ),
    (
        "session-idle-ttl",
        Known {
            part: Part::Lives,
            bounds: Settings::lifetime_bounds,
            concerns: Settings::session_idle_ttl_effect,
            entry: Entry::Lifetime,
        },
    ),
    (
        "groups-refresh",
        Known {
            part: Part::Lives,
            bounds: Settings::groups_refresh_bounds,
            concerns: Settings::groups_refresh_effect,
            entry: Entry::Lifetime,
        },
    ),
    (
        "provider-grace",
        Known {
            part: Part::Lives,
            bounds: Settings::provider_grace_bounds,
            concerns: Settings::provider_grace_effect,
            entry: Entry::Lifetime,
        },
    ),
    (
        "log-filter",
        Known {
            part: Part::Logs,
            bounds: Settings::log_filter_bounds,
            concerns: Settings::log_filter_effect,
            entry: Entry::Text,
        },
    ),
];

/// Information about a setting.
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
    fn a_setting_that_the_page_does_not_know_can_be_set_all_the_same() {
        assert_eq!(note("tomorrow").concerns, t().settings.unknown());
        assert_eq!(note("session-ttl").entry, Entry::Lifetime);
    }

    #[test]
    fn bounds_of_lives_are_lives() {
        for text in ["60s", "3650d"] {
            let bounds = t().settings.lifetime_bounds();
            assert!(bounds.contains(text) && lifetime::parse(text).is_some());
        }
    }

    #[test]
    fn every_known_setting_stands_somewhere() {
        for (name, _) in NOTES {
            let note = note(name);
            assert!(
                note.part != Part::Other && !note.bounds.is_empty(),
                "{name}"
            );
        }
    }
}
