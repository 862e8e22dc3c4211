//! Normalizes values that differ between any two servers: UIDs, times, versions, generated names,
//! tokens and addresses. The placeholders preserve relations: equal UIDs get equal placeholders,
//! and versions keep their order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use regex::{Captures, Regex};
use serde_json::{Map, Value};

static UID: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
/// Matches times from 2025 on, which are times of this test run. Times in scripts are earlier.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?:202[5-9]|20[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(?:Z|[+-]\d\d:\d\d)")
});
static AGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(\d+[dhms])+$"));
/// Matches the current revision of a server in error messages.
static CURRENT: LazyLock<Regex> = LazyLock::new(|| pattern(r"current: \d+"));
/// Matches object versions in error messages. A number with one or two digits is a limit, not a
/// version.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d{3,}\b"));
/// Texts that follow a number in an error message if the number is a limit.
const LIMITED: [&str; 4] = [" bytes", " characters", " items", " properties"];
/// Matches the names of volumes that contain the token of a pod.
static ACCESS: LazyLock<Regex> = LazyLock::new(|| pattern(r"kube-api-access-[0-9a-z]{5}"));
static PEM: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"-----BEGIN ([A-Z ]+)-----[A-Za-z0-9+/=\s]+-----END [A-Z ]+-----\n?")
});
/// Matches a JSON object that a message quotes.
static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"Invalid value: ("\{(?:[^"\\]|\\.)*")"#));
static JWT: LazyLock<Regex> = LazyLock::new(|| pattern(r"^eyJ[\w-]+\.(eyJ[\w-]+)\.[\w-]+$"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the patterns here are constant and tested")
}

/// The identifiers that one server has used in the responses of a script.
#[derive(Debug, Default)]
pub(super) struct Normal {
    host: String,
    uids: BTreeMap<String, usize>,
    versions: BTreeSet<u64>,
    /// Generated names, each with the placeholder that replaces the name. The longest names are
    /// replaced first.
    names: BTreeMap<String, String>,
}

impl Normal {
    /// Creates the state for the server with this host and port.
    pub(super) fn new(host: &str) -> Self {
        Self {
            host: host.to_owned(),
            ..Self::default()
        }
    }

    /// Records the UIDs, versions and generated names in a response.
    ///
    /// Call this method for all responses, in order. Then normalize the first response.
    pub(super) fn learn(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                for uid in UID.find_iter(text) {
                    let next = self.uids.len() + 1;
                    self.uids.entry(uid.as_str().to_owned()).or_insert(next);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Object(members) => {
                self.learn_name(members);
                if let Some(version) = version(members) {
                    self.versions.insert(version);
                }
                for (key, member) in sorted(members) {
                    if key == "metadata" && is_list(members) {
                        continue;
                    }
                    self.learn(member);
                }
            }
            _ => {}
        }
    }

    fn learn_name(&mut self, metadata: &Map<String, Value>) {
        let text = |key| metadata.get(key).and_then(Value::as_str);
        if let (Some(base), Some(name)) = (text("generateName"), text("name"))
            && let Some(suffix) = name.strip_prefix(base)
            && suffix.len() == 5
        {
            self.names
                .insert(name.to_owned(), format!("{base}<generated>"));
        }
    }

    /// Returns the normalized response. `newest` is the highest object version in the responses up
    /// to and including this response.
    pub(super) fn apply(&self, value: &Value, newest: u64) -> Value {
        self.walk("", value, newest)
    }

    fn walk(&self, key: &str, value: &Value, newest: u64) -> Value {
        match value {
            Value::String(text) => self.string(key, text),
            Value::Array(items) if key == "cells" => {
                items.iter().map(|item| self.cell(item, newest)).collect()
            }
            Value::Array(items) => {
                let walked = items.iter().map(|item| self.walk(key, item, newest));
                let mut walked: Vec<Value> = walked.collect();
                if key == "managedFields" {
                    sort_managers(&mut walked);
                }
                walked.into()
            }
            Value::Object(members) => {
                let list = is_list(members);
                let bookmark = members.get("type").and_then(Value::as_str) == Some("BOOKMARK");
                let walked = members.iter().map(|(key, member)| {
                    let mut normal = self.walk(key, member, newest);
                    if list && key == "metadata" {
                        list_version(&mut normal, member, newest);
                    }
                    if bookmark && key == "object" {
                        list_version(&mut normal["metadata"], &member["metadata"], newest);
                    }
                    (self.text(key), normal)
                });
                sort_causes(Value::Object(walked.collect()))
            }
            plain => plain.clone(),
        }
    }

    fn cell(&self, cell: &Value, newest: u64) -> Value {
        match cell.as_str() {
            Some(text) if AGE.is_match(text) => "<age>".into(),
            _ => self.walk("", cell, newest),
        }
    }

    fn string(&self, key: &str, text: &str) -> Value {
        if key == "resourceVersion"
            && let Ok(version) = text.parse()
            && self.versions.contains(&version)
        {
            return self.rank(version).into();
        }
        if key == "continue" && !text.is_empty() {
            return "<continue>".into();
        }
        if let Some(token) = JWT.captures(text)
            && let Some(claims) = claims(&token[1])
        {
            return self.walk("", &claims, 0);
        }
        let text = self.text(text);
        if matches!(key, "message" | "warning" | "reason") {
            let text = CURRENT.replace_all(&text, "current: <version>");
            return NUMBER
                .replace_all(&text, |found: &Captures<'_>| {
                    let version = found[0].parse().unwrap_or(0);
                    let end = found.get(0).map_or(text.len(), |found| found.end());
                    // A limit can equal the version of an object.
                    let is_limit = LIMITED.iter().any(|unit| text[end..].starts_with(unit));
                    if !is_limit && self.versions.contains(&version) {
                        self.rank(version)
                    } else {
                        found[0].to_owned()
                    }
                })
                .into();
        }
        text.into()
    }

    /// Returns the placeholder of an object version. `<version 1>` is the placeholder of the lowest
    /// recorded version.
    fn rank(&self, version: u64) -> String {
        let rank = self.versions.range(..=version).count();
        format!("<version {rank}>")
    }

    fn text(&self, text: &str) -> String {
        let text = text.replace(&self.host, "<host>");
        let text = UID.replace_all(&text, |found: &Captures<'_>| {
            match self.uids.get(&found[0]) {
                Some(number) => format!("<uid {number}>"),
                // Fractions of seconds occur only in tokens.
                None => "<uid>".to_owned(),
            }
        });
        let text = TIME.replace_all(&text, |found: &Captures<'_>| {
            if found.get(1).is_some() {
                "<time with fractions>"
            } else {
                "<time>"
            }
        });
        let text = ACCESS.replace_all(&text, "kube-api-access-<generated>");
        let text = PEM.replace_all(&text, "<$1>");
        let mut text = in_order(&text);
        for (name, stand_in) in self.names.iter().rev() {
            if text.contains(name.as_str()) {
                text = text.replace(name.as_str(), stand_in);
            }
        }
        text
    }
}

