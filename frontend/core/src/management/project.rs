//! Texts for projects: namespaces, quotas and container defaults.

mod conflict;
pub mod draft;

use std::collections::{BTreeMap, BTreeSet};

use drover_api::rest::ProjectView;

use crate::messages::t;
use crate::readiness::Readiness;
use crate::search::has_words;
use crate::url::segment;

/// The state of a namespace in a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceState {
    /// The namespace belongs to the project.
    Own,
    /// The namespace is being added to the project.
    Coming,
    /// The namespace is being removed from the project.
    Leaving,
}

impl NamespaceState {
    /// Returns the text for the namespace's state in a project.
    pub fn words(self) -> &'static str {
        match self {
            Self::Own => t().projects.own_namespace(),
            Self::Coming => t().projects.pending_namespace(),
            Self::Leaving => t().projects.leaving_namespace(),
        }
    }
}

/// Two quantities of a resource: project quota and namespace quota, or container request and
/// container limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The name of the resource, as in a ResourceQuota.
    pub resource: String,
    /// The first quantity: the project quota, or the container request.
    pub first: Option<String>,
    /// The second quantity: the namespace quota, or the container limit.
    pub second: Option<String>,
}

/// Returns the display name, or the name if the project has no display name.
pub fn title(project: &ProjectView) -> &str {
    let shown = project.display_name.as_deref();
    shown.unwrap_or(&project.name)
}

/// Returns the URL path of a project.
pub fn screen(name: &str) -> String {
    format!("/projects/{}", segment(name))
}

/// Returns the API path of a project.
pub fn path(name: &str) -> String {
    format!("/v1/projects/{}", segment(name))
}

/// Returns the namespaces of the spec and of the status, sorted by name.
pub fn namespaces(project: &ProjectView) -> Vec<(String, NamespaceState)> {
    let desired = project.namespaces.iter().map(|it| it.name.as_str());
    let desired: BTreeSet<&str> = desired.collect();
    let own: BTreeSet<&str> = project.own_namespaces.iter().map(String::as_str).collect();
    let all = desired.union(&own);
    all.map(|name| {
        let belonging = match (desired.contains(name), own.contains(name)) {
            (true, true) => NamespaceState::Own,
            (true, false) => NamespaceState::Coming,
            (false, _) => NamespaceState::Leaving,
        };
        ((*name).to_owned(), belonging)
    })
    .collect()
}

/// Returns the quotas of the project and of each namespace, paired by resource.
pub fn quota(project: &ProjectView) -> Vec<Pair> {
    let quota = project.quota.as_ref();
    quota.map_or_else(Vec::new, |it| pairs(&it.project, &it.namespace))
}

/// Returns the default requests and limits of containers, paired by resource.
pub fn defaults(project: &ProjectView) -> Vec<Pair> {
    let defaults = project.container_defaults.as_ref();
    defaults.map_or_else(Vec::new, |it| pairs(&it.requests, &it.limits))
}

fn pairs(first: &BTreeMap<String, String>, second: &BTreeMap<String, String>) -> Vec<Pair> {
    let resources: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let pairs = resources.into_iter().map(|resource| Pair {
        resource: resource.clone(),
        first: first.get(resource).cloned(),
        second: second.get(resource).cloned(),
    });
    pairs.collect()
}

/// Returns the text for the pod security level.
pub fn pod_security(project: &ProjectView) -> &'static str {
    match project.pod_security {
        None => t().projects.pod_security_unset(),
        Some(level) => t().projects.pod_security_level(level),
    }
}

/// Returns the readiness of a project.
pub fn readiness(project: &ProjectView) -> Readiness {
    let mut readiness = Readiness::of(&project.conditions);
    if project.deleting {
        t().states.deleting().clone_into(&mut readiness.words);
    }
    readiness
}

/// Reports whether the shown texts of a project contain all entered words.
pub fn passes(project: &ProjectView, typed: &str) -> bool {
    let status = readiness(project).words;
    let shown = [
        project.name.as_str(),
        title(project),
        &project.cluster,
        &status,
    ];
    has_words(shown, typed)
}

#[cfg(test)]
mod tests {
    use drover_api::kinds::PodSecurity;
    use drover_api::kinds::{ProjectNamespace, ProjectQuota};

    use super::*;

    pub(super) fn shop() -> ProjectView {
        let namespace = |name: &str| ProjectNamespace {
            name: name.to_owned(),
            adopt: false,
            uid: None,
        };
        let map = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        ProjectView {
            name: "shop".to_owned(),
            uid: String::new(),
            generation: Some(4),
            cluster: "berlin".to_owned(),
            display_name: Some("The shop".to_owned()),
            description: None,
            namespaces: vec![namespace("shop-web"), namespace("shop-db")],
            own_namespaces: vec!["shop-web".to_owned(), "shop-old".to_owned()],
            quota: Some(ProjectQuota {
                project: map("pods", "40"),
                namespace: map("requests.cpu", "2"),
            }),
            container_defaults: None,
            pod_security: Some(PodSecurity::Restricted),
            created_at: jiff::Timestamp::UNIX_EPOCH,
            deleting: false,
            may_change: true,
            may_delete: true,
            conditions: Vec::new(),
        }
    }

    #[test]
    fn namespace_state_is_derived_from_project_spec_and_status() {
        let reported = namespaces(&shop());
        let reported: Vec<_> = reported
            .iter()
            .map(|(name, it)| (name.as_str(), *it))
            .collect();
        assert_eq!(
            reported,
            [
                ("shop-db", NamespaceState::Coming),
                ("shop-old", NamespaceState::Leaving),
                ("shop-web", NamespaceState::Own),
            ]
        );
    }

    #[test]
    fn project_and_namespace_quotas_are_paired_by_resource() {
        let pair = |resource: &str, first: Option<&str>, second: Option<&str>| Pair {
            resource: resource.to_owned(),
            first: first.map(str::to_owned),
            second: second.map(str::to_owned),
        };
        let expected = [
            pair("pods", Some("40"), None),
            pair("requests.cpu", None, Some("2")),
        ];
        assert_eq!(quota(&shop()), expected);
        assert_eq!(defaults(&shop()), []);
    }

    #[test]
    fn project_filter_matches_displayed_values() {
        for (typed, expected) in [
            ("", true),
            ("BERLIN shop", true),
            ("pending", true),
            ("paris", false),
        ] {
            assert_eq!(passes(&shop(), typed), expected, "{typed}");
        }
        let leaving = ProjectView {
            deleting: true,
            may_change: true,
            may_delete: true,
            ..shop()
        };
        assert_eq!(readiness(&leaving).words, "being deleted");
    }
}
