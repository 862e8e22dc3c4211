//! Tests with the real git worker and `git http-backend`.
//!
//! The tests need the program `drover-git-worker`: `cargo build --workspace`.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use drover_api::fleet::GitRepoRestriction;
use drover_charts::{ChartSettings, Charts, DownloadError, Downloads};
use drover_git::{FetcherSettings, Limits};
use drover_gitops::fleet_yaml::{BundleDraft, Tree, read_repository};
use drover_reconcile::error_chain;
use http_body_util::BodyExt as _;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;

use super::*;

type Seen = Arc<Mutex<Vec<Option<String>>>>;

/// A git server with the repository `charts.git`, which requires the password `secret`.
struct World {
    folder: TempDir,
    url: String,
    seen: Seen,
}

fn git(folder: &Path, words: &str) -> Output {
    let output = Command::new("git")
        .args(words.split(' '))
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{words}: {output:?}");
    output
}

impl World {
    async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let work = folder.path().join("work");
        std::fs::create_dir_all(work.join("charts/web/templates")).unwrap();
        git(&work, "init -q -b main");
        for (path, text) in [
            (
                "charts/web/Chart.yaml",
                "apiVersion: v2\nname: web\nversion: 1.0.0\n",
            ),
            ("charts/web/templates/web.yaml", "kind: ConfigMap\n"),
            ("charts/web/.hidden", "x"),
            ("readme", "outside of the chart"),
        ] {
            std::fs::write(work.join(path), text).unwrap();
        }
        git(&work, "add .");
        git(&work, "-c user.name=a -c user.email=a@b commit -q -m first");
        git(&work, "tag v1");
        std::fs::write(work.join("charts/web/Chart.yaml"), "name: newer\n").unwrap();
        git(
            &work,
            "-c user.name=a -c user.email=a@b commit -q -a -m second",
        );
        git(folder.path(), "clone -q --bare work charts.git");
        let seen = Seen::default();
        let (root, shared) = (folder.path().to_owned(), Arc::clone(&seen));
        let router = Router::new().fallback(move |request: Request| {
            let (root, seen) = (root.clone(), Arc::clone(&shared));
            async move { backend(&root, &seen, request).await }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://localhost:{}", listener.local_addr().unwrap().port());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { folder, url, seen }
    }

    fn fetcher(&self) -> Fetcher {
        let own = std::env::current_exe().unwrap();
        let program = own.ancestors().nth(2).unwrap().join("drover-git-worker");
        assert!(program.exists(), "run: cargo build --workspace");
        Fetcher::new(FetcherSettings {
            program,
            arguments: Vec::new(),
            cache_dir: self.folder.path().join("cache"),
            limits: Limits::default(),
            max_workers: 1,
        })
    }

    /// Fetches the charts of a bundle with this `helm.chart`, and returns the names of the bundle's files.
    async fn files(
        &self,
        chart: &str,
        access: HelmAccess,
        limits: Policies,
    ) -> Result<Vec<String>, String> {
        let client = Client::new(
            tower::service_fn(|_: http::Request<_>| async {
                Err::<http::Response<Body>, _>(std::io::Error::other("no hub"))
            }),
            "default",
        );
        let (fetcher, repo) = (self.fetcher(), GitRepo::default());
        let mut source = RepoCharts::new(&client, &fetcher, &repo, limits);
        source.access = Some(access);
        let charts = Charts::new(ChartSettings::new("/no/program", "/no/folder"));
        let draft = draft(chart);
        let mut downloads = Downloads::new(&charts, source);
        let charts = Box::pin(downloads.fetch(&draft)).await;
        let charts =
            charts.map_err(|error: DownloadError<ChartSourceError>| error_chain(&error))?;
        let bundle = draft.finish(&charts, &[]).unwrap();
        let files = bundle.spec.resources.into_iter();
        Ok(files.map(|file| file.name + "=" + &file.content).collect())
    }
}

fn draft(chart: &str) -> BundleDraft {
    let yaml = json!({ "helm": { "chart": chart } }).to_string();
    let files = [("fleet.yaml".to_owned(), yaml.into_bytes())].into();
    let limits = drover_gitops::fleet_yaml::Limits::default();
    let tree = Tree::new(files, &limits).unwrap();
    let drafts = read_repository(&GitRepo::default(), &tree, &limits);
    drafts.unwrap().remove(0)
}

/// Returns the process for a request, or `None` without the credential.
fn process(root: &Path, seen: &Seen, request: &Request) -> Option<tokio::process::Command> {
    let header = |name: &str| {
        let value = request.headers().get(name);
        value.map(|value| value.to_str().unwrap().to_owned())
    };
    let authorization = header("authorization");
    seen.lock().unwrap().push(authorization.clone());
    if authorization.as_deref() != Some("Basic dTpzZWNyZXQ=") {
        return None;
    }
    let mut command = tokio::process::Command::new("git");
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("REQUEST_METHOD", request.method().as_str())
        .env("PATH_INFO", request.uri().path())
        .env("QUERY_STRING", request.uri().query().unwrap_or_default())
        .env("CONTENT_TYPE", header("content-type").unwrap_or_default())
        .env("GIT_PROTOCOL", header("git-protocol").unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    Some(command)
}

/// Runs `git http-backend` for a request.
async fn backend(root: &Path, seen: &Seen, request: Request) -> Response {
    let mut response = Response::builder();
    let Some(mut command) = process(root, seen, &request) else {
        return response.status(401).body(Body::empty()).unwrap();
    };
    let body = request.into_body().collect().await.unwrap().to_bytes();
    command.env("CONTENT_LENGTH", body.len().to_string());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let _ = input.write_all(&body).await;
    drop(input);
    let output = child.wait_with_output().await.unwrap().stdout;
    let end = output.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
    for line in std::str::from_utf8(&output[..end]).unwrap().lines() {
        let (name, value) = line.split_once(": ").unwrap();
        response = match name {
            "Status" => response.status(value.split(' ').next().unwrap()),
            name => response.header(name, value),
        };
    }
    response.body(output[end + 4..].to_vec().into()).unwrap()
}

fn access(regex: &str) -> HelmAccess {
    HelmAccess::for_test(regex, &[("username", "u"), ("password", "secret")])
}

#[tokio::test]
async fn chart_in_a_git_repository_is_fetched_with_the_credential_of_the_git_repo() {
    let world = World::start().await;
    let chart = format!("git::{}/charts.git//charts/web?ref=v1", world.url);
    let files = world.files(&chart, access("http://localhost:"), Policies::default());
    let files = files.await.unwrap();
    let [chart_file, template] = &*files else {
        panic!("{files:?}");
    };
    assert!(chart_file.starts_with(".chart/") && chart_file.contains("/Chart.yaml=apiVersion"));
    assert!(template.ends_with("/templates/web.yaml=kind: ConfigMap\n"));
    let newest = format!("git::{}/charts.git//charts/web?ref=main", world.url);
    let files = world.files(&newest, access("git::http://"), Policies::default());
    assert!(files.await.unwrap()[0].ends_with("=name: newer\n"));
}

#[tokio::test]
async fn credential_is_not_sent_to_a_git_repository_that_the_expression_does_not_match() {
    let world = World::start().await;
    let chart = format!("git::{}/charts.git//charts/web", world.url);
    for regex in ["", "https://localhost", "http://other"] {
        let error = world.files(&chart, access(regex), Policies::default());
        let error = error.await.unwrap_err();
        assert!(
            error.contains("helm.chart: ") && error.contains("helmRepoURLRegex"),
            "{error}"
        );
        assert!(
            !error.contains("clientSecretName") && !error.contains("secret\""),
            "{error}"
        );
    }
    assert!(world.seen.lock().unwrap().iter().all(Option::is_none));
}

#[tokio::test]
async fn wrong_folders_references_and_repositories_are_errors_with_the_fix() {
    let world = World::start().await;
    for (chart, fix) in [
        ("charts.git//charts", "correct the folder after //"),
        ("charts.git//charts/web?ref=no", "correct ref"),
        ("no.git//charts/web", "correct the address"),
    ] {
        let chart = format!("git::{}/{chart}", world.url);
        let error = world.files(&chart, access("http://"), Policies::default());
        let error = error.await.unwrap_err();
        assert!(
            error.starts_with("helm.chart: ") && error.contains(fix),
            "{error}"
        );
    }
}

#[tokio::test]
async fn chart_in_a_repository_outside_of_the_patterns_is_not_requested() {
    let world = World::start().await;
    let chart = format!("git::{}/charts.git//charts/web", world.url);
    let restriction = GitRepoRestriction {
        allowed_repo_patterns: vec!["https://git.example/.*".to_owned()],
        ..GitRepoRestriction::default()
    };
    let limits = Policies::merge([&restriction], []);
    let error = world
        .files(&chart, access("http://"), limits)
        .await
        .unwrap_err();
    assert!(
        error.contains("helm.chart") && error.contains("allowedRepoPatterns"),
        "{error}"
    );
    assert!(world.seen.lock().unwrap().is_empty());
}
