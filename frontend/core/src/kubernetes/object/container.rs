//! Containers of a pod: spec, state and previous run.

use jiff::Timestamp;
use serde_json::Value;

use super::exit::meaning;
use super::overview::ObjectState;
use super::{Object, read};
use crate::messages::t;
use crate::problem::sentence;
use drover_rows::Severity;

/// The type of a container in a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An init container. Init containers run to completion before the main containers start.
    Init,
    /// A sidecar: an init container with `restartPolicy: Always`.
    Sidecar,
    /// A main container, from `spec.containers`.
    Main,
    /// An ephemeral container, for debugging.
    Ephemeral,
}

impl Role {
    /// Returns the display name of the type; empty for main containers.
    pub fn word(self) -> &'static str {
        match self {
            Self::Init => t().pods.init(),
            Self::Sidecar => t().pods.sidecar(),
            Self::Main => "",
            Self::Ephemeral => t().pods.ephemeral(),
        }
    }
}

/// A probe of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The type of the probe: `Readiness`, `Liveness` or `Startup`.
    pub name: &'static str,
    /// The description of the probe, such as its path, port and period.
    pub words: String,
}

/// A container of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// The name of the container.
    pub name: String,
    /// The type of the container.
    pub role: Role,
    /// The image reference from the spec.
    pub image: String,
    /// The current state of the container.
    pub state: ObjectState,
    /// The start time or end time of the current state.
    pub since: Option<Timestamp>,
    /// The result and the end time of the previous run.
    pub last: Option<(ObjectState, Option<Timestamp>)>,
    /// The number of restarts.
    pub restarts: i64,
    /// The ports: `8080/TCP http`.
    pub ports: Vec<String>,
    /// The resource requests: `cpu 100m, memory 64Mi`.
    pub requests: Option<String>,
    /// The resource limits, in the format of the requests.
    pub limits: Option<String>,
    /// The probes of the container.
    pub probes: Vec<Probe>,
}

/// The JSON pointers of the container lists in spec and status, by type.
pub(super) const CONTAINER_LISTS: [(&str, &str, Role); 3] = [
    (
        "/spec/initContainers",
        "/status/initContainerStatuses",
        Role::Init,
    ),
    ("/spec/containers", "/status/containerStatuses", Role::Main),
    (
        "/spec/ephemeralContainers",
        "/status/ephemeralContainerStatuses",
        Role::Ephemeral,
    ),
];

/// Returns the containers of a pod, main containers first.
pub fn containers(pod: &Object) -> Vec<Container> {
    let pod = pod.value();
    let mut all: Vec<Container> = CONTAINER_LISTS
        .into_iter()
        .flat_map(|(specs, statuses, role)| {
            read::list(pod, specs)
                .iter()
                .filter_map(move |spec| container(spec, read::list(pod, statuses), role))
        })
        .collect();
    all.sort_by_key(|container| container.role != Role::Main);
    all
}

fn container(spec: &Value, statuses: &[Value], role: Role) -> Option<Container> {
    let name = read::owned(spec, "/name")?;
    let status = of_name(statuses, &name);
    let role = role_of(spec, role);
    let state = read::at(status, "/state");
    let last = read::at(status, "/lastState/terminated");
    Some(Container {
        role,
        image: read::owned(spec, "/image").unwrap_or_default(),
        state: object_state(state, status, role),
        since: since(state),
        last: last
            .is_object()
            .then(|| (ended(last), read::time(last, "/finishedAt"))),
        restarts: read::count(status, "/restartCount"),
        ports: read::list(spec, "/ports").iter().filter_map(port).collect(),
        requests: resources(spec, "/resources/requests"),
        limits: resources(spec, "/resources/limits"),
        probes: probes(spec),
        name,
    })
}

pub(super) fn role_of(spec: &Value, role: Role) -> Role {
    match read::text(spec, "/restartPolicy") {
        Some("Always") if role == Role::Init => Role::Sidecar,
        _ => role,
    }
}

pub(super) fn of_name<'a>(statuses: &'a [Value], name: &str) -> &'a Value {
    let mut statuses = statuses.iter();
    let found = statuses.find(|status| read::text(status, "/name") == Some(name));
    found.unwrap_or(&Value::Null)
}

fn since(state: &Value) -> Option<Timestamp> {
    read::time(state, "/running/startedAt").or_else(|| read::time(state, "/terminated/finishedAt"))
}

fn object_state(state: &Value, status: &Value, role: Role) -> ObjectState {
    let waiting = read::at(state, "/waiting");
    if waiting.is_object() {
        return waits(
            read::text(waiting, "/reason").unwrap_or("Waiting"),
            read::text(waiting, "/message").unwrap_or_default(),
        );
    }
    let gone = read::at(state, "/terminated");
    if gone.is_object() {
        return ended(gone);
    }
    if !read::at(state, "/running").is_object() {
        return ObjectState::of(Severity::Idle, "Waiting");
    }
    let ready = read::is_true(status, "/ready");
    match role {
        Role::Main | Role::Sidecar if !ready => {
            ObjectState::of(Severity::Degraded, t().pods.running_not_ready())
                .because(t().pods.probe_failed())
        }
        Role::Init => ObjectState::of(Severity::Progressing, "Running"),
        _ => ObjectState::of(Severity::Healthy, "Running"),
    }
}

fn ended(state: &Value) -> ObjectState {
    let reason = read::text(state, "/reason");
    let code = read::count(state, "/exitCode");
    let severity = if code == 0 {
        Severity::Idle
    } else {
        Severity::Failing
    };
    let words = match reason {
        Some(reason) => t().pods.ended(reason, code),
        None => t().pods.ended("Terminated", code),
    };
    let mut cause = t().pods.exit_code(code, &meaning(code, reason));
    if let Some(message) = read::text(state, "/message") {
        cause.push(' ');
        cause.push_str(message.trim());
    }
    ObjectState::of(severity, words).because(cause)
}

