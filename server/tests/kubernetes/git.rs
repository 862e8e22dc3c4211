//! Tests of the git repositories of a server, with the real program git as client.

mod apply;
mod charts;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use drover_api::fleet::GitRepo;
use drover_api::group::GROUP;
use drover_e2e::eventually;
use drover_git_hosting::{InitialCommit, Repositories};
use drover_gitops::ids::sha256_hex;
use drover_server::demo::DemoFolder;
use drover_server::wire::DemoOptions;
use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use reqwest::{Method, Response};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::task::JoinHandle;

use crate::place::TestHub;
use crate::server::{Server, client, token};

pub(crate) const SOON: Duration = Duration::from_mins(1);

/// A git client with an empty home folder.
pub(crate) struct Client {
    folder: TempDir,
    url: String,
}

impl Client {
    /// Creates a client that trusts the server.
    pub(crate) fn new(server: &Server) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.crt"), &server.trust).unwrap();
        let url = server.url.clone();
        Self { folder, url }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the URL of a repository, with the token as the password.
    fn repository(&self, name: &str, token: &str) -> String {
        let url = self
            .url
            .replace("https://", &format!("https://git:{token}@"));
        format!("{url}/git/{name}.git")
    }

    async fn git(&self, folder: &Path, arguments: &[&str]) -> Output {
        let running = Command::new("git")
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.folder.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_SSL_CAINFO", self.path("ca.crt"))
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_AUTHOR_NAME", "Ann")
            .env("GIT_AUTHOR_EMAIL", "ann@example.invalid")
            .env("GIT_COMMITTER_NAME", "Ann")
            .env("GIT_COMMITTER_EMAIL", "ann@example.invalid")
            .kill_on_drop(true)
            .output();
        tokio::time::timeout(SOON, running).await.unwrap().unwrap()
    }

    /// Runs git successfully. Returns its output.
    pub(crate) async fn done(&self, folder: &Path, arguments: &[&str]) -> String {
        let output = self.git(folder, arguments).await;
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) async fn clone(
        &self,
        name: &str,
        token: &str,
        into: &str,
        options: &[&str],
    ) -> PathBuf {
        let (url, path) = (self.repository(name, token), self.path(into));
        let path_text = path.display().to_string();
        let arguments = ["-c", "protocol.version=2", "clone", "--quiet"];
        let arguments: Vec<&str> = arguments.iter().chain(options).copied().collect();
        let arguments = [&arguments[..], &[&url, &path_text]].concat();
        self.done(self.folder.path(), &arguments).await;
        path
    }

    pub(crate) async fn commit(&self, folder: &Path, file: &str, content: &[u8]) {
        std::fs::write(folder.join(file), content).unwrap();
        self.done(folder, &["add", "."]).await;
        self.done(folder, &["commit", "--quiet", "--message=Change"])
            .await;
    }
}

/// Starts a server on an embedded hub with the repository `example`.
pub(crate) async fn server_with_example() -> (TestHub, Server, Repositories) {
    let hub = TestHub::embedded();
    let server = Server::start(&hub).await;
    let repositories = Repositories::open(hub.folder().join("git")).unwrap();
    let commit = InitialCommit {
        files: &[("a.yaml", "a: 1\n")],
        author: "Ann",
        email: "ann@example.invalid",
        message: "Add a file",
    };
    let name = "example".parse().unwrap();
    repositories.create_with(&name, Some(commit)).await.unwrap();
    (hub, server, repositories)
}

/// Returns a text of 3.8 MB that a bundle cannot contain.
pub(crate) fn large_text() -> String {
    // The hashes of numbers are hardly compressible.
    let hashes = (0..60_000_u32).map(|number| sha256_hex(&number.to_le_bytes()));
    hashes.collect()
}

pub(crate) async fn api_token(server: &Server, session: &str) -> String {
    let body = json!({ "purpose": "Api" });
    token(&server.post("/v1/tokens", session, body).await.expect(201))
}

/// Creates a global role for the repository `example`, and a user with the role. Returns the user's
/// API token.
async fn user_with(server: &Server, admin: &str, name: &str, verbs: &[&str]) -> String {
    let rules = json!([{ "apiGroups": [GROUP], "resources": ["gitrepositories"],
                         "resourceNames": ["example"], "verbs": verbs }]);
    let role = json!({ "name": name, "spec": { "rules": rules } });
    server
        .post("/v1/global-roles", admin, role)
        .await
        .expect(201);
    let session = server.user(admin, name).await;
    let member = json!({ "role": name, "user": name });
    server
        .post("/v1/global-members", admin, member)
        .await
        .expect(201);
    api_token(server, &session).await
}

