//! Valid and invalid values for the charts.

use serde_json::{Value, json};

use super::{AGENT, SERVER};

/// A description of a test case, and the values for the installation of a chart.
pub(super) type Values = (&'static str, Value);

/// Returns the required values of the agent's chart.
fn member() -> Value {
    let ca = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
    json!({
        "cluster": { "name": "shop", "uid": "5a1d" },
        "server": { "url": "https://drover.example", "ca": ca },
        "planKeys": ["AAAA"],
        "registration": { "token": "droverimport_bbbbbbbbbbbb_secretsecretsecret" },
    })
}

/// Returns values for the server's chart that contain only the URL of the server.
fn reached() -> Value {
    json!({ "serverUrl": "https://drover.example.com:444" })
}

fn with(values: &Value, changes: Value) -> Value {
    let mut merged = values.clone();
    merge(&mut merged, changes);
    merged
}

fn merge(into: &mut Value, changes: Value) {
    match (into, changes) {
        (Value::Object(into), Value::Object(changes)) => {
            for (key, change) in changes {
                merge(into.entry(key).or_insert(Value::Null), change);
            }
        }
        (into, change) => *into = change,
    }
}

/// Returns values that the chart must accept.
pub(super) fn good() -> Vec<Values> {
    let servers = [certificates(), ways_in(), vec![json!({}), everything()]];
    let servers = servers.into_iter().flatten().map(|values| (SERVER, values));
    servers
        .chain(members().map(|values| (AGENT, values)))
        .collect()
}

/// Returns values for the server's chart with a certificate of cert-manager. `url` is the URL for
/// clients. `webhook` is the host of the admission webhook.
pub(super) fn certified(url: &str, webhook: &str) -> Value {
    json!({
        "serverUrl": url,
        "hubWebhook": webhook,
        "tls": { "mode": "certManager", "certManager": { "issuer": { "name": "ca" } } },
    })
}

fn certificates() -> Vec<Value> {
    let secret = json!({ "tls": { "mode": "secret", "secretName": "mine" } });
    let with_its_authority = json!({ "tls": { "caKey": "" } });
    vec![
        certified("https://drover.example.com:444", ""),
        certified("https://192.0.2.7:30443", "edge/way-in:8443"),
        with(&reached(), secret.clone()),
        with(&with(&reached(), secret), with_its_authority),
    ]
}

fn ways_in() -> Vec<Value> {
    let opened = json!({
        "tls": { "mode": "secret", "secretName": "mine" },
        "ingress": { "enabled": true, "passthrough": false, "annotations": { "a": "b" } },
    });
    let passed = json!({ "ingress": { "enabled": true, "className": "nginx" } });
    vec![
        reached(),
        with(&reached(), passed),
        with(&reached(), opened),
        json!({ "service": {
            "type": "LoadBalancer", "loadBalancerSourceRanges": ["192.0.2.0/24"],
        } }),
        json!({ "service": { "type": "NodePort", "nodePort": 30443 } }),
    ]
}

fn everything() -> Value {
    json!({
        "networkPolicy": {
            "from": [{ "ipBlock": { "cidr": "192.0.2.0/24" } }],
            "egress": { "enabled": true },
        },
        "podDisruptionBudget": { "maxUnavailable": 0 },
        "otlpEndpoint": "https://collector:4318",
        "otlpCaConfigMap": "collector-ca",
        "log": { "format": "text", "filter": "info,drover_proxy=debug" },
        "imagePullSecrets": [{ "name": "registry" }],
        "tolerations": [{ "operator": "Exists" }],
        "priorityClassName": "system-cluster-critical",
        "podAnnotations": { "a": "b" },
    })
}

fn members() -> [Value; 2] {
    let more = json!({
        "planKeys": ["AAAA", "BBBB"],
        "registration": { "token": "" },
        "image": { "name": "registry.example/drover-agent@sha256:00" },
        "imagePullSecrets": [{ "name": "registry" }],
        "podAnnotations": { "a": "b" },
    });
    [member(), with(&member(), more)]
}

/// Returns invalid values. Each item contains the field that the error message must name.
pub(super) fn bad() -> Vec<(Values, &'static str)> {
    let servers = [malformed(), contradictory()].into_iter().flatten();
    let servers = servers.map(|(values, field)| ((SERVER, values), field));
    let members = no_members().into_iter();
    let members = members.map(|(values, field)| ((AGENT, values), field));
    servers.chain(members).collect()
}

type Refused = (Value, &'static str);

fn malformed() -> Vec<Refused> {
    vec![
        (
            json!({ "serverUrl": "http://drover.example.com" }),
            "/serverUrl",
        ),
        (
            json!({ "serverUrl": "https://drover.example.com/path" }),
            "/serverUrl",
        ),
        (
            json!({ "serverURL": "https://drover.example.com" }),
            "serverURL",
        ),
        (json!({ "service": { "type": "None" } }), "/service/type"),
        (
            json!({ "podDisruptionBudget": { "maxUnavailable": 2 } }),
            "/podDisruptionBudget/maxUnavailable",
        ),
        (json!({ "tls": { "mode": "none" } }), "/tls/mode"),
        (json!({ "hubWebhook": "http://drover" }), "/hubWebhook"),
        (
            json!({ "networkPolicy": { "egress": { "ports": ["https"] } } }),
            "/networkPolicy/egress/ports",
        ),
    ]
}

/// Returns values that contradict each other although the JSON schema accepts them.
fn contradictory() -> Vec<Refused> {
    let of_reached = |values| with(&reached(), values);
    vec![
        (
            json!({ "service": { "nodePort": 30443 } }),
            "service.nodePort",
        ),
        (
            of_reached(json!({ "tls": { "mode": "secret" } })),
            "tls.secretName",
        ),
        (
            of_reached(json!({ "tls": { "mode": "certManager" } })),
            "tls.certManager.issuer.name",
        ),
        (
            json!({ "tls": { "mode": "secret", "secretName": "mine" } }),
            "serverUrl",
        ),
        (json!({ "ingress": { "enabled": true } }), "serverUrl"),
        (
            json!({ "otlpEndpoint": "https://collector:4318" }),
            "otlpCaConfigMap",
        ),
        (
            of_reached(json!({ "ingress": { "enabled": true, "passthrough": false } })),
            "ingress.passthrough",
        ),
    ]
}

fn no_members() -> Vec<Refused> {
    let of_member = |values| with(&member(), values);
    vec![
        (json!({}), "/server/url"),
        (
            of_member(json!({ "server": { "ca": "MAA=" } })),
            "/server/ca",
        ),
        (of_member(json!({ "planKeys": [] })), "/planKeys"),
        (
            of_member(json!({ "cluster": { "name": "Shop" } })),
            "/cluster/name",
        ),
        (
            of_member(json!({ "registration": { "token": "secret" } })),
            "/registration/token",
        ),
        (
            of_member(json!({ "image": { "pullPolicy": "Sometimes" } })),
            "/image/pullPolicy",
        ),
    ]
}
