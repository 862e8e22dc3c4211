//! Replaces `${variables}` in scripts.

use std::collections::BTreeMap;

use serde_json::Value;

/// Names and values of the variables of a script on one server.
pub(super) type Variables = BTreeMap<String, String>;

/// Replaces each `${name}` with the value of the variable. Replaces each `${fill:N}` with a text of
/// N letters.
pub(super) fn text(text: &str, variables: &Variables) -> Result<String, String> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        result.push_str(&rest[..start]);
        let tail = &rest[start + 2..];
        let end = tail
            .find('}')
            .ok_or_else(|| format!("`${{` without an end in {text:?}"))?;
        result.push_str(&value(&tail[..end], variables)?);
        rest = &tail[end + 1..];
    }
    result.push_str(rest);
    Ok(result)
}

fn value(name: &str, variables: &Variables) -> Result<String, String> {
    if let Some(count) = name.strip_prefix("fill:") {
        let count: usize = count
            .parse()
            .map_err(|_| format!("${{{name}}}: that is no number"))?;
        return Ok("x".repeat(count));
    }
    variables
        .get(name)
        .cloned()
        .ok_or_else(|| format!("variable ${{{name}}} is not set"))
}

/// Replaces variables in all strings of a document, including the keys of objects.
pub(super) fn document(value: &Value, variables: &Variables) -> Result<Value, String> {
    Ok(match value {
        Value::String(string) => Value::String(text(string, variables)?),
        Value::Array(items) => Value::Array(
            items
                .iter()
                .map(|item| document(item, variables))
                .collect::<Result<_, _>>()?,
        ),
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(key, member)| Ok((text(key, variables)?, document(member, variables)?)))
                .collect::<Result<_, String>>()?,
        ),
        plain => plain.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_and_missing_variables_return_errors() {
        let variables = Variables::from([("ns".to_owned(), "shop".to_owned())]);
        assert_eq!(text("/${ns}/${fill:3}", &variables).unwrap(), "/shop/xxx");
        assert!(text("${uid}", &variables).unwrap_err().contains("uid"));
        let filled = document(&serde_json::json!({"${ns}": ["${ns}", 1]}), &variables).unwrap();
        assert_eq!(filled, serde_json::json!({"shop": ["shop", 1]}));
    }
}
