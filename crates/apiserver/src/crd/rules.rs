//! Validation of the CEL rules in a CRD: checks the fields of the rules, and compiles them.

use serde_json::Value;

use super::schemas::LIST_TYPE;
use crate::json::{field, flag, list, object, text};
use crate::schema::cel::{ResultType, compile, uses_old_self};
use crate::schema::findings::Findings;
use crate::schema::{Node, Path, Shape};

const RULES: &str = "x-kubernetes-validations";
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];
/// Maximum nesting depth of comprehensions. Deeper comprehensions exceed the cost limit for all
/// objects.
const MAX_RULE_DEPTH: u32 = 3;

/// Validates the fields of all rules in a schema. Does not compile the rules.
pub(super) fn fields(schema: &Value, at: &Path<'_>, found: &mut Findings) {
    let under = at.child(RULES);
    let breaks = |text: &str| text.contains(['\n', '\r']);
    for (index, rule) in list(schema, RULES).iter().enumerate() {
        let at = under.index(index);
        let (message, trimmed) = (text(rule, "message"), text(rule, "message").trim());
        let expression = text(rule, "rule").trim();
        if expression.is_empty() {
            found.required(&at.child("rule"), "rule is not specified");
        } else if !message.is_empty() && trimmed.is_empty() {
            found.invalid(
                &at.child("message"),
                message,
                "must be non-empty if specified",
            );
        } else if breaks(trimmed) {
            found.invalid(
                &at.child("message"),
                message,
                "must not contain line breaks",
            );
        } else if breaks(expression) && trimmed.is_empty() {
            let reason = "message must be specified if rule contains line breaks";
            found.required(&at.child("message"), reason);
        }
        let made = text(rule, "messageExpression");
        if !made.is_empty() && made.trim().is_empty() {
            let reason = "messageExpression must be non-empty if specified";
            found.required(&at.child("messageExpression"), reason);
        }
        found.maybe_one_of(&at.child("reason"), text(rule, "reason"), &REASONS);
        let path = text(rule, "fieldPath");
        if !path.is_empty() && path.trim().is_empty() {
            found.invalid(
                &at.child("fieldPath"),
                path,
                "must be non-empty if specified",
            );
        } else if breaks(path) {
            found.invalid(&at.child("fieldPath"), path, "must not contain line breaks");
        }
        if !path.is_empty() && !is_path(schema, path.trim()) {
            found.invalid(&at.child("fieldPath"), path, "must be a valid path");
        }
    }
}

/// Reports whether a path such as `.spec.name` or `.map['key']` exists in the schema.
fn is_path(schema: &Value, path: &str) -> bool {
    let mut schema = schema;
    let mut rest = path;
    while !rest.is_empty() {
        let name = if let Some(after) = rest.strip_prefix("['") {
            let Some((name, after)) = after.split_once("']") else {
                return false;
            };
            rest = after;
            name
        } else if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            rest = &after[end..];
            &after[..end]
        } else {
            return false;
        };
        schema = match (
            field(schema, "properties").get(name),
            schema.get("additionalProperties"),
        ) {
            (Some(inner), _) => inner,
            (None, Some(inner)) if inner.is_object() => inner,
            _ => return false,
        };
    }
    true
}

/// The context in which the rules of a schema are compiled.
pub(super) struct CompileContext<'a> {
    pub(super) node: &'a Node,
    pub(super) root: bool,
    /// The outermost list without merge keys. Rules on items of this list cannot use `oldSelf`.
    pub(super) uncorrelated: Option<&'a Path<'a>>,
}

impl<'a> CompileContext<'a> {
    fn inside(&self, node: &'a Node) -> Self {
        Self {
            node,
            root: false,
            uncorrelated: self.uncorrelated,
        }
    }
}

/// Compiles all rules of a schema.
pub(super) fn compile_all(
    schema: &Value,
    about: &CompileContext<'_>,
    at: &Path<'_>,
    found: &mut Findings,
) {
    let under = at.child(RULES);
    for (index, rule) in list(schema, RULES).iter().enumerate() {
        one_rule(rule, about, &under.index(index), found);
    }
    let properties = at.child("properties");
    for (name, property) in object(schema, "properties").into_iter().flatten() {
        if let Some(node) = about.node.field(name) {
            compile_all(property, &about.inside(node), &properties.key(name), found);
        }
    }
    if let Some(inner) = schema.get("additionalProperties")
        && let Shape::Object {
            additional: Some(node),
            ..
        } = &about.node.shape
    {
        let at = at.child("additionalProperties");
        compile_all(inner, &about.inside(node), &at, found);
    }
    if let (Some(inner), Some(node)) = (schema.get("items"), about.node.items()) {
        let lost = (text(schema, LIST_TYPE) != "map").then_some(at);
        let about = CompileContext {
            uncorrelated: about.uncorrelated.or(lost),
            ..about.inside(node)
        };
        compile_all(inner, &about, &at.child("items"), found);
    }
}

fn one_rule(rule: &Value, about: &CompileContext<'_>, at: &Path<'_>, found: &mut Findings) {
    let expression = text(rule, "rule");
    compiled(rule, "rule", about, at, found);
    if !text(rule, "messageExpression").is_empty() {
        compiled(rule, "messageExpression", about, at, found);
    }
    if uses_old_self(expression) {
        if let Some(list) = about.uncorrelated {
            let message = format!(
                "oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"
            );
            found.invalid(&at.child("rule"), expression, message);
        }
    } else if let Some(set) = rule.get("optionalOldSelf").filter(|set| !set.is_null()) {
        let message = "may not be set if oldSelf is not used in rule";
        found.invalid(&at.child("optionalOldSelf"), set.clone(), message);
    }
}

fn compiled(
    rule: &Value,
    name: &str,
    about: &CompileContext<'_>,
    at: &Path<'_>,
    found: &mut Findings,
) {
    let gives = match name {
        "rule" => ResultType::Bool,
        _ => ResultType::Text,
    };
    let optional = flag(rule, "optionalOldSelf");
    match compile(text(rule, name)) {
        Err(error) => found.invalid(&at.child(name), rule.clone(), error),
        Ok(expression) if expression.nesting > MAX_RULE_DEPTH => {
            let message = format!(
                "estimated {name} cost exceeds budget: comprehensions are nested more than \
                 {MAX_RULE_DEPTH} deep (try simplifying the rule, or adding maxItems, \
                 maxProperties, and maxLength where arrays, maps, and strings are declared)"
            );
            found.forbidden(&at.child(name), message);
        }
        Ok(expression) => {
            if let Err(reason) = expression.check(about.node, about.root, optional, gives) {
                found.invalid(&at.child(name), rule.clone(), reason);
            }
        }
    }
}
