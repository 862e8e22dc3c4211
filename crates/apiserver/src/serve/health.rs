//! Handlers of `/livez`, `/readyz`, `/healthz` and `/version`.

use std::fmt::Write as _;

use axum::response::Response;
use http::StatusCode;
use serde_json::json;

use crate::serve::answer;
use crate::serve::exchange::Exchange;

/// A health check and its result.
struct Check {
    name: &'static str,
    fault: Option<String>,
}

/// Responds to a health probe. `tail` is the name of one check, or empty for all checks.
pub(crate) async fn probe(exchange: &Exchange, name: &str, tail: &str) -> Response {
    let mut checks = checks(exchange, name == "readyz").await;
    if !tail.is_empty() {
        checks.retain(|check| check.name == tail);
        return match checks.first() {
            None => answer::page_not_found(),
            Some(Check { fault: None, .. }) => answer::text(StatusCode::OK, "ok"),
            Some(Check { fault: Some(_), .. }) => answer::text(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal server error: reason withheld\n",
            ),
        };
    }
    let excluded: Vec<&str> = exchange.query.all("exclude").collect();
    let mut report = String::new();
    let mut healthy = true;
    for check in &checks {
        if excluded.contains(&check.name) {
            note(
                &mut report,
                format_args!("[+]{} excluded: ok\n", check.name),
            );
        } else if let Some(fault) = &check.fault {
            healthy = false;
            tracing::warn!(check = check.name, %fault, "health check failed");
            note(
                &mut report,
                format_args!("[-]{} failed: reason withheld\n", check.name),
            );
        } else {
            note(&mut report, format_args!("[+]{} ok\n", check.name));
        }
    }
    if !healthy {
        note(&mut report, format_args!("{name} check failed\n"));
        return answer::text(StatusCode::INTERNAL_SERVER_ERROR, report);
    }
    if exchange.query.first("verbose").is_none() {
        return answer::text(StatusCode::OK, "ok");
    }
    note(&mut report, format_args!("{name} check passed\n"));
    answer::text(StatusCode::OK, report)
}

async fn checks(exchange: &Exchange, ready: bool) -> Vec<Check> {
    let store = exchange.shared.store.get("/core/namespaces//default").await;
    let mut checks = vec![
        Check {
            name: "ping",
            fault: None,
        },
        Check {
            name: "store",
            fault: store.err().map(|error| error.to_string()),
        },
    ];
    if ready {
        let ending = exchange.shared.shutdown.is_cancelled();
        checks.push(Check {
            name: "shutdown",
            fault: ending.then(|| "process is shutting down".to_owned()),
        });
    }
    checks
}

/// Responds to a request for `/version`.
pub(crate) fn version(exchange: &Exchange) -> Response {
    let version = &exchange.shared.version;
    let value = json!({
        "major": version.major, "minor": version.minor, "gitVersion": version.git_version,
        "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, arch()),
    });
    // kube-apiserver indents this document.
    match serde_json::to_vec_pretty(&value) {
        Ok(body) => answer::bytes(StatusCode::OK, "application/json", body),
        Err(error) => answer::status(&crate::status::ApiError::internal(error)),
    }
}

/// Returns the CPU architecture in Go's spelling.
fn arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn note(report: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = report.write_fmt(line);
}