/// Sorts adjacent `managedFields` entries with the same operation by their content.
///
/// The API server sorts the entries by time in whole seconds. Two requests can be in different
/// seconds on one server and in the same second on the second server.
fn sort_managers(managers: &mut [Value]) {
    for alike in managers.chunk_by_mut(|one, other| one["operation"] == other["operation"]) {
        alike.sort_by_cached_key(ordered);
    }
}

/// Sorts the causes of a Status and the list of causes in its message. kube-apiserver lists the
/// causes of custom objects in the random order of a Go map.
fn sort_causes(mut status: Value) -> Value {
    let Some(causes) = status.pointer_mut("/details/causes") else {
        return status;
    };
    if let Some(causes) = causes.as_array_mut() {
        causes.sort_by_cached_key(ordered);
    }
    let list = status["message"]
        .as_str()
        .and_then(|text| text.split_once(" is invalid: [")?.1.strip_suffix(']'));
    if let Some(list) = list {
        let mut found: Vec<&str> = list.split(", ").collect();
        found.sort_unstable();
        let found = found.join(", ");
        let start = status["message"]
            .as_str()
            .and_then(|text| text.split_once(" is invalid: ["));
        let start = start.map_or("", |(start, _)| start).to_owned();
        status["message"] = format!("{start} is invalid: [{found}]").into();
    }
    status
}

