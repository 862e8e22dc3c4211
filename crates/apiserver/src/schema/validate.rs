//! Validation of custom objects against their schema, with the messages of kube-openapi's
//! validator.

use std::collections::HashSet;

use serde_json::Value;

use super::{Limits, ListType, Node, OldItems, Path, Shape, formats};
use crate::status::{FieldError, FieldErrorKind};

impl Node {
    /// Validates a value. Skips fields and items that equal the old value (ratcheting, KEP-4008).
    pub fn validate(&self, value: &Value, old: Option<&Value>, root: &Path<'_>) -> Vec<FieldError> {
        let mut found = Vec::new();
        self.check(value, old, root, &mut found);
        found
    }

    fn check(
        &self,
        value: &Value,
        old: Option<&Value>,
        at: &Path<'_>,
        found: &mut Vec<FieldError>,
    ) {
        if old == Some(value) {
            return;
        }
        if value.is_null() {
            if !self.nullable && !matches!(self.shape, Shape::Any) {
                found.push(wrong_type(at, self.type_names(), "null"));
            }
            return;
        }
        if !self.admits_type(value) {
            found.push(wrong_type(at, self.type_names(), type_of(value)));
        }
        if let Some(limits) = &self.limits {
            limits.check(value, at, found);
        }
        if let (Shape::String { format }, Value::String(text)) = (&self.shape, value)
            && let Some(expected) = formats::violated(format, text)
        {
            let detail = format!("{at} in body must be of type {expected}: {text:?}");
            found.push(error(
                FieldErrorKind::TypeInvalid,
                at,
                value.clone(),
                detail,
            ));
        }
        self.check_inside(value, old, at, found);
    }

    fn check_inside(
        &self,
        value: &Value,
        old: Option<&Value>,
        at: &Path<'_>,
        found: &mut Vec<FieldError>,
    ) {
        match (&self.shape, value) {
            (Shape::Object { required, .. }, Value::Object(map)) => {
                for (name, inside) in map {
                    if let Some(node) = self.field(name) {
                        let before = old.and_then(|old| old.get(name));
                        node.check(inside, before, &at.child(name), found);
                    }
                }
                for name in required.iter().filter(|name| !map.contains_key(*name)) {
                    let at = at.child(name);
                    found.push(error(FieldErrorKind::Required, &at, Value::Null, ""));
                }
            }
            (Shape::Array { items, list, .. }, Value::Array(values)) => {
                let old_items = OldItems::of(list, old);
                for (index, item) in values.iter().enumerate() {
                    items.check(item, old_items.item(item), &at.index(index), found);
                }
                check_unique(list, values, at, found);
            }
            _ => {}
        }
    }

    fn admits_type(&self, value: &Value) -> bool {
        match &self.shape {
            Shape::Any => true,
            Shape::Object { .. } => value.is_object(),
            Shape::Array { .. } => value.is_array(),
            Shape::String { .. } => value.is_string(),
            Shape::Integer { .. } => is_integer(value),
            Shape::Number => value.is_number(),
            Shape::Boolean => value.is_boolean(),
            Shape::IntOrString => value.is_string() || is_integer(value),
            Shape::Quantity => value.is_string() || value.is_number(),
        }
    }

    fn type_names(&self) -> &'static str {
        match &self.shape {
            Shape::Any => "",
            Shape::Object { .. } => "object",
            Shape::Array { .. } => "array",
            Shape::String { .. } => "string",
            Shape::Integer { .. } => "integer",
            Shape::Number => "number",
            Shape::Boolean => "boolean",
            Shape::IntOrString => "integer,string",
            Shape::Quantity => "string,number",
        }
    }
}