#[tokio::test]
async fn git_clones_pushes_and_fetches_through_the_server() {
    let (_hub, server, repositories) = server_with_example().await;
    let admin = server.administrator().await;
    let token = api_token(&server, &admin).await;
    let client = Client::new(&server);
    let first = client.clone("example", &token, "first", &[]).await;
    assert_eq!(
        std::fs::read_to_string(first.join("a.yaml")).unwrap(),
        "a: 1\n"
    );
    let shallow = client
        .clone("example", &token, "shallow", &["--depth=1"])
        .await;
    // Above the limit of git's buffer (1 MiB), so that git sends the body in chunks.
    let mut random = vec![0; 3 << 20];
    let mut state = 1_u32;
    for byte in &mut random {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = state.to_be_bytes()[0];
    }
    client.commit(&first, "b.bin", &random).await;
    client.commit(&first, "a.yaml", b"a: 2\n").await;
    client
        .done(&first, &["push", "--quiet", "origin", "main"])
        .await;
    let fetch = [
        "-c",
        "protocol.version=2",
        "fetch",
        "--quiet",
        "--depth=1",
        "origin",
        "main",
    ];
    client.done(&shallow, &fetch).await;
    client
        .done(&shallow, &["reset", "--hard", "--quiet", "FETCH_HEAD"])
        .await;
    assert_eq!(std::fs::read(shallow.join("b.bin")).unwrap(), random);
    assert_eq!(
        std::fs::read_to_string(shallow.join("a.yaml")).unwrap(),
        "a: 2\n"
    );
    assert_eq!(
        client
            .done(&shallow, &["rev-list", "--count", "HEAD"])
            .await,
        "1\n"
    );
    // Another repository, which the client creates from the beginning.
    repositories
        .create(&"empty".parse().unwrap())
        .await
        .unwrap();
    let url = client.repository("empty", &token);
    client
        .done(
            &first,
            &["push", "--quiet", &url, "main", "main:refs/tags/v1"],
        )
        .await;
    let refs = client.done(&first, &["ls-remote", &url]).await;
    assert!(
        refs.contains("refs/heads/main") && refs.contains("refs/tags/v1"),
        "{refs}"
    );
    server.stop().await;
}

#[tokio::test]
async fn only_users_with_a_role_read_and_change_a_repository() {
    let (hub, server, repositories) = server_with_example().await;
    let admin = server.administrator().await;
    repositories
        .create(&"other".parse().unwrap())
        .await
        .unwrap();
    let reader = user_with(&server, &admin, "reader", &["get"]).await;
    let writer = user_with(&server, &admin, "writer", &["get", "update"]).await;
    let nobody = server.user(&admin, "nobody").await;
    let client = Client::new(&server);
    let clone = client.clone("example", &reader, "clone", &[]).await;
    client.commit(&clone, "a.yaml", b"a: 3\n").await;
    let push = client.git(&clone, &["push", "origin", "main"]).await;
    let text = String::from_utf8_lossy(&push.stderr);
    assert!(!push.status.success() && text.contains("403"), "{push:?}");
    let url = client.repository("example", &writer);
    client
        .done(&clone, &["push", "--quiet", &url, "main"])
        .await;
    for (token, repository, code) in [
        (&*nobody, "example", "403"),
        (&*reader, "other", "403"),
        (&*reader, "absent", "403"),
        (&*admin, "absent", "not found"),
        ("nonsense", "example", "Authentication failed"),
    ] {
        let url = client.repository(repository, token);
        let refused = client.git(client.folder.path(), &["ls-remote", &url]).await;
        let text = String::from_utf8_lossy(&refused.stderr);
        assert!(
            !refused.status.success() && text.contains(code),
            "{repository} {code}: {text}"
        );
    }
    let audit = std::fs::read_to_string(hub.folder().join("drover-audit.log")).unwrap();
    let pushes = audit.lines().filter(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["path"] == "/git/{repo}/git-receive-pack" && line["object"] == "example"
    });
    assert!(pushes.count() >= 1, "{audit}");
    server.stop().await;
}