/// Sorts the members of the JSON objects that a message quotes.
fn in_order(text: &str) -> String {
    QUOTED
        .replace_all(text, |found: &Captures<'_>| {
            let object = serde_json::from_str::<String>(&found[1])
                .and_then(|inner| serde_json::from_str::<Value>(&inner));
            match object {
                Ok(object) => format!("Invalid value: {}", ordered(&object)),
                Err(_) => found[0].to_owned(),
            }
        })
        .into_owned()
}

/// Formats a JSON value with sorted members.
fn ordered(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(ordered).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let members: Vec<String> = sorted(members)
                .into_iter()
                .map(|(key, member)| format!("{key:?}:{}", ordered(member)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        plain => plain.to_string(),
    }
}

/// Returns the highest object version in the response.
pub(super) fn newest(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(newest).max().unwrap_or(0),
        Value::Object(members) => {
            let own = version(members).unwrap_or(0);
            let rest = members
                .iter()
                .filter(|(key, _)| !(*key == "metadata" && is_list(members)))
                .map(|(_, member)| newest(member));
            rest.max().unwrap_or(0).max(own)
        }
        _ => 0,
    }
}

fn sorted(members: &Map<String, Value>) -> BTreeMap<&String, &Value> {
    members.iter().collect()
}

fn version(metadata: &Map<String, Value>) -> Option<u64> {
    // Only the metadata of an object: `involvedObject` has the version of another object.
    metadata.contains_key("uid").then_some(())?;
    metadata.get("resourceVersion")?.as_str()?.parse().ok()
}

fn is_list(members: &Map<String, Value>) -> bool {
    members.contains_key("metadata")
        && ["items", "rows"].iter().any(|key| {
            members
                .get(*key)
                .is_some_and(|items| items.is_array() || items.is_null())
        })
}

/// Replaces the resource version of a list with a text. The text states whether the version is
/// lower than `newest`.
fn list_version(normal: &mut Value, raw: &Value, newest: u64) {
    let Some(version) = raw["resourceVersion"].as_str() else {
        return;
    };
    let word = match version.parse::<u64>() {
        Ok(version) if version >= newest => "<as new as anything seen>",
        Ok(_) => "<older than something seen>",
        Err(_) => return,
    };
    normal["resourceVersion"] = word.into();
}

