//! The numbers of requests to an API server.

use std::collections::BTreeMap;

use drover_e2e::AuditEvent;

/// The numbers of requests by verb and resource, except watches and Leases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::gitops) struct Requests(BTreeMap<(String, String), u64>);

impl Requests {
    /// Returns the requests since `before`.
    pub(in crate::gitops) fn since(&self, before: &Self) -> Self {
        let requests = self.0.iter().filter_map(|(key, count)| {
            let known = before.0.get(key).copied().unwrap_or_default();
            let new = count.saturating_sub(known);
            (new > 0).then(|| (key.clone(), new))
        });
        Self(requests.collect())
    }

    /// Returns the number of requests that change nothing.
    pub(in crate::gitops) fn reads(&self) -> u64 {
        self.sum(true)
    }

    /// Returns the number of requests that create, change or delete objects.
    pub(in crate::gitops) fn writes(&self) -> u64 {
        self.sum(false)
    }

    /// Returns the number of all requests.
    pub(in crate::gitops) fn total(&self) -> u64 {
        self.reads() + self.writes()
    }

    fn sum(&self, is_read: bool) -> u64 {
        let requests = self.0.iter();
        requests
            .filter(|((verb, _), _)| matches!(&**verb, "GET" | "LIST") == is_read)
            .map(|(_, count)| count)
            .sum()
    }

    /// Counts the requests in the metrics of the server.
    pub(in crate::gitops) fn parse(metrics: &str) -> Self {
        let mut requests = BTreeMap::new();
        for line in metrics.lines() {
            let Some((labels, count)) = line
                .strip_prefix("apiserver_request_total{")
                .and_then(|rest| rest.rsplit_once("} "))
            else {
                continue;
            };
            let value = |label: &str| {
                let (_, rest) = labels.split_once(&format!("{label}=\""))?;
                rest.split('"').next()
            };
            let verb = value("verb").unwrap_or_default();
            let mut resource = value(",resource").unwrap_or_default().to_owned();
            // The read of the metrics has no resource.
            if ["", "leases"].contains(&&*resource) || verb == "WATCH" {
                continue;
            }
            if let Some(subresource) = value("subresource").filter(|name| !name.is_empty()) {
                resource.extend(["/", subresource]);
            }
            let count: u64 = count.trim().parse().unwrap_or_default();
            *requests.entry((verb.to_owned(), resource)).or_default() += count;
        }
        Self(requests)
    }
}

impl Requests {
    /// Counts the completed requests in an audit log whose user satisfies `is_counted`.
    pub(in crate::gitops) fn of_users(
        events: Vec<AuditEvent>,
        is_counted: impl Fn(&str) -> bool,
    ) -> Self {
        let requests = events.into_iter().filter_map(|event| {
            let mut object = event.object_ref?;
            let is_complete = event.stage == "ResponseComplete" && event.verb != "watch";
            if !object.subresource.is_empty() {
                object.resource.extend(["/", &object.subresource]);
            }
            (is_complete && is_counted(&event.user.username) && object.resource != "leases")
                .then(|| (event.verb.to_uppercase(), object.resource))
        });
        requests.collect()
    }
}

impl FromIterator<(String, String)> for Requests {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(requests: I) -> Self {
        let mut counts = BTreeMap::new();
        for key in requests {
            *counts.entry(key).or_default() += 1;
        }
        Self(counts)
    }
}

impl std::fmt::Display for Requests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let requests = self.0.iter();
        let texts = requests.map(|((verb, resource), count)| format!("{count} {verb} {resource}"));
        f.write_str(&texts.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_exclude_watches_and_leases() {
        let metrics = "# TYPE apiserver_request counter\n\
            apiserver_request_total{code=\"200\",resource=\"contents\",verb=\"GET\",version=\"v1\"} 7\n\
            apiserver_request_total{code=\"200\",resource=\"\",verb=\"GET\"} 3\n\
            apiserver_request_total{code=\"200\",resource=\"pods\",verb=\"WATCH\"} 9\n\
            apiserver_request_total{code=\"200\",resource=\"leases\",verb=\"PUT\"} 5\n\
            apiserver_request_total{code=\"201\",resource=\"secrets\",scope=\"resource\",subresource=\"status\",verb=\"POST\"} 2\n\
            apiserver_request_total{code=\"200\",resource=\"secrets\",verb=\"LIST\"} 1\n\
            other_total{verb=\"GET\"} 4\n";
        let requests = Requests::parse(metrics);
        assert_eq!((requests.reads(), requests.writes()), (8, 2));
        assert_eq!(
            requests.to_string(),
            "7 GET contents, 1 LIST secrets, 2 POST secrets/status"
        );
        let before = Requests::parse(&metrics[..metrics.find("resource=\"pods").unwrap()]);
        assert_eq!(
            requests.since(&before).to_string(),
            "1 LIST secrets, 2 POST secrets/status"
        );
    }
}
