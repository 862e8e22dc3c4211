//! What a page shows first of an object, whatever its kind is.

use jiff::Timestamp;

use super::condition::{self, Condition};
use super::container::{self, Container};
use super::{Object, Reference, job, node, pod, workload};
use crate::kind::Kind;
use crate::messages::t;
use crate::problem::sentence;
use crate::severity::Severity;

/// How an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What it means.
    pub severity: Severity,
    /// A few words.
    pub words: String,
    /// Sentences: why, and what to do.
    pub why: Option<String>,
}

impl Verdict {
    /// A state that needs no more words.
    pub(crate) fn of(severity: Severity, words: impl Into<String>) -> Self {
        Self {
            severity,
            words: words.into(),
            why: None,
        }
    }

    /// With the reason, as a sentence.
    pub(crate) fn because(mut self, why: impl Into<String>) -> Self {
        let why = why.into();
        self.why = (!why.is_empty()).then(|| sentence(why));
        self
    }
}

/// Something that is known of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about.
    pub name: String,
    /// What is known.
    pub worth: Worth,
}

/// The forms in which things are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Worth {
    /// A few words.
    Text(String),
    /// Something to copy: an image, a selector.
    Codes(Vec<String>),
    /// A moment.
    At(Timestamp),
    /// Other objects.
    Links(Vec<Reference>),
}

/// Facts under a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The heading.
    pub heading: &'static str,
    /// The facts.
    pub facts: Vec<Fact>,
}

/// Collects what is known; what is not known leaves no trace.
#[derive(Debug, Default)]
pub(crate) struct Facts(Vec<Fact>);

impl Facts {
    pub(crate) fn put(mut self, name: impl Into<String>, worth: Option<Worth>) -> Self {
        let fact = worth.map(|worth| Fact {
            name: name.into(),
            worth,
        });
        self.0.extend(fact);
        self
    }

    pub(crate) fn text(self, name: impl Into<String>, text: Option<impl Into<String>>) -> Self {
        self.put(name, text.map(|text| Worth::Text(text.into())))
    }

    pub(crate) fn codes(self, name: impl Into<String>, codes: Vec<String>) -> Self {
        let some = (!codes.is_empty()).then_some(Worth::Codes(codes));
        self.put(name, some)
    }

    pub(crate) fn at(self, name: impl Into<String>, at: Option<Timestamp>) -> Self {
        self.put(name, at.map(Worth::At))
    }

    pub(crate) fn links(self, name: impl Into<String>, links: Vec<Reference>) -> Self {
        let some = (!links.is_empty()).then_some(Worth::Links(links));
        self.put(name, some)
    }

    pub(crate) fn under(self, heading: &'static str) -> Section {
        Section {
            heading,
            facts: self.0,
        }
    }
}

/// An object at first sight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overview {
    /// How it is.
    pub verdict: Verdict,
    /// What is known of it.
    pub sections: Vec<Section>,
    /// What runs in it.
    pub containers: Vec<Container>,
    /// What the cluster says of it, worst first.
    pub conditions: Vec<Condition>,
}

impl Overview {
    /// Reads an object of a cluster in which these nodes are not Ready.
    pub fn in_cluster(kind: Kind, object: &Object, not_ready: &[String]) -> Self {
        let overview = Self::of(kind, object);
        match kind {
            Kind::PODS => Self {
                verdict: pod::verdict_on(object, not_ready),
                ..overview
            },
            _ => overview,
        }
    }

    /// Reads an object of a kind.
    pub fn of(kind: Kind, object: &Object) -> Self {
        let (verdict, mut sections) = match kind.name {
            "Pod" => (pod::verdict(object), pod::sections(object)),
            "Job" => (job::verdict(object), job::sections(object)),
            "CronJob" => (job::cron_verdict(object), job::cron_sections(object)),
            "Node" => (node::verdict(object), node::sections(object)),
            name => (
                workload::verdict(name, object),
                workload::sections(name, object),
            ),
        };
        let verdict = match object.leaving() {
            Some(_) if kind != Kind::PODS => {
                Verdict::of(Severity::Progressing, t().states.deleting())
                    .because(finalizers(object).unwrap_or_default())
            }
            _ => verdict,
        };
        sections.retain(|section| !section.facts.is_empty());
        Self {
            verdict,
            sections,
            containers: match kind.name {
                "Pod" => container::containers(object),
                _ => Vec::new(),
            },
            conditions: condition::conditions(kind, object),
        }
    }
}

/// What an object that is going still waits for.
pub(crate) fn finalizers(object: &Object) -> Option<String> {
    let all = super::read::list(object.value(), "/metadata/finalizers");
    let names: Vec<&str> = all.iter().filter_map(serde_json::Value::as_str).collect();
    (!names.is_empty()).then(|| t().workloads.finalizers(&names.join(", ")))
}
