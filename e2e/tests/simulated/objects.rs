//! Tests of `drover get`, `drover label`, `drover logs`, completion and the kubectl plugin with
//! several clusters.

use std::time::Duration;

use drover_e2e::{CommandLine, Output, eventually};
use serde_json::Value;

use crate::{Demo, run};

const SOON: Duration = Duration::from_mins(1);
const NAMES: [&str; 3] = ["demo-large", "demo-small", "demo-troubled"];

fn drover(demo: &Demo) -> CommandLine {
    demo.server().command_line()
}

async fn ok(demo: &Demo, words: &str) -> String {
    run(&drover(demo), words).await
}

async fn fails(demo: &Demo, words: &str, code: i32) -> Output {
    let output = drover(demo).output(words.split(' ')).await.unwrap();
    assert_eq!(output.status.code(), Some(code), "{words}: {output:?}");
    output
}

/// Returns the first cells of the rows of a table, without the headings.
fn first_cells(table: &str) -> Vec<&str> {
    let lines = table.lines().skip(1);
    lines
        .filter_map(|line| line.split_whitespace().next())
        .collect()
}

pub(crate) async fn objects_of_all_clusters_are_in_one_table(demo: &mut Demo) {
    let all = ok(demo, "get nodes").await;
    assert!(all.starts_with("CLUSTER         NAME"), "{all}");
    let count = |name: &str| {
        first_cells(&all)
            .iter()
            .filter(|cell| **cell == name)
            .count()
    };
    assert_eq!(NAMES.map(count), [15, 2, 4], "{all}");
    let wide = ok(demo, "get no -o wide --chunk-size 2 --no-headers").await;
    assert_eq!(wide.lines().count(), 21, "{wide}");
    assert!(wide.lines().next().unwrap().len() > all.lines().nth(1).unwrap().len());
    let some = ok(
        demo,
        "get nodes --cluster demo-small --cluster demo-troubled",
    )
    .await;
    assert_eq!(first_cells(&some).len(), 6, "{some}");
    let pods = ok(
        demo,
        "get pods -A -l app.kubernetes.io/name=web --show-labels",
    )
    .await;
    let has_columns =
        pods.contains("NAMESPACE") && pods.contains("LABELS") && pods.contains("name=web");
    assert!(has_columns, "{pods}");
    let sorted = ok(demo, "get nodes --sort-by .metadata.name --no-headers").await;
    let names: Vec<_> = sorted
        .lines()
        .map(|line| line.split_whitespace().nth(1))
        .collect();
    assert!(names.is_sorted(), "{sorted}");
}

pub(crate) async fn output_for_one_cluster_equals_the_output_of_kubectl(demo: &mut Demo) {
    let kubectl = demo.kubectl("demo-small").await;
    let template = r#"jsonpath={range .items[*]}{.metadata.name}{"\t"}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}"#;
    let columns = "custom-columns=NAME:.metadata.name,IPS:.status.addresses[*].address,NO:.x";
    for words in [
        vec!["get", "nodes", "-o", "name"],
        vec!["get", "deploy/web", "sts/store", "-n", "shop", "-o", "name"],
        vec!["get", "nodes", "-o", template],
        vec![
            "get",
            "deploy",
            "web",
            "-n",
            "shop",
            "-o",
            "jsonpath={.metadata.name} {.spec.replicas}",
        ],
        vec![
            "get",
            "deployments.v1.apps",
            "-A",
            "-o",
            "jsonpath={.items[*].metadata.name}",
        ],
        vec![
            "get",
            "pods",
            "-A",
            "--field-selector",
            "status.phase=Running",
            "-o",
            "name",
        ],
    ] {
        let direct = kubectl.run(&words).await.unwrap().stdout;
        let through = [&words[..], &["--cluster", "demo-small"]].concat();
        assert_eq!(
            drover(demo).run(&through).await.unwrap().stdout,
            direct,
            "{words:?}"
        );
        assert!(!direct.is_empty(), "{words:?}");
    }
    let direct = kubectl
        .run(["get", "nodes", "-o", columns])
        .await
        .unwrap()
        .stdout;
    let own = ["get", "nodes", "-o", columns, "--cluster", "demo-small"];
    let own = drover(demo).run(own).await.unwrap().stdout;
    let words = |text: &str, skip: usize| {
        let lines = text.lines();
        let lines = lines.map(|line| {
            line.split_whitespace()
                .skip(skip)
                .collect::<Vec<_>>()
                .join(" ")
        });
        lines.collect::<Vec<_>>()
    };
    assert_eq!(words(&own, 1), words(&direct, 0));
    for format in ["json", "yaml"] {
        let list = ok(demo, &format!("get deployments -A -o {format}")).await;
        let list: Value = match format {
            "json" => serde_json::from_str(&list).unwrap(),
            _ => serde_saphyr::from_str(&list).unwrap(),
        };
        let items = list["items"].as_array().unwrap();
        let clusters = items
            .iter()
            .map(|item| item["metadata"]["annotations"]["drover.dev/cluster"].as_str());
        let mut clusters: Vec<_> = clusters.map(Option::unwrap).collect();
        clusters.dedup();
        assert_eq!(clusters, NAMES, "{list}");
        assert!(
            items
                .iter()
                .all(|item| item["kind"] == "Deployment" && item["apiVersion"] == "apps/v1")
        );
    }
}

