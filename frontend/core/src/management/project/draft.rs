//! The form of a project, and the requests that the form creates.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use drover_api::kinds::{ContainerDefaults, PodSecurity, ProjectNamespace, ProjectQuota};
use drover_api::rest::{ProjectCreate, ProjectPatch, ProjectView};

use super::{Pair, defaults, quota};
use crate::messages::t;
use crate::quantity;
use crate::shell;
use crate::typed::{lines, non_empty};

/// The quota resources that the form always shows.
const OF_QUOTAS: [&str; 6] = [
    "requests.cpu",
    "requests.memory",
    "limits.cpu",
    "limits.memory",
    "requests.storage",
    "pods",
];
/// The resources of container defaults that the form always shows.
const OF_CONTAINERS: [&str; 2] = ["cpu", "memory"];

/// Two entered quantities of a resource. Empty quantities are not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypedPair {
    /// The name of the resource, as in a ResourceQuota.
    pub resource: String,
    /// The first quantity: the project quota, or the container request.
    pub first: String,
    /// The second quantity: the namespace quota, or the container limit.
    pub second: String,
}

/// The values of the project form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// The name of the project; immutable.
    pub name: String,
    /// The name of the cluster; immutable.
    pub cluster: String,
    /// The display name; if empty, the page shows the name.
    pub display_name: String,
    /// The description of the project.
    pub description: String,
    /// The namespaces to create, one per line.
    pub made: String,
    /// The namespaces to adopt, one per line.
    pub adopted: String,
    /// The quotas of the project and of each namespace.
    pub quota: Vec<TypedPair>,
    /// The default requests and limits of containers.
    pub defaults: Vec<TypedPair>,
    /// An entered resource name that is not added to the quotas yet.
    pub further: String,
    /// The pod security level; `None` for the default of the cluster.
    pub pod_security: Option<PodSecurity>,
}

impl Draft {
    /// Creates an empty form.
    pub fn new() -> Self {
        Self {
            quota: offered(&OF_QUOTAS, Vec::new()),
            defaults: offered(&OF_CONTAINERS, Vec::new()),
            ..Self::default()
        }
    }

