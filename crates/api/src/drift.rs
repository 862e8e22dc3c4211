//! Digests of applied objects. An agent reports a new digest when these objects change.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Name of the owner of the roles and bindings that the server applies.
pub const ACCESS: &str = "access";
/// Name of the owner of projects' namespaces, quotas and limits.
pub const PROJECTS: &str = "projects";

/// A digest of the objects that the server applied in the cluster, per owner.
///
/// A changed digest means that an object of the owner was created, changed or deleted.
///
/// The wire format has the map `drift`, and separate fields for the digests of [`ACCESS`] and
/// [`PROJECTS`]. Agents without support for the map send only the separate fields. Servers without
/// support for the map read only the separate fields. Agents are upgraded after the server. The
/// separate fields remain until all supported agents and servers support the map.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "DriftFields", into = "DriftFields")]
pub struct Drift(BTreeMap<String, String>);

#[derive(Serialize, Deserialize)]
struct DriftFields {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    drift: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    access: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    projects: Option<String>,
}

impl From<DriftFields> for Drift {
    fn from(fields: DriftFields) -> Self {
        let mut drift = fields.drift;
        for (owner, digest) in [(ACCESS, fields.access), (PROJECTS, fields.projects)] {
            if let Some(digest) = digest {
                drift.entry(owner.to_owned()).or_insert(digest);
            }
        }
        Self(drift)
    }
}

impl From<Drift> for DriftFields {
    fn from(drift: Drift) -> Self {
        Self {
            access: drift.0.get(ACCESS).cloned(),
            projects: drift.0.get(PROJECTS).cloned(),
            drift: drift.0,
        }
    }
}

impl<O: Into<String>> FromIterator<(O, String)> for Drift {
    fn from_iter<I: IntoIterator<Item = (O, String)>>(digests: I) -> Self {
        let digests = digests.into_iter();
        Self(
            digests
                .map(|(owner, digest)| (owner.into(), digest))
                .collect(),
        )
    }
}

impl Drift {
    /// Returns the digest of the objects of `owner`.
    pub fn digest(&self, owner: &str) -> Option<&str> {
        self.0.get(owner).map(String::as_str)
    }

    /// Returns all owners with their digests.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let digests = self.0.iter();
        digests.map(|(owner, digest)| (owner.as_str(), digest.as_str()))
    }

    /// Returns the digests that are new or different in comparison with `earlier`.
    #[must_use]
    pub fn changed_since(&self, earlier: &Self) -> Self {
        let changed = self.0.iter();
        let changed = changed.filter(|(owner, digest)| earlier.0.get(*owner) != Some(*digest));
        Self(
            changed
                .map(|(owner, digest)| (owner.clone(), digest.clone()))
                .collect(),
        )
    }

    /// Copies the digests in `later` to this map. Keeps the digests of other owners. Ignores new
    /// owners when the map contains `max_owners` owners.
    pub fn merge(&mut self, later: Self, max_owners: usize) {
        for (owner, digest) in later.0 {
            if self.0.len() < max_owners || self.0.contains_key(&owner) {
                self.0.insert(owner, digest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::Report;

    fn drift(digests: &[(&str, &str)]) -> Drift {
        let digests = digests.iter();
        digests
            .map(|(owner, digest)| (*owner, (*digest).to_owned()))
            .collect()
    }

    #[test]
    fn newer_server_reads_report_of_older_agent() {
        let line = json!({ "kubernetesVersion": "v1", "access": "a1", "projects": "p1" });
        let report: Report = serde_json::from_value(line).unwrap();
        assert_eq!(report.drift, drift(&[(ACCESS, "a1"), (PROJECTS, "p1")]));
        assert_eq!(report.kubernetes_version.as_deref(), Some("v1"));
        let heartbeat: Report = serde_json::from_value(json!({})).unwrap();
        assert_eq!(heartbeat, Report::default());
    }

    #[test]
    fn older_server_reads_report_of_newer_agent() {
        /// A report in the form that a server without support for the map `drift` parses.
        #[derive(Debug, PartialEq, Deserialize)]
        struct OlderReport {
            access: Option<String>,
            projects: Option<String>,
        }
        let report = Report {
            drift: drift(&[(ACCESS, "a1"), ("bundle-x", "b1")]),
            ..Report::default()
        };
        let line = serde_json::to_string(&report).unwrap();
        let older: OlderReport = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (older.access.as_deref(), older.projects),
            (Some("a1"), None)
        );
        let newer: Report = serde_json::from_str(&line).unwrap();
        assert_eq!(newer, report);
    }

    #[test]
    fn merge_of_changed_digests_into_earlier_report_equals_the_later_report() {
        let earlier = drift(&[("a", "1"), ("b", "1")]);
        let later = drift(&[("a", "1"), ("b", "2"), ("c", "1")]);
        let changed = later.changed_since(&earlier);
        assert_eq!(changed, drift(&[("b", "2"), ("c", "1")]));
        let mut merged = earlier;
        merged.merge(changed, 8);
        assert_eq!(merged, later);
    }

    #[test]
    fn drift_merge_updates_existing_owners_and_limits_number_of_owners() {
        let mut merged = drift(&[("a", "1"), ("b", "1")]);
        merged.merge(drift(&[("b", "2"), ("c", "1")]), 2);
        assert_eq!(merged, drift(&[("a", "1"), ("b", "2")]));
    }
}
