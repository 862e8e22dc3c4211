//! The overview of an object: state, fields, containers and conditions.

use jiff::Timestamp;

use super::condition::{self, Condition};
use super::container::{self, Container};
use super::facts::{KindFacts, kind_facts};
use super::{Object, Reference, pod};
use crate::kind::Kind;
use crate::messages::t;
use crate::problem::sentence;
use drover_rows::Severity;

/// The state of an object in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectState {
    /// The severity of the state.
    pub severity: Severity,
    /// The state in a few words, such as `2 of 3 available`.
    pub words: String,
    /// The cause and the next step.
    pub why: Option<String>,
}

impl ObjectState {
    /// Creates a state without a cause.
    pub(crate) fn of(severity: Severity, words: impl Into<String>) -> Self {
        Self {
            severity,
            words: words.into(),
            why: None,
        }
    }

    /// Adds the cause and the next step.
    pub(crate) fn because(mut self, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        self.why = (!reason.is_empty()).then(|| sentence(reason));
        self
    }
}

/// A field in the overview of an object: a label and a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The label of the overview field.
    pub name: String,
    /// The value of the overview field.
    pub worth: FactValue,
}

/// The value of an overview field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactValue {
    /// A value in plain text.
    Text(String),
    /// Values in a fixed-width font, such as images or selectors.
    Codes(Vec<String>),
    /// Sentences, one in each line.
    Lines(Vec<String>),
    /// A timestamp.
    At(Timestamp),
    /// References to other objects.
    Links(Vec<Reference>),
    /// A text of any length, such as the value of a key of a ConfigMap.
    Long(String),
    /// The list of the objects of a kind.
    List(Kind),
}

/// The maximum number of rows of a table in the overview.
pub(crate) const MAX_ROWS: usize = 300;

/// A table in the overview of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactTable {
    /// The headings of the columns.
    pub columns: Vec<&'static str>,
    /// The rows. Each row has one value per column.
    pub rows: Vec<Vec<FactValue>>,
    /// The number of rows above the maximum.
    pub hidden: usize,
}

impl FactTable {
    /// Creates a table of the first rows.
    pub(crate) fn of<const N: usize>(
        columns: [&'static str; N],
        rows: impl IntoIterator<Item = [FactValue; N]>,
    ) -> Self {
        let mut rows = rows.into_iter();
        let shown = rows.by_ref().take(MAX_ROWS).map(Vec::from).collect();
        Self {
            columns: columns.to_vec(),
            rows: shown,
            hidden: rows.count(),
        }
    }

    pub(crate) fn under(self, heading: &'static str) -> Section {
        Section {
            heading,
            content: SectionContent::Table(self),
        }
    }
}

/// The content of a section of the overview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SectionContent {
    /// Labels with their values.
    Facts(Vec<Fact>),
    /// A table.
    Table(FactTable),
}

/// A group of overview fields with a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The heading of the group.
    pub heading: &'static str,
    /// The overview fields of the group.
    pub content: SectionContent,
}

impl Section {
    /// Reports whether the section has no value.
    fn is_empty(&self) -> bool {
        match &self.content {
            SectionContent::Facts(facts) => facts.is_empty(),
            SectionContent::Table(table) => table.rows.is_empty(),
        }
    }
}

/// Collects overview fields, and skips fields without a value.
#[derive(Debug, Default)]
pub(crate) struct Facts(Vec<Fact>);

impl Facts {
    pub(crate) fn put(mut self, name: impl Into<String>, worth: Option<FactValue>) -> Self {
        let fact = worth.map(|worth| Fact {
            name: name.into(),
            worth,
        });
        self.0.extend(fact);
        self
    }

    pub(crate) fn text(self, name: impl Into<String>, text: Option<impl Into<String>>) -> Self {
        self.put(name, text.map(|text| FactValue::Text(text.into())))
    }

    pub(crate) fn codes(self, name: impl Into<String>, codes: Vec<String>) -> Self {
        let some = (!codes.is_empty()).then_some(FactValue::Codes(codes));
        self.put(name, some)
    }

    pub(crate) fn at(self, name: impl Into<String>, at: Option<Timestamp>) -> Self {
        self.put(name, at.map(FactValue::At))
    }

    pub(crate) fn links(self, name: impl Into<String>, links: Vec<Reference>) -> Self {
        let some = (!links.is_empty()).then_some(FactValue::Links(links));
        self.put(name, some)
    }

    pub(crate) fn under(self, heading: &'static str) -> Section {
        Section {
            heading,
            content: SectionContent::Facts(self.0),
        }
    }
}

/// The overview of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overview {
    /// The state of the object; `None` for kinds without a state, such as ConfigMaps.
    pub object_state: Option<ObjectState>,
    /// The overview fields, in groups.
    pub sections: Vec<Section>,
    /// The containers of a pod; empty for other kinds.
    pub containers: Vec<Container>,
    /// The conditions, problems first.
    pub conditions: Vec<Condition>,
}

impl Overview {
    /// Creates the overview of an object. `not_ready` contains the names of nodes that are not
    /// Ready.
    pub fn in_cluster(kind: Kind, object: &Object, not_ready: &[String]) -> Self {
        let overview = Self::of(kind, object);
        match kind {
            Kind::PODS => Self {
                object_state: Some(pod::state_on(object, not_ready)),
                ..overview
            },
            _ => overview,
        }
    }

    /// Creates the overview of an object without the states of nodes.
    pub fn of(kind: Kind, object: &Object) -> Self {
        let KindFacts {
            object_state,
            mut sections,
        } = kind_facts(kind, object);
        let object_state = match object.leaving() {
            Some(_) if kind != Kind::PODS => Some(
                ObjectState::of(Severity::Progressing, t().states.deleting())
                    .because(finalizers(object).unwrap_or_default()),
            ),
            _ => object_state,
        };
        sections.retain(|section| !section.is_empty());
        Self {
            object_state,
            sections,
            containers: match kind {
                Kind::PODS => container::containers(object),
                _ => Vec::new(),
            },
            conditions: condition::conditions(kind, object),
        }
    }
}

/// Returns the finalizers that delay a deletion.
pub(crate) fn finalizers(object: &Object) -> Option<String> {
    let all = super::read::list(object.value(), "/metadata/finalizers");
    let names: Vec<&str> = all.iter().filter_map(serde_json::Value::as_str).collect();
    (!names.is_empty()).then(|| t().workloads.finalizers(&names.join(", ")))
}
