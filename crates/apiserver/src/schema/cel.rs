//! CEL rules of custom objects (`x-kubernetes-validations`), compiled once per schema.
//!
//! The evaluator cannot be interrupted. Before evaluation, the maximum cost of each rule is
//! computed for the sizes of the actual values.

mod calls;
mod cost;
mod expression;
mod functions;
mod operators;
mod size;
#[cfg(test)]
mod tests;
mod types;
mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use kube_cel::cel::{Context, Value as Cel};
use serde_json::Value;

use self::cost::{Scope, bound};
use self::expression::Expression;
pub(crate) use self::expression::{ResultType, compile};
use self::functions::BASE;
use self::size::Size;
use crate::schema::{Node, OldItems, Path, Rule, Shape};
use crate::status::{FieldError, FieldErrorKind};

/// Maximum cost of one rule (kube-apiserver's `PerCallLimit`, in smaller units).
const MAX_RULE_COST: u64 = 4_000_000;
/// Maximum cost of all rules of an object (kube-apiserver's `RuntimeCELCostBudget`).
const MAX_OBJECT_COST: u64 = 10_000_000;
/// Maximum length of an error message, in bytes.
const MAX_MESSAGE_BYTES: usize = 5 * 1024;

/// The compiled rules of a schema, as a tree with the structure of the schema.
#[derive(Debug, Default)]
pub struct Rules {
    here: Vec<Compiled>,
    fields: BTreeMap<String, Self>,
    inside: Option<Box<Self>>,
    /// The depth of the deepest expression in the tree.
    depth: usize,
}

struct Compiled {
    rule: Arc<Rule>,
    expression: Result<Expression, String>,
    message: Option<Expression>,
    uses_old: bool,
}

/// A CEL value with its size.
struct SizedValue {
    value: Cel,
    size: Arc<Size>,
}

impl SizedValue {
    fn new(node: &Node, value: &Value) -> Self {
        let value = values::to_cel(node, value);
        let size = Arc::new(Size::of(&value));
        Self { value, size }
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rule.fmt(f)
    }
}

impl Rules {
    /// Compiles the rules of a schema. Returns `None` if the schema has no rules.
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
        let own = rules.here.iter().map(Compiled::depth);
        let below = rules.fields.values().chain(rules.inside.as_deref());
        rules.depth = own.chain(below.map(|rules| rules.depth)).max().unwrap_or(0);
        let is_empty = rules.here.is_empty() && rules.fields.is_empty() && rules.inside.is_none();
        (!is_empty).then_some(rules)
    }

    /// Returns the errors of all violated rules.
    pub fn broken(&self, node: &Node, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let evaluated = expression::evaluate(self.depth, || {
            let mut run = Run {
                left: MAX_OBJECT_COST,
                found: Vec::new(),
            };
            // Errors up to the exhaustion of the budget are returned, too.
            let _ = run.value(self, node, object, old, &Path::ROOT);
            run.found
        });
        evaluated.unwrap_or_else(|reason| {
            vec![FieldError {
                kind: FieldErrorKind::Internal,
                path: "<nil>".to_owned(),
                value: None,
                detail: format!("the validation rules could not be evaluated: {reason}"),
            }]
        })
    }
}

impl Compiled {
    fn new(rule: &Arc<Rule>) -> Self {
        Self {
            expression: compile(&rule.rule),
            message: rule
                .message_expression
                .as_deref()
                .and_then(|text| compile(text).ok()),
            uses_old: uses_old_self(&rule.rule),
            rule: Arc::clone(rule),
        }
    }

    fn depth(&self) -> usize {
        let expressions = self.expression.iter().chain(&self.message);
        expressions.map(|one| one.depth).max().unwrap_or(0)
    }

    fn text(&self) -> &str {
        match self.rule.message.as_deref() {
            Some(message) if !message.is_empty() => message.trim(),
            _ => self.rule.rule.trim(),
        }
    }
}

