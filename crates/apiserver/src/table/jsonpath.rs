//! The JSONPath of printer columns: fields, indexes, slices, wildcards and simple filters
//! (client-go `util/jsonpath`, as far as columns use it).

use serde_json::Value;

/// The first value at a path; nothing also when the path is not understood.
pub(super) fn first<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let steps = parse(path)?;
    let mut found = vec![object];
    for step in &steps {
        found = found
            .into_iter()
            .flat_map(|value| step.walk(value))
            .collect();
        if found.is_empty() {
            return None;
        }
    }
    found.first().copied()
}

/// A value as `%v` and kubectl's JSONPath print it.
pub(super) fn printed(value: &Value) -> String {
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

impl Step {
    fn walk<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match (self, value) {
            (Self::Field(name), _) => value.get(name).into_iter().collect(),
            (Self::Index(index), Value::Array(items)) => position(*index, items.len())
                .and_then(|index| items.get(index))
                .into_iter()
                .collect(),
            (Self::Slice(start, end), Value::Array(items)) => {
                let bound = |index: Option<i64>, otherwise| {
                    index.map_or(otherwise, |index| {
                        position(index, items.len()).unwrap_or(otherwise)
                    })
                };
                let (start, end) = (bound(*start, 0), bound(*end, items.len()));
                let end = end.min(items.len());
                items.get(start..end).unwrap_or_default().iter().collect()
            }
            (Self::All, Value::Array(items)) => items.iter().collect(),
            (Self::All, Value::Object(map)) => map.values().collect(),
            (Self::Descend(name), _) => {
                let mut found = Vec::new();
                descend(value, name, &mut found);
                found
            }
            (Self::Filter { path, operator }, Value::Array(items)) => items
                .iter()
                .filter(|item| holds(item, path, operator.as_ref()))
                .collect(),
            _ => Vec::new(),
        }
    }
}

fn position(index: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    usize::try_from(if index < 0 { index + length } else { index }).ok()
}

fn descend<'a>(value: &'a Value, name: &str, found: &mut Vec<&'a Value>) {
    found.extend(value.get(name));
    match value {
        Value::Array(items) => items.iter().for_each(|item| descend(item, name, found)),
        Value::Object(map) => map.values().for_each(|item| descend(item, name, found)),
        _ => {}
    }
}

fn holds(item: &Value, path: &[Step], operator: Option<&(Operator, Value)>) -> bool {
    let mut found = vec![item];
    for step in path {
        found = found
            .into_iter()
            .flat_map(|value| step.walk(value))
            .collect();
    }
    let (Some(left), Some((operator, right))) = (found.first(), operator) else {
        return !found.is_empty() && operator.is_none();
    };
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
        return *operator == Operator::NotEqual;
    };
    match operator {
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::LessOrEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        Operator::GreaterOrEqual => order.is_ge(),
    }
}

fn parse(path: &str) -> Option<Vec<Step>> {
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

/// A field's name; a backslash keeps a dot from ending it.
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

/// Where the bracket ends, quotes and brackets inside passed over.
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
    fn columns_find_what_client_go_finds() {
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
