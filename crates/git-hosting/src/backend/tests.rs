//! Tests of the backend with the real program git.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::BodyExt as _;

use super::*;

const SOON: Duration = Duration::from_secs(20);

struct Hosted {
    backend: Backend,
    folder: tempfile::TempDir,
    name: RepositoryName,
}

impl Hosted {
    async fn new(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repositories = Repositories::open(folder.path()).unwrap();
        let name: RepositoryName = "example".parse().unwrap();
        repositories.create(&name).await.unwrap();
        Self {
            backend: Backend::new(repositories, limits),
            folder,
            name,
        }
    }

    async fn refs(&self, service: Service, caller: &str) -> Result<Response, Status> {
        let headers = HeaderMap::from_iter([(
            "git-protocol".parse().unwrap(),
            "version=2".parse().unwrap(),
        )]);
        let request = self.request(service, Step::Refs, caller, &headers, Body::empty());
        self.backend.serve(request).await
    }

    /// Pushes a body.
    async fn push(
        &self,
        caller: &str,
        length: Option<u64>,
        body: Body,
    ) -> Result<Response, Status> {
        let mut headers = HeaderMap::new();
        let kind = "application/x-git-receive-pack-request";
        headers.insert(CONTENT_TYPE, kind.parse().unwrap());
        if let Some(length) = length {
            headers.insert(CONTENT_LENGTH, length.into());
        }
        let request = self.request(Service::ReceivePack, Step::Transfer, caller, &headers, body);
        self.backend.serve(request).await
    }

