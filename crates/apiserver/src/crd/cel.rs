//! The rules of custom objects (`x-kubernetes-validations`), compiled once and kept with the
//! schema.
//!
//! Evaluation cannot be interrupted, so each rule is given its cost before it runs: how often its
//! nested comprehensions can turn over the largest collection in sight.

mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use kube_cel::KubeCelExt as _;
use kube_cel::cel::{Context, Program, Value as Cel};
use serde_json::Value;

use crate::schema::{ListType, Node, Path, Rule, Shape};
use crate::status::{FieldError, FieldErrorKind};

/// Most turns of one rule (kube-apiserver's `PerCallLimit`).
const RULE_COST: u64 = 1_000_000;
/// Most turns of all rules of one object (its `RuntimeCELCostBudget`).
const OBJECT_COST: u64 = 10_000_000;
/// Longest message that an expression may make.
const MESSAGE_BYTES: usize = 5 * 1024;

/// The compiled rules of a schema, as a tree like it.
#[derive(Debug, Default)]
pub struct Rules {
    here: Vec<Compiled>,
    fields: BTreeMap<String, Self>,
    inside: Option<Box<Self>>,
}

struct Compiled {
    rule: Arc<Rule>,
    program: Result<Program, String>,
    message: Option<Program>,
    uses_old: bool,
    depth: u32,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rule.fmt(f)
    }
}

impl Rules {
    /// Compiles the rules of a schema; `None` when it has none.
    pub fn compile(node: &Node) -> Option<Self> {
        let mut rules = Self {
            here: node.rules.iter().map(Compiled::new).collect(),
            ..Self::default()
        };
        match &node.shape {
            Shape::Object {
                properties,
                additional,
                ..
            } => {
                for (name, property) in properties {
                    if let Some(inside) = Self::compile(property) {
                        rules.fields.insert(name.clone(), inside);
                    }
                }
                rules.inside = additional.as_deref().and_then(Self::compile).map(Box::new);
            }
            Shape::Array { items, .. } => rules.inside = Self::compile(items).map(Box::new),
            _ => {}
        }
        let is_empty = rules.here.is_empty() && rules.fields.is_empty() && rules.inside.is_none();
        (!is_empty).then_some(rules)
    }

    /// The rules that an object breaks.
    pub fn broken(&self, node: &Node, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut run = Run {
            left: OBJECT_COST,
            found: Vec::new(),
        };
        // What is found when the budget ends is told too.
        let _ = run.value(self, node, object, old, &Path::ROOT);
        run.found
    }
}

impl Compiled {
    fn new(rule: &Arc<Rule>) -> Self {
        Self {
            program: compile(&rule.rule),
            message: rule
                .message_expression
                .as_deref()
                .and_then(|text| compile(text).ok()),
            uses_old: uses_old_self(&rule.rule),
            depth: depth(&rule.rule),
            rule: Arc::clone(rule),
        }
    }

    fn said(&self) -> &str {
        match self.rule.message.as_deref() {
            Some(message) if !message.is_empty() => message.trim(),
            _ => self.rule.rule.trim(),
        }
    }
}

/// Compiles an expression; the error is what kube-apiserver would say of it.
pub(crate) fn compile(expression: &str) -> Result<Program, String> {
    Program::compile(expression).map_err(|error| format!("compilation failed: {error}"))
}