async fn create<K>(server: &Server, object: Value)
where
    K: kube::Resource<DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::Serialize
        + DeserializeOwned,
{
    let api: Api<K> = Api::all(server.hub.client());
    let object: K = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

#[tokio::test]
async fn service_account_of_the_hub_reads_a_repository_with_a_cluster_role() {
    let (_hub, server, _) = server_with_example().await;
    let accounts: Api<ServiceAccount> = Api::namespaced(server.hub.client(), "default");
    let account = ServiceAccount {
        metadata: ObjectMeta {
            name: Some("reader".to_owned()),
            ..ObjectMeta::default()
        },
        ..ServiceAccount::default()
    };
    let params = PostParams::default();
    accounts.create(&params, &account).await.unwrap();
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(3600),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let issued = accounts.create_token_request("reader", &params, &request);
    let token = issued.await.unwrap().status.unwrap().token.unwrap();
    let client = Client::new(&server);
    let url = client.repository("example", &token);
    let list = async || client.git(client.folder.path(), &["ls-remote", &url]).await;
    let refused = list().await;
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(text.contains("403"), "{text}");
    create::<ClusterRole>(
        &server,
        json!({
            "metadata": { "name": "git-reader" },
            "rules": [{ "apiGroups": [GROUP], "resources": ["gitrepositories"],
                        "resourceNames": ["example"], "verbs": ["get"] }],
        }),
    )
    .await;
    create::<ClusterRoleBinding>(
        &server,
        json!({
            "metadata": { "name": "git-reader" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                         "name": "git-reader" },
            "subjects": [{ "kind": "ServiceAccount", "name": "reader", "namespace": "default" }],
        }),
    )
    .await;
    let allowed = list().await;
    assert!(allowed.status.success(), "{allowed:?}");
    let clone = client.clone("example", &token, "clone", &[]).await;
    client.commit(&clone, "a.yaml", b"a: 4\n").await;
    let push = client.git(&clone, &["push", "origin", "main"]).await;
    assert!(!push.status.success(), "{push:?}");
    server.stop().await;
}

/// Creates the CRD of GitRepo, unless the server has installed the CRD.
async fn define_git_repo(server: &Server) {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let definition = json!({
        "metadata": { "name": "gitrepos.fleet.cattle.io" },
        "spec": {
            "group": "fleet.cattle.io",
            "scope": "Namespaced",
            "names": { "kind": "GitRepo", "listKind": "GitRepoList", "plural": "gitrepos",
                       "singular": "gitrepo" },
            "versions": [{ "name": "v1alpha1", "served": true, "storage": true,
                           "schema": { "openAPIV3Schema": schema } }],
        },
    });
    let definitions: Api<CustomResourceDefinition> = Api::all(server.hub.client());
    let definition = serde_json::from_value(definition).unwrap();
    let created = definitions
        .create(&PostParams::default(), &definition)
        .await;
    if let Err(error) = created {
        assert!(
            matches!(&error, kube::Error::Api(status) if status.code == 409),
            "{error}"
        );
    }
}

/// Creates a GitRepo for a repository of the server, and the Secret `git` with the token.
async fn create_git_repo(server: &Server, token: &str, repository: &str, spec: Value) {
    let namespace = "fleet-default";
    let secret = json!({
        "metadata": { "name": "git" }, "type": "kubernetes.io/basic-auth",
        "stringData": { "username": "git", "password": token },
    });
    let secrets: Api<Secret> = Api::namespaced(server.hub.client(), namespace);
    let params = PostParams::default();
    let secret = serde_json::from_value(secret).unwrap();
    let created = eventually("the namespace of GitRepos", SOON, async || {
        match secrets.create(&params, &secret).await {
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            created => created.map(drop),
        }
    });
    created.await.unwrap();
    let mut repo: GitRepo = serde_json::from_value(json!({ "spec": spec })).unwrap();
    repo.metadata.name = Some(repository.to_owned());
    repo.spec.repo = format!("{}/git/{repository}.git", server.url);
    "main".clone_into(&mut repo.spec.branch);
    "git".clone_into(&mut repo.spec.client_secret_name);
    repo.spec.polling_interval = Some("2s".to_owned());
    repo.spec.ca_bundle = Some(ByteString(server.trust.clone().into_bytes()));
    let repos: Api<GitRepo> = Api::namespaced(server.hub.client(), namespace);
    repos.create(&params, &repo).await.unwrap();
}

#[tokio::test]
async fn demonstration_creates_a_repository_that_its_git_repo_can_only_read() {
    let hub = TestHub::embedded();
    let folder = DemoFolder::within(hub.folder());
    let demo = DemoOptions {
        clusters: 1,
        folder,
    };
    let server = Server::start_with(&hub, |options| options.demo = Some(demo)).await;
    define_git_repo(&server).await;
    let repos: Api<GitRepo> = Api::namespaced(server.hub.client(), "fleet-default");
    let repo = eventually("the GitRepo example", SOON, async || {
        repos.get("example").await
    });
    let spec = repo.await.unwrap().spec;
    assert_eq!(spec.repo, format!("{}/git/example.git", server.url));
    assert_eq!(spec.paths, ["plain", "kustomize", "chart", "fails"]);
    assert_eq!(spec.ca_bundle.unwrap().0, server.trust.as_bytes());
    let secrets: Api<Secret> = Api::namespaced(server.hub.client(), "fleet-default");
    let secret = secrets.get(&spec.client_secret_name).await.unwrap();
    let password = secret.data.unwrap()["password"].0.clone();
    let token = String::from_utf8(password).unwrap();
    let client = Client::new(&server);
    let clone = client.clone("example", &token, "clone", &[]).await;
    assert!(clone.join("chart/Chart.yaml").exists());
    let author = client.done(&clone, &["log", "--format=%an"]).await;
    assert_eq!(author, "Drover demonstration\n");
    client.commit(&clone, "new.yaml", b"").await;
    let push = client.git(&clone, &["push", "origin", "main"]).await;
    assert!(!push.status.success(), "{push:?}");
    server.stop().await;
}

/// Starts a push that sends the beginning of its body, and then nothing.
fn stuck_push(server: &Server, token: &str) -> JoinHandle<reqwest::Result<Response>> {
    let first = futures::stream::once(async { Ok::<_, std::io::Error>("00") });
    let body = futures::StreamExt::chain(first, futures::stream::pending());
    let request = client(&server.trust)
        .post(format!("{}/git/example.git/git-receive-pack", server.url))
        .basic_auth("git", Some(token))
        .header("content-type", "application/x-git-receive-pack-request")
        .body(reqwest::Body::wrap_stream(body));
    tokio::spawn(request.send())
}

/// Returns the number of processes that run in the folder of the repositories.
fn processes(hub: &TestHub) -> usize {
    let root = hub.folder().join("git").canonicalize().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap();
    let folders =
        entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path().join("cwd")).ok());
    folders.filter(|folder| folder.starts_with(&root)).count()
}

