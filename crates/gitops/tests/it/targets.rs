use std::collections::BTreeMap;

use drover_api::fleet::{Bundle, BundleDeploymentOptions, LabelSelector};
use drover_gitops::ids::{deployment_id, go_json};
use drover_gitops::targeting::{ClusterFacts, Group, Selector, Targeting, Templates};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::read;

#[derive(Deserialize)]
struct Selectors {
    selectors: Vec<LabelSelector>,
    labels: Vec<BTreeMap<String, String>>,
}

#[test]
fn selector_matches_equal_fleet() {
    let input: Selectors = read("inputs/selectors.json");
    let expected: Vec<Value> = read("expected/selectors.json");
    for (selector, expected) in input.selectors.iter().zip(expected) {
        let found = Selector::new(selector).map_or_else(
            |_| json!("error"),
            |selector| {
                input
                    .labels
                    .iter()
                    .map(|labels| selector.matches(labels))
                    .collect()
            },
        );
        assert_eq!(found, expected, "{selector:?}");
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cluster {
    name: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    template_values: Option<Value>,
}

#[derive(Deserialize)]
struct ClusterGroup {
    name: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    selector: Option<LabelSelector>,
}

#[derive(Deserialize)]
struct Targets {
    clusters: Vec<Cluster>,
    groups: Vec<ClusterGroup>,
    bundles: Vec<Bundle>,
}

/// Replaces only `${ .Name }` and `${ .Name.key }`.
struct Simple;

impl Templates for Simple {
    fn render(&self, text: &str, data: &Value) -> Result<String, String> {
        let mut result = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${ .") {
            let (path, after) = after.split_once(" }").ok_or("no end")?;
            let value = data.pointer(&format!("/{}", path.replace('.', "/")));
            result.push_str(before);
            result.push_str(value.and_then(Value::as_str).ok_or("missing key")?);
            rest = after;
        }
        Ok(result + rest)
    }
}

#[derive(Deserialize)]
struct Expected {
    options: BundleDeploymentOptions,
    id: String,
}

#[test]
fn targets_and_options_equal_fleet() {
    compare("targets");
}

#[test]
fn rendered_random_values_equal_fleet() {
    compare("values");
}

fn compare(name: &str) {
    let mut input: Targets = read(&format!("inputs/{name}.json"));
    let expected: Vec<Value> = read(&format!("expected/{name}.json"));
    assert_eq!(input.bundles.len(), expected.len());
    for (bundle, expected) in input.bundles.iter_mut().zip(expected) {
        bundle.metadata.namespace = Some("ns".to_owned());
        let found = targets(bundle, &input.clusters, &input.groups);
        let Ok(expected) = serde_json::from_value::<BTreeMap<String, Expected>>(expected) else {
            assert!(found.is_none(), "{:?}", bundle.spec);
            continue;
        };
        let found = found.unwrap_or_else(|| panic!("{:?}", bundle.spec));
        let names = |keys: Vec<&String>| keys.into_iter().cloned().collect::<Vec<_>>();
        assert_eq!(
            names(found.keys().collect()),
            names(expected.keys().collect()),
            "{:?}",
            bundle.spec
        );
        for (name, options) in &found {
            let text = go_json::to_string(options);
            assert_eq!(text, go_json::to_string(&expected[name].options), "{name}");
            assert_eq!(
                deployment_id("s-content", options),
                expected[name].id,
                "{name}: {text}"
            );
        }
    }
}

/// Returns the options by cluster, or nothing if the bundle is not valid.
fn targets(
    bundle: &Bundle,
    clusters: &[Cluster],
    all_groups: &[ClusterGroup],
) -> Option<BTreeMap<String, BundleDeploymentOptions>> {
    let targeting = Targeting::new(bundle).ok()?;
    let mut found = BTreeMap::new();
    for cluster in clusters {
        let groups: Vec<Group<'_>> = all_groups
            .iter()
            .filter(|group| {
                let selector = group.selector.as_ref();
                selector.is_some_and(|it| Selector::new(it).unwrap().matches(&cluster.labels))
            })
            .map(|group| Group {
                name: &group.name,
                labels: &group.labels,
            })
            .collect();
        let facts = ClusterFacts {
            namespace: "ns",
            name: &cluster.name,
            labels: &cluster.labels,
            annotations: &cluster.annotations,
            template_values: cluster.template_values.as_ref(),
            groups: &groups,
        };
        if let Some(target) = targeting.target(&facts, "s-content", None, &Simple).ok()? {
            let mut options = target.options;
            if let Some(values) = options.helm.as_mut().and_then(|helm| helm.values.as_mut()) {
                go_json::numbers_as_floats(values);
            }
            found.insert(cluster.name.clone(), options);
        }
    }
    Some(found)
}
