//! The request for a log.

use std::fmt::Write as _;

use super::seam::Seam;
use crate::kind::Kind;
use crate::url::segment;

/// Options of the line limit.
pub const TAILS: [u32; 4] = [100, 1_000, 5_000, 10_000];
/// Options of the start time.
pub const SINCES: [Since; 5] = [
    Since::Begin,
    Since::Minutes(5),
    Since::Minutes(60),
    Since::Minutes(6 * 60),
    Since::Minutes(24 * 60),
];

/// The start time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Since {
    /// From the container's start.
    #[default]
    Begin,
    /// Minutes ago.
    Minutes(u32),
}

impl Since {
    /// The key in URLs and for `kubectl logs --since`; empty for the start.
    pub fn key(self) -> String {
        match self {
            Self::Begin => String::new(),
            Self::Minutes(minutes) if minutes % 60 == 0 => format!("{}h", minutes / 60),
            Self::Minutes(minutes) => format!("{minutes}m"),
        }
    }

    /// Reads a key.
    pub fn of_key(key: &str) -> Self {
        let found = SINCES.into_iter().find(|since| since.key() == key);
        found.unwrap_or_default()
    }
}

/// A request for a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRequest {
    /// The cluster.
    pub cluster: String,
    /// The namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// Whether the previous run is requested.
    pub previous: bool,
    /// Whether new lines are streamed.
    pub follow: bool,
    /// The start time.
    pub since: Since,
    /// The line limit.
    pub tail: u32,
}

impl LogRequest {
    /// Whether new lines are streamed; a previous run has none.
    pub fn follows(&self) -> bool {
        self.follow && !self.previous
    }

    /// The path of the request, from the start or from an interruption.
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
