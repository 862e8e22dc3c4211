//! Tests of `drover server --otlp-endpoint` on a system without CA certificates, like the server's
//! image.

use std::process::Stdio;

use drover_tls::install_provider;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpListener;
use tokio::process::{Child, ChildStderr};
use tokio::time::timeout;

use super::program::{Drover, PATIENCE};

/// Starts a server that logs in JSON format.
fn start(drover: &Drover, endpoint: &str) -> Child {
    let data = drover.home.path().join("data");
    let mut command = drover.command(&["server", "--listen=127.0.0.1:0", "--log-format=json"]);
    command.arg("--data-dir").arg(data);
    command.args(["--otlp-endpoint", endpoint]);
    let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits until the server is ready and returns its address.
async fn serving(log: &mut Lines<BufReader<ChildStderr>>) -> String {
    let mut stderr = String::new();
    while let Some(line) = log.next_line().await.unwrap() {
        let entry: Value = serde_json::from_str(&line).unwrap_or_default();
        if entry["fields"]["message"] == "serving" {
            return entry["fields"]["address"].as_str().unwrap().to_owned();
        }
        stderr.push_str(&line);
    }
    panic!("the server ended: {stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn server_without_system_authorities_sends_traces_over_http() {
    let collector = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let received = tokio::spawn(async move {
        let (mut stream, _) = collector.accept().await.unwrap();
        let mut bytes = vec![0; 64 * 1024];
        let read = stream.read(&mut bytes).await.unwrap();
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    });
    let drover = Drover::new();
    let mut server = start(&drover, &endpoint);
    let mut log = BufReader::new(server.stderr.take().unwrap()).lines();
    let address = timeout(PATIENCE, serving(&mut log)).await.unwrap();
    let log = tokio::spawn(async move { while let Ok(Some(_)) = log.next_line().await {} });

    install_provider();
    let client = reqwest::Client::builder().tls_danger_accept_invalid_certs(true);
    let requested = client.build().unwrap();
    let requested = requested.get(format!("https://{address}/k8s/clusters/shop/api"));
    assert_eq!(requested.send().await.unwrap().status(), 401);
    let pid = Pid::from_raw(server.id().unwrap().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let text = timeout(PATIENCE, received).await.expect("traces").unwrap();
    assert!(text.starts_with("POST /v1/traces "), "{text}");
    let ended = timeout(PATIENCE, server.wait()).await.unwrap().unwrap();
    assert!(ended.success(), "{ended}");
    log.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn collector_with_unknown_authority_is_rejected_with_advice() {
    let drover = Drover::new();
    let data = drover.home.path().join("data");
    let data = data.to_str().unwrap();
    let endpoint = "https://collector:4318";
    let words = ["server", "--data-dir", data, "--otlp-endpoint", endpoint];
    drover.run(&words).await.failed(1, "--otlp-ca");
    let absent = drover.home.path().join("absent.crt");
    let named = [&words[..], &["--otlp-ca", absent.to_str().unwrap()]].concat();
    drover.run(&named).await.failed(1, "absent.crt");
    let alone = ["server", "--otlp-ca", "ca.crt"];
    drover.run(&alone).await.failed(2, "--otlp-endpoint");
}