impl Limits {
    fn check(&self, value: &Value, at: &Path<'_>, found: &mut Vec<FieldError>) {
        match value {
            Value::String(text) => self.check_text(text, value, at, found),
            Value::Number(number) => {
                if let Some(number) = number.as_f64() {
                    self.check_number(number, value, at, found);
                }
            }
            Value::Array(items) => self.check_items(items, value, at, found),
            Value::Object(map) => self.check_properties(map.len() as u64, at, found),
            Value::Null | Value::Bool(_) => {}
        }
        if !self.one_of_values.is_empty() && !self.one_of_values.contains(value) {
            found.push(not_supported(at, value, &self.one_of_values));
        }
        self.check_junctions(value, at, found);
    }

    fn check_text(&self, text: &str, value: &Value, at: &Path<'_>, found: &mut Vec<FieldError>) {
        let length = text.chars().count() as u64;
        if let Some(most) = self.max_length.filter(|most| length > *most) {
            let unit = if most == 1 { "byte" } else { "bytes" };
            let detail = format!("may not be more than {most} {unit}");
            // Only the first error of a text is reported.
            return found.push(error(FieldErrorKind::TooLong, at, Value::Null, detail));
        }
        if let Some(least) = self.min_length.filter(|least| length < *least) {
            let detail = format!("{at} in body should be at least {least} chars long");
            return found.push(invalid(at, value, detail));
        }
        if let Some(pattern) = &self.pattern
            && !pattern.matches(text)
        {
            let detail = format!("{at} in body should match '{}'", pattern.text());
            found.push(invalid(at, value, detail));
        }
    }

    fn check_number(&self, number: f64, value: &Value, at: &Path<'_>, found: &mut Vec<FieldError>) {
        if let Some((least, exclusive)) = self.minimum
            && (number < least || exclusive && number <= least)
        {
            let or_equal = if exclusive { "" } else { " or equal to" };
            let detail = format!("{at} in body should be greater than{or_equal} {least}");
            found.push(invalid(at, value, detail));
        }
        if let Some((most, exclusive)) = self.maximum
            && (number > most || exclusive && number >= most)
        {
            let or_equal = if exclusive { "" } else { " or equal to" };
            let detail = format!("{at} in body should be less than{or_equal} {most}");
            found.push(invalid(at, value, detail));
        }
        if let Some(factor) = self.multiple_of.filter(|factor| *factor > 0.0) {
            let times = number / factor;
            if (times - times.round()).abs() > f64::EPSILON * times.abs().max(1.0) {
                let detail = format!("{at} in body should be a multiple of {factor}");
                found.push(invalid(at, value, detail));
            }
        }
    }

    fn check_items(
        &self,
        items: &[Value],
        value: &Value,
        at: &Path<'_>,
        found: &mut Vec<FieldError>,
    ) {
        let count = items.len() as u64;
        if let Some(least) = self.min_items.filter(|least| count < *least) {
            let detail = format!("{at} in body should have at least {least} items");
            found.push(invalid(at, &count.into(), detail));
        }
        if let Some(most) = self.max_items.filter(|most| count > *most) {
            found.push(too_many(at, count, most));
        }
        let mut seen = HashSet::new();
        if self.unique_items && !items.iter().all(|item| seen.insert(item)) {
            let detail = format!("{at} in body shouldn't contain duplicates");
            found.push(invalid(at, value, detail));
        }
    }

    fn check_properties(&self, count: u64, at: &Path<'_>, found: &mut Vec<FieldError>) {
        if let Some(least) = self.min_properties.filter(|least| count < *least) {
            let detail = format!("{at} in body should have at least {least} properties");
            found.push(invalid(at, &count.into(), detail));
        }
        if let Some(most) = self.max_properties.filter(|most| count > *most) {
            found.push(too_many(at, count, most));
        }
    }

