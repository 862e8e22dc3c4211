//! What of a log is asked for.

use std::fmt::Write as _;

use super::seam::Seam;
use crate::kind::Kind;
use crate::url::segment;

/// Lines from the end that can be asked for.
pub const TAILS: [u32; 4] = [100, 1_000, 5_000, 10_000];
/// From how long ago lines can be asked for.
pub const SINCES: [Since; 5] = [
    Since::Begin,
    Since::Minutes(5),
    Since::Minutes(60),
    Since::Minutes(6 * 60),
    Since::Minutes(24 * 60),
];

/// From how long ago lines are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Since {
    /// From the container's start.
    #[default]
    Begin,
    /// From so many minutes ago.
    Minutes(u32),
}

impl Since {
    /// As in URLs and for `kubectl logs --since`; empty for all.
    pub fn key(self) -> String {
        match self {
            Self::Begin => String::new(),
            Self::Minutes(minutes) if minutes % 60 == 0 => format!("{}h", minutes / 60),
            Self::Minutes(minutes) => format!("{minutes}m"),
        }
    }

    /// The one with this key.
    pub fn of_key(key: &str) -> Self {
        let found = SINCES.into_iter().find(|since| since.key() == key);
        found.unwrap_or_default()
    }
}

/// What of which log is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRequest {
    /// The pod's cluster.
    pub cluster: String,
    /// The pod's namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// Whether of the run before this one.
    pub previous: bool,
    /// Whether to go on with new lines.
    pub follow: bool,
    /// From how long ago.
    pub since: Since,
    /// How many lines from the end.
    pub tail: u32,
}

impl LogRequest {
    /// Whether lines come as they are written. A run that is over has no more.
    pub fn follows(&self) -> bool {
        self.follow && !self.previous
    }

    /// What to ask the server, anew or from a cut on.
    pub fn path(&self, seam: Option<&Seam>) -> String {
        let pod = Kind::PODS.object_path(&self.cluster, Some(&self.namespace), &self.pod);
        let mut path = format!(
            "{pod}/log?container={}&timestamps=true",
            segment(&self.container)
        );
        if self.follows() {
            path.push_str("&follow=true");
        }
        if self.previous {
            path.push_str("&previous=true");
        }
        // Writing to a string does not fail.
        let _ = match (seam, self.since) {
            (Some(seam), _) => write!(path, "&sinceTime={}", segment(&seam.since().to_string())),
            (None, Since::Minutes(minutes)) => {
                let seconds = u64::from(minutes) * 60;
                write!(path, "&sinceSeconds={seconds}&tailLines={}", self.tail)
            }
            (None, Since::Begin) => write!(path, "&tailLines={}", self.tail),
        };
        path
    }
}
