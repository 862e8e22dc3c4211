//! JSONPath of printer columns: fields, indexes, slices, wildcards and simple filters (the subset
//! of client-go `util/jsonpath` that columns use).

use serde_json::Value;

/// Maximum length of a JSONPath, in bytes.
pub(crate) const MAX_BYTES: usize = 1024;
/// Maximum nesting depth of filters in a JSONPath.
pub(crate) const MAX_FILTER_DEPTH: usize = 4;
/// Maximum number of visited values per path.
const MAX_VISITS: usize = 100_000;

/// Returns the first value at a path. Returns `None` if the path is malformed, or if the evaluation
/// visits too many values.
pub(crate) fn first<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let steps = parse(path)?;
    let mut visits = Visits(MAX_VISITS);
    let found = visits.follow(&steps, object)?;
    found.first().copied()
}

/// Reports whether a path respects the limits of length and filter depth.
pub(crate) fn is_bounded(path: &str) -> bool {
    path.len() <= MAX_BYTES && path.matches("?(").count() <= MAX_FILTER_DEPTH
}

/// Formats a value as Go's `%v` and kubectl's JSONPath do.
pub(crate) fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    Slice(Option<i64>, Option<i64>),
    All,
    Descend(String),
    Filter {
        path: Vec<Self>,
        operator: Option<(Operator, Value)>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The number of values that the evaluation may still visit.
struct Visits(usize);

impl Visits {
    fn charge(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.checked_sub(count)?;
        Some(())
    }

    fn follow<'a>(&mut self, steps: &[Step], value: &'a Value) -> Option<Vec<&'a Value>> {
        let mut found = vec![value];
        for step in steps {
            let mut next = Vec::new();
            for value in found {
                self.walk(step, value, &mut next)?;
            }
            found = next;
        }
        Some(found)
    }

    fn walk<'a>(
        &mut self,
        step: &Step,
        value: &'a Value,
        found: &mut Vec<&'a Value>,
    ) -> Option<()> {
        let before = found.len();
        match (step, value) {
            (Step::Field(name), _) => found.extend(value.get(name)),
            (Step::Index(index), Value::Array(items)) => {
                found.extend(position(*index, items.len()).and_then(|index| items.get(index)));
            }
            (Step::Slice(start, end), Value::Array(items)) => {
                found.extend(slice(items, *start, *end));
            }
            (Step::All, Value::Array(items)) => found.extend(items),
            (Step::All, Value::Object(map)) => found.extend(map.values()),
            (Step::Descend(name), _) => self.descend(value, name, found)?,
            (Step::Filter { path, operator }, Value::Array(items)) => {
                for item in items {
                    if self.holds(item, path, operator.as_ref())? {
                        found.push(item);
                    }
                }
            }
            _ => {}
        }
        self.charge(found.len() - before + 1)
    }

    fn descend<'a>(
        &mut self,
        value: &'a Value,
        name: &str,
        found: &mut Vec<&'a Value>,
    ) -> Option<()> {
        self.charge(1)?;
        found.extend(value.get(name));
        match value {
            Value::Array(items) => items
                .iter()
                .try_for_each(|item| self.descend(item, name, found)),
            Value::Object(map) => map
                .values()
                .try_for_each(|item| self.descend(item, name, found)),
            _ => Some(()),
        }
    }

    fn holds(
        &mut self,
        item: &Value,
        path: &[Step],
        operator: Option<&(Operator, Value)>,
    ) -> Option<bool> {
        self.charge(1)?;
        let found = self.follow(path, item)?;
        let (Some(left), Some((operator, right))) = (found.first(), operator) else {
            return Some(!found.is_empty() && operator.is_none());
        };
        Some(operator.holds(left, right))
    }
}

fn slice(items: &[Value], start: Option<i64>, end: Option<i64>) -> &[Value] {
    let bound = |index: Option<i64>, otherwise| {
        index.map_or(otherwise, |index| {
            position(index, items.len()).unwrap_or(otherwise)
        })
    };
    let (start, end) = (bound(start, 0), bound(end, items.len()));
    items.get(start..end.min(items.len())).unwrap_or_default()
}

fn position(index: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    usize::try_from(if index < 0 { index + length } else { index }).ok()
}

