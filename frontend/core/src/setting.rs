//! What the page knows of the server's settings beside what the server says: what a change does
//! to whom, and how a value is typed.

/// How a value is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// As a text.
    Text,
    /// As a life such as `30d`.
    Lifetime,
    /// As one of these.
    OneOf(&'static [&'static str]),
}

/// What belongs together on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Where the server is, and which agent it hands out.
    Reach,
    /// How long tokens and sessions live.
    Lives,
    /// What the server writes of itself.
    Logs,
    /// What this page does not know; the server is newer.
    Other,
}

impl Part {
    /// All of them, in their order.
    pub const ALL: [Self; 4] = [Self::Reach, Self::Lives, Self::Logs, Self::Other];

    /// The heading.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Reach => "Address and agent",
            Self::Lives => "Lives of tokens and sessions",
            Self::Logs => "Logs",
            Self::Other => "Other settings",
        }
    }
}

/// What the page knows of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where it stands.
    pub part: Part,
    /// What it may be.
    pub bounds: &'static str,
    /// Whom a change concerns, and how it hurts when it is wrong.
    pub concerns: &'static str,
    /// How its value is typed.
    pub entry: Entry,
}

const PULL_POLICIES: Entry = Entry::OneOf(&["IfNotPresent", "Always", "Never"]);
const LIFE: &str = "A number and d, h, m or s: 60s to 3650d.";

const UNKNOWN: Note = Note {
    part: Part::Other,
    bounds: "",
    concerns: "This page is older than the server and knows no more of it.",
    entry: Entry::Text,
};

const NOTES: [(&str, Note); 12] = [
    (
        "server-url",
        Note {
            part: Part::Reach,
            bounds: "https://host or https://host:port, without a path.",
            concerns: "Imports and kubeconfigs made from now on lead there. If nobody reaches the \
                       server there, new clusters do not arrive and new kubeconfigs do not work; \
                       what was made before keeps its address.",
            entry: Entry::Text,
        },
    ),
    (
        "agent-image",
        Note {
            part: Part::Reach,
            bounds: "An image reference with a tag or digest; no spaces, no https://.",
            concerns: "The agent of every connected cluster that upgrades automatically is told to \
                       run it within the minute. If a cluster cannot pull it, its new agent does \
                       not start there.",
            entry: Entry::Text,
        },
    ),
    (
        "agent-image-registry",
        Note {
            part: Part::Reach,
            bounds: "A registry and a path; no spaces, no https://.",
            concerns: "The same as agent-image, which counts more: clusters pull the agent from \
                       there, in the server's own version.",
            entry: Entry::Text,
        },
    ),
    (
        "agent-image-pull-policy",
        Note {
            part: Part::Reach,
            bounds: "IfNotPresent, Always or Never.",
            concerns: "Manifests made from now on. With Never the image must lie on every node \
                       already; with Always the agent cannot start while its registry is away.",
            entry: PULL_POLICIES,
        },
    ),
    (
        "token-max-ttl",
        Note {
            part: Part::Lives,
            bounds: LIFE,
            concerns: "Whoever makes a token from now on. Tokens that exist keep their end. The \
                       longer it is, the longer a stolen token is worth something.",
            entry: Entry::Lifetime,
        },
    ),
    (
        "token-default-ttl",
        Note {
            part: Part::Lives,
            bounds: LIFE,
            concerns: "Whoever makes a token from now on and does not say how long it shall live; \
                       token-max-ttl is the most.",
            entry: Entry::Lifetime,
        },
    ),
    (
        "kubeconfig-token-ttl",
        Note {
            part: Part::Lives,
            bounds: LIFE,
            concerns: "Kubeconfigs with tokens inside that are made from now on: kubectl stops \
                       working with them after so long; token-max-ttl is the most.",
            entry: Entry::Lifetime,
        },
    ),
    (
        "session-ttl",
        Note {
            part: Part::Lives,
            bounds: LIFE,
            concerns: "Everybody who signs in from now on, here or with drover login: after so long \
                       they sign in again. Sessions that exist keep their end.",
            entry: Entry::Lifetime,
        },
    ),
    (
        "session-idle-ttl",
        Note {
            part: Part::Lives,
            bounds: LIFE,
            concerns: "Everybody who signs in with a browser from now on. Too short, and people are \
                       signed out over lunch; too long, and a browser left alone stays signed in.",
            entry: Entry::Lifetime,
        },
    ),
    (
        "groups-refresh",
        Note {
            part: Part::Lives,
            bounds: "A number and h, m or s: 5m to 6h.",
            concerns: "Everybody who signs in with an identity provider: what changes there, such as \
                       who is in which group, counts here after so long at the latest.",
            entry: Entry::Lifetime,
        },
    ),
    (
        "provider-grace",
        Note {
            part: Part::Lives,
            bounds: "A number and d, h, m or s: 12h to 30d.",
            concerns: "Everybody who signs in with an identity provider, while that does not answer: \
                       after so long without a word from it, their access ends.",
            entry: Entry::Lifetime,
        },
    ),
    (
        "log-filter",
        Note {
            part: Part::Logs,
            bounds: "A level (error, warn, info, debug, trace), or levels by target, with commas.",
            concerns: "Whoever reads the server's logs. debug and trace write much more and slow \
                       the server down; error hides warnings.",
            entry: Entry::Text,
        },
    ),
];

/// What the page knows of a setting.
pub fn note(name: &str) -> Note {
    let found = NOTES.iter().find(|(known, _)| *known == name);
    found.map_or(UNKNOWN, |(_, note)| *note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifetime;

    #[test]
    fn a_setting_that_the_page_does_not_know_can_be_set_all_the_same() {
        assert_eq!(note("tomorrow"), UNKNOWN);
        assert_eq!(note("session-ttl").entry, Entry::Lifetime);
    }

    #[test]
    fn bounds_of_lives_are_lives() {
        for text in ["60s", "3650d"] {
            assert!(LIFE.contains(text) && lifetime::parse(text).is_some());
        }
    }

    #[test]
    fn every_known_setting_stands_somewhere() {
        for (name, note) in NOTES {
            assert!(
                note.part != Part::Other && !note.bounds.is_empty(),
                "{name}"
            );
        }
    }
}