pub(crate) async fn failed_clusters_are_named_and_other_clusters_are_listed(demo: &mut Demo) {
    let output = fails(demo, "get nodes --cluster demo-small --cluster missing", 1).await;
    assert_eq!(first_cells(&output.stdout), ["demo-small", "demo-small"]);
    assert!(output.stderr.contains("drover: missing: "), "{output:?}");
    assert!(
        output.stderr.contains("1 of 2 clusters failed"),
        "{output:?}"
    );
    // A cluster without the object is not a failure if another cluster has the object.
    let found = ok(demo, "get deploy crashing -n troubles -o name").await;
    assert_eq!(found, "demo-troubled:deployment.apps/crashing\n");
    fails(demo, "get deploy nothing -n shop", 5).await;
    let output = fails(demo, "get nothings", 5).await;
    assert!(output.stderr.contains("nothings"), "{output:?}");
    fails(demo, "get nodes --clusters env=none", 5).await;
    fails(demo, "get pods -o jsonpath={.a", 2).await;
    let output = drover(demo).run(["get", "cm", "-n", "none"]).await.unwrap();
    assert_eq!(output.stdout, "");
    assert!(output.stderr.contains("No objects found"), "{output:?}");
}

pub(crate) async fn labels_are_changed_in_all_selected_clusters(demo: &mut Demo) {
    for name in ["demo-small", "demo-large"] {
        let kubectl = demo.kubectl(name).await;
        run(&kubectl, "create configmap labeled").await;
        ok(
            demo,
            &format!("label cluster {name} stage=live --cluster local"),
        )
        .await;
    }
    let labels = async |name: &str| {
        let kubectl = demo.kubectl(name).await;
        run(
            &kubectl,
            "get configmap labeled -o jsonpath={.metadata.labels}",
        )
        .await
    };
    let dry = ok(
        demo,
        "label cm labeled a=1 --clusters stage=live --dry-run=server",
    )
    .await;
    assert!(
        dry.contains("demo-large: configmap/labeled labeled (server dry run)"),
        "{dry}"
    );
    assert_eq!(labels("demo-small").await, "");
    fails(demo, "label cm labeled a=1", 2).await;
    let done = ok(demo, "label cm labeled a=1 b=2 --clusters stage=live").await;
    assert_eq!(
        done,
        "demo-large: configmap/labeled labeled\ndemo-small: configmap/labeled labeled\n"
    );
    for name in ["demo-small", "demo-large"] {
        assert_eq!(labels(name).await, r#"{"a":"1","b":"2"}"#);
    }
    let output = fails(demo, "label cm/labeled a=9 --cluster demo-small", 1).await;
    assert!(output.stderr.contains("--overwrite"), "{output:?}");
    assert_eq!(labels("demo-small").await, r#"{"a":"1","b":"2"}"#);
    ok(demo, "label cm -l a=1 a=9 b- --overwrite --all-clusters").await;
    for name in ["demo-small", "demo-large"] {
        assert_eq!(labels(name).await, r#"{"a":"9"}"#);
    }
    let selected = ok(demo, "get cm labeled --clusters stage=live -o name").await;
    assert_eq!(selected.lines().count(), 2, "{selected}");
    let output = fails(
        demo,
        "label cm labeled x=y --cluster demo-small --cluster demo-troubled",
        1,
    )
    .await;
    assert_eq!(output.stdout, "demo-small: configmap/labeled labeled\n");
}

pub(crate) async fn watch_prints_the_changes_of_all_clusters(demo: &mut Demo) {
    let folder = demo.server().folder().to_owned();
    let words = "get configmaps --watch --output-watch-events -l watched=yes";
    let watch = drover(demo)
        .start("watch", words.split(' '), &folder)
        .unwrap();
    let names = "get configmaps --watch-only --watch -o name -l watched=yes --cluster demo-small";
    let only = drover(demo)
        .start("watch-only", names.split(' '), &folder)
        .unwrap();
    for name in ["demo-small", "demo-large"] {
        let kubectl = demo.kubectl(name).await;
        run(&kubectl, "create configmap watched").await;
        run(&kubectl, "label configmap watched watched=yes").await;
        run(&kubectl, "annotate configmap watched seen=no").await;
        run(&kubectl, "delete configmap watched").await;
        for event in ["ADDED", "MODIFIED", "DELETED"] {
            eventually(event, SOON, async || {
                let log = watch.log();
                let mut lines = log
                    .lines()
                    .map(|line| line.split_whitespace().collect::<Vec<_>>());
                let found = lines.any(|cells| cells.starts_with(&[name, event, "watched"]));
                if found { Ok(()) } else { Err(log) }
            })
            .await
            .unwrap();
        }
    }
    eventually("names", SOON, async || {
        let log = only.log();
        let is_complete = log
            .lines()
            .filter(|line| *line == "configmap/watched")
            .count()
            == 3;
        if is_complete { Ok(()) } else { Err(log) }
    })
    .await
    .unwrap();
}

pub(crate) async fn logs_of_several_clusters_name_their_container(demo: &mut Demo) {
    let kubectl = demo.kubectl("demo-small").await;
    let direct = run(&kubectl, "-n shop logs store-0 --tail 3").await;
    let one = ok(demo, "logs store-0 -n shop --tail 3 --cluster demo-small").await;
    assert_eq!(one.lines().count(), direct.lines().count(), "{one}");
    let all = ok(demo, "logs sts/store -n shop --tail 1").await;
    for name in NAMES {
        let label = format!("[{name}/store-0/store] [simulated]");
        assert!(all.lines().any(|line| line.starts_with(&label)), "{all}");
    }
    let plain = ok(
        demo,
        "logs store-0 -n shop --tail 1 --prefix=false --cluster demo-large",
    )
    .await;
    assert!(plain.starts_with("[simulated]"), "{plain}");
    fails(demo, "logs nothing -n shop", 5).await;
    // A simulated pod has a log, but no process.
    let output = fails(demo, "exec --cluster demo-small -n shop store-0 -- true", 1).await;
    assert!(
        output.stderr.contains("no process runs in it"),
        "{output:?}"
    );
}

pub(crate) async fn completion_contains_clusters_kinds_and_names(demo: &mut Demo) {
    let complete = async |line: &str| {
        let words = ["--", "drover"].into_iter().chain(line.split(' '));
        let shell = drover(demo).env("DROVER_COMPLETE", "fish");
        let output = shell.run(words).await.unwrap();
        assert_eq!(output.stderr, "", "{line}");
        output.stdout
    };
    let clusters = complete("get nodes --cluster demo-").await;
    assert_eq!(clusters.lines().collect::<Vec<_>>(), NAMES);
    assert!(complete("get deploym").await.contains("deployments"));
    assert!(
        complete("get deployments -n shop --cluster demo-small w")
            .await
            .contains("web")
    );
    assert!(
        complete("get -n shop deploy/w")
            .await
            .contains("deploy/web")
    );
    assert!(complete("logs -n shop sto").await.contains("store-0"));
    assert!(complete("get pods -n sh").await.contains("shop"));
    assert!(complete("cluster get demo-s").await.contains("demo-small"));
    let elsewhere = drover(demo)
        .env("DROVER_COMPLETE", "fish")
        .env("DROVER_SERVER", "https://127.0.0.1:1");
    let output = elsewhere
        .run(["--", "drover", "get", "nodes", "--cluster", "demo-"])
        .await
        .unwrap();
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
}

pub(crate) async fn kubectl_runs_the_plugin_and_its_completion(demo: &mut Demo) {
    let folder = demo.folder.path().join("plugins");
    std::fs::create_dir_all(&folder).unwrap();
    let shown = folder.display().to_string();
    ok(demo, &format!("plugin install --folder {shown}")).await;
    // A second installation replaces the links.
    ok(demo, &format!("plugin install --folder {shown}")).await;
    let kubectl = drover(demo).with_program(&demo.kubectl).env("PATH", &shown);
    let nodes = run(&kubectl, "drover get nodes --cluster demo-small -o name").await;
    assert_eq!(nodes.lines().count(), 2, "{nodes}");
    let help = run(&kubectl, "drover get --help").await;
    assert!(help.contains("Usage: kubectl drover get"), "{help}");
    let completed = run(&kubectl, "__complete drover get nodes --cluster demo-").await;
    assert!(
        NAMES.iter().all(|name| completed.contains(name)),
        "{completed}"
    );
    let output = kubectl.output(["drover", "get", "nothings"]).await.unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
}

pub(crate) async fn search_finds_objects_by_name_label_and_image(demo: &mut Demo) {
    let table = ok(demo, "search web app.kubernetes.io/name=web").await;
    let heading: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(
        heading,
        ["CLUSTER", "NAMESPACE", "KIND", "NAME", "STATE", "AGE"]
    );
    for kind in [" pod ", " deployment "] {
        assert!(table.contains(kind), "{table}");
    }
    let found = ok(demo, "search web -o json --cluster demo-small").await;
    let found: Value = serde_json::from_str(&found).unwrap();
    let pods = found["items"].as_array().unwrap().iter();
    let pod = pods.clone().find(|object| object["kind"] == "pod").unwrap();
    let image = pod["images"][0].as_str().unwrap();
    let names = ok(demo, &format!("search --image {image} -o name")).await;
    let line = format!("demo-small:pod/{}", pod["name"].as_str().unwrap());
    assert!(names.lines().any(|name| name == line), "{names}");
    assert!(names.contains(":deployment/"), "{names}");
    let selected = ok(demo, "search -l app.kubernetes.io/name=web -n shop -o name").await;
    assert!(
        !selected.is_empty() && !selected.contains("node/"),
        "{selected}"
    );
    assert_eq!(ok(demo, "search no-such-object").await, "");
    let failed = fails(demo, "search web --cluster nowhere", 5).await;
    assert_eq!(failed.stdout, "");
}

pub(crate) async fn top_prints_the_usage_of_all_clusters(demo: &mut Demo) {
    let nodes = ok(demo, "top nodes").await;
    assert!(
        nodes.starts_with("CLUSTER") && nodes.contains("CPU%"),
        "{nodes}"
    );
    for name in NAMES {
        assert!(first_cells(&nodes).contains(&name), "{nodes}");
    }
    assert!(
        nodes.lines().skip(1).all(|line| line.contains('%')),
        "{nodes}"
    );
    let pods = ok(demo, "top pods -A --sort-by cpu --cluster demo-small").await;
    let used = pods.lines().skip(1).map(|line| {
        let cell = line.split_whitespace().nth(3).unwrap();
        cell.trim_end_matches('m').parse::<u64>().unwrap()
    });
    let used: Vec<u64> = used.collect();
    assert!(used.len() > 1 && used.is_sorted_by(|a, b| a >= b), "{pods}");
}
