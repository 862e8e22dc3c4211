use serde_json::json;

use super::*;

fn pods() -> Value {
    json!({"kind": "List", "items": [
        {"metadata": {"name": "web-1", "labels": {"app.kubernetes.io/name": "web", "tier": "a"}},
         "status": {"phase": "Running", "conditions": [
            {"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "False"}]},
         "spec": {"containers": [{"name": "main", "ports": [{"containerPort": 80}]}, {"name": "side"}]}},
        {"metadata": {"name": "web-2", "labels": {}},
         "status": {"phase": "Pending"}, "spec": {"containers": [{"name": "main"}]}},
    ]})
}

fn rendered(template: &str) -> String {
    Template::parse(template).unwrap().render(&pods()).unwrap()
}

#[test]
fn templates_render_like_in_kubectl() {
    for (template, expected) in [
        ("{.kind}", "List"),
        ("{$.kind}", "List"),
        ("{@.kind}", "List"),
        (".kind", "List"),
        ("{.items[0].metadata.name}", "web-1"),
        ("{.items[-1].metadata.name}", "web-2"),
        ("{.items[*].metadata.name}", "web-1 web-2"),
        ("{.items[0:1].metadata.name}", "web-1"),
        ("{.items[0,1].metadata.name}", "web-1 web-2"),
        ("{.items[*]['metadata']['name']}", "web-1 web-2"),
        (
            r"{.items[0].metadata.labels.app\.kubernetes\.io/name}",
            "web",
        ),
        (
            r#"{.items[0].metadata.labels["app.kubernetes.io/name"]}"#,
            "web",
        ),
        (
            r#"{.items[0].status.conditions[?(@.type=="Ready")].status}"#,
            "True",
        ),
        (
            "{.items[?(@.status.phase=='Pending')].metadata.name}",
            "web-2",
        ),
        ("{.items[0].spec.containers[?(@.ports)].name}", "main"),
        ("{.items[*].spec.containers[*].name}", "main side main"),
        ("{..containerPort}", "80"),
        ("{.items[0].metadata.labels.*}", "web a"),
        ("{.missing.field}", ""),
        (
            "{.items[0].spec.containers[0].ports}",
            r#"[{"containerPort":80}]"#,
        ),
        ("names: {.items[*].metadata.name}!", "names: web-1 web-2!"),
        (r#"{.kind}{"\t"}{'x\n'}"#, "List\tx\n"),
        (r#"{"}"}"#, "}"),
        (
            r#"{range .items[*]}{.metadata.name}={.status.phase} of {$.kind}{"\n"}{end}"#,
            "web-1=Running of List\nweb-2=Pending of List\n",
        ),
        (
            "{range .items[*]}{.metadata.name}:{range .spec.containers[*]} {.name}{end};{end}",
            "web-1: main side;web-2: main;",
        ),
    ] {
        assert_eq!(rendered(template), expected, "{template}");
    }
}

#[test]
fn invalid_templates_are_rejected() {
    for template in [
        "{.a",
        "{end}",
        "{range .items[*]}",
        "{.a[0}",
        "{.a[?(@.b==]}",
        "{.a}{end}",
        r#"{"a}"#,
        "{.a[0]b}",
    ] {
        assert!(Template::parse(template).is_err(), "{template}");
    }
    let deep = "{range .a}".repeat(100) + &"{end}".repeat(100);
    assert!(Template::parse(&deep).is_err());
}
