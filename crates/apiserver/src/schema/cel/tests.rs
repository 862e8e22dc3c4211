use serde_json::{Value, json};

use super::{ResultType, Rules, compile, uses_old_self};

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
fn violated_rule_is_reported_with_message_and_field() {
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
fn cel_transition_rule_receives_the_old_value_of_the_same_list_item() {
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
fn cel_optional_old_self_supports_has_value() {
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
fn cel_rule_above_the_cost_limit_is_not_evaluated() {
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
fn cel_nesting_depth_limit_includes_expanded_macros() {
    let nesting = |text: &str| compile(text).unwrap().nesting;
    assert_eq!(nesting("self.x == '.all('"), 0);
    assert_eq!(
        nesting("self.a.all(x, x.b.exists(y, y.c.map(z, z) == []))"),
        3
    );
    assert_eq!(nesting("self.a.all(x, x) && self.b.all(y, y)"), 1);
    assert_eq!(nesting("self.a.filter(x, x).map(y, y) == []"), 1);
    // Unusual spelling with comments and spaces.
    let hidden = "self.a . all // so\n (x, self.b .exists(y, y == r'\\' && self.c.all(z, z)))";
    assert_eq!(nesting(hidden), 3);
    assert!(uses_old_self("self == oldSelf") && !uses_old_self("self.myoldSelf"));
}

/// Evaluates a rule on a list of this length, and returns the errors.
fn rule_errors(rule: &Value, length: u32) -> Vec<String> {
    let schema = spec(
        &json!([rule]),
        &json!({"l": {"type": "array", "items": {"type": "integer"}}, "s": {"type": "string"}}),
    );
    let list: Vec<u32> = (0..length).collect();
    broken(&schema, &json!({"spec": {"l": list, "s": "ab"}}), None)
}

#[test]
fn cel_rule_above_the_cost_limit_is_rejected_before_evaluation() {
    let double = "[self.s].map(x, x + x)".to_owned() + &".map(x, x + x)".repeat(40);
    let ranges = "lists.range(10000).all(a, lists.range(10000).all(b, a != b + 10000))";
    for rule in [
        "self.l . all (a, self.l /**/ .all(b, a != b + 1))".replace("/**/", "//\n"),
        "self.l.all(a, r'\\' != '' && self.l.all(b, a != b + 1))".to_owned(),
        "self.l.map(a, self.l).map(a, a).all(b, b.all(c, c >= 0))".to_owned(),
        ranges.to_owned(),
        format!("{double}.size() == 1"),
        "self.l.all(a, self.s.replace('', self.l.map(b, 'x').join('y')) != '')".to_owned(),
        "self.l.all(a, self.s.matches(self.s + string(a)))".to_owned(),
    ] {
        let found = rule_errors(&json!({"rule": rule}), 2000);
        assert_eq!(found.len(), 1, "{rule}");
        assert!(
            found[0].contains("cost limit exceeded"),
            "{rule}: {found:?}"
        );
    }
    for rule in [
        "self.l.all(a, self.l.filter(b, a == b).size() == 1)",
        "self.l.all(a, string(a).matches('^[0-9]{1,20}$'))",
        "lists.range(3).all(a, self.l[a] == a)",
    ] {
        assert_eq!(
            rule_errors(&json!({"rule": rule}), 40),
            Vec::<String>::new(),
            "{rule}"
        );
    }
}

#[test]
fn message_expressions_share_the_cost_limit_of_rules() {
    let costly = "self.l.map(a, self.l.map(b, string(b)).join(',')).join(',')";
    let rule = json!({"rule": "self.l == []", "message": "no list", "messageExpression": costly});
    let found = rule_errors(&rule, 2000);
    assert_eq!(found, ["spec: Invalid value: no list"]);
    let found = rule_errors(&rule, 2);
    assert_eq!(found, ["spec: Invalid value: 0,1,0,1"]);
}

#[test]
fn cel_range_above_the_limit_is_rejected() {
    let found = rule_errors(
        &json!({"rule": "lists.range(self.l[1] * 1000000000).size() > 0"}),
        2,
    );
    assert!(found[0].contains("may not have more than"), "{found:?}");
    let found = rule_errors(&json!({"rule": "lists.range(1000000000).size() > 0"}), 2);
    assert!(found[0].contains("may not have more than"), "{found:?}");
}

#[test]
fn unsupported_cel_expressions_are_rejected() {
    let wrong = compile("Some{of: 1}").unwrap_err();
    assert!(wrong.contains("messages"), "{wrong}");
    for rule in [
        "'%.70000f'.format([1.0]) == ''",
        "quantity('1e2147483647').sign() == 1",
    ] {
        let found = rule_errors(&json!({"rule": rule}), 1);
        assert!(found[0].contains("too large"), "{found:?}");
    }
    let far = "[timestamp('9999-01-01T00:00:00Z') - timestamp('0001-01-01T00:00:00Z')]".to_owned()
        + &".map(x, x + x)".repeat(5)
        + ".all(x, timestamp('2000-01-01T00:00:00Z') + x != timestamp('2000-01-01T00:00:00Z'))";
    let found = rule_errors(&json!({"rule": far}), 1);
    assert!(found[0].contains("cost limit exceeded"), "{found:?}");
    let near =
        "timestamp('2000-01-01T00:00:00Z') + duration('1h') > timestamp('2000-01-01T00:00:00Z')";
    assert_eq!(rule_errors(&json!({"rule": near}), 1), Vec::<String>::new());
}

#[test]
fn expression_depth_is_limited() {
    let chain = |links: usize| vec!["1"; links].join("+") + &format!(" == {links}");
    for deep in [
        chain(4000),
        format!("self{}", ".a".repeat(4000)),
        format!("{}1{}", "(".repeat(4000), ")".repeat(4000)),
        format!("{}1{}", "[".repeat(90), "]".repeat(90)) + &"[0]".repeat(90),
        "x".repeat(20_000),
    ] {
        assert!(compile(&deep).is_err(), "{}", &deep[..10]);
    }
    assert_eq!(
        rule_errors(&json!({"rule": chain(90)}), 1),
        Vec::<String>::new()
    );
    let nested = format!("{}1{} != []", "[".repeat(60), "]".repeat(60));
    assert_eq!(
        rule_errors(&json!({"rule": nested}), 1),
        Vec::<String>::new()
    );
}

#[test]
fn type_of_a_cel_value_can_be_compared() {
    let schema = json!({"type": "object", "properties": {"port": {
        "x-kubernetes-int-or-string": true, "x-kubernetes-validations": [
            {"rule": "type(self) == int ? self > 0 : type(self) == string && self == 'http'"}],
    }}});
    for (port, fits) in [
        (json!(1), true),
        (json!(-1), false),
        (json!("http"), true),
        (json!("x"), false),
    ] {
        let errors = broken(&schema, &json!({"port": port}), None);
        assert_eq!(errors.is_empty(), fits, "{port}: {errors:?}");
    }
}

/// Compiles a rule for a schema that has fields of all types, and returns the error.
fn compile_error(rule: &str) -> String {
    let schema = json!({"type": "object", "properties": {
        "int": {"type": "integer"}, "ratio": {"type": "number"}, "text": {"type": "string"},
        "on": {"type": "boolean"}, "when": {"type": "string", "format": "date-time"},
        "long": {"type": "string", "format": "duration"},
        "port": {"x-kubernetes-int-or-string": true}, "namespace": {"type": "string"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "list": {"type": "array", "items": {"type": "object", "properties": {
            "k": {"type": "string"}, "v": {"type": "integer"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": true,
                     "x-kubernetes-preserve-unknown-fields": true},
    }});
    let node = crate::crd::read(&schema).unwrap();
    let checked = compile(rule).and_then(|rule| rule.check(&node, true, false, ResultType::Bool));
    checked.err().unwrap_or_default()
}

#[test]
fn cel_rules_with_matching_types_are_accepted() {
    for rule in [
        "self.int > 1 && self.ratio <= 2.5 || self.ratio > 1",
        "self.text.startsWith('a') && self.text + 'b' == 'ab' && size(self.text) == 1",
        "self.metadata.name == self.__namespace__ && self.kind == 'Widget'",
        "!has(self.text) || self.list.all(e, e.k == 'a' && e.v > 0)",
        "self.list.map(e, e.v).sum() == 3 && self.list.exists_one(e, e.k == 'a')",
        "self.list.filter(e, e.v > 1).size() + self.list.map(e, e.k).size() < 5",
        "self.map.all(k, self.map[k] > 0 && k.matches('^[a-z]+$')) && 'a' in self.map",
        "self.when < timestamp('2001-01-01T00:00:00Z') && self.when.getFullYear() > 1",
        "self.when - self.when < self.long && self.when + self.long > self.when",
        "type(self.port) == int ? self.port < 5 : self.port == 'http'",
        "self.free.anything.at.all == 1 && self.embedded.metadata.name == 'x'",
        "self.int == oldSelf.int && [1, 2].exists(i, i == self.int)",
        "quantity('1').isGreaterThan(quantity('0')) && isURL(self.text)",
        "sets.contains(['a'], self.list.map(e, e.k)) || self.text == null",
        "self.text.split(',').all(part, part.trim() != '') && self.text.indexOf('a') >= 0",
        "(self.on ? {'a': 1} : {'b': 2}).all(k, k != '')",
        "dyn(self.text) == 1 || dyn(self.int).anything == 'a'",
    ] {
        assert_eq!(compile_error(rule), "", "{rule}");
    }
}

#[test]
fn cel_rules_with_type_errors_are_rejected() {
    for (rule, reason) in [
        ("self.other == 1", "undefined field 'other'"),
        ("self.list.all(e, e.w > 1)", "undefined field 'w'"),
        ("self.metadata.labels.a == 'b'", "undefined field 'labels'"),
        ("has(self.other)", "undefined field 'other'"),
        ("self.int == 'x'", "'_==_' applied to '(int, string)'"),
        ("self.text > 1", "'_>_' applied to '(string, int)'"),
        ("self.int + 1.5 > 2.0", "'_+_' applied to '(int, double)'"),
        ("self.int && true", "'_&&_' applied to '(int, bool)'"),
        ("!self.text", "'!_' applied to '(string)'"),
        (
            "self.int.startsWith('a')",
            "no matching overload for 'startsWith'",
        ),
        (
            "self.text.name == 'a'",
            "type 'string' does not support field selection",
        ),
        (
            "self.text.all(c, true)",
            "cannot be range of a comprehension",
        ),
        ("self.list.all(e, e.v)", "no matching overload"),
        ("'a' in self.text", "'@in' applied to '(string, string)'"),
        ("size(self.int) > 1", "'size' applied to '(int)'"),
        ("elf.int == 1", "undeclared reference to 'elf'"),
        ("self.int + 1", "must evaluate to a bool"),
    ] {
        assert!(
            compile_error(rule).contains(reason),
            "{rule}: {}",
            compile_error(rule)
        );
    }
}
