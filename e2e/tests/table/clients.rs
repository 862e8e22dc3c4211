//! Comparison rows for clients other than kubectl commands: `kubectl proxy`, Helm, a Rust client
//! and curl. Each row runs directly and through Drover.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_e2e::{CommandLine, Output};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::{Api, Client};
use secrecy::ExposeSecret as _;
use serde_json::json;

use super::{Row, Seen, Side, Step};

const SOON: Duration = Duration::from_mins(1);

/// Returns the comparison rows of this file.
pub(crate) fn rows() -> Vec<Row> {
    vec![
        Row::of("get -w", |side| Box::pin(watch(side))),
        Row::of("proxy", |side| Box::pin(proxy(side))),
        Row::of("helm", |side| Box::pin(helm(side))),
        Row::of("a client in Rust", |side| Box::pin(rust_client(side))),
        Row::of("curl over HTTP/2", |side| Box::pin(curl(side, "--http2"))),
        Row::of("curl over HTTP/1.1", |side| {
            Box::pin(curl(side, "--http1.1"))
        }),
    ]
}

/// Watches a ConfigMap during creation, update and deletion. The comparison requires equal events
/// in equal order.
async fn watch(side: &Side<'_>) -> Seen {
    let columns = "custom-columns=EVENT:.type,NAME:.object.metadata.name,WORD:.object.data.word";
    let arguments = [
        "--namespace",
        side.namespace,
        "get",
        "configmaps",
        "-l",
        "watched=yes",
        "-w",
        "--output-watch-events",
        "-o",
        columns,
    ];
    let name = format!("watch-{}", side.namespace);
    let mut watch = side.kubectl.start(&name, arguments, &side.folder).unwrap();
    let step = |line: &str| Step::new(line);
    let apply = |word: &str| {
        step("apply -f -").stdin(format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: seen, labels: {{watched: 'yes'}}}}, \
             data: {{word: {word}}}}}"
        ))
    };
    // The watch can begin after the first event, and then reports it as ADDED, too.
    apply("one").run(side).await;
    watch.wait_for_log("one", SOON).await.unwrap();
    apply("two").run(side).await;
    step("delete configmap seen").run(side).await;
    watch.wait_for_log("DELETED", SOON).await.unwrap();
    Seen::text(side, &watch.log())
}

/// Runs `kubectl proxy`, which serves the cluster's API on this machine. The flag
/// `--append-server-path` is required because the server's URL has a path.
async fn proxy(side: &Side<'_>) -> Seen {
    let name = format!("proxy-{}", side.namespace);
    let mut proxy = side
        .kubectl
        .start(
            &name,
            ["proxy", "--port=0", "--append-server-path"],
            &side.folder,
        )
        .unwrap();
    let line = proxy
        .wait_for_log("Starting to serve on ", SOON)
        .await
        .unwrap();
    let address = line.rsplit(' ').next().unwrap();
    let path = format!("api/v1/namespaces/{}/configmaps/first", side.namespace);
    let output = run_curl(side, &[&format!("http://{address}/{path}")]).await;
    Seen::of(side, &output)
}

async fn helm(side: &Side<'_>) -> Seen {
    let chart = side.folder.join("greeting");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    for (name, text) in [
        (
            "Chart.yaml",
            "apiVersion: v2\nname: greeting\nversion: 0.1.0\n",
        ),
        ("values.yaml", "word: hello\n"),
        (
            "templates/greeting.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  \
             word: {{ .Values.word | quote }}\n",
        ),
    ] {
        std::fs::write(chart.join(name), text).unwrap();
    }
    let chart = chart.display().to_string();
    let mut seen = Seen::default();
    for line in [
        &format!("install greeting {chart} --wait"),
        &format!("upgrade greeting {chart} --set word=goodbye --wait"),
        "get values greeting -o json",
        "rollback greeting 1",
        "get manifest greeting",
        "status greeting",
        "uninstall greeting",
        "list -q",
    ] {
        let words = line.split(' ').chain(["--namespace", side.namespace]);
        let mut output = side.helm.output(words).await.unwrap();
        output.stdout = without_lines(&output.stdout, "LAST DEPLOYED");
        seen.add(&Seen::of(side, &output));
    }
    seen
}

