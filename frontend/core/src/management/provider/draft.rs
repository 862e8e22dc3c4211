//! The form of an identity provider, and the spec that the form creates.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Protocol;
use super::field::{Entry, Field, GROUPS_BASE};
use crate::typed::{lines, non_empty};

/// The stored value of a selected checkbox.
const YES: &str = "true";
/// The spec field that enables sign-out at the provider.
const SIGN_OUT_THERE: &str = "signOutThere";

/// The values of the provider form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The selected protocol.
    pub protocol: Protocol,
    /// The label of the sign-in button; if empty, the button shows the name.
    pub display_name: String,
    /// True if a sign-out from Drover also ends the session at the provider.
    pub sign_out_there: bool,
    /// True if only listed users and groups can sign in.
    pub limited: bool,
    /// The IDs of allowed users, one per line.
    pub users: String,
    /// The IDs of allowed groups, one per line.
    pub groups: String,
    /// The values of the settings by path. After a change of the protocol, the map also contains
    /// the settings of the previous protocol.
    values: BTreeMap<&'static str, String>,
}

impl Draft {
    /// Creates an empty form.
    pub fn new(protocol: Protocol) -> Self {
        let fields = protocol.fields().iter();
        Self {
            protocol,
            display_name: String::new(),
            sign_out_there: false,
            limited: false,
            users: String::new(),
            groups: String::new(),
            values: fields
                .map(|field| (field.path, field.begins.to_owned()))
                .collect(),
        }
    }

    /// Parses a spec. Returns `None` for an unknown protocol.
    pub fn of(spec: &Value) -> Option<Self> {
        let protocol = Protocol::of(spec)?;
        let allowed = spec.get("allowed").filter(|it| !it.is_null());
        let list = |name: &str| text(allowed.and_then(|it| it.get(name)), Entry::Lines);
        let shown = spec.get("displayName").and_then(Value::as_str);
        let fields = protocol.fields().iter();
        Some(Self {
            protocol,
            display_name: shown.unwrap_or_default().to_owned(),
            sign_out_there: spec.get(SIGN_OUT_THERE).and_then(Value::as_bool) == Some(true),
            limited: allowed.is_some(),
            users: list("users"),
            groups: list("groups"),
            values: fields
                .map(|field| (field.path, text(at(spec, field.path), field.entry)))
                .collect(),
        })
    }

    /// Changes the protocol. The draft still contains the settings of the previous protocol.
    #[must_use]
    pub fn with_protocol(self, protocol: Protocol) -> Self {
        let begun = Self::new(protocol).values.into_iter();
        Self {
            protocol,
            values: begun.chain(self.values).collect(),
            ..self
        }
    }

    /// Returns the value of a setting.
    pub fn value(&self, field: &Field) -> &str {
        let value = self.values.get(field.path);
        value.map(String::as_str).unwrap_or_default()
    }

    /// Sets the value of a setting.
    pub fn set(&mut self, field: &Field, value: String) {
        self.values.insert(field.path, value);
    }

    /// Reports whether a checkbox is selected.
    pub fn is_checked(&self, field: &Field) -> bool {
        self.value(field) == YES
    }

    /// Selects or clears a checkbox.
    pub fn check(&mut self, field: &Field, checked: bool) {
        let value = if checked { YES } else { "" };
        self.set(field, value.to_owned());
    }

    /// Reports whether a setting of an existing provider is immutable.
    pub fn stays(&self, field: &Field) -> bool {
        let of_groups = field.path.starts_with("spec.ldap.groups.");
        field.stays
            && (!of_groups
                || self
                    .values
                    .get(GROUPS_BASE)
                    .is_some_and(|it| !it.is_empty()))
    }

    /// Reports whether all required settings are set.
    pub fn is_complete(&self) -> bool {
        let needed = self.protocol.fields().iter().filter(|field| field.needed);
        let mut typed = needed.map(|field| self.value(field).trim());
        typed.all(|value| !value.is_empty())
    }

    /// Reports whether sign-ins are limited to an empty list of users and groups.
    pub fn allows_no_user(&self) -> bool {
        self.limited
            && [&self.users, &self.groups]
                .into_iter()
                .all(|text| non_empty(text).is_none())
    }

    /// Applies the form to the spec `base`. Unknown fields of `base` do not change.
    pub fn spec(&self, base: &Value) -> Value {
        let mut spec = base.as_object().cloned().unwrap_or_default();
        put(&mut spec, &["displayName"], line(&self.display_name));
        // A missing field means false. The form does not add the field to the spec.
        let sign_out_there = self.sign_out_there || spec.contains_key(SIGN_OUT_THERE);
        put(
            &mut spec,
            &[SIGN_OUT_THERE],
            sign_out_there.then_some(Value::Bool(self.sign_out_there)),
        );
        let allowed = self
            .limited
            .then(|| json!({ "users": list(&self.users), "groups": list(&self.groups) }));
        put(&mut spec, &["allowed"], allowed);
        for field in self.protocol.fields() {
            let path: Vec<_> = field.path.split('.').skip(1).collect();
            put(&mut spec, &path, self.written(field));
        }
        let groups = self.values.get(GROUPS_BASE).map(|base| base.trim());
        if groups == Some("") {
            put(&mut spec, &["ldap", "groups"], None);
        }
        Value::Object(spec)
    }

    fn written(&self, field: &Field) -> Option<Value> {
        let value = self.value(field);
        match field.entry {
            Entry::Line | Entry::OneOf(_) => line(value),
            Entry::Text => line(value).map(|_| json!(value)),
            Entry::Words => Some(json!(value.split_whitespace().collect::<Vec<_>>())),
            Entry::Lines => Some(list(value)),
            Entry::Flag => (value == YES).then_some(Value::Bool(true)),
        }
    }
}

fn list(text: &str) -> Value {
    json!(lines(text).collect::<Vec<_>>())
}

fn line(text: &str) -> Option<Value> {
    non_empty(text).map(Value::String)
}

/// Returns the value at a dotted path that starts with `spec`.
fn at<'a>(spec: &'a Value, path: &str) -> Option<&'a Value> {
    let mut parts = path.split('.').skip(1);
    parts.try_fold(spec, |value, part| value.get(part))
}

/// Formats a value for the form.
fn text(value: Option<&Value>, entry: Entry) -> String {
    match (value, entry) {
        (Some(Value::Array(items)), _) => {
            let items: Vec<_> = items.iter().filter_map(Value::as_str).collect();
            let between = if entry == Entry::Words { " " } else { "\n" };
            items.join(between)
        }
        (Some(Value::String(text)), _) => text.clone(),
        (Some(Value::Bool(true)), _) => YES.to_owned(),
        _ => String::new(),
    }
}

/// Sets or removes the value at a path.
fn put(within: &mut Map<String, Value>, path: &[&str], value: Option<Value>) {
    match (path, value) {
        ([], _) => {}
        ([name], Some(value)) => drop(within.insert((*name).to_owned(), value)),
        ([name], None) => drop(within.remove(*name)),
        ([name, rest @ ..], value) => {
            let desired = value.is_some();
            let next = within.entry((*name).to_owned());
            let next = next.or_insert_with(|| Value::Object(Map::new()));
            if let Some(next) = next.as_object_mut() {
                put(next, rest, value);
                // The function does not create empty objects.
                if !desired && next.is_empty() {
                    within.remove(*name);
                }
            }
        }
    }
}
