//! Tests of port forwards in the browser (`/v1/port-forwards`) with pods of a real node.

use std::time::{Duration, Instant};

use drover_api::rest::{List, PortForwardCreate, PortForwardCreated, PortForwardView, PortRef};
use drover_e2e::{CommandLine, World};
use http::StatusCode;
use http::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Method, Response};
use serde_json::Value;

use crate::client::{authority, parse};

const SOON: Duration = Duration::from_secs(30);
const CUT_WITHIN: Duration = Duration::from_secs(5);
/// Number of bytes of a large file.
const LARGE: usize = 8 << 20;
/// Starts a web server with a page, a large file, a program that shows its cookie and host, and a
/// program with endless output.
const SERVING: &str = r#"
mkdir -p /www/cgi-bin; echo 'a forwarded page' >/www/index.html
dd if=/dev/zero of=/www/large bs=1M count=8
printf '#!/bin/sh\necho; echo "cookie=$HTTP_COOKIE host=$HTTP_HOST"; cat\n' >/www/cgi-bin/show
printf '#!/bin/sh\necho; while :; do echo tick; sleep 1; done\n' >/www/cgi-bin/endless
chmod +x /www/cgi-bin/*
exec httpd -f -p 8080 -h /www"#;

/// A user with an API token.
struct User<'a> {
    world: &'a World,
    token: String,
    pem: String,
    http: reqwest::Client,
}

impl<'a> User<'a> {
    async fn new(world: &'a World, drover: CommandLine) -> Self {
        let create = ["token", "create", "--ttl=10m", "-o", "json"];
        let created = drover.run(create).await.unwrap();
        let created: Value = serde_json::from_str(&created.stdout).unwrap();
        let kubeconfig = std::fs::read_to_string(world.kubeconfig()).unwrap();
        let pem = authority(&parse(&kubeconfig));
        Self {
            world,
            token: created["token"].as_str().unwrap().to_owned(),
            http: builder(&pem).build().unwrap(),
            pem,
        }
    }

    async fn send(&self, method: Method, path: &str, body: Option<PortForwardCreate>) -> Response {
        let url = format!("{}/v1/port-forwards{path}", self.world.server.url());
        let mut request = self.http.request(method, url).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        request.send().await.unwrap()
    }

    async fn create(&self, create: PortForwardCreate) -> Result<PortForwardCreated, (u16, Value)> {
        let response = self.send(Method::POST, "", Some(create)).await;
        let status = response.status();
        if status == StatusCode::CREATED {
            return Ok(response.json().await.unwrap());
        }
        Err((status.as_u16(), response.json().await.unwrap()))
    }

    async fn list(&self) -> Vec<PortForwardView> {
        let response = self.send(Method::GET, "", None).await;
        response.json::<List<_>>().await.unwrap().items
    }

    /// Creates a port forward, and opens it in a new browser.
    async fn open(&self, create: PortForwardCreate) -> Browser {
        let created = self.create(create).await.unwrap();
        let url = created.forward.url.clone();
        let host = reqwest::Url::parse(&url).unwrap();
        let host = host.host_str().unwrap();
        let address = self.world.server.address();
        let browser = builder(&self.pem).resolve(host, address).build().unwrap();
        let open_url = created.open_url.expose().to_owned();
        let opened = browser.get(&open_url).send().await.unwrap();
        assert_eq!(opened.status(), StatusCode::SEE_OTHER);
        assert_eq!(opened.headers()[LOCATION], "/");
        let cookie = opened.headers()[SET_COOKIE].to_str().unwrap();
        Browser {
            http: browser,
            cookie: cookie.split(';').next().unwrap().to_owned(),
            id: created.forward.id,
            open_url,
            url,
        }
    }
}

fn builder(pem: &str) -> reqwest::ClientBuilder {
    let certificate = reqwest::Certificate::from_pem(pem.as_bytes()).unwrap();
    reqwest::Client::builder()
        .tls_certs_only([certificate])
        .redirect(reqwest::redirect::Policy::none())
        .timeout(SOON)
}

/// A browser with the cookie of a port forward.
struct Browser {
    http: reqwest::Client,
    cookie: String,
    id: String,
    open_url: String,
    url: String,
}

impl Browser {
    async fn get(&self, path: &str) -> Response {
        let request = self.http.get(format!("{}{path}", self.url));
        let cookies = format!("a=b; {}", self.cookie);
        request.header(COOKIE, cookies).send().await.unwrap()
    }

    async fn without_cookie(&self, url: &str) -> StatusCode {
        self.http.get(url).send().await.unwrap().status()
    }
}

fn of_pod(pod: &str, port: u16) -> PortForwardCreate {
    PortForwardCreate {
        cluster: "east".to_owned(),
        namespace: "default".to_owned(),
        pod: Some(pod.to_owned()),
        service: None,
        port: PortRef::Number(port),
    }
}

pub(crate) async fn port_forward_reaches_only_its_pod_in_the_browser_that_opened_it(
    world: &mut World,
) {
    world.run_pod("forwarded-page", SERVING).await.unwrap();
    let user = User::new(world, world.admin.drover()).await;
    let (code, body) = user.create(of_pod("no-such-pod", 80)).await.unwrap_err();
    assert_eq!(code, 404, "{body}");
    let browser = user.open(of_pod("forwarded-page", 8080)).await;
    assert_eq!(
        browser.get("").await.text().await.unwrap(),
        "a forwarded page\n"
    );
    let large = browser.get("large").await.bytes().await.unwrap();
    assert_eq!(large.len(), LARGE);
    let shown = browser.get("cgi-bin/show").await.text().await.unwrap();
    let host = reqwest::Url::parse(&browser.url).unwrap();
    let host = format!("host={}:{}", host.host_str().unwrap(), host.port().unwrap());
    assert!(shown.starts_with(&format!("cookie=a=b {host}")), "{shown}");
    let post = browser.http.post(format!("{}cgi-bin/show", browser.url));
    let post = post
        .header(COOKIE, &browser.cookie)
        .body("x".repeat(100_000));
    let posted = post.send().await.unwrap().text().await.unwrap();
    assert!(
        posted.starts_with("cookie= ") && posted.len() > 100_000,
        "{}",
        posted.len()
    );

    assert_eq!(browser.without_cookie(&browser.url).await, 401);
    assert_eq!(browser.without_cookie(&browser.open_url).await, 401);
    let users = browser.http.get(format!("{}v1/users", browser.url));
    let users = users.bearer_auth(&user.token).send().await.unwrap();
    assert_eq!(
        users.status(),
        401,
        "the host name serves no route of Drover"
    );
    let closed = user.open(of_pod("forwarded-page", 9)).await;
    let response = closed.get("").await;
    assert_eq!(response.status(), 502);
    let text = response.text().await.unwrap();
    assert!(text.contains("port 9 of the pod forwarded-page"), "{text}");
    let stolen = closed.http.get(&closed.url).header(COOKIE, &browser.cookie);
    assert_eq!(stolen.send().await.unwrap().status(), 401);

    let listed = user.list().await;
    let own = listed.iter().find(|it| it.id == browser.id).unwrap();
    assert!(
        own.bytes_from_pod > LARGE as u64 && own.bytes_to_pod > 100_000,
        "{own:?}"
    );
    let path = format!("/{}", browser.id);
    let stopped = user.send(Method::DELETE, &path, None).await;
    assert_eq!(stopped.status(), StatusCode::NO_CONTENT);
    assert_eq!(browser.get("").await.status(), 401);
    assert_eq!(user.send(Method::DELETE, &path, None).await.status(), 404);
}

pub(crate) async fn service_is_forwarded_to_a_ready_pod_with_the_rights_of_the_user(
    world: &mut World,
) {
    let expose = [
        "expose",
        "pod/forwarded-page",
        "--name=forwarded-service",
        "--port=80",
    ];
    let expose = expose.into_iter().chain(["--target-port=8080"]);
    world.direct().run(expose).await.unwrap();
    let user = User::new(world, world.admin.drover()).await;
    let service = |port: u16| PortForwardCreate {
        pod: None,
        service: Some("forwarded-service".to_owned()),
        ..of_pod("", port)
    };
    let browser = user.open(service(80)).await;
    assert_eq!(
        browser.get("").await.text().await.unwrap(),
        "a forwarded page\n"
    );
    let (code, body) = user.create(service(81)).await.unwrap_err();
    assert_eq!(code, 422, "{body}");

    let person = world.person("forwarder", false).await.unwrap();
    let other = User::new(world, person.drover()).await;
    let (code, body) = other.create(service(80)).await.unwrap_err();
    assert_eq!(code, 403, "{body}");
    assert!(other.list().await.is_empty());
    let foreign = other
        .send(Method::DELETE, &format!("/{}", browser.id), None)
        .await;
    assert_eq!(foreign.status(), 404);
    assert_eq!(browser.get("").await.status(), 200);
    let delete = ["delete", "service/forwarded-service"];
    world.direct().run(delete).await.unwrap();
}

pub(crate) async fn deleted_token_closes_port_forward(world: &mut World) {
    let user = User::new(world, world.admin.drover()).await;
    let browser = user.open(of_pod("forwarded-page", 8080)).await;
    let mut endless = browser.get("cgi-bin/endless").await;
    let first = endless.chunk().await.unwrap().unwrap();
    assert!(first.starts_with(b"tick"), "{first:?}");
    let id = user.token.split('_').nth(1).unwrap();
    let delete = ["token", "delete", id];
    world.admin.drover().run(delete).await.unwrap();
    let since = Instant::now();
    while let Ok(Some(_)) = endless.chunk().await {
        let took = since.elapsed();
        assert!(took < CUT_WITHIN, "the response went on for {took:?}");
    }
    let took = since.elapsed();
    assert!(took < CUT_WITHIN, "the response went on for {took:?}");
    assert_eq!(browser.get("").await.status(), 401);
    let delete = ["delete", "pod/forwarded-page", "--now"];
    world.direct().run(delete).await.unwrap();
}
