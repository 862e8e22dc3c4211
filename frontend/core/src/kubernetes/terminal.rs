//! Terminals in containers and on nodes: requests, commands, and the states of a connection.

pub mod kubectl_shell;
pub mod node_shell;
pub mod stored;

use drover_api::rest::{TerminalCreate, TerminalKind};
use serde_json::Value;

use crate::messages::t;
use crate::object::Object;
use crate::shell::word;
use crate::url::{segment, with_query};

/// The shell command that starts bash, or sh in containers without bash.
const SHELL: &str =
    "export TERM=xterm-256color; if [ -x /bin/bash ]; then exec /bin/bash; else exec /bin/sh; fi";

/// The program that a terminal runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TerminalProgram {
    /// A shell.
    #[default]
    Shell,
    /// The first process of the container (`kubectl attach`).
    Attach,
    /// A command of the user.
    Command,
}

impl TerminalProgram {
    /// All programs.
    pub const ALL: [Self; 3] = [Self::Shell, Self::Attach, Self::Command];

    /// Returns the key of the program in a select element.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Attach => "attach",
            Self::Command => "command",
        }
    }

    /// Parses a key. An unknown key means a shell.
    pub fn of_key(key: &str) -> Self {
        let found = Self::ALL.into_iter().find(|program| program.key() == key);
        found.unwrap_or_default()
    }

    /// Returns the label of the program.
    pub fn words(self) -> &'static str {
        match self {
            Self::Shell => t().terminal.shell(),
            Self::Attach => t().terminal.attach(),
            Self::Command => t().terminal.custom(),
        }
    }
}

/// A container of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodContainer {
    /// The name of the cluster.
    pub cluster: String,
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub pod: String,
    /// The name of the container.
    pub container: String,
}

impl PodContainer {
    /// Returns the path of the pods in the namespace.
    pub fn pods_path(&self) -> String {
        let (cluster, namespace) = (segment(&self.cluster), segment(&self.namespace));
        format!("/k8s/clusters/{cluster}/api/v1/namespaces/{namespace}/pods")
    }

    /// Returns the path of the pod.
    pub fn pod_path(&self) -> String {
        format!("{}/{}", self.pods_path(), segment(&self.pod))
    }

    /// Returns the path of the exec request through the proxy, with the query. `command` is the
    /// program with its arguments.
    pub fn exec_path(&self, command: &[&str], has_input: bool) -> String {
        let mut query = vec![
            ("container", self.container.clone()),
            ("stdin", has_input.to_string()),
            ("stdout", "true".to_owned()),
            ("stderr", "true".to_owned()),
        ];
        query.extend(command.iter().map(|&it| ("command", it.to_owned())));
        with_query(&format!("{}/exec", self.pod_path()), &query)
    }

    /// Returns the request for a terminal. `command` is the user's command, which a shell runs.
    pub fn request(&self, program: TerminalProgram, command: &str) -> TerminalCreate {
        let shell = |script| vec!["/bin/sh", "-c", script];
        match program {
            TerminalProgram::Shell => self.terminal(TerminalKind::Exec, &shell(SHELL)),
            TerminalProgram::Attach => self.terminal(TerminalKind::Attach, &[]),
            TerminalProgram::Command => self.terminal(TerminalKind::Exec, &shell(command)),
        }
    }

    fn terminal(&self, kind: TerminalKind, command: &[&str]) -> TerminalCreate {
        TerminalCreate {
            cluster: self.cluster.clone(),
            namespace: self.namespace.clone(),
            pod: self.pod.clone(),
            container: Some(self.container.clone()),
            kind,
            command: command.iter().map(|&it| it.to_owned()).collect(),
            tty: true,
        }
    }

