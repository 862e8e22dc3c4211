//! Parses `fieldsV1`, a tree of the fields of a manager (KEP-555).

use serde_json::{Map, Value};

use super::lines::Segment;

/// The maximum depth of the tree. The deepest fields of Kubernetes are schemas of
/// CustomResourceDefinitions.
const MAX_DEPTH: usize = 100;

/// A tree of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields {
    /// True if the manager owns the field itself (`.`), and not only fields in it.
    is_owned: bool,
    /// True if the manager owns the field with all its content.
    is_whole: bool,
    children: Vec<(Element, Self)>,
}

/// A path element.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Element {
    /// `f:name`: a field of an object.
    Field(String),
    /// `k:{"name":"web"}`: an item of a list, by the values of its keys.
    Keys(Map<String, Value>),
    /// `v:"value"`: an item of a set.
    Value(Value),
    /// `i:0`: an item of a list, by its index.
    Index(usize),
}

impl Element {
    fn parse(text: &str) -> Option<Self> {
        let (kind, content) = text.split_once(':')?;
        match kind {
            "f" => Some(Self::Field(content.to_owned())),
            "k" => serde_json::from_str(content).ok().map(Self::Keys),
            "v" => serde_json::from_str(content).ok().map(Self::Value),
            "i" => content.parse().ok().map(Self::Index),
            _ => None,
        }
    }

    /// Reports whether the element names the child `segment` with the value `value`.
    fn is(&self, segment: &Segment, value: &Value) -> bool {
        match (self, segment) {
            (Self::Field(name), Segment::Key(key)) => name == key,
            (Self::Keys(keys), Segment::Item(_)) => {
                !keys.is_empty()
                    && keys
                        .iter()
                        .all(|(key, expected)| value.get(key) == Some(expected))
            }
            (Self::Value(expected), Segment::Item(_)) => value == expected,
            (Self::Index(index), Segment::Item(at)) => index == at,
            _ => false,
        }
    }
}

impl Fields {
    /// Parses a tree. Returns `None` if the value is not an object.
    pub(super) fn parse(value: &Value) -> Option<Self> {
        Self::at_depth(value, 0)
    }

    fn at_depth(value: &Value, depth: usize) -> Option<Self> {
        let fields = value.as_object().filter(|_| depth < MAX_DEPTH)?;
        let children = fields.iter().filter_map(|(key, value)| {
            let element = Element::parse(key)?;
            Some((element, Self::at_depth(value, depth + 1)?))
        });
        Some(Self {
            is_owned: fields.contains_key("."),
            is_whole: fields.is_empty(),
            children: children.collect(),
        })
    }

    /// Reports whether the manager owns the field at a path. A field without children in the tree is
    /// owned as a whole.
    pub(super) fn own(&self, path: &[Segment], object: &Value) -> bool {
        let (mut fields, mut value) = (self, object);
        for (at, segment) in path.iter().enumerate() {
            if fields.is_whole {
                // A manager without fields has an empty tree.
                return at > 0;
            }
            value = segment.of(value);
            let mut children = fields.children.iter();
            let Some((_, next)) = children.find(|(element, _)| element.is(segment, value)) else {
                return false;
            };
            fields = next;
        }
        !path.is_empty() && (fields.is_owned || fields.is_whole)
    }
}