    /// Creates the form of an existing project.
    pub fn of(project: &ProjectView) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let named = |adopted: bool| {
            let those = project.namespaces.iter().filter(|it| it.adopt == adopted);
            let names: Vec<_> = those.map(|it| it.name.as_str()).collect();
            names.join("\n")
        };
        Self {
            name: project.name.clone(),
            cluster: project.cluster.clone(),
            display_name: text(&project.display_name),
            description: text(&project.description),
            made: named(false),
            adopted: named(true),
            quota: offered(&OF_QUOTAS, quota(project)),
            defaults: offered(&OF_CONTAINERS, defaults(project)),
            pod_security: project.pod_security,
            ..Self::default()
        }
    }

    /// Reports whether the form is complete and valid.
    pub fn is_complete(&self) -> bool {
        let named = [&self.name, &self.cluster];
        let pairs = self.quota.iter().chain(&self.defaults);
        let mut quantities = pairs.flat_map(|pair| [&pair.first, &pair.second]);
        named.iter().all(|text| !text.trim().is_empty())
            && self.further.trim().is_empty()
            && quantities.all(|typed| input_error(typed).is_none())
    }

    /// Returns the request that creates the project.
    pub fn create(&self) -> ProjectCreate {
        ProjectCreate {
            name: self.name.trim().to_owned(),
            cluster: self.cluster.clone(),
            display_name: non_empty(&self.display_name),
            description: non_empty(&self.description),
            namespaces: self.namespaces(),
            quota: Some(self.quota()).filter(|it| *it != ProjectQuota::default()),
            container_defaults: Some(self.defaults())
                .filter(|it| *it != ContainerDefaults::default()),
            pod_security: self.pod_security,
        }
    }

    /// Returns a patch with the changed fields.
    pub fn patch(&self, before: &ProjectView) -> ProjectPatch {
        let changed = |text: &str, before: &Option<String>| {
            let text = text.trim();
            (text != before.as_deref().unwrap_or_default()).then(|| text.to_owned())
        };
        let namespaces = Some(self.namespaces()).filter(|it| !same(it, &before.namespaces));
        let quota = self.quota();
        let defaults = self.defaults();
        ProjectPatch {
            generation: before.generation,
            display_name: changed(&self.display_name, &before.display_name),
            description: changed(&self.description, &before.description),
            namespaces,
            quota: (quota != before.quota.clone().unwrap_or_default()).then_some(quota),
            container_defaults: (defaults != before.container_defaults.clone().unwrap_or_default())
                .then_some(defaults),
            pod_security: self
                .pod_security
                .filter(|level| Some(*level) != before.pod_security),
        }
    }

    /// Returns the equivalent command. Fields without a command-line option are omitted.
    pub fn command(&self) -> String {
        let word = |text: &str, unknown: &str| match text.trim() {
            "" => unknown.to_owned(),
            text => shell::word(text),
        };
        let mut line = format!(
            "drover project create {} --cluster={}",
            word(&self.name, "NAME"),
            word(&self.cluster, "CLUSTER")
        );
        let mut option = |name: &str, value: &str| {
            let value = value.trim();
            if !value.is_empty() {
                // Writing to a `String` cannot fail.
                let _ = write!(line, " --{name}={}", shell::word(value));
            }
        };
        lines(&self.made).for_each(|it| option("namespace", it));
        lines(&self.adopted).for_each(|it| option("adopt", it));
        option("display-name", &self.display_name);
        option("description", &self.description);
        for (resource, amount) in self.quota().project {
            option("quota", &format!("{resource}={amount}"));
        }
        for (resource, amount) in self.quota().namespace {
            option("namespace-quota", &format!("{resource}={amount}"));
        }
        option("pod-security", self.pod_security.map_or("", level));
        line
    }

    pub(super) fn namespaces(&self) -> Vec<ProjectNamespace> {
        let named = |text: &str, adopt: bool| -> Vec<ProjectNamespace> {
            let namespace = |name: &str| ProjectNamespace {
                name: name.to_owned(),
                adopt,
                // The server sets the UID.
                uid: None,
            };
            lines(text).map(namespace).collect()
        };
        [named(&self.made, false), named(&self.adopted, true)].concat()
    }

    pub(super) fn quota(&self) -> ProjectQuota {
        let (project, namespace) = maps(&self.quota);
        ProjectQuota { project, namespace }
    }

    pub(super) fn defaults(&self) -> ContainerDefaults {
        let (requests, limits) = maps(&self.defaults);
        ContainerDefaults { requests, limits }
    }
}

/// Returns the error of an entered quantity. Returns `None` for an empty or valid quantity.
pub fn input_error(typed: &str) -> Option<String> {
    let typed = typed.trim();
    let wrong = !typed.is_empty() && quantity::parse(typed).is_none_or(|it| it < 0.0);
    wrong.then(|| t().projects.quantity_help().to_owned())
}

/// Returns the pod security level as a command-line value.
pub const fn level(level: PodSecurity) -> &'static str {
    match level {
        PodSecurity::Privileged => "privileged",
        PodSecurity::Baseline => "baseline",
        PodSecurity::Restricted => "restricted",
    }
}

/// Returns the pairs that the form always shows, followed by the pairs with values for further
/// resources.
fn offered(resources: &[&str], set: Vec<Pair>) -> Vec<TypedPair> {
    let mut pairs: Vec<TypedPair> = resources
        .iter()
        .map(|resource| TypedPair {
            resource: (*resource).to_owned(),
            ..TypedPair::default()
        })
        .collect();
    for pair in set {
        let typed = TypedPair {
            first: pair.first.unwrap_or_default(),
            second: pair.second.unwrap_or_default(),
            resource: pair.resource,
        };
        match pairs.iter_mut().find(|it| it.resource == typed.resource) {
            Some(known) => *known = typed,
            None => pairs.push(typed),
        }
    }
    pairs
}

type Amounts = BTreeMap<String, String>;

fn maps(pairs: &[TypedPair]) -> (Amounts, Amounts) {
    let of = |value: fn(&TypedPair) -> &str| {
        let filled = pairs.iter().filter(|pair| !value(pair).trim().is_empty());
        let entries = filled.map(|pair| (pair.resource.clone(), value(pair).trim().to_owned()));
        entries.collect::<Amounts>()
    };
    (of(|pair| &pair.first), of(|pair| &pair.second))
}

/// Reports whether two lists contain the same namespaces in any order.
fn same(one: &[ProjectNamespace], other: &[ProjectNamespace]) -> bool {
    one.len() == other.len() && one.iter().all(|it| other.contains(it))
}

