//! The relations between objects. An object names other objects (references), and other objects name
//! or select an object (candidates). The page asks for the candidates with a bounded number of
//! requests.

mod candidates;
mod pod_spec;
mod selection;

use serde_json::Value;

use super::facts::{
    GATEWAYS, HTTP_ROUTES, backend_links, claim_link, parent_links, role_link, scale_target,
    service_account_link,
};
use super::{Object, ObjectState, Reference, Target, read};
use crate::kind::Kind;
use crate::messages::t;

pub use candidates::{CandidateList, Candidates, candidates};
pub(crate) use pod_spec::pointer as pod_spec_pointer;
pub use pod_spec::runs_pods;

/// The relation of an object to an object that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// A controller created the object for the owner.
    Owner,
    /// A volume of the pod has the content of the object.
    Mount,
    /// Environment variables have values of the object.
    Environment,
    /// The kubelet pulls images with the Secret.
    PullSecret,
    /// The pod runs with the permissions of the ServiceAccount.
    Account,
    /// The pod runs on the node.
    Node,
    /// Requests go to the backend.
    Backend,
    /// The certificate of a host is in the Secret.
    Certificate,
    /// The class of the object.
    Class,
    /// The Gateway of a route.
    Parent,
    /// The volume of a claim.
    Volume,
    /// The claim of a volume.
    Claim,
    /// The autoscaler changes the replicas of the object.
    ScaleTarget,
    /// The binding grants the role.
    Role,
    /// The binding grants the role to the subject.
    Subject,
    /// The Service of the names of a StatefulSet's pods.
    Service,
    /// The label selector of the object selects the pods.
    Selected,
}

impl Relation {
    /// Returns the relation of the named object, as the page of the naming object shows it.
    fn forward(self) -> &'static str {
        match self {
            Self::Owner => t().relations.owner(),
            Self::Mount => t().relations.mount(),
            Self::Environment => t().relations.environment(),
            Self::PullSecret => t().relations.pull_secret(),
            Self::Account => t().relations.account(),
            Self::Node => t().relations.node(),
            Self::Backend => t().relations.backend(),
            Self::Certificate => t().relations.certificate(),
            Self::Class => t().relations.class(),
            Self::Parent => t().relations.parent(),
            Self::Volume => t().relations.volume(),
            Self::Claim => t().relations.claim(),
            Self::ScaleTarget => t().relations.scale_target(),
            Self::Role => t().relations.role(),
            Self::Subject => t().relations.subject(),
            Self::Service => t().relations.service(),
            Self::Selected => t().relations.selected(),
        }
    }

    /// Returns the relation of the naming object, as the page of the named object shows it.
    fn backward(self) -> &'static str {
        match self {
            Self::Owner => t().relations.owned(),
            Self::Mount => t().relations.mounts(),
            Self::Environment => t().relations.has_environment(),
            Self::PullSecret => t().relations.pulls(),
            Self::Account => t().relations.runs_as(),
            Self::Node => t().relations.runs_here(),
            Self::Backend => t().relations.routes_here(),
            Self::Certificate => t().relations.serves_certificate(),
            Self::Class => t().relations.has_class(),
            Self::Parent => t().relations.attached(),
            Self::Volume => t().relations.claims(),
            Self::Claim => t().relations.provides(),
            Self::ScaleTarget => t().relations.scales(),
            Self::Role => t().relations.grants(),
            Self::Subject => t().relations.grants_to(),
            Self::Service => t().relations.named_by(),
            Self::Selected => t().relations.selects(),
        }
    }
}

/// A row of the related objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationLine {
    /// The object, with its kind and its name as text.
    pub reference: Reference,
    /// The relation, as a text.
    pub relation: &'static str,
    /// The state; `None` if the kind has no state, or if the page has not read the object.
    pub object_state: Option<ObjectState>,
}

/// Returns the objects that an object names.
pub fn references(kind: Kind, object: &Object) -> Vec<RelationLine> {
    let named = named(kind, object).into_iter();
    named
        .map(|(relation, reference)| RelationLine {
            reference,
            relation: relation.forward(),
            object_state: None,
        })
        .collect()
}

