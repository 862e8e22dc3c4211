//! The request for the log of a container.

use std::fmt::Write as _;

use super::resume::ResumePosition;
use crate::kind::Kind;
use crate::url::segment;

/// The choices for the maximum number of lines of a log.
pub const TAILS: [u32; 4] = [100, 1_000, 5_000, 10_000];
/// The choices for the start time of a log.
pub const SINCES: [Since; 5] = [
    Since::Begin,
    Since::Minutes(5),
    Since::Minutes(60),
    Since::Minutes(6 * 60),
    Since::Minutes(24 * 60),
];

/// The start time of a log request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Since {
    /// The start of the container.
    #[default]
    Begin,
    /// This number of minutes before the request.
    Minutes(u32),
}

impl Since {
    /// Returns the key in URLs and for `kubectl logs --since`; empty for the start of the
    /// container.
    pub fn key(self) -> String {
        match self {
            Self::Begin => String::new(),
            Self::Minutes(minutes) if minutes % 60 == 0 => format!("{}h", minutes / 60),
            Self::Minutes(minutes) => format!("{minutes}m"),
        }
    }

    /// Parses a key. An unknown key means the start of the container.
    pub fn of_key(key: &str) -> Self {
        let found = SINCES.into_iter().find(|since| since.key() == key);
        found.unwrap_or_default()
    }
}

/// A request for the log of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRequest {
    /// The name of the cluster.
    pub cluster: String,
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub pod: String,
    /// The name of the container.
    pub container: String,
    /// True to request the log of the previous run.
    pub previous: bool,
    /// True to stream new lines.
    pub follow: bool,
    /// The start time of the requested lines.
    pub since: Since,
    /// The maximum number of requested lines.
    pub tail: u32,
}

impl LogRequest {
    /// Reports whether new lines are streamed. The log of a previous run has no new lines.
    pub fn follows(&self) -> bool {
        self.follow && !self.previous
    }

    /// Returns the name of a file with the log. All names can be empty.
    pub fn file_name(&self) -> String {
        let names = [&self.namespace, &self.pod, &self.container];
        let names = names.into_iter().map(String::as_str);
        let names: Vec<&str> = if self.pod.is_empty() {
            names.filter(|name| !name.is_empty()).collect()
        } else {
            names.skip(1).collect()
        };
        match names.as_slice() {
            [] => "pods.log".to_owned(),
            names => format!("{}.log", names.join("-")),
        }
    }

    /// Returns the URL path of the request. With `position`, the request resumes an interrupted
    /// stream.
    pub fn path(&self, position: Option<&ResumePosition>) -> String {
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
        // Writing to a `String` cannot fail.
        let _ = match (position, self.since) {
            (Some(position), _) => write!(
                path,
                "&sinceTime={}",
                segment(&position.since().to_string())
            ),
            (None, Since::Minutes(minutes)) => {
                let seconds = u64::from(minutes) * 60;
                write!(path, "&sinceSeconds={seconds}&tailLines={}", self.tail)
            }
            (None, Since::Begin) => write!(path, "&tailLines={}", self.tail),
        };
        path
    }
}