fn without_lines(text: &str, start: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with(start));
    lines.fold(String::new(), |all, line| all + line + "\n")
}

/// Creates, lists, patches, watches and deletes objects with the client library that controllers
/// use.
async fn rust_client(side: &Side<'_>) -> Seen {
    let text = std::fs::read_to_string(&side.kubeconfig).unwrap();
    let kubeconfig = kube::config::Kubeconfig::from_yaml(&text).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let client = Client::try_from(config.unwrap()).unwrap();
    let api: Api<ConfigMap> = Api::namespaced(client, side.namespace);
    let object = |word: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "rust", "labels": {"by": "rust"}}, "data": {"word": word},
        })
    };
    let new = serde_json::from_value(object("one")).unwrap();
    let created: ConfigMap = api.create(&PostParams::default(), &new).await.unwrap();
    let apply = PatchParams::apply("e2e").force();
    let patch = Patch::Apply(object("two"));
    api.patch("rust", &apply, &patch).await.unwrap();
    let labelled = ListParams::default().labels("by=rust");
    let listed = api.list(&labelled).await.unwrap().items.len();
    let version = created.metadata.resource_version.unwrap();
    let parameters = WatchParams::default().labels("by=rust").timeout(20);
    api.delete("rust", &DeleteParams::default()).await.unwrap();
    let events = api.watch(&parameters, &version).await.unwrap();
    let words = words_of(events).await;
    let error = api.get("rust").await.unwrap_err();
    Seen::text(
        side,
        &format!("listed {listed}, watched {words:?}, then: {error}"),
    )
}

/// Reads a watch until an object is deleted. Returns the data of the objects in the events.
async fn words_of(
    events: impl futures::Stream<Item = kube::Result<WatchEvent<ConfigMap>>>,
) -> Vec<String> {
    use futures::StreamExt as _;
    let mut events = std::pin::pin!(events);
    let mut words = Vec::new();
    while let Some(event) = events.next().await {
        match event.unwrap() {
            WatchEvent::Modified(object) => words.extend(object.data.unwrap().remove("word")),
            WatchEvent::Deleted(_) => return words,
            _ => {}
        }
    }
    words
}

/// Sends requests with curl and the requested HTTP version. The credential is a header or a client
/// certificate.
async fn curl(side: &Side<'_>, version: &str) -> Seen {
    let credential = credential(side);
    let path = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt";
    let mut words = vec![
        version,
        "--insecure",
        "--write-out",
        "\n%{http_version} %{http_code} %{content_type}",
    ];
    words.extend(credential.iter().map(String::as_str));
    let url = format!("{}{path}", side.url);
    words.push(&url);
    Seen::of(side, &run_curl(side, &words).await)
}

/// Returns the curl arguments for the credential in the connection's kubeconfig.
fn credential(side: &Side<'_>) -> Vec<String> {
    let text = std::fs::read_to_string(&side.kubeconfig).unwrap();
    let kubeconfig = kube::config::Kubeconfig::from_yaml(&text).unwrap();
    let user = kubeconfig.auth_infos[0].auth_info.clone().unwrap();
    if let Some(token) = user.token {
        return vec![
            "--header".to_owned(),
            format!("Authorization: Bearer {}", token.expose_secret()),
        ];
    }
    let write = |name: &str, data: &str| {
        let file = side.folder.join(name);
        let pem = STANDARD.decode(data).unwrap();
        std::fs::write(&file, pem).unwrap();
        file.display().to_string()
    };
    let certificate = write("curl.crt", &user.client_certificate_data.unwrap());
    let key = write("curl.key", user.client_key_data.unwrap().expose_secret());
    vec!["--cert".to_owned(), certificate, "--key".to_owned(), key]
}

async fn run_curl(side: &Side<'_>, words: &[&str]) -> Output {
    let curl = CommandLine::new("curl".as_ref(), &side.kubeconfig, &side.folder);
    let words = ["--silent", "--show-error"].iter().chain(words);
    curl.output(words).await.unwrap()
}