    fn check_junctions(&self, value: &Value, at: &Path<'_>, found: &mut Vec<FieldError>) {
        let failures = |nodes: &[std::sync::Arc<Node>]| -> Vec<Vec<FieldError>> {
            nodes
                .iter()
                .map(|node| node.validate(value, None, at))
                .collect()
        };
        let any = failures(&self.any_of);
        if !any.is_empty() && !any.iter().any(Vec::is_empty) {
            found.push(composite(format!(
                "{:?} must validate at least one schema (anyOf)",
                at.to_string()
            )));
            found.extend(fewest(any));
        }
        let one = failures(&self.one_of);
        let valid = one.iter().filter(|errors| errors.is_empty()).count();
        if !one.is_empty() && valid != 1 {
            let match_count = match valid {
                0 => "Found none valid".to_owned(),
                many => format!("Found {many} valid alternatives"),
            };
            found.push(composite(format!(
                "{:?} must validate one and only one schema (oneOf). {match_count}",
                at.to_string()
            )));
            if valid == 0 {
                found.extend(fewest(one));
            }
        }
        let all = failures(&self.all_of);
        let valid = all.iter().filter(|errors| errors.is_empty()).count();
        if valid != all.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            found.extend(all.into_iter().flatten());
            found.push(composite(format!(
                "{:?} must validate all the schemas (allOf){none}",
                at.to_string()
            )));
        }
        if let Some(not) = &self.not
            && not.validate(value, None, at).is_empty()
        {
            found.push(composite(format!(
                "{:?} must not validate the schema (not)",
                at.to_string()
            )));
        }
    }
}

fn check_unique(list: &ListType, items: &[Value], at: &Path<'_>, found: &mut Vec<FieldError>) {
    let name = |item: &Value| -> Value {
        match list {
            ListType::Map(keys) => keys
                .iter()
                .filter_map(|key| Some((key.clone(), item.get(key)?.clone())))
                .collect(),
            ListType::Set | ListType::Atomic => item.clone(),
        }
    };
    if *list == ListType::Atomic {
        return;
    }
    let mut seen = HashSet::with_capacity(items.len());
    for (index, name) in items.iter().map(name).enumerate() {
        if seen.contains(&name) {
            found.push(error(FieldErrorKind::Duplicate, &at.index(index), name, ""));
        } else {
            seen.insert(name);
        }
    }
}

/// Returns the list with the fewest errors.
fn fewest(many: Vec<Vec<FieldError>>) -> Vec<FieldError> {
    many.into_iter().min_by_key(Vec::len).unwrap_or_default()
}

fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) if is_integer(value) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn error(
    kind: FieldErrorKind,
    at: &Path<'_>,
    value: Value,
    detail: impl Into<String>,
) -> FieldError {
    FieldError {
        kind,
        path: at.to_string(),
        value: Some(value),
        detail: detail.into(),
    }
}

fn invalid(at: &Path<'_>, value: &Value, detail: String) -> FieldError {
    error(FieldErrorKind::Invalid, at, value.clone(), detail)
}

fn wrong_type(at: &Path<'_>, expected: &str, is: &str) -> FieldError {
    let name = at.to_string();
    let detail = format!("{name} in body must be of type {expected}: {is:?}");
    error(FieldErrorKind::TypeInvalid, at, is.into(), detail)
}

fn not_supported(at: &Path<'_>, value: &Value, known: &[Value]) -> FieldError {
    let known: Vec<String> = known
        .iter()
        .map(|value| match value {
            Value::String(text) => format!("{text:?}"),
            other => format!("{:?}", other.to_string()),
        })
        .collect();
    let detail = format!("supported values: {}", known.join(", "));
    error(FieldErrorKind::NotSupported, at, value.clone(), detail)
}

fn too_many(at: &Path<'_>, count: u64, most: u64) -> FieldError {
    let items = if most == 1 { "item" } else { "items" };
    let detail = format!("must have at most {most} {items}");
    error(FieldErrorKind::TooMany, at, count.into(), detail)
}

/// Returns an error without a field, which kube-apiserver prints as `<nil>`.
fn composite(detail: String) -> FieldError {
    FieldError {
        kind: FieldErrorKind::Invalid,
        path: "<nil>".to_owned(),
        value: Some("".into()),
        detail,
    }
}