async fn wait_for_processes(hub: &TestHub, expected: impl Fn(usize) -> bool) {
    eventually("the git processes", SOON, async || {
        let found = processes(hub);
        expected(found).then_some(()).ok_or(found)
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn stuck_pushes_do_not_block_other_users_and_end_with_their_connections() {
    let (hub, server, _) = server_with_example().await;
    let admin = server.administrator().await;
    let reader = user_with(&server, &admin, "reader", &["get"]).await;
    let stuck: Vec<_> = (0..4).map(|_| stuck_push(&server, &admin)).collect();
    wait_for_processes(&hub, |count| count >= 8).await;
    let path = "/git/example.git/info/refs?service=git-upload-pack";
    let fifth = server.call(Method::GET, path, Some(&admin), None).await;
    assert_eq!(fifth.code, 429, "{}", fifth.body);
    assert!(fifth.headers.contains_key("retry-after"));
    let git = Client::new(&server);
    git.clone("example", &reader, "clone", &[]).await;
    assert!(stuck.iter().all(|push| !push.is_finished()));
    for push in stuck {
        push.abort();
    }
    wait_for_processes(&hub, |count| count == 0).await;
    let freed = server.call(Method::GET, path, Some(&admin), None).await;
    assert_eq!(freed.code, 200);
    server.stop().await;
}

#[tokio::test]
async fn compressed_request_bodies_reach_git_and_large_bodies_are_rejected() {
    let (_hub, server, _) = server_with_example().await;
    let admin = server.administrator().await;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(b"0014command=ls-refs\n0000").unwrap();
    let fetch = client(&server.trust)
        .post(format!("{}/git/example.git/git-upload-pack", server.url))
        .basic_auth("git", Some(&admin))
        .header("git-protocol", "version=2")
        .header("content-type", "application/x-git-upload-pack-request")
        .header("content-encoding", "gzip")
        .body(encoder.finish().unwrap());
    let answer = fetch.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let refs = answer.text().await.unwrap();
    assert!(refs.contains("refs/heads/main"), "{refs}");
    let push = client(&server.trust)
        .post(format!("{}/git/example.git/git-receive-pack", server.url))
        .basic_auth("git", Some(&admin))
        .header("content-type", "application/x-git-receive-pack-request")
        .header("content-length", (1_u64 << 40).to_string())
        .body(reqwest::Body::wrap_stream(futures::stream::pending::<
            Result<&str, std::io::Error>,
        >()));
    let answer = push.send().await.unwrap();
    assert_eq!(answer.status(), 413);
    server.stop().await;
}