/// Returns the objects that an object names, each relation to an object once.
fn named(kind: Kind, object: &Object) -> Vec<(Relation, Reference)> {
    let value = object.value();
    let to = |kind: Kind, pointer: &str| {
        let name = read::text(value, pointer)?;
        Some(Reference::to(
            kind.api_version,
            kind.name,
            object.namespace(),
            name,
        ))
    };
    let owners = object.owners().into_iter();
    let mut all: Vec<_> = owners.map(|owner| (Relation::Owner, owner)).collect();
    let mut add = |relation, references: Vec<Reference>| {
        all.extend(references.into_iter().map(|it| (relation, with_kind(it))));
    };
    let one = |reference: Option<Reference>| reference.into_iter().collect::<Vec<_>>();
    match kind {
        Kind::VOLUME_CLAIMS => {
            add(Relation::Volume, one(to(Kind::VOLUMES, "/spec/volumeName")));
            add(
                Relation::Class,
                one(to(Kind::STORAGE_CLASSES, "/spec/storageClassName")),
            );
        }
        Kind::VOLUMES => {
            add(Relation::Claim, one(claim_link(value)));
            add(
                Relation::Class,
                one(to(Kind::STORAGE_CLASSES, "/spec/storageClassName")),
            );
        }
        Kind::INGRESSES => {
            add(Relation::Backend, ingress_services(object));
            let secrets = read::each(value, "/spec/tls", "/secretName");
            add(Relation::Certificate, each(Kind::SECRETS, object, &secrets));
            add(
                Relation::Class,
                one(to(Kind::INGRESS_CLASSES, "/spec/ingressClassName")),
            );
        }
        Kind::AUTOSCALERS => add(Relation::ScaleTarget, one(scale_target(object))),
        Kind::ROLE_BINDINGS | Kind::CLUSTER_ROLE_BINDINGS => {
            add(Relation::Role, one(role_link(object)));
            let subjects = read::list(value, "/subjects").iter();
            add(
                Relation::Subject,
                subjects.filter_map(service_account_link).collect(),
            );
        }
        Kind::SERVICE_ACCOUNTS => {
            let secrets = read::each(value, "/imagePullSecrets", "/name");
            add(Relation::PullSecret, each(Kind::SECRETS, object, &secrets));
        }
        kind if HTTP_ROUTES.is(kind) => {
            add(Relation::Parent, parent_links(object));
            add(Relation::Backend, backend_links(object));
        }
        kind => {
            for (relation, reference) in pod_spec::named(kind, object) {
                add(relation, vec![reference]);
            }
            if kind == Kind::STATEFUL_SETS {
                add(
                    Relation::Service,
                    one(to(Kind::SERVICES, "/spec/serviceName")),
                );
            }
        }
    }
    let mut distinct: Vec<(Relation, Reference)> = Vec::new();
    for (relation, reference) in all {
        let is_known = |known: &(Relation, Reference)| {
            known.0 == relation
                && known.1.target == reference.target
                && known.1.words == reference.words
        };
        if !distinct.iter().any(is_known) {
            distinct.push((relation, reference));
        }
    }
    distinct
}

/// Changes the text of a reference to the kind and the name.
fn with_kind(reference: Reference) -> Reference {
    let words = reference.target.as_ref().map(words);
    Reference {
        words: words.unwrap_or(reference.words),
        target: reference.target,
    }
}

/// Returns the kind and the name of an object.
fn words(target: &Target) -> String {
    format!("{} {}", target.kind.name, target.name)
}

fn each(kind: Kind, object: &Object, names: &[String]) -> Vec<Reference> {
    let names = names.iter();
    names
        .map(|name| Reference::named(kind, object.namespace(), name))
        .collect()
}

fn ingress_services(ingress: &Object) -> Vec<Reference> {
    let value = ingress.value();
    let rules = read::list(value, "/spec/rules").iter();
    let paths = rules.flat_map(|rule| read::list(rule, "/http/paths"));
    let backends = paths.map(|path| read::at(path, "/backend"));
    let default = value.pointer("/spec/defaultBackend");
    let names = default.into_iter().chain(backends);
    let names: Vec<_> = names
        .filter_map(|backend: &Value| read::owned(backend, "/service/name"))
        .collect();
    each(Kind::SERVICES, ingress, &names)
}

/// Returns the kinds of the routes of a Gateway or a Service, if the page knows the Gateway API.
fn routes() -> Option<Kind> {
    HTTP_ROUTES.kind()
}

/// Reports whether a kind is the kind Gateway.
fn is_gateway(kind: Kind) -> bool {
    GATEWAYS.is(kind)
}

#[cfg(test)]
mod tests;
