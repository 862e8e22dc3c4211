//! Reads and restores the content of etcd through its JSON gateway.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::StartError;

/// Timeout of a request to etcd.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of operations in one transaction. The limit of etcd is 128.
const OPERATIONS: usize = 100;
/// The prefix of the keys of all Kubernetes objects.
const OBJECTS: &str = "/registry/";
/// Prefixes of keys that the programs of the control plane renew all the time.
const RENEWED: [&str; 2] = ["/registry/leases/", "/registry/masterleases/"];

/// The keys and values of all Kubernetes objects, in base64.
pub(super) type Objects = BTreeMap<String, String>;

#[derive(Deserialize)]
struct Range {
    #[serde(default)]
    kvs: Vec<KeyValue>,
}

#[derive(Deserialize)]
struct KeyValue {
    key: String,
    #[serde(default)]
    value: String,
}

/// A connection to the etcd of a control plane.
pub(super) struct Store {
    url: String,
    http: reqwest::Client,
}

impl Store {
    pub(super) fn new(port: u16) -> Result<Self, StartError> {
        let http = reqwest::Client::builder().timeout(TIMEOUT).build();
        Ok(Self {
            url: format!("http://127.0.0.1:{port}"),
            http: http.map_err(StartError::Store)?,
        })
    }

    /// Reads all objects.
    pub(super) async fn objects(&self) -> Result<Objects, StartError> {
        let end = OBJECTS.replace("y/", "y0");
        let body = json!({ "key": STANDARD.encode(OBJECTS), "range_end": STANDARD.encode(end) });
        let answer = self.post("range", &body).await?;
        let range: Range = answer.json().await.map_err(StartError::Store)?;
        let pair = |stored: KeyValue| (stored.key, stored.value);
        Ok(range.kvs.into_iter().map(pair).collect())
    }

    /// Restores `wanted`. Returns true if all objects were equal before the call.
    pub(super) async fn restore(&self, wanted: &Objects) -> Result<bool, StartError> {
        let operations = operations(wanted, &self.objects().await?);
        for part in operations.chunks(OPERATIONS) {
            self.post("txn", &json!({ "success": part })).await?;
        }
        Ok(operations.is_empty())
    }

    async fn post(&self, call: &str, body: &Value) -> Result<reqwest::Response, StartError> {
        let url = format!("{}/v3/kv/{call}", self.url);
        let answer = self.http.post(url).json(body).send().await;
        answer
            .and_then(reqwest::Response::error_for_status)
            .map_err(StartError::Store)
    }
}

/// Returns the operations that change `present` into `wanted`, without objects that the control
/// plane renews.
fn operations(wanted: &Objects, present: &Objects) -> Vec<Value> {
    let surplus = present.keys().filter(|key| !wanted.contains_key(*key));
    let deletions = surplus.map(|key| json!({ "request_delete_range": { "key": key } }));
    let changed = wanted
        .iter()
        .filter(|(key, value)| present.get(*key) != Some(value) && !is_renewed(key));
    let writes =
        changed.map(|(key, value)| json!({ "request_put": { "key": key, "value": value } }));
    deletions.chain(writes).collect()
}

fn is_renewed(key: &str) -> bool {
    let key = STANDARD.decode(key).unwrap_or_default();
    RENEWED
        .iter()
        .any(|prefix| key.starts_with(prefix.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(pairs: &[(&str, &str)]) -> Objects {
        let encode = |(key, value): &(&str, &str)| (STANDARD.encode(key), STANDARD.encode(value));
        pairs.iter().map(encode).collect()
    }

    #[test]
    fn surplus_objects_are_deleted_and_changed_or_missing_objects_are_written() {
        let wanted = objects(&[
            ("/registry/a", "1"),
            ("/registry/b", "1"),
            ("/registry/c", "1"),
            ("/registry/leases/x", "1"),
        ]);
        let present = objects(&[
            ("/registry/a", "1"),
            ("/registry/b", "2"),
            ("/registry/leases/x", "2"),
            ("/registry/leases/y", "1"),
        ]);
        let key = |name: &str| STANDARD.encode(name);
        let value = STANDARD.encode("1");
        assert_eq!(
            operations(&wanted, &present),
            [
                json!({ "request_delete_range": { "key": key("/registry/leases/y") } }),
                json!({ "request_put": { "key": key("/registry/b"), "value": value } }),
                json!({ "request_put": { "key": key("/registry/c"), "value": value } }),
            ]
        );
        assert!(operations(&wanted, &wanted).is_empty());
    }
}