/// Reports whether the expression uses `oldSelf`.
pub(crate) fn uses_old_self(expression: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    expression.match_indices("oldSelf").any(|(at, word)| {
        let before = expression[..at].chars().next_back();
        let after = expression[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// The error of a rule whose cost exceeds the remaining cost budget.
struct BudgetExceeded;

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
    ) -> Result<(), BudgetExceeded> {
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
                let old_items = OldItems::of(list, old);
                for (index, item) in values.iter().enumerate() {
                    let before = old_items.item(item);
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
    ) -> Result<(), BudgetExceeded> {
        let own = SizedValue::new(node, value);
        let before = old.map(|old| SizedValue::new(node, old));
        let of_old = Scope {
            name: "oldSelf",
            size: before
                .as_ref()
                .map(|old| Arc::clone(&old.size))
                .unwrap_or_default(),
            outer: None,
        };
        let scope = Scope {
            name: "self",
            size: Arc::clone(&own.size),
            outer: Some(&of_old),
        };
        for compiled in &rules.here {
            // Unchanged values are exempt from rules (ratcheting, KEP-4008).
            let unchanged = old == Some(value) && !compiled.uses_old;
            let skipped = compiled.uses_old && before.is_none() && !compiled.rule.optional_old_self;
            if unchanged || skipped {
                continue;
            }
            let old = before.as_ref().map(|old| &old.value);
            let context = compiled.context(&own.value, old);
            self.rule(compiled, value, &context, &scope, at)?;
        }
        Ok(())
    }

    fn charge(
        &mut self,
        cost: u64,
        compiled: &Compiled,
        at: &Path<'_>,
    ) -> Result<(), BudgetExceeded> {
        let message_text = if cost > MAX_RULE_COST {
            format!(
                "'operation cancelled: actual cost limit exceeded': no further validation rules \
                 will be run due to call cost exceeds limit for rule: {}",
                compiled.text()
            )
        } else if cost > self.left {
            "validation failed due to running out of cost budget, no further validation rules \
             will be run"
                .to_owned()
        } else {
            self.left -= cost;
            return Ok(());
        };
        self.add(FieldErrorKind::Invalid, at.to_string(), None, message_text);
        Err(BudgetExceeded)
    }

    fn rule(
        &mut self,
        compiled: &Compiled,
        value: &Value,
        context: &Context<'_>,
        scope: &Scope<'_>,
        at: &Path<'_>,
    ) -> Result<(), BudgetExceeded> {
        let program = match &compiled.expression {
            Ok(expression) => &expression.program,
            Err(error) => {
                let message_text = format!("rule compile error: {error}");
                self.add(FieldErrorKind::Invalid, at.to_string(), None, message_text);
                return Ok(());
            }
        };
        self.charge(bound(program.expression(), Some(scope)).cost, compiled, at)?;
        match program.execute(context) {
            Ok(Cel::Bool(true)) => {}
            Ok(_) => {
                let message_text = self.message(compiled, context, scope);
                self.failed(compiled, value, at, message_text);
            }
            Err(error) => {
                let error = shortened(error.to_string());
                let message_text = format!("{error} evaluating rule: {}", compiled.text());
                self.add(FieldErrorKind::Invalid, at.to_string(), None, message_text);
            }
        }
        Ok(())
    }

    /// Returns the message of a violated rule.
    fn message(&mut self, compiled: &Compiled, context: &Context<'_>, scope: &Scope<'_>) -> String {
        let made = compiled.message.as_ref().and_then(|expression| {
            let cost = bound(expression.program.expression(), Some(scope)).cost;
            if cost > MAX_RULE_COST {
                return None;
            }
            self.left = self.left.checked_sub(cost)?;
            match expression.program.execute(context) {
                Ok(Cel::String(text)) => Some(text.trim().to_owned()),
                _ => None,
            }
        });
        let is_fit = |text: &String| {
            !text.is_empty() && text.len() <= MAX_MESSAGE_BYTES && !text.contains('\n')
        };
        let written = compiled.rule.message.as_deref();
        match made.filter(is_fit) {
            Some(text) => text,
            None if written.is_some_and(|message_text| !message_text.is_empty()) => {
                compiled.text().to_owned()
            }
            None => format!("failed rule: {}", compiled.text()),
        }
    }

    fn failed(&mut self, compiled: &Compiled, value: &Value, at: &Path<'_>, message_text: String) {
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
        let message_text = match kind {
            FieldErrorKind::Duplicate => String::new(),
            _ => message_text,
        };
        self.add(kind, path, shown, message_text);
    }

    fn add(&mut self, kind: FieldErrorKind, path: String, value: Option<Value>, detail: String) {
        // Go prints an empty path as `<nil>`.
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
    fn context(&self, own: &Cel, old: Option<&Cel>) -> Context<'static> {
        let mut context = BASE.new_inner_scope();
        context.add_variable_from_value("self", own.clone());
        if self.rule.optional_old_self {
            context.add_variable_from_value("oldSelf", values::optional(old.cloned()));
        } else if let Some(old) = old {
            context.add_variable_from_value("oldSelf", old.clone());
        }
        context
    }
}

/// Truncates a message, because errors may contain long values.
fn shortened(mut text: String) -> String {
    if text.len() > MAX_MESSAGE_BYTES {
        let mut end = MAX_MESSAGE_BYTES;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
    text
}
