//! Reads the usage of CPU and memory of pods and nodes (`metrics.k8s.io/v1beta1`).

use std::collections::HashMap;
use std::time::Duration;

use drover_rows::table::Key;
use drover_rows::{Amounts, Include, usage};
use tokio::time::sleep;

use crate::clusters::{Format, problem};
use crate::requests::{Interruption, Requests};

/// Interval of the requests. metrics-server measures the usage every 15 s.
const INTERVAL: Duration = Duration::from_secs(15);
/// Interval of the requests to a cluster without usage.
const RETRY: Duration = Duration::from_mins(1);
/// Interval of the checks whether the list is complete.
const WAIT: Duration = Duration::from_secs(1);
/// Number of failed requests after which the previous usage is outdated.
const MAX_FAILURES: u32 = 4;
/// Maximum size of a response in bytes. The usage of 100,000 pods needs about 45 MiB.
const MAX_BODY: usize = 64 << 20;

/// Reads the usage of the objects of a source until the source ends. Returns at once for kinds
/// without usage.
pub(crate) async fn run(requests: Requests) {
    let Some(path) = path(&requests.source.key.path, requests.source.key.include) else {
        return;
    };
    let source = &requests.source;
    let mut failures = 0;
    loop {
        while !source.is_live() {
            sleep(WAIT).await;
        }
        let pause = match read(&requests, &path).await {
            Ok(usage) => {
                failures = 0;
                source.set_usage(&usage);
                INTERVAL
            }
            Err(Interruption::Problem(problem)) => {
                failures += 1;
                let is_final = matches!(problem.code, 403 | 404);
                if is_final || failures >= MAX_FAILURES {
                    source.set_usage_problem(problem);
                }
                if is_final { RETRY } else { INTERVAL }
            }
            Err(Interruption::NoPage | Interruption::Expired) => INTERVAL,
        };
        sleep(pause).await;
    }
}

async fn read(requests: &Requests, path: &str) -> Result<HashMap<Key, Amounts>, Interruption> {
    let body = requests.read(path, Format::Json, MAX_BODY).await?;
    // Large responses would delay other tasks.
    let parsing = tokio::task::spawn_blocking(move || usage::read(&body));
    let parsed = parsing.await.map_err(|_| Interruption::NoPage)?;
    parsed.map_err(|error| Interruption::Problem(problem(0, "BadResponse", error.to_string())))
}

/// Returns the path of the usage of the objects in a list. Returns `None` for kinds without usage.
fn path(list: &str, include: Include) -> Option<String> {
    match include {
        Include::Pods | Include::Nodes => {
            Some(list.replacen("/api/v1/", "/apis/metrics.k8s.io/v1beta1/", 1))
        }
        Include::Metadata | Include::Events | Include::Objects => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_of_pods_is_in_the_namespace_of_the_list() {
        let list = "/k8s/clusters/a/api/v1/namespaces/shop/pods";
        assert_eq!(
            path(list, Include::Pods).as_deref(),
            Some("/k8s/clusters/a/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods")
        );
        assert_eq!(
            path(
                "/k8s/clusters/a/apis/apps/v1/deployments",
                Include::Metadata
            ),
            None
        );
    }
}
