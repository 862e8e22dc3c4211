//! The options of a log, which the URL contains.

use super::choice::{LogRequest, Since, TAILS};

/// The default number of lines.
const TAIL: u32 = 1_000;

/// The options of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is an independent checkbox"
)]
pub struct LogOptions {
    /// The name of the pod.
    pub pod: String,
    /// The name of the container.
    pub container: String,
    /// True to show the log of the previous run.
    pub previous: bool,
    /// True to stream new lines.
    pub follow: bool,
    /// The selected start time, in the format of the URL.
    pub since: String,
    /// The maximum number of requested lines, as entered.
    pub tail: String,
    /// True to show timestamps.
    pub times: bool,
    /// True to wrap long lines.
    pub wrap: bool,
    /// The text to search for.
    pub find: String,
    /// The lowest level of the shown lines, in the format of the URL.
    pub level: String,
    /// The regular expression that shown lines match.
    pub filter: String,
}

impl LogOptions {
    /// Reads the options from the query of a URL. `query` returns the value of a parameter.
    pub fn of_query(query: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name| query(name).unwrap_or_default();
        Self {
            pod: text("pod"),
            container: text("container"),
            previous: query("previous").is_some(),
            follow: query("follow").as_deref() != Some("no"),
            since: text("since"),
            tail: query("tail").unwrap_or_else(|| TAIL.to_string()),
            times: query("times").is_some(),
            wrap: query("wrap").as_deref() != Some("no"),
            find: text("find"),
            level: text("level"),
            filter: text("filter"),
        }
    }

    /// Returns the parameters of the URL. The values of default options are empty.
    pub fn query(self) -> [(&'static str, String); 11] {
        let when = |is: bool, value: &str| if is { value.to_owned() } else { String::new() };
        [
            ("pod", self.pod),
            ("container", self.container),
            ("previous", when(self.previous, "yes")),
            ("follow", when(!self.follow, "no")),
            ("since", self.since),
            ("tail", when(self.tail != TAIL.to_string(), &self.tail)),
            ("times", when(self.times, "yes")),
            ("wrap", when(!self.wrap, "no")),
            ("find", self.find),
            ("level", self.level),
            ("filter", self.filter),
        ]
    }

    /// Returns the log request. Returns `None` without a container.
    pub fn request(self, cluster: &str, namespace: &str, pod: &str) -> Option<LogRequest> {
        let chosen = !self.container.is_empty();
        chosen.then(|| self.request_of_all(cluster, namespace, pod))
    }

    /// Returns the log request. An empty container means all containers.
    pub fn request_of_all(self, cluster: &str, namespace: &str, pod: &str) -> LogRequest {
        let tail = self.tail.parse().ok();
        LogRequest {
            cluster: cluster.to_owned(),
            namespace: namespace.to_owned(),
            pod: pod.to_owned(),
            container: self.container,
            previous: self.previous,
            follow: self.follow,
            since: Since::of_key(&self.since),
            tail: tail.filter(|tail| TAILS.contains(tail)).unwrap_or(TAIL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &[(&str, &str)]) -> LogOptions {
        LogOptions::of_query(|name| {
            let mut query = query.iter();
            let (_, value) = query.find(|(known, _)| *known == name)?;
            Some((*value).to_owned())
        })
    }

    fn written(options: LogOptions) -> Vec<(&'static str, String)> {
        let query = options.query().into_iter();
        query.filter(|(_, value)| !value.is_empty()).collect()
    }

    #[test]
    fn default_log_options_are_not_in_the_url() {
        let options = of(&[]);
        assert!(options.follow && options.wrap && !options.previous && !options.times);
        assert_eq!(written(options), []);
    }

    #[test]
    fn log_options_of_a_url_are_written_to_the_same_url() {
        let query = [
            ("pod", "web-0"),
            ("container", "app"),
            ("previous", "yes"),
            ("follow", "no"),
            ("since", "1h"),
            ("tail", "100"),
            ("times", "yes"),
            ("wrap", "no"),
            ("find", "error 5"),
            ("level", "warning"),
            ("filter", "^GET .* 5\\d\\d$"),
        ];
        let expected = query.map(|(name, value)| (name, value.to_owned()));
        assert_eq!(written(of(&query)), expected);
    }

    #[test]
    fn log_request_needs_a_container() {
        assert_eq!(of(&[]).request("c", "n", "p"), None);
        let request = of(&[("container", "app")]).request("c", "n", "p").unwrap();
        assert_eq!((request.tail, request.since), (TAIL, Since::Begin));
        assert!(request.follow && !request.previous);
    }

    #[test]
    fn unknown_number_of_lines_and_start_time_are_replaced_by_the_defaults() {
        for (tail, expected) in [("100", 100), ("7", TAIL), ("-1", TAIL), ("many", TAIL)] {
            let query = [("container", "app"), ("tail", tail), ("since", "3d")];
            let request = of(&query).request("c", "n", "p").unwrap();
            assert_eq!(
                (request.tail, request.since),
                (expected, Since::Begin),
                "{tail}"
            );
        }
    }
}