/// Returns the claims of a token. Replaces each time with the number of seconds since the token was
/// issued.
fn claims(part: &str) -> Option<Value> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    let mut claims: Value = serde_json::from_slice(&bytes).ok()?;
    let issued = claims["iat"].as_i64()?;
    for key in ["exp", "iat", "nbf"] {
        if let Some(time) = claims[key].as_i64() {
            claims[key] = format!("{} s after its issue", time - issued).into();
        }
    }
    if let Some(time) = claims["kubernetes.io"]["warnafter"].as_i64() {
        claims["kubernetes.io"]["warnafter"] =
            format!("{} s after its issue", time - issued).into();
    }
    Some(serde_json::json!({"token that says": claims}))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn normal(answers: &[Value]) -> Vec<Value> {
        let mut normal = Normal::new("127.0.0.1:1");
        for answer in answers {
            normal.learn(answer);
        }
        let mut seen = 0;
        answers
            .iter()
            .map(|answer| {
                seen = newest(answer).max(seen);
                normal.apply(answer, seen)
            })
            .collect()
    }

    fn object(uid: char, version: &str) -> Value {
        let uid = format!("{}-0000-4000-8000-000000000000", uid.to_string().repeat(8));
        json!({"metadata": {"uid": uid, "resourceVersion": version}})
    }

    #[test]
    fn normalization_preserves_uid_equality_and_resource_version_order() {
        let answers = normal(&[object('a', "120"), object('b', "99"), object('a', "120")]);
        assert_eq!(answers[0], answers[2]);
        assert_eq!(answers[0]["metadata"]["resourceVersion"], "<version 2>");
        assert_eq!(answers[1]["metadata"]["resourceVersion"], "<version 1>");
        assert_ne!(answers[0]["metadata"]["uid"], answers[1]["metadata"]["uid"]);
    }

    #[test]
    fn resource_versions_in_messages_are_normalized_and_size_limits_are_unchanged() {
        let answers = normal(&[object('a', "120"), json!({"message": "120 is not 253"})]);
        assert_eq!(answers[1]["message"], "<version 1> is not 253");
        let limit = "may not be more than 128 bytes";
        let answers = normal(&[object('a', "128"), json!({ "message": limit })]);
        assert_eq!(answers[1]["message"], limit);
    }

    #[test]
    fn list_resource_version_is_compared_with_versions_of_observed_objects() {
        let list = |version| json!({"items": [], "metadata": {"resourceVersion": version}});
        let answers = normal(&[object('a', "120"), list("120"), list("119")]);
        assert_eq!(
            answers[1]["metadata"]["resourceVersion"],
            "<as new as anything seen>"
        );
        assert_eq!(
            answers[2]["metadata"]["resourceVersion"],
            "<older than something seen>"
        );
    }

    #[test]
    fn generated_names_times_hosts_and_ages_are_normalized() {
        let answers = normal(&[
            json!({"generateName": "a-", "name": "a-x7f2k"}),
            json!({"message": "a-x7f2k at 127.0.0.1:1 on 2026-01-01T00:00:00Z"}),
            json!({"cells": ["5m3s", "x"], "t": "2020-01-01T00:00:00Z"}),
        ]);
        assert_eq!(answers[1]["message"], "a-<generated> at <host> on <time>");
        assert_eq!(
            answers[2],
            json!({"cells": ["<age>", "x"], "t": "2020-01-01T00:00:00Z"})
        );
    }

    #[test]
    fn fields_of_an_object_quoted_in_a_message_are_sorted() {
        let quote = |inner: &str| json!({"m": format!("Invalid value: {inner:?}: no")});
        let answers = normal(&[quote(r#"{"b":1,"a":[{}]}"#), quote(r#"{"a":[{}],"b":1}"#)]);
        assert_eq!(answers[0], answers[1]);
        assert_ne!(
            normal(&[quote(r#"{"a":2}"#)]),
            normal(&[quote(r#"{"a":1}"#)])
        );
    }

    #[test]
    fn status_causes_are_sorted() {
        let status = |a: &str, b: &str| {
            json!({"message": format!("X \"a\" is invalid: [{a}, {b}]"),
                   "details": {"causes": [{"field": a}, {"field": b}]}})
        };
        assert_eq!(normal(&[status("a", "b")]), normal(&[status("b", "a")]));
        assert_ne!(normal(&[status("a", "b")]), normal(&[status("a", "c")]));
    }

    #[test]
    fn field_managers_are_sorted_except_apply_managers() {
        let managers = |all: [(&str, &str); 3]| {
            let all = all.map(|(name, operation)| json!({"manager": name, "operation": operation}));
            json!({"metadata": {"managedFields": all}})
        };
        let one = managers([("a", "Apply"), ("b", "Update"), ("c", "Update")]);
        let same = managers([("a", "Apply"), ("c", "Update"), ("b", "Update")]);
        let other = managers([("b", "Update"), ("a", "Apply"), ("c", "Update")]);
        assert_eq!(normal(std::slice::from_ref(&one)), normal(&[same]));
        assert_ne!(normal(&[one]), normal(&[other]));
    }

    #[test]
    fn certificates_in_responses_are_normalized() {
        let pem = "-----BEGIN CERTIFICATE-----\nMII/+=\n-----END CERTIFICATE-----\n";
        assert_eq!(normal(&[json!(pem)])[0], "<CERTIFICATE>");
    }

    #[test]
    fn token_in_response_is_compared_by_its_claims() {
        let part =
            URL_SAFE_NO_PAD.encode(json!({"iat": 100, "exp": 3700, "sub": "me"}).to_string());
        let token = format!("eyJhbGciOiJSUzI1NiJ9.{part}.c2ln");
        let answers = normal(&[json!({"token": token})]);
        assert_eq!(
            answers[0]["token"]["token that says"],
            json!({"iat": "0 s after its issue", "exp": "3600 s after its issue", "sub": "me"})
        );
    }
}