    fn request<'a>(
        &'a self,
        service: Service,
        step: Step,
        caller: &'a str,
        headers: &'a HeaderMap,
        body: Body,
    ) -> GitRequest<'a> {
        GitRequest {
            repository: &self.name,
            service,
            step,
            caller,
            from: Ipv4Addr::LOCALHOST.into(),
            headers,
            body,
        }
    }

    /// Returns the IDs of all processes whose working folder is in the folder of the repositories.
    fn processes(&self) -> Vec<String> {
        let root = self.folder.path().canonicalize().unwrap();
        let entries = std::fs::read_dir("/proc").unwrap();
        let ids = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let inside = |id: &String| {
            let cwd = std::fs::read_link(Path::new("/proc").join(id).join("cwd"));
            cwd.is_ok_and(|cwd| cwd.starts_with(&root))
        };
        ids.filter(inside).collect()
    }

    async fn wait_for_processes(&self, expected: impl Fn(usize) -> bool) -> Vec<String> {
        let began = Instant::now();
        loop {
            let found = self.processes();
            if expected(found.len()) {
                return found;
            }
            assert!(began.elapsed() < SOON, "{found:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Returns a body that sends the beginning of a push, and then nothing.
fn stuck() -> Body {
    let first = futures::stream::once(async { Ok::<_, io::Error>(Bytes::from_static(b"00")) });
    Body::from_stream(futures::StreamExt::chain(first, futures::stream::pending()))
}

#[tokio::test]
async fn refs_use_the_requested_version_of_the_protocol() {
    let hosted = Hosted::new(Limits::default()).await;
    let response = hosted.refs(Service::UploadPack, "ann").await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let kind = &response.headers()[CONTENT_TYPE];
    assert_eq!(kind, "application/x-git-upload-pack-advertisement");
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body = String::from_utf8_lossy(&body);
    assert!(body.contains("version 2"), "{body}");
    let response = hosted.refs(Service::ReceivePack, "ann").await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    hosted.wait_for_processes(|count| count == 0).await;
}

#[tokio::test]
async fn body_above_the_limit_is_rejected_and_git_ends() {
    let limits = Limits {
        body_bytes: 100_000,
        ..Limits::default()
    };
    let hosted = Hosted::new(limits).await;
    let declared = hosted.push("ann", Some(100_001), stuck()).await;
    assert_eq!(declared.unwrap_err().code(), StatusCode::PAYLOAD_TOO_LARGE);
    // An endless list of the branches to update.
    let (old, new) = ("0".repeat(40), "1".repeat(40));
    let line = format!("0063{old} {new} refs/heads/a\n");
    assert_eq!(line.len(), 0x63);
    let lines = Bytes::from(line.repeat(100));
    let endless = futures::stream::repeat_with(move || Ok::<_, io::Error>(lines.clone()));
    let streamed = hosted.push("ann", None, Body::from_stream(endless)).await;
    assert_eq!(streamed.unwrap_err().code(), StatusCode::PAYLOAD_TOO_LARGE);
    hosted.wait_for_processes(|count| count == 0).await;
}

#[tokio::test]
async fn body_without_progress_is_rejected_and_git_ends() {
    let limits = Limits {
        idle: Duration::from_millis(300),
        ..Limits::default()
    };
    let hosted = Hosted::new(limits).await;
    let status = hosted.push("ann", None, stuck()).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::REQUEST_TIMEOUT);
    hosted.wait_for_processes(|count| count == 0).await;
}

#[tokio::test]
async fn request_above_the_time_limit_is_rejected_and_git_ends() {
    let limits = Limits {
        total: Duration::from_millis(500),
        ..Limits::default()
    };
    let hosted = Hosted::new(limits).await;
    let status = hosted.push("ann", None, stuck()).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::GATEWAY_TIMEOUT);
    hosted.wait_for_processes(|count| count == 0).await;
}

#[tokio::test]
async fn disconnect_of_the_client_kills_all_processes_of_the_request() {
    let hosted = Hosted::new(Limits::default()).await;
    let pushing = hosted.push("ann", None, stuck());
    let waiting = async {
        // git http-backend, and git receive-pack with the same working folder or the repository's.
        hosted.wait_for_processes(|count| count >= 2).await
    };
    tokio::select! {
        pushed = pushing => panic!("the push must not end: {pushed:?}"),
        found = waiting => assert!(found.len() >= 2),
    }
    hosted.wait_for_processes(|count| count == 0).await;
}

#[tokio::test]
async fn processes_have_limits_and_a_clean_environment() {
    let hosted = Hosted::new(Limits::default()).await;
    let pushing = hosted.push("ann", None, stuck());
    let waiting = hosted.wait_for_processes(|count| count >= 2);
    let found = tokio::select! {
        pushed = pushing => panic!("the push must not end: {pushed:?}"),
        found = async {
            let found = waiting.await;
            found.into_iter().map(|id| {
                let read = |file: &str| std::fs::read(Path::new("/proc").join(&id).join(file)).unwrap();
                (read("limits"), read("environ"))
            }).collect::<Vec<_>>()
        } => found,
    };
    for (limits, environment) in found {
        let limits = String::from_utf8(limits).unwrap();
        for (name, value) in [
            ("Max address space", 2_u64 << 30),
            ("Max file size", 1 << 30),
            ("Max cpu time", 300),
            ("Max core file size", 0),
        ] {
            let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
            let hard = line[name.len()..].split_whitespace().nth(1).unwrap();
            assert_eq!(hard, value.to_string(), "{line}");
        }
        let environment = String::from_utf8_lossy(&environment).into_owned();
        let home = format!("HOME={}", hosted.folder.path().join(".empty").display());
        let variables: Vec<&str> = environment.split('\0').collect();
        for expected in [
            &*home,
            "GIT_CONFIG_NOSYSTEM=1",
            "GIT_CONFIG_KEY_0=core.hooksPath",
        ] {
            assert!(variables.contains(&expected), "{expected}: {variables:?}");
        }
        assert!(!environment.contains("CARGO"), "{variables:?}");
    }
}

#[tokio::test]
async fn stuck_pushes_of_one_caller_do_not_block_other_callers() {
    let limits = Limits {
        requests: 3,
        requests_per_caller: 2,
        wait: Duration::from_secs(1),
        ..Limits::default()
    };
    let hosted = Hosted::new(limits).await;
    let stuck_pushes = async {
        tokio::join!(
            hosted.push("ann", None, stuck()),
            hosted.push("ann", None, stuck())
        )
    };
    let others = async {
        hosted.wait_for_processes(|count| count >= 2).await;
        let third = hosted.push("ann", None, stuck()).await.unwrap_err();
        assert_eq!(third.code(), StatusCode::TOO_MANY_REQUESTS);
        for _ in 0..3 {
            let response = hosted.refs(Service::UploadPack, "bob").await.unwrap();
            response.into_body().collect().await.unwrap();
        }
    };
    tokio::select! {
        ended = stuck_pushes => panic!("the pushes must not end: {ended:?}"),
        () = others => {}
    }
}

#[test]
fn missing_git_is_a_temporary_error_that_names_the_program() {
    let status = Status::from(BackendError::NoGit);
    assert_eq!(status.code(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(status.message().contains("install git"), "{status}");
}

#[test]
fn only_gzip_bodies_and_plain_protocol_headers_reach_git() {
    let folder = tempfile::tempdir().unwrap();
    let repositories = Repositories::open(folder.path()).unwrap();
    let backend = Backend::new(repositories, Limits::default());
    let name = "example".parse().unwrap();
    let variable = |header: &'static str, value: &str, variable: &str| {
        let headers = HeaderMap::from_iter([(header.parse().unwrap(), value.parse().unwrap())]);
        let request = GitRequest {
            repository: &name,
            service: Service::UploadPack,
            step: Step::Transfer,
            caller: "ann",
            from: Ipv4Addr::LOCALHOST.into(),
            headers: &headers,
            body: Body::empty(),
        };
        let command = backend.command(&request)?;
        let mut variables = command.as_std().get_envs();
        let found = variables.find(|(name, _)| *name == variable);
        Ok::<_, BackendError>(found.and_then(|(_, value)| value?.to_str().map(str::to_owned)))
    };
    for (value, expected) in [
        ("gzip", Some("gzip")),
        ("x-gzip", Some("gzip")),
        ("identity", None),
    ] {
        let found = variable("content-encoding", value, "HTTP_CONTENT_ENCODING").unwrap();
        assert_eq!(found.as_deref(), expected, "{value}");
    }
    let encoding = variable("content-encoding", "br", "HTTP_CONTENT_ENCODING");
    assert!(matches!(encoding, Err(BackendError::Encoding)));
    for (value, expected) in [
        ("version=2", Some("version=2")),
        ("version=2 --x", None),
        ("a;b", None),
    ] {
        let found = variable("git-protocol", value, "GIT_PROTOCOL").unwrap();
        assert_eq!(found.as_deref(), expected, "{value}");
    }
    for header in ["x-forwarded-for", "proxy", "git-config-count"] {
        let name = format!("HTTP_{}", header.to_uppercase().replace('-', "_"));
        assert_eq!(variable(header, "1", &name).unwrap(), None);
    }
}