    /// Returns the equivalent kubectl command.
    pub fn kubectl(&self, program: TerminalProgram, command: &str) -> String {
        let (verb, end) = match program {
            TerminalProgram::Shell => ("exec", " -- /bin/sh".to_owned()),
            TerminalProgram::Attach => ("attach", String::new()),
            TerminalProgram::Command => ("exec", format!(" -- /bin/sh -c {}", word(command))),
        };
        format!(
            "kubectl --context {} --namespace {} {verb} -it {} --container {}{end}",
            word(&self.cluster),
            word(&self.namespace),
            word(&self.pod),
            word(&self.container),
        )
    }

    /// Returns the title of a terminal.
    pub fn title(&self) -> String {
        format!("{}/{} ({})", self.pod, self.container, self.cluster)
    }
}

/// Returns the names of the running containers of a pod, main containers first.
pub fn running_containers(pod: &Object) -> Vec<String> {
    let status = &pod.value()["status"];
    let lists = [
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
    ];
    let statuses = lists.iter().filter_map(|list| status[*list].as_array());
    let running = statuses
        .flatten()
        .filter(|it| it["state"]["running"].is_object());
    running
        .filter_map(|it| it["name"].as_str().map(str::to_owned))
        .collect()
}

/// The parts of a created pod that select the program of a container. Users who may change pods can
/// replace the pod or its image before the page uses the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodIdentity {
    uid: String,
    image: String,
}

impl PodIdentity {
    /// Reads the identity of a container from its pod. Returns `None` if the pod does not have the
    /// container.
    pub fn of(pod: &Value, container: &str) -> Option<Self> {
        let containers = pod["spec"]["containers"].as_array()?;
        let own = containers.iter().find(|it| it["name"] == container)?;
        Some(Self {
            uid: pod["metadata"]["uid"].as_str()?.to_owned(),
            image: own["image"].as_str()?.to_owned(),
        })
    }
}

/// The progress of a pod whose container will have a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodProgress {
    /// The container is not running yet, with the reason if Kubernetes reports one.
    Starting(Option<String>),
    /// The container is running.
    Running,
    /// The container cannot run.
    Failed(String),
}

impl PodProgress {
    /// Reads the progress of a container from its pod. Admission webhooks can add other containers.
    pub fn of(pod: &Value, container: &str) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let statuses = pod["status"]["containerStatuses"].as_array();
        let own = statuses
            .into_iter()
            .flatten()
            .find(|status| status["name"] == container);
        let state = own.map_or(&Value::Null, |status| &status["state"]);
        if state["running"].is_object() {
            return Self::Running;
        }
        let phase = pod["status"]["phase"].as_str().unwrap_or_default();
        let ended = &state["terminated"];
        if ended.is_object() || matches!(phase, "Failed" | "Succeeded") {
            let reason = text(&ended["message"]).or_else(|| text(&ended["reason"]));
            let reason = reason.or_else(|| text(&pod["status"]["message"]));
            return Self::Failed(reason.unwrap_or_else(|| phase.to_owned()));
        }
        let waiting = &state["waiting"];
        let reason = text(&waiting["message"]).or_else(|| text(&waiting["reason"]));
        match waiting["reason"].as_str() {
            Some(
                "ErrImagePull" | "ImagePullBackOff" | "InvalidImageName" | "CreateContainerError",
            ) => Self::Failed(reason.unwrap_or_default()),
            _ => Self::Starting(reason),
        }
    }
}

/// The state of the connection between the page and a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TerminalState {
    /// The page connects for the first time.
    #[default]
    Connecting,
    /// The terminal works.
    Open,
    /// The connection was lost. The page connects again.
    Lost,
    /// The container did not read input.
    InputDiscarded,
    /// The terminal has ended, with the reason.
    Ended(String),
}

impl TerminalState {
    /// Creates the state from a report of the JavaScript module.
    pub fn of(name: &str, text: &str) -> Self {
        match name {
            "open" => Self::Open,
            "lost" => Self::Lost,
            "discarded" => Self::InputDiscarded,
            "replaced" => Self::Ended(t().terminal.replaced().to_owned()),
            "gone" => Self::Ended(t().terminal.gone().to_owned()),
            "signed-out" => Self::Ended(t().terminal.signed_out().to_owned()),
            "failed" => Self::Ended(t().terminal.no_module().to_owned()),
            "ended" => Self::Ended(text.to_owned()),
            _ => Self::Connecting,
        }
    }

