//! A client that measures how long requests through Drover fail. The client starts faster than kubectl.

use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::task::JoinSet;

/// Timeout of one request. A usual response arrives within a few milliseconds.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Time between two requests.
const INTERVAL: Duration = Duration::from_millis(100);

/// A client with the credential of a kubeconfig.
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    token: String,
}

impl Client {
    /// Creates a client from a kubeconfig with a token.
    pub(crate) fn new(kubeconfig: &Path) -> Self {
        let config = parse(&std::fs::read_to_string(kubeconfig).unwrap());
        let authority = reqwest::Certificate::from_pem(authority(&config).as_bytes()).unwrap();
        let http = reqwest::Client::builder().tls_certs_only([authority]);
        let server = config["clusters"][0]["cluster"]["server"].as_str().unwrap();
        Self {
            http: http.timeout(TIMEOUT).build().unwrap(),
            url: format!("{server}/api/v1/namespaces/default"),
            token: token(&config),
        }
    }

    /// Sends requests until a request succeeds. Returns the time after which the client sent this
    /// request. Panics if no request that the client sent within `limit` succeeds.
    pub(crate) async fn time_until_success(&self, limit: Duration) -> Duration {
        let begin = Instant::now();
        let mut ticks = tokio::time::interval(INTERVAL);
        let mut requests = JoinSet::new();
        let mut last = None;
        loop {
            tokio::select! {
                _ = ticks.tick(), if begin.elapsed() < limit => {
                    let sent = begin.elapsed();
                    let request = self.http.get(&self.url).bearer_auth(&self.token);
                    requests.spawn(async move { (sent, request.send().await) });
                }
                Some(outcome) = requests.join_next() => match outcome.unwrap() {
                    (sent, Ok(response)) if response.status().is_success() => return sent,
                    outcome => last = Some(outcome),
                },
                else => panic!("no request within {limit:?} succeeded: {last:?}"),
            }
        }
    }
}

/// Parses a kubeconfig.
pub(crate) fn parse(kubeconfig: &str) -> Value {
    serde_saphyr::from_str(kubeconfig).unwrap()
}

/// Returns the certificate authority of the first cluster of a kubeconfig, in PEM.
pub(crate) fn authority(config: &Value) -> String {
    let encoded = &config["clusters"][0]["cluster"]["certificate-authority-data"];
    let decoded = STANDARD.decode(encoded.as_str().unwrap()).unwrap();
    String::from_utf8(decoded).unwrap()
}

/// Returns the token of the first user of a kubeconfig.
pub(crate) fn token(config: &Value) -> String {
    let token = &config["users"][0]["user"]["token"];
    token.as_str().unwrap().to_owned()
}
