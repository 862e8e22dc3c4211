use std::io::Write as _;

use drover_api::fleet::KustomizeOptions;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

fn helm(chart: &str, repo: &str) -> BundleDeploymentOptions {
    BundleDeploymentOptions {
        helm: Some(HelmOptions {
            chart: chart.to_owned(),
            repo: repo.to_owned(),
            ..HelmOptions::default()
        }),
        ..BundleDeploymentOptions::default()
    }
}

fn style(chart: Option<&str>, kustomize: Option<&str>) -> Style {
    Style {
        chart: chart.map(str::to_owned),
        kustomize: kustomize.map(str::to_owned),
    }
}

#[test]
fn style_depends_on_the_files_and_the_options() {
    let none = BundleDeploymentOptions::default();
    let dir = BundleDeploymentOptions {
        kustomize: Some(KustomizeOptions {
            dir: "./k/".to_owned(),
        }),
        ..BundleDeploymentOptions::default()
    };
    let both = ["Chart.yaml", "kustomization.yaml"];
    for (names, options, expected) in [
        (&["a.yaml"][..], &none, style(None, None)),
        (&["Chart.yaml"], &none, style(Some("."), None)),
        (&["charts/Chart.yaml"], &none, style(None, None)),
        (&["kustomization.yaml"], &none, style(None, Some("."))),
        (&["kustomization.yml"], &none, style(None, None)),
        (&both, &none, style(Some("."), Some("."))),
        (&["k/kustomization.yaml"], &dir, style(None, Some("k"))),
        (&["kustomization.yaml"], &dir, style(None, None)),
        (&["c/Chart.yaml"], &helm("./c", ""), style(Some("c"), None)),
        (&["Chart.yaml"], &helm("./c", ""), style(None, None)),
        (&["Chart.yaml"], &helm("", ""), style(Some("."), None)),
    ] {
        assert_eq!(
            Style::of(names.iter().copied(), options),
            expected,
            "{names:?}"
        );
    }
}

#[test]
fn fetched_chart_is_in_a_folder_with_the_hash_of_its_source() {
    let options = helm("web", "https://charts.example.com");
    let folder = fetched_folder(options.helm.as_ref().unwrap());
    for (file, is_chart) in [
        ("Chart.yaml", true),
        ("web/Chart.yaml", true),
        ("web/charts/x/Chart.yaml", false),
    ] {
        let name = format!("{folder}{file}");
        let found = Style::of([name.as_str()], &options).chart.is_some();
        assert_eq!(found, is_chart, "{file}");
    }
}

fn resource(name: &str, content: &str, encoding: &str) -> BundleResource {
    BundleResource {
        name: name.to_owned(),
        content: content.to_owned(),
        encoding: encoding.to_owned(),
    }
}

#[test]
fn compressed_files_are_decoded() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(b"content").unwrap();
    let packed = STANDARD.encode(gzip.finish().unwrap());
    let files = decode(&[resource("a", &packed, "base64+gz"), resource("", "b", "")]).unwrap();
    assert_eq!(files["a"], b"content");
    assert_eq!(files["manifests/file001.yaml"], b"b");
}

#[test]
fn invalid_files_are_errors() {
    for (file, message) in [
        (resource("../a", "", ""), "leaves the bundle"),
        (resource("/a", "", ""), "leaves the bundle"),
        (resource("a", "", "zip"), "not supported"),
        (resource("a", "!", "base64+gz"), "not base64"),
        (resource("a", "YQ==", "base64+gz"), "not base64"),
    ] {
        let error = decode(&[file]).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