impl Operator {
    fn holds(self, left: &Value, right: &Value) -> bool {
        let order = match (left, right) {
            (Value::Number(left), Value::Number(right)) => left
                .as_f64()
                .zip(right.as_f64())
                .and_then(|(left, right)| left.partial_cmp(&right)),
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
            _ => None,
        };
        let Some(order) = order else {
            return self == Self::NotEqual;
        };
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

fn parse(path: &str) -> Option<Vec<Step>> {
    // The number of filters limits their nesting depth.
    if !is_bounded(path) {
        return None;
    }
    let mut steps = Vec::new();
    let mut rest = path.trim();
    while !rest.is_empty() {
        rest = match rest.strip_prefix('[') {
            Some(inside) => {
                let end = closing(inside)?;
                steps.push(bracket(inside[..end].trim())?);
                &inside[end + 1..]
            }
            None => dotted(rest.strip_prefix('.')?, &mut steps)?,
        };
    }
    Some(steps)
}

fn dotted<'a>(rest: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    if rest.is_empty() || rest.starts_with('[') {
        return Some(rest);
    }
    let deep = rest.strip_prefix('.');
    let (name, rest) = name(deep.unwrap_or(rest));
    steps.push(match (name.as_str(), deep) {
        ("", _) => return None,
        (_, Some(_)) => Step::Descend(name),
        ("*", None) => Step::All,
        (_, None) => Step::Field(name),
    });
    Some(rest)
}

/// Parses a field name. A backslash escapes a dot.
fn name(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => name.extend(characters.next().map(|(_, c)| c)),
            '.' | '[' => return (name, &text[at..]),
            c => name.push(c),
        }
    }
    (name, "")
}

/// Returns the position of the closing bracket, outside of quotes and nested brackets.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        if let Some(end) = quote {
            if c == end {
                quote = None;
            }
            continue;
        }
        match c {
            '\'' | '"' => quote = Some(c),
            '[' => depth += 1,
            ']' if depth == 0 => return Some(at),
            ']' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(text: &str) -> Option<Step> {
    if text == "*" {
        return Some(Step::All);
    }
    if let Some(name) = unquoted(text) {
        return Some(Step::Field(name.to_owned()));
    }
    if let Some(condition) = text
        .strip_prefix("?(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        return filter(condition);
    }
    let number = |text: &str| match text.trim() {
        "" => Some(None),
        digits => digits.parse::<i64>().ok().map(Some),
    };
    match text.split_once(':') {
        Some((start, end)) => Some(Step::Slice(number(start)?, number(end)?)),
        None => Some(Step::Index(text.parse().ok()?)),
    }
}

fn unquoted(text: &str) -> Option<&str> {
    ['\'', '"']
        .iter()
        .find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote))
}

fn filter(condition: &str) -> Option<Step> {
    const OPERATORS: [(&str, Operator); 6] = [
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ];
    let split = OPERATORS.iter().find_map(|(sign, operator)| {
        let (left, right) = condition.split_once(sign)?;
        Some((left, Some((*operator, right.trim()))))
    });
    let (left, right) = split.unwrap_or((condition, None));
    let path = parse(left.trim().strip_prefix('@')?)?;
    let operator = match right {
        None => None,
        Some((operator, literal)) => Some((
            operator,
            match unquoted(literal) {
                Some(text) => text.into(),
                None => serde_json::from_str(literal).ok()?,
            },
        )),
    };
    Some(Step::Filter { path, operator })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{first, parse};

    #[test]
    fn jsonpath_evaluation_above_the_visit_limit_returns_no_value() {
        let deep = format!(".a{}", "[?(@".repeat(20_000));
        assert_eq!(parse(&deep), None);
        let closed = format!(".a{}{}", "[?(@".repeat(200), ")]".repeat(200));
        assert_eq!(parse(&closed), None);
        assert_eq!(parse(&".a".repeat(20_000)), None);
        let mut tree = json!({});
        for _ in 0..40 {
            tree = json!({"a": tree});
        }
        assert_eq!(first(&tree, &"..a".repeat(30)), None);
        assert!(first(&tree, "..a..a").is_some());
        assert!(first(&json!({"a": [[{"b": 1}]]}), ".a[?(@[?(@.b)])]").is_some());
    }

    #[test]
    fn jsonpath_results_match_client_go() {
        let object = json!({
            "spec": {"list": [{"n": "a", "v": 1}, {"n": "b", "v": 2}], "a.b": 3, "m": {"x": {"y": 4}}},
            "status": {"conditions": [
                {"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]},
        });
        for (path, value) in [
            (".spec.list[0].n", json!("a")),
            (".spec.list[-1].v", json!(2)),
            (".spec.list[*].n", json!("a")),
            (".spec.list[1:].n", json!("b")),
            (".spec['a.b']", json!(3)),
            (r".spec.a\.b", json!(3)),
            ("..y", json!(4)),
            (
                r#".status.conditions[?(@.type=="Ready")].status"#,
                json!("True"),
            ),
            (".spec.list[?(@.v>1)].n", json!("b")),
            (".spec.list[?(@.v != 1)].n", json!("b")),
        ] {
            assert_eq!(first(&object, path), Some(&value), "{path}");
        }
        assert_eq!(first(&object, ".spec.none.deeper"), None);
        for wrong in ["spec", ".a[", ".a[?(b)]", ".a[x]", ".."] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
