use super::super::built_in;
use super::*;

fn kind(group: &str, plural: &str, singular: &str, short: &[&str], below: &[&str]) -> Kind {
    let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    Kind {
        group: group.to_owned(),
        versions: vec!["v1".to_owned(), "v1beta1".to_owned()],
        plural: plural.to_owned(),
        singular: singular.to_owned(),
        short: texts(short),
        subresources: Some(texts(below)),
    }
}

fn cluster() -> Vec<Kind> {
    vec![
        kind("", "pods", "pod", &["po"], &["log", "exec"]),
        kind("", "events", "event", &["ev"], &[]),
        kind("events.k8s.io", "events", "event", &["ev"], &[]),
        kind("apps", "deployments", "deployment", &["deploy"], &["scale"]),
        kind("shop.example.com", "tills", "till", &["po"], &["status"]),
    ]
}

fn format_result(resolved: Result<Resource, UnknownResource>) -> String {
    match resolved {
        Ok(resource) => format!(
            "{}|{}|{}",
            resource.group, resource.plural, resource.subresource
        ),
        Err(error) => error.to_string(),
    }
}

#[test]
fn resource_is_found_by_plural_singular_and_short_name() {
    let kinds = cluster();
    for (text, expected) in [
        ("pods", "|pods|"),
        ("pod", "|pods|"),
        ("po", "|pods|"),
        ("Pod", "|pods|"),
        ("pods/log", "|pods|log"),
        ("po/log", "|pods|log"),
        ("pods/*", "|pods|*"),
        ("deployments", "apps|deployments|"),
        ("deploy", "apps|deployments|"),
        ("deployment.apps", "apps|deployments|"),
        ("deployments.apps/scale", "apps|deployments|scale"),
        ("deployments.v1.apps", "apps|deployments|"),
        ("events", "|events|"),
        ("events.events.k8s.io", "events.k8s.io|events|"),
        ("ev.v1.events.k8s.io", "events.k8s.io|events|"),
        ("tills.shop.example.com", "shop.example.com|tills|"),
        ("tills.v1beta1.shop.example.com", "shop.example.com|tills|"),
        ("*", "*|*|"),
    ] {
        assert_eq!(
            format_result(resolve(text, None, Served::All(&kinds))),
            expected,
            "{text}"
        );
    }
    let grouped = resolve("deploy", Some("apps"), Served::All(&kinds));
    assert_eq!(format_result(grouped), "apps|deployments|");
}

#[test]
fn unknown_resource_returns_an_error_with_a_suggestion() {
    let kinds = cluster();
    for (text, group, suggestion) in [
        ("deploymnts", None, Some("deployments.apps")),
        ("deployments.app", None, Some("deployments.apps")),
        ("deployments", Some("batch"), Some("deployments.apps")),
        ("pods/logs", None, Some("pods/log")),
        ("deployments.v2.apps", None, Some("deployments.apps")),
        ("xy", None, None),
        ("unicorns", None, None),
        ("", None, None),
    ] {
        let error = format_result(resolve(text, group, Served::All(&kinds)));
        let expected = match suggestion {
            Some(name) => format!("the cluster has no resource {text:?}; did you mean {name:?}?"),
            None => format!("the cluster has no resource {text:?}"),
        };
        assert_eq!(error, expected);
    }
}

#[test]
fn built_in_resources_are_resolved_without_a_request_to_the_cluster() {
    let kinds = built_in::kinds();
    let without = Served::BuiltIn(&kinds, "no agent of the cluster is connected");
    for (text, expected) in [
        ("deployments", "apps|deployments|"),
        ("cj", "batch|cronjobs|"),
        ("ing", "networking.k8s.io|ingresses|"),
        ("no", "|nodes|"),
        ("nodes/metrics", "|nodes|metrics"),
        ("clusterroles", "rbac.authorization.k8s.io|clusterroles|"),
        ("users", "|users|"),
        (
            "tills.shop.example.com/status",
            "shop.example.com|tills|status",
        ),
        ("tills.v1.shop.example.com", "shop.example.com|tills|"),
    ] {
        assert_eq!(
            format_result(resolve(text, None, without)),
            expected,
            "{text}"
        );
    }
    let error = format_result(resolve("deploymnts", None, without));
    assert!(error.contains("no agent of the cluster"), "{error}");
    assert!(
        error.contains("did you mean \"deployments.apps\"?"),
        "{error}"
    );
    let error = format_result(resolve("ingreses.networking.k8s.io", None, without));
    assert!(error.contains("\"ingresses.networking.k8s.io\""), "{error}");
}