#[cfg(test)]
mod tests {
    use super::super::tests::shop;
    use super::*;

    fn draft() -> Draft {
        let mut draft = Draft::new();
        draft.name = " shop".to_owned();
        draft.cluster = "berlin".to_owned();
        draft.made = "shop-web\n\nshop-db ".to_owned();
        draft.adopted = "legacy".to_owned();
        draft.quota[0].first = "20".to_owned();
        draft.quota[0].second = " 5 ".to_owned();
        draft.defaults[1].first = "128Mi".to_owned();
        draft.pod_security = Some(PodSecurity::Baseline);
        draft
    }

    fn view(wish: ProjectCreate) -> ProjectView {
        ProjectView {
            name: wish.name,
            cluster: wish.cluster,
            display_name: wish.display_name,
            description: wish.description,
            namespaces: wish.namespaces,
            quota: wish.quota,
            container_defaults: wish.container_defaults,
            pod_security: wish.pod_security,
            ..shop()
        }
    }

    fn nothing() -> ProjectPatch {
        serde_json::from_str(r#"{"generation":4}"#).unwrap()
    }

    #[test]
    fn project_request_contains_the_form_values() {
        let wish = draft().create();
        assert_eq!((wish.name.as_str(), wish.display_name), ("shop", None));
        let namespaces: Vec<_> = wish
            .namespaces
            .iter()
            .map(|it| (it.name.as_str(), it.adopt))
            .collect();
        let expected = [("shop-web", false), ("shop-db", false), ("legacy", true)];
        assert_eq!(namespaces, expected);
        let quota = wish.quota.unwrap();
        assert_eq!(
            (quota.project["requests.cpu"].as_str(), quota.project.len()),
            ("20", 1)
        );
        assert_eq!(quota.namespace["requests.cpu"], "5");
        let defaults = wish.container_defaults.unwrap();
        assert_eq!(defaults.requests["memory"], "128Mi");
        assert!(defaults.limits.is_empty());
    }

    #[test]
    fn unchanged_project_form_creates_an_empty_patch() {
        let project = view(draft().create());
        let mut again = Draft::of(&project);
        assert_eq!(again.patch(&project), nothing());
        again.made = "shop-db\nshop-web".to_owned();
        assert_eq!(
            again.patch(&project),
            nothing(),
            "the order of namespaces is ignored"
        );
        again.quota[0].first = String::new();
        again.quota[0].second = String::new();
        again.description = "Sells".to_owned();
        let expected = ProjectPatch {
            description: Some("Sells".to_owned()),
            quota: Some(ProjectQuota::default()),
            ..nothing()
        };
        assert_eq!(
            again.patch(&project),
            expected,
            "empty fields remove the quota"
        );
    }

    #[test]
    fn project_patch_preserves_quotas_of_resources_not_in_the_form() {
        let mut project = view(draft().create());
        let quota = project.quota.as_mut().unwrap();
        quota.project.insert("services".to_owned(), "3".to_owned());
        let again = Draft::of(&project);
        assert!(
            again
                .quota
                .iter()
                .any(|it| it.resource == "services" && it.first == "3")
        );
        assert_eq!(again.patch(&project), nothing());
    }

    #[test]
    fn project_form_with_invalid_or_missing_quantity_is_incomplete() {
        for (typed, good) in [
            ("", true),
            ("500m", true),
            (" 2Gi", true),
            ("2 GB", false),
            ("-1", false),
        ] {
            assert_eq!(input_error(typed).is_none(), good, "{typed}");
        }
        let mut wrong = draft();
        assert!(wrong.is_complete());
        wrong.defaults[0].second = "lots".to_owned();
        assert!(!wrong.is_complete());
        let half = Draft {
            further: "services".to_owned(),
            ..draft()
        };
        assert!(
            !half.is_complete(),
            "a resource that is typed but not added is an error"
        );
        assert!(!Draft::new().is_complete(), "name and cluster are required");
    }

    #[test]
    fn project_cli_command_contains_the_form_values() {
        assert_eq!(
            draft().command(),
            "drover project create shop --cluster=berlin --namespace=shop-web --namespace=shop-db \
             --adopt=legacy --quota=requests.cpu=20 --namespace-quota=requests.cpu=5 \
             --pod-security=baseline"
        );
    }
}
