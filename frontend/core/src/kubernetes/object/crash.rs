//! Detects crashing containers.

use jiff::Timestamp;
use serde_json::Value;

use super::container::{CONTAINER_LISTS, Role, of_name, role_of};
use super::{Object, Reference, Target, meaning, read};
use crate::kind::Kind;
use crate::messages::t;
use crate::url::segment;

/// A container whose last run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The pod of the container.
    pub pod: Reference,
    /// The name of the container.
    pub container: String,
    /// The state as Kubernetes names it: `CrashLoopBackOff`.
    pub state: String,
    /// The exit code of the failed run; `None` if the pod status does not contain the code.
    pub code: Option<i64>,
    /// The explanation of the exit code.
    pub meaning: Option<String>,
    /// The end time of the failed run.
    pub at: Option<Timestamp>,
    /// The number of restarts.
    pub restarts: i64,
    /// True if the failed run is the previous run (`lastState`), so that `kubectl logs --previous`
    /// shows the log of the failed run.
    pub previous: bool,
}

impl Crash {
    /// Returns the URL path of the log of the failed run.
    pub fn log_screen(&self, cluster: &str) -> Option<String> {
        let pod = self.pod.target.as_ref()?.screen(cluster);
        let previous = if self.previous { "&previous=yes" } else { "" };
        let container = segment(&self.container);
        Some(format!("{pod}?tab=logs&container={container}{previous}"))
    }

    /// Returns exit code and restarts as text: `exit code 1, 7 restarts`.
    pub fn numbers(&self) -> String {
        t().pods.crash(self.code, self.restarts)
    }
}

/// Returns the containers of a pod that are not working and whose last run failed.
pub fn crashes(pod: &Object) -> Vec<Crash> {
    let value = pod.value();
    // The kubelet kills the containers of a terminating pod. This is not a crash.
    if read::text(value, "/metadata/deletionTimestamp").is_some() {
        return Vec::new();
    }
    let places = CONTAINER_LISTS
        .into_iter()
        .filter(|(_, _, role)| *role != Role::Ephemeral);
    let found = places.flat_map(|(specs, statuses, role)| {
        let specs = read::list(value, specs).iter();
        specs.filter_map(move |spec| {
            let name = read::text(spec, "/name")?;
            let status = of_name(read::list(value, statuses), name);
            crash(pod, name, status, role_of(spec, role))
        })
    });
    found.collect()
}

fn crash(pod: &Object, name: &str, status: &Value, role: Role) -> Option<Crash> {
    let ended = read::at(status, "/state/terminated");
    let last = read::at(status, "/lastState/terminated");
    let restarts = read::count(status, "/restartCount");
    let waits = read::text(status, "/state/waiting/reason");
    let runs = read::at(status, "/state/running").is_object();
    let (state, run, previous) = if has_failed(ended) {
        let reason = read::text(ended, "/reason").unwrap_or("Error");
        (reason, ended, false)
    } else if waits == Some("CrashLoopBackOff") {
        ("CrashLoopBackOff", last, true)
    } else if runs && restarts > 0 && has_failed(last) {
        // A restarted container that is not ready can crash again.
        let works = role != Role::Init && read::is_true(status, "/ready");
        if works {
            return None;
        }
        (t().pods.running_not_ready(), last, true)
    } else {
        return None;
    };
    let code = read::number(run, "/exitCode");
    Some(Crash {
        pod: Reference {
            words: pod.name().to_owned(),
            target: Some(Target {
                kind: Kind::PODS,
                namespace: pod.namespace().map(str::to_owned),
                name: pod.name().to_owned(),
            }),
        },
        container: name.to_owned(),
        state: state.to_owned(),
        code,
        meaning: code.map(|code| meaning(code, read::text(run, "/reason"))),
        at: read::time(run, "/finishedAt"),
        restarts,
        previous,
    })
}

fn has_failed(run: &Value) -> bool {
    run.is_object() && read::count(run, "/exitCode") != 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(state: &Value, last: &Value, ready: bool, restarts: i64) -> Object {
        Object::from(json!({
            "metadata": {"name": "web-0", "namespace": "shop"},
            "spec": {"containers": [{"name": "web"}]},
            "status": {"containerStatuses": [{"name": "web", "ready": ready,
                "restartCount": restarts, "state": state, "lastState": last}]},
        }))
    }

    fn failed(code: i64) -> Value {
        json!({"terminated": {"exitCode": code, "reason": "Error",
            "finishedAt": "2026-11-22T00:00:00Z"}})
    }

    fn waits() -> Value {
        json!({"waiting": {"reason": "CrashLoopBackOff"}})
    }

    #[test]
    fn failed_containers_of_a_terminating_pod_are_not_shown_as_crashed() {
        let mut value = pod(&failed(143), &json!({}), false, 0).value().clone();
        assert_eq!(crashes(&Object::from(value.clone())).len(), 1);
        value["metadata"]["deletionTimestamp"] = json!("2026-11-22T00:00:00Z");
        assert_eq!(crashes(&Object::from(value)), []);
    }

    #[test]
    fn crash_loop_shows_exit_code_and_restart_count_and_links_to_the_previous_log() {
        let found = crashes(&pod(&waits(), &failed(3), false, 7));
        let [crash] = &*found else {
            panic!("{found:?}");
        };
        assert_eq!(crash.state, "CrashLoopBackOff");
        assert_eq!(crash.numbers(), "exit code 3, 7 restarts");
        assert!(crash.meaning.is_some() && crash.at.is_some());
        assert_eq!(
            crash.log_screen("berlin").unwrap(),
            "/clusters/berlin/pods/shop/web-0?tab=logs&container=web&previous=yes"
        );
    }

    #[test]
    fn failed_container_that_is_not_restarting_links_to_its_current_log() {
        let found = crashes(&pod(&failed(1), &failed(2), false, 1));
        assert_eq!(found[0].numbers(), "exit code 1, 1 restart");
        assert!(!found[0].log_screen("berlin").unwrap().contains("previous"));
    }

    #[test]
    fn running_and_completed_containers_are_not_shown_as_crashed() {
        let running = || json!({"running": {"startedAt": "2026-11-22T00:00:00Z"}});
        for (state, last, ready) in [
            (running(), failed(1), true),
            (running(), json!({}), false),
            (failed(0), json!({}), false),
            (
                json!({"waiting": {"reason": "ImagePullBackOff"}}),
                json!({}),
                false,
            ),
        ] {
            assert_eq!(crashes(&pod(&state, &last, ready, 1)), []);
        }
        let restarted = crashes(&pod(&running(), &failed(1), false, 1));
        assert_eq!(
            restarted.len(),
            1,
            "a restarted container that is not ready counts as crashed"
        );
    }

    #[test]
    fn crash_loop_without_a_last_state_is_shown_without_an_exit_code() {
        let found = crashes(&pod(&waits(), &json!({}), false, 2));
        assert_eq!((found[0].code, &*found[0].numbers()), (None, "2 restarts"));
    }
}
