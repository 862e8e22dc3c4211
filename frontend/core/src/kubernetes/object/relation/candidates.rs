//! The lists that can contain objects that name or select an object.

use serde::Deserialize;

use super::selection::{Labels, selects};
use super::{Relation, RelationLine, is_gateway, named, routes, words};
use crate::kind::Kind;
use crate::messages::t;
use crate::object::{Object, Overview, Reference, Target};
use crate::problem::{Problem, ProblemKind};

/// The maximum number of objects that the page reads from a list of candidates.
const LIMIT: usize = 500;

/// A list of objects, and the relation that some of its objects have to the object of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// The kind of the objects.
    pub kind: Kind,
    /// The namespace; `None` for all namespaces and for cluster-scoped objects.
    namespace: Option<String>,
    condition: Condition,
}

/// The first page of a list of candidates.
#[derive(Clone, Debug, Deserialize)]
pub struct CandidateList {
    #[serde(default)]
    metadata: ListMeta,
    items: Vec<Object>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct ListMeta {
    #[serde(default)]
    r#continue: String,
}

/// The condition for candidates that are related to the object of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    /// The candidate names the object.
    Names(Target),
    /// The object owns the candidate. The text is the UID of the object.
    IsOwned(String),
    /// The label selector of the candidate selects the pods of the object.
    Selects(Labels),
}

/// The kinds with pods whose templates can name an object of the namespace.
const USERS: [Kind; 5] = [
    Kind::PODS,
    Kind::DEPLOYMENTS,
    Kind::STATEFUL_SETS,
    Kind::DAEMON_SETS,
    Kind::CRON_JOBS,
];
/// The kinds that select pods.
const SELECTORS: [Kind; 3] = [
    Kind::SERVICES,
    Kind::NETWORK_POLICIES,
    Kind::DISRUPTION_BUDGETS,
];

/// Returns the lists that can contain objects that name or select an object.
pub fn candidates(kind: Kind, object: &Object) -> Vec<Candidates> {
    let namespace = object.namespace();
    let target = Target::of(kind, namespace, object.name());
    let naming = |kinds: &[Kind]| {
        let of = |kind: &Kind| Candidates {
            kind: *kind,
            namespace: namespace.filter(|_| kind.namespaced).map(str::to_owned),
            condition: Condition::Names(target.clone()),
        };
        kinds.iter().map(of).collect::<Vec<_>>()
    };
    let selecting = || {
        let of = |selector| Candidates {
            kind: selector,
            namespace: namespace.map(str::to_owned),
            condition: Condition::Selects(Labels::of(kind, object)),
        };
        SELECTORS.map(of)
    };
    let mut all = match kind {
        Kind::CONFIG_MAPS | Kind::VOLUME_CLAIMS => naming(&USERS),
        Kind::SECRETS => naming(&[&USERS[..], &[Kind::INGRESSES]].concat()),
        Kind::SERVICE_ACCOUNTS => {
            naming(&[Kind::PODS, Kind::ROLE_BINDINGS, Kind::CLUSTER_ROLE_BINDINGS])
        }
        Kind::SERVICES => naming(&[Kind::INGRESSES, Kind::STATEFUL_SETS]),
        Kind::DEPLOYMENTS | Kind::STATEFUL_SETS | Kind::REPLICA_SETS => {
            naming(&[Kind::AUTOSCALERS])
        }
        Kind::STORAGE_CLASSES => naming(&[Kind::VOLUME_CLAIMS, Kind::VOLUMES]),
        Kind::INGRESS_CLASSES => naming(&[Kind::INGRESSES]),
        Kind::ROLES => naming(&[Kind::ROLE_BINDINGS]),
        Kind::CLUSTER_ROLES => naming(&[Kind::ROLE_BINDINGS, Kind::CLUSTER_ROLE_BINDINGS]),
        _ => Vec::new(),
    };
    if super::runs_pods(kind) {
        all.extend(selecting());
    }
    if kind == Kind::DEPLOYMENTS {
        all.push(Candidates {
            kind: Kind::REPLICA_SETS,
            namespace: namespace.map(str::to_owned),
            condition: Condition::IsOwned(object.uid().to_owned()),
        });
    }
    if kind == Kind::SERVICES || is_gateway(kind) {
        let of = |routes| Candidates {
            kind: routes,
            // Routes of other namespaces can name the object.
            namespace: namespace
                .filter(|_| kind == Kind::SERVICES)
                .map(str::to_owned),
            condition: Condition::Names(target.clone()),
        };
        all.extend(routes().map(of));
    }
    all
}

impl Candidates {
    /// Returns the URL of the list.
    pub fn url(&self, cluster: &str) -> String {
        let path = self.kind.list_path(cluster, self.namespace.as_deref());
        format!("{path}?limit={LIMIT}")
    }

    /// Returns the rows for the objects of the list that are related to the object of the page.
    pub(super) fn lines(&self, items: &[Object]) -> Vec<RelationLine> {
        let related = items.iter().filter_map(|item| {
            let relation = self.relation(item)?;
            let target = Target::of(self.kind, item.namespace(), item.name());
            let mut text = words(&target);
            if let (None, Some(namespace)) = (&self.namespace, &target.namespace) {
                text = t().object.in_namespace(&text, namespace);
            }
            Some(RelationLine {
                reference: Reference {
                    words: text,
                    target: Some(target),
                },
                relation: relation.backward(),
                object_state: Overview::of(self.kind, item).object_state,
            })
        });
        related.collect()
    }

    fn relation(&self, item: &Object) -> Option<Relation> {
        match &self.condition {
            Condition::Names(target) => {
                let mut named = named(self.kind, item).into_iter();
                let found = named
                    .find(|(_, named)| named.target.as_ref().is_some_and(|it| is_same(it, target)));
                found.map(|(relation, _)| relation)
            }
            Condition::IsOwned(uid) => item.is_owned_by(uid).then_some(Relation::Owner),
            Condition::Selects(labels) => {
                selects(self.kind, item, labels).then_some(Relation::Selected)
            }
        }
    }

    /// Returns the rows for the response, and a note if the page could not read the complete list.
    pub fn found(
        &self,
        answer: Result<CandidateList, Problem>,
    ) -> (Vec<RelationLine>, Option<String>) {
        match answer {
            Ok(list) => {
                let is_complete = list.metadata.r#continue.is_empty();
                let note = || t().relations.incomplete(self.kind.heading, LIMIT);
                (self.lines(&list.items), (!is_complete).then(note))
            }
            Err(problem) => (Vec::new(), self.problem(&problem)),
        }
    }

    /// Describes the error of the list. Returns `None` if the cluster does not serve the kind,
    /// because such a cluster has no objects of the kind.
    fn problem(&self, problem: &Problem) -> Option<String> {
        let (heading, plural) = (self.kind.heading, self.kind.plural);
        match problem.kind {
            ProblemKind::NotFound => None,
            ProblemKind::Forbidden => Some(match &self.namespace {
                Some(namespace) => t().relations.forbidden_in(heading, plural, namespace),
                None => t().relations.forbidden(heading, plural),
            }),
            _ => Some(t().relations.failed(heading, &problem.message)),
        }
    }
}

/// Reports whether two locations are the same object. Versions of a kind are the same objects.
fn is_same(one: &Target, other: &Target) -> bool {
    (one.kind.plural, one.kind.group()) == (other.kind.plural, other.kind.group())
        && (&one.namespace, &one.name) == (&other.namespace, &other.name)
}