    /// Reports whether the terminal has ended.
    pub fn is_ended(&self) -> bool {
        matches!(self, Self::Ended(_))
    }

    /// Returns the text of the state.
    pub fn words(&self) -> String {
        match self {
            Self::Connecting => t().terminal.connecting().to_owned(),
            Self::Open => t().terminal.connected().to_owned(),
            Self::Lost => t().terminal.lost().to_owned(),
            Self::InputDiscarded => t().terminal.discarded().to_owned(),
            Self::Ended(reason) => t().terminal.ended(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn container() -> PodContainer {
        PodContainer {
            cluster: "berlin".to_owned(),
            namespace: "shop".to_owned(),
            pod: "web-0".to_owned(),
            container: "web".to_owned(),
        }
    }

    #[test]
    fn terminal_has_an_equivalent_kubectl_command() {
        let start = "kubectl --context berlin --namespace shop";
        let command = |program, text| container().kubectl(program, text);
        assert_eq!(
            command(TerminalProgram::Shell, ""),
            format!("{start} exec -it web-0 --container web -- /bin/sh")
        );
        assert_eq!(
            command(TerminalProgram::Attach, ""),
            format!("{start} attach -it web-0 --container web")
        );
        assert_eq!(
            command(TerminalProgram::Command, "ls; id"),
            format!("{start} exec -it web-0 --container web -- /bin/sh -c 'ls; id'")
        );
    }

    #[test]
    fn request_of_attach_has_no_command() {
        let request = container().request(TerminalProgram::Attach, "ignored");
        assert_eq!(request.kind, TerminalKind::Attach);
        assert!(request.command.is_empty());
        let request = container().request(TerminalProgram::Command, "top");
        assert_eq!(request.command, ["/bin/sh", "-c", "top"]);
    }

    #[test]
    fn progress_of_a_starting_pod_names_the_problem() {
        let pod = |state: &Value| {
            json!({"status": {"phase": "Pending", "containerStatuses": [
                {"name": "proxy", "state": {"running": {}}},
                {"name": "shell", "state": state},
            ]}})
        };
        let of = |state| PodProgress::of(&pod(&state), "shell");
        assert_eq!(of(json!({"running": {}})), PodProgress::Running);
        assert_eq!(
            PodProgress::of(&json!({}), "shell"),
            PodProgress::Starting(None)
        );
        assert_eq!(
            of(json!({"waiting": {"reason": "ImagePullBackOff", "message": "no image"}})),
            PodProgress::Failed("no image".to_owned())
        );
        assert_eq!(
            of(json!({"terminated": {"reason": "Error"}})),
            PodProgress::Failed("Error".to_owned())
        );
    }

    #[test]
    fn replaced_pod_or_image_has_a_different_identity() {
        let pod = |uid: &str, image: &str| {
            let pod = json!({"metadata": {"uid": uid}, "spec": {"containers": [
                {"name": "proxy", "image": "proxy:1"}, {"name": "kubectl", "image": image},
            ]}});
            PodIdentity::of(&pod, "kubectl")
        };
        assert!(pod("a", "k8s:1").is_some());
        assert_eq!(pod("a", "k8s:1"), pod("a", "k8s:1"));
        assert_ne!(pod("a", "k8s:1"), pod("b", "k8s:1"));
        assert_ne!(pod("a", "k8s:1"), pod("a", "other:1"));
        assert_eq!(
            PodIdentity::of(&json!({"metadata": {"uid": "a"}}), "kubectl"),
            None
        );
    }

    #[test]
    fn ended_terminal_shows_the_reason_of_the_server() {
        let ended = TerminalState::of("ended", "the token was revoked");
        assert!(ended.is_ended());
        assert_eq!(ended.words(), "Closed: the token was revoked");
        assert!(!TerminalState::of("lost", "").is_ended());
    }
}