/// Whether an expression speaks of the old value.
pub(crate) fn uses_old_self(expression: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    expression.match_indices("oldSelf").any(|(at, word)| {
        let before = expression[..at].chars().next_back();
        let after = expression[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// How deep comprehensions are nested.
pub(crate) fn depth(expression: &str) -> u32 {
    const MACROS: [&str; 8] = [
        ".all",
        ".exists",
        ".exists_one",
        ".existsOne",
        ".map",
        ".filter",
        ".transformList",
        ".transformMap",
    ];
    let mut open: Vec<bool> = Vec::new();
    let mut deepest = 0;
    let mut quote: Option<char> = None;
    let mut before = '\0';
    for (at, c) in expression.char_indices() {
        if let Some(end) = quote {
            if c == end && before != '\\' {
                quote = None;
            }
            before = if before == '\\' { '\0' } else { c };
            continue;
        }
        match c {
            '"' | '\'' => quote = Some(c),
            '(' => {
                let called = expression[..at].trim_end();
                open.push(MACROS.iter().any(|name| called.ends_with(name)));
                let now = open.iter().filter(|inside| **inside).count();
                deepest = deepest.max(u32::try_from(now).unwrap_or(u32::MAX));
            }
            ')' => {
                open.pop();
            }
            _ => {}
        }
        before = if before == '\\' { '\0' } else { c };
    }
    deepest
}

/// The budget is spent.
struct Spent;

struct Run {
    left: u64,
    found: Vec<FieldError>,
}

impl Run {
    fn value(
        &mut self,
        rules: &Rules,
        node: &Node,
        value: &Value,
        old: Option<&Value>,
        at: &Path<'_>,
    ) -> Result<(), Spent> {
        if value.is_null() {
            return Ok(());
        }
        if !rules.here.is_empty() {
            self.rules_here(rules, node, value, old, at)?;
        }
        match (&node.shape, value) {
            (Shape::Object { .. }, Value::Object(map)) => {
                for (name, inside) in map {
                    let own = rules.fields.get(name);
                    let (Some(below), Some(inner)) =
                        (own.or(rules.inside.as_deref()), node.field(name))
                    else {
                        continue;
                    };
                    let before = old.and_then(|old| old.get(name));
                    let at = match own {
                        Some(_) => at.child(name),
                        None => at.key(name),
                    };
                    self.value(below, inner, inside, before, &at)?;
                }
            }
            (Shape::Array { items, list, .. }, Value::Array(values)) => {
                let Some(rules) = rules.inside.as_deref() else {
                    return Ok(());
                };
                for (index, item) in values.iter().enumerate() {
                    let before = correlated(list, item, old);
                    self.value(rules, items, item, before, &at.index(index))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn rules_here(
        &mut self,
        rules: &Rules,
        node: &Node,
        value: &Value,
        old: Option<&Value>,
        at: &Path<'_>,
    ) -> Result<(), Spent> {
        let own = values::to_cel(node, value);
        let before = old.map(|old| values::to_cel(node, old));
        let largest = largest_collection(value);
        for compiled in &rules.here {
            // Unchanged values need not keep rules that came later (KEP-4008).
            let unchanged = old == Some(value) && !compiled.uses_old;
            let skipped = compiled.uses_old && before.is_none() && !compiled.rule.optional_old_self;
            if unchanged || skipped {
                continue;
            }
            self.pay(compiled, largest, at)?;
            self.rule(compiled, value, &own, before.as_ref(), at);
        }
        Ok(())
    }

    fn pay(&mut self, compiled: &Compiled, largest: u64, at: &Path<'_>) -> Result<(), Spent> {
        let length = compiled.rule.rule.len() as u64;
        let cost = largest
            .saturating_pow(compiled.depth)
            .saturating_add(length);
        let said = if cost > RULE_COST {
            format!(
                "'operation cancelled: actual cost limit exceeded': no further validation rules \
                 will be run due to call cost exceeds limit for rule: {}",
                compiled.said()
            )
        } else if cost > self.left {
            "validation failed due to running out of cost budget, no further validation rules \
             will be run"
                .to_owned()
        } else {
            self.left -= cost;
            return Ok(());
        };
        self.add(FieldErrorKind::Invalid, at.to_string(), None, said);
        Err(Spent)
    }

    fn rule(
        &mut self,
        compiled: &Compiled,
        value: &Value,
        own: &Cel,
        old: Option<&Cel>,
        at: &Path<'_>,
    ) {
        let program = match &compiled.program {
            Ok(program) => program,
            Err(error) => {
                let said = format!("rule compile error: {error}");
                return self.add(FieldErrorKind::Invalid, at.to_string(), None, said);
            }
        };
        let mut context = BASE.new_inner_scope();
        context.add_variable_from_value("self", own.clone());
        if compiled.rule.optional_old_self {
            context.add_variable_from_value("oldSelf", values::optional(old.cloned()));
        } else if let Some(old) = old {
            context.add_variable_from_value("oldSelf", old.clone());
        }
        match program.execute(&context) {
            Ok(Cel::Bool(true)) => {}
            Ok(_) => {
                let said = compiled.failure(&context);
                self.failed(compiled, value, at, said);
            }
            Err(error) => {
                let said = format!("{error} evaluating rule: {}", compiled.said());
                self.add(FieldErrorKind::Invalid, at.to_string(), None, said);
            }
        }
    }

    fn failed(&mut self, compiled: &Compiled, value: &Value, at: &Path<'_>, said: String) {
        let field = compiled
            .rule
            .field_path
            .as_deref()
            .unwrap_or_default()
            .trim();
        let path = match (at.to_string().as_str(), field.trim_start_matches('.')) {
            (at, "") => at.to_owned(),
            ("", field) => field.to_owned(),
            (at, field) if field.starts_with('[') => format!("{at}{field}"),
            (at, field) => format!("{at}.{field}"),
        };
        let kind = match compiled.rule.reason.as_deref() {
            Some("FieldValueForbidden") => FieldErrorKind::Forbidden,
            Some("FieldValueRequired") => FieldErrorKind::Required,
            Some("FieldValueDuplicate") => FieldErrorKind::Duplicate,
            _ => FieldErrorKind::Invalid,
        };
        let shown = (!value.is_object() && !value.is_array()).then(|| value.clone());
        let said = match kind {
            FieldErrorKind::Duplicate => String::new(),
            _ => said,
        };
        self.add(kind, path, shown, said);
    }

    fn add(&mut self, kind: FieldErrorKind, path: String, value: Option<Value>, detail: String) {
        // A rule of the object as a whole has no field; Go shows that so.
        let path = if path.is_empty() {
            "<nil>".to_owned()
        } else {
            path
        };
        self.found.push(FieldError {
            kind,
            path,
            value,
            detail,
        });
    }
}

impl Compiled {
    fn failure(&self, context: &Context<'_>) -> String {
        let made = self
            .message
            .as_ref()
            .and_then(|program| match program.execute(context) {
                Ok(Cel::String(text)) => Some(text.trim().to_owned()),
                _ => None,
            });
        match made {
            Some(text)
                if !text.is_empty() && text.len() <= MESSAGE_BYTES && !text.contains('\n') =>
            {
                text
            }
            _ if self
                .rule
                .message
                .as_deref()
                .is_some_and(|said| !said.is_empty()) =>
            {
                self.said().to_owned()
            }
            _ => format!("failed rule: {}", self.said()),
        }
    }
}

/// Kubernetes' functions; each evaluation adds its variables to a scope of its own.
static BASE: LazyLock<Context<'static>> = LazyLock::new(|| Context::default().with_all());

fn correlated<'a>(list: &ListType, item: &Value, old: Option<&'a Value>) -> Option<&'a Value> {
    let ListType::Map(keys) = list else {
        return None;
    };
    old?.as_array()?
        .iter()
        .find(|before| keys.iter().all(|key| before.get(key) == item.get(key)))
}

fn largest_collection(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items
            .iter()
            .map(largest_collection)
            .fold(items.len() as u64, u64::max),
        Value::Object(map) => map
            .values()
            .map(largest_collection)
            .fold(map.len() as u64, u64::max),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Rules, depth, uses_old_self};

    fn broken(schema: &Value, object: &Value, old: Option<&Value>) -> Vec<String> {
        let node = crate::crd::read(schema).unwrap();
        let rules = Rules::compile(&node).unwrap();
        let found = rules.broken(&node, object, old);
        found.iter().map(ToString::to_string).collect()
    }

    fn spec(rules: &Value, properties: &Value) -> Value {
        json!({"type": "object", "properties": {"spec": {
            "type": "object", "properties": properties, "x-kubernetes-validations": rules,
        }}})
    }

    #[test]
    fn a_broken_rule_is_told_with_its_message_and_field() {
        let schema = spec(
            &json!([
                {"rule": "self.min_size <= self.max", "messageExpression":
                 "'min ' + string(self.min_size) + ' is over max'", "fieldPath": ".min_size"},
                {"rule": "self.max < 10", "reason": "FieldValueForbidden", "message": "too many"},
                {"rule": "self.max != 12"},
            ]),
            &json!({"min_size": {"type": "integer"}, "max": {"type": "integer"}}),
        );
        assert_eq!(
            broken(&schema, &json!({"spec": {"min_size": 13, "max": 12}}), None),
            [
                "spec.min_size: Invalid value: min 13 is over max",
                "spec: Forbidden: too many",
                "spec: Invalid value: failed rule: self.max != 12",
            ]
        );
    }

    #[test]
    fn a_transition_rule_sees_the_old_value_of_the_same_item() {
        let schema = json!({"type": "object", "properties": {"list": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {
                "k": {"type": "string"},
                "v": {"type": "integer", "x-kubernetes-validations": [
                    {"rule": "self >= oldSelf", "message": "may only grow"}]},
            }},
        }}});
        let old = json!({"list": [{"k": "a", "v": 1}, {"k": "b", "v": 5}]});
        let new = json!({"list": [{"k": "b", "v": 4}, {"k": "a", "v": 1}, {"k": "c", "v": 0}]});
        assert_eq!(
            broken(&schema, &new, Some(&old)),
            ["list[0].v: Invalid value: 4: may only grow"]
        );
        assert!(broken(&schema, &new, None).is_empty());
    }

    #[test]
    fn an_optional_old_value_can_be_asked_for() {
        let schema = spec(
            &json!([{"rule": "!oldSelf.hasValue() || oldSelf.value().a == self.a",
                    "optionalOldSelf": true, "message": "never changes"}]),
            &json!({"a": {"type": "integer"}}),
        );
        let one = json!({"spec": {"a": 1}});
        let two = json!({"spec": {"a": 2}});
        assert!(broken(&schema, &one, None).is_empty());
        assert!(broken(&schema, &one, Some(&one)).is_empty());
        assert_eq!(
            broken(&schema, &two, Some(&one)),
            ["spec: Invalid value: never changes"]
        );
    }

    #[test]
    fn a_rule_that_could_turn_too_often_is_not_run() {
        let schema = spec(
            &json!([{"rule": "self.l.all(a, self.l.all(b, a != b + 1))"}]),
            &json!({"l": {"type": "array", "items": {"type": "integer"}}}),
        );
        let list: Vec<u32> = (0..2000).collect();
        let found = broken(&schema, &json!({"spec": {"l": list}}), None);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("cost limit exceeded"), "{found:?}");
    }

    #[test]
    fn nesting_is_counted_outside_of_texts() {
        assert_eq!(depth("self.x == '.all('"), 0);
        assert_eq!(
            depth("self.a.all(x, x.b.exists(y, y.c.map(z, z) == []))"),
            3
        );
        assert_eq!(depth("self.a.all(x, x) && self.b.all(y, y)"), 1);
        assert!(uses_old_self("self == oldSelf") && !uses_old_self("self.myoldSelf"));
    }
}
