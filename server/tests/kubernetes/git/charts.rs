//! Tests of GitRepos with charts outside of the repository.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use drover_api::fleet::{Bundle, GitRepo};
use drover_api::gitops::FLEET_NAMESPACE;
use drover_e2e::eventually;
use drover_git_hosting::{InitialCommit, Repositories};
use flate2::Compression;
use flate2::write::GzEncoder;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use parking_lot::Mutex;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::{SOON, api_token, create_git_repo};
use crate::place::TestHub;
use crate::server::Server;

/// Returns an archive with files.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, data) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, *data).unwrap();
    }
    let mut encoder = archive.into_inner().unwrap();
    encoder.flush().unwrap();
    encoder.finish().unwrap()
}

fn chart(name: &str, version: &str) -> Vec<u8> {
    let text = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    archive(&[
        (&format!("{name}/Chart.yaml"), text.as_bytes()),
        (&format!("{name}/templates/a.yaml"), b"kind: ConfigMap\n"),
    ])
}

/// A Helm repository. Dropping the value stops the server.
struct Site {
    url: String,
    /// The requests with their headers.
    seen: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Site {
    async fn start(files: BTreeMap<&'static str, Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let (files, requests) = (Arc::new(files), Arc::clone(&seen));
        let task = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (files, requests) = (Arc::clone(&files), Arc::clone(&requests));
                tokio::spawn(async move {
                    let mut request = Vec::new();
                    while !request.ends_with(b"\r\n\r\n") {
                        request.push(stream.read_u8().await.unwrap());
                    }
                    let request = String::from_utf8(request).unwrap();
                    let path = request.split(' ').nth(1).unwrap().to_owned();
                    requests.lock().push(request);
                    let (status, body) = match files.get(&*path) {
                        Some(body) => ("200 OK", &body[..]),
                        None => ("404 Not Found", &[][..]),
                    };
                    let length = body.len();
                    let head = format!(
                        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
                    );
                    stream.write_all(head.as_bytes()).await.unwrap();
                    stream.write_all(body).await.unwrap();
                });
            }
        });
        Self { url, seen, task }
    }

    /// Starts a repository with two versions of the chart `web`, and with an archive whose content is
    /// larger than the limit.
    async fn with_charts() -> Self {
        let index = "apiVersion: v1\nentries:\n  web:\n\
                     - {name: web, version: 1.2.3, urls: [web-1.2.3.tgz]}\n\
                     - {name: web, version: 2.0.0, urls: [web-2.0.0.tgz]}\n";
        let zeros = vec![0; 64 << 20];
        let bomb = archive(&[
            ("web/Chart.yaml", b"name: web\nversion: 1.0.0\n"),
            ("web/x", &zeros),
        ]);
        Self::start(BTreeMap::from([
            ("/index.yaml", index.replace("\n-", "\n  -").into_bytes()),
            ("/web-1.2.3.tgz", chart("web", "1.2.3")),
            ("/web-2.0.0.tgz", chart("web", "2.0.0")),
            ("/bomb.tgz", bomb),
        ]))
        .await
    }
}

async fn create_repository(hub: &TestHub, name: &str, files: &[(&str, &str)]) {
    let repositories = Repositories::open(hub.folder().join("git")).unwrap();
    let commit = InitialCommit {
        files,
        author: "Ann",
        email: "ann@example.invalid",
        message: "Add charts",
    };
    let name = name.parse().unwrap();
    repositories.create_with(&name, Some(commit)).await.unwrap();
}

/// Returns the names of the files of a bundle.
async fn files(server: &Server, bundle: &str) -> Vec<String> {
    let bundles: Api<Bundle> = Api::namespaced(server.hub.client(), FLEET_NAMESPACE);
    let found = eventually("the bundle", SOON, async || bundles.get(bundle).await);
    let resources = found.await.unwrap().spec.resources;
    resources.into_iter().map(|it| it.name).collect()
}

#[tokio::test]
async fn charts_of_repositories_and_dependencies_become_files_and_a_hostile_one_stops_only_its_git_repo()
 {
    let hub = TestHub::embedded();
    let site = Site::with_charts().await;
    let remote = format!(
        "helm: {{repo: \"{}\", chart: web, version: ^1}}\n",
        site.url
    );
    let parent = format!(
        "apiVersion: v2\nname: parent\nversion: 1.0.0\ndependencies:\n\
         - {{name: web, version: \">=2\", repository: \"{}\"}}\n",
        site.url
    );
    let good = [
        ("remote/fleet.yaml", &*remote),
        ("parent/Chart.yaml", &*parent),
        ("parent/values.yaml", "a: 1\n"),
    ];
    create_repository(&hub, "good", &good).await;
    let bomb = format!("helm: {{chart: \"{}/bomb.tgz\"}}\n", site.url);
    create_repository(&hub, "bad", &[("fleet.yaml", &bomb)]).await;
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let token = api_token(&server, &admin).await;
    create_git_repo(&server, &token, "bad", json!({})).await;
    let spec = json!({
        "paths": ["remote", "parent"],
        "helmSecretName": "helm", "helmRepoURLRegex": site.url,
    });
    let secret = json!({
        "metadata": { "name": "helm" }, "stringData": { "username": "u", "password": "p" },
    });
    let secrets: Api<Secret> = Api::namespaced(server.hub.client(), FLEET_NAMESPACE);
    let secret = serde_json::from_value(secret).unwrap();
    secrets
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();
    create_git_repo(&server, &token, "good", spec).await;

    let names = files(&server, "good-remote").await;
    let [chart_file, template] = &names[..] else {
        panic!("{names:?}");
    };
    assert!(chart_file.starts_with(".chart/") && chart_file.ends_with("/web/Chart.yaml"));
    assert!(template.ends_with("/web/templates/a.yaml"));
    assert_eq!(
        files(&server, "good-parent").await,
        ["Chart.yaml", "charts/web-2.0.0.tgz", "values.yaml"]
    );

    let repos: Api<GitRepo> = Api::namespaced(server.hub.client(), FLEET_NAMESPACE);
    eventually("the reason in the condition Stalled", SOON, async || {
        let status = repos.get("bad").await.unwrap().status.unwrap_or_default();
        let mut conditions = status.base.conditions.iter();
        let stalled = conditions.find(|condition| condition.type_ == "Stalled");
        let is_named = stalled.is_some_and(|condition| {
            condition.message.contains("bundle bad") && condition.message.contains("bytes")
        });
        if is_named {
            Ok(())
        } else {
            Err(format!("{status:?}"))
        }
    })
    .await
    .unwrap();
    let bundles: Api<Bundle> = Api::namespaced(server.hub.client(), FLEET_NAMESPACE);
    assert_eq!(bundles.get_opt("bad").await.unwrap(), None);
    // The GitRepo without an expression sends no credential.
    for request in site.seen.lock().iter() {
        let has_credential = request.contains("Authorization: Basic dTpw");
        assert_eq!(has_credential, !request.contains("bomb"), "{request}");
    }
    server.stop().await;
}