/// Returns the state of a waiting container: severity, text, and cause with the next step.
pub(crate) fn waits(reason: &str, message: &str) -> ObjectState {
    let (severity, advice) = match reason {
        "ContainerCreating" | "PodInitializing" => (Severity::Progressing, ""),
        "CrashLoopBackOff" => (Severity::Failing, t().pods.crash_loop()),
        "ErrImagePull" | "ImagePullBackOff" | "RegistryUnavailable" => {
            (Severity::Failing, t().pods.image_pull())
        }
        "InvalidImageName" => (Severity::Failing, t().pods.invalid_image()),
        "ErrImageNeverPull" => (Severity::Failing, t().pods.image_never_pulled()),
        "CreateContainerConfigError" => (Severity::Failing, t().pods.config_error()),
        "CreateContainerError" | "RunContainerError" => {
            (Severity::Failing, t().pods.create_error())
        }
        _ => (Severity::Degraded, ""),
    };
    let parts = [advice.to_owned(), sentence(message.to_owned())].into_iter();
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    ObjectState::of(severity, reason).because(parts.join(" "))
}

fn port(port: &Value) -> Option<String> {
    let number = read::number(port, "/containerPort")?;
    let protocol = read::text(port, "/protocol").unwrap_or("TCP");
    let name = read::text(port, "/name").map(|name| format!(" {name}"));
    let host = read::number(port, "/hostPort").map(|host| t().pods.host_port(host));
    Some(format!(
        "{number}/{protocol}{}{}",
        name.unwrap_or_default(),
        host.unwrap_or_default()
    ))
}

fn resources(spec: &Value, pointer: &str) -> Option<String> {
    let entries = read::entries(spec, pointer).into_iter();
    let words: Vec<String> = entries
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn probes(spec: &Value) -> Vec<Probe> {
    let all = [
        (t().pods.startup(), "/startupProbe"),
        (t().pods.readiness(), "/readinessProbe"),
        (t().pods.liveness(), "/livenessProbe"),
    ];
    let all = all.into_iter();
    all.filter_map(|(name, pointer)| {
        let probe = read::at(spec, pointer);
        probe.is_object().then(|| Probe {
            name,
            words: probe_words(probe),
        })
    })
    .collect()
}

fn probe_words(probe: &Value) -> String {
    let port = |pointer| read::scalar(read::at(probe, pointer)).unwrap_or_default();
    let asks = if read::at(probe, "/httpGet").is_object() {
        let scheme = read::text(probe, "/httpGet/scheme").unwrap_or("HTTP");
        let path = read::text(probe, "/httpGet/path").unwrap_or("/");
        t().pods.http_probe(path, &port("/httpGet/port"), scheme)
    } else if read::at(probe, "/tcpSocket").is_object() {
        t().pods.tcp_probe(&port("/tcpSocket/port"))
    } else if read::at(probe, "/grpc").is_object() {
        t().pods.grpc_probe(&port("/grpc/port"))
    } else {
        let command = read::list(probe, "/exec/command").iter();
        let words: Vec<&str> = command.filter_map(Value::as_str).collect();
        t().pods.exec_probe(&words.join(" "))
    };
    let of = |pointer, default| read::number(probe, pointer).unwrap_or(default);
    t().pods.probe(
        &asks,
        of("/periodSeconds", 10),
        of("/timeoutSeconds", 1),
        of("/failureThreshold", 3),
    )
}

/// The lifecycle state of a container. The log reader retries or stops according to the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    /// The pod status has no state for the container.
    Unknown,
    /// The container waits to start.
    Waits {
        /// The reason why the container waits.
        words: String,
    },
    /// The container runs.
    Runs,
    /// The container ended.
    Ended {
        /// The exit code with an explanation.
        words: String,
        /// True if the restart policy forbids a restart.
        for_good: bool,
    },
}

/// Returns the lifecycle state of a container in a pod.
pub fn life(pod: &Object, name: &str) -> Lifecycle {
    let value = pod.value();
    let found = CONTAINER_LISTS
        .into_iter()
        .find_map(|(specs, statuses, role)| {
            let status = of_name(read::list(value, statuses), name);
            let spec = of_name(read::list(value, specs), name);
            status.is_object().then(|| (status, role_of(spec, role)))
        });
    let Some((status, role)) = found else {
        return Lifecycle::Unknown;
    };
    let state = read::at(status, "/state");
    if read::at(state, "/running").is_object() {
        return Lifecycle::Runs;
    }
    let gone = read::at(state, "/terminated");
    if gone.is_object() {
        return Lifecycle::Ended {
            words: ended(gone).why.unwrap_or_default(),
            for_good: for_good(value, role, read::count(gone, "/exitCode")),
        };
    }
    let reason = read::text(state, "/waiting/reason").unwrap_or("Waiting");
    let message = read::text(state, "/waiting/message").unwrap_or_default();
    let wait = waits(reason, message);
    Lifecycle::Waits {
        words: [Some(wait.words), wait.why]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(": "),
    }
}

fn for_good(pod: &Value, role: Role, code: i64) -> bool {
    let over = matches!(
        read::text(pod, "/status/phase"),
        Some("Succeeded" | "Failed")
    );
    let policy = read::text(pod, "/spec/restartPolicy").unwrap_or("Always");
    let once = match role {
        Role::Ephemeral => true,
        Role::Sidecar => false,
        Role::Init => code == 0 || policy == "Never",
        Role::Main => policy == "Never" || (policy == "OnFailure" && code == 0),
    };
    over || once
}
