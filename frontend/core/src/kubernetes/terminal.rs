//! Terminals in containers and on nodes: requests, commands, and the states of a connection.

use drover_api::rest::{TerminalCreate, TerminalKind};
use serde_json::{Value, json};

use crate::messages::t;
use crate::object::Object;
use crate::shell::word;
use crate::url::segment;

/// The shell command that starts bash, or sh in containers without bash.
const SHELL: &str =
    "export TERM=xterm-256color; if [ -x /bin/bash ]; then exec /bin/bash; else exec /bin/sh; fi";
/// The default image of a node shell.
pub const NODE_IMAGE: &str = "busybox:1.37";
/// The lifetime of the pod of a node shell, in seconds. The limit is for pods that the page could
/// not delete.
const NODE_POD_SECONDS: u32 = 12 * 60 * 60;

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
    /// Returns the request for a terminal. `command` is the user's command, which a shell runs.
    pub fn request(&self, program: TerminalProgram, command: &str) -> TerminalCreate {
        let shell = |script: &str| vec!["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned()];
        let (kind, command) = match program {
            TerminalProgram::Shell => (TerminalKind::Exec, shell(SHELL)),
            TerminalProgram::Attach => (TerminalKind::Attach, Vec::new()),
            TerminalProgram::Command => (TerminalKind::Exec, shell(command)),
        };
        TerminalCreate {
            cluster: self.cluster.clone(),
            namespace: self.namespace.clone(),
            pod: self.pod.clone(),
            container: Some(self.container.clone()),
            kind,
            command,
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

/// A shell on a node, in a pod that has the node's network, processes and files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeShell {
    /// The name of the cluster.
    pub cluster: String,
    /// The name of the node.
    pub node: String,
    /// The namespace of the pod.
    pub namespace: String,
    /// The image of the pod.
    pub image: String,
}

impl NodeShell {
    /// Returns the name of the container.
    pub const CONTAINER: &str = "debugger";

    /// Returns the path of the pods in the namespace of the shell.
    pub fn pods_path(&self) -> String {
        Self::path_of_pods(&self.cluster, &self.namespace)
    }

    /// Returns the path of the pods in a namespace.
    pub fn path_of_pods(cluster: &str, namespace: &str) -> String {
        let (cluster, namespace) = (segment(cluster), segment(namespace));
        format!("/k8s/clusters/{cluster}/api/v1/namespaces/{namespace}/pods")
    }

    /// Reports whether a terminal in this pod and container is a shell on a node.
    pub fn is_pod(pod: &str, container: Option<&str>) -> bool {
        pod.starts_with("drover-node-shell-") && container == Some(Self::CONTAINER)
    }

    /// Returns the pod, which has the settings of the pod of `kubectl debug node/NAME`. The shell is the first
    /// process of the pod, so the pod ends with the terminal.
    pub fn pod(&self) -> Value {
        let node: String = self.node.chars().take(38).collect();
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "generateName": format!("drover-node-shell-{node}-"),
                "labels": {"app.kubernetes.io/managed-by": "drover"},
            },
            "spec": {
                "nodeName": self.node,
                "hostNetwork": true,
                "hostPID": true,
                "hostIPC": true,
                "restartPolicy": "Never",
                "activeDeadlineSeconds": NODE_POD_SECONDS,
                "terminationGracePeriodSeconds": 0,
                "automountServiceAccountToken": false,
                "tolerations": [{"operator": "Exists"}],
                "volumes": [{"name": "host-root", "hostPath": {"path": "/"}}],
                "containers": [{
                    "name": Self::CONTAINER,
                    "image": self.image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["/bin/sh"],
                    "env": [{"name": "TERM", "value": "xterm-256color"}],
                    "stdin": true,
                    "stdinOnce": true,
                    "tty": true,
                    "volumeMounts": [{"name": "host-root", "mountPath": "/host"}],
                }],
            },
        })
    }

    /// Returns the equivalent kubectl command.
    pub fn kubectl(&self) -> String {
        format!(
            "kubectl --context {} --namespace {} debug {} -it --image {}",
            word(&self.cluster),
            word(&self.namespace),
            word(&format!("node/{}", self.node)),
            word(&self.image),
        )
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
    /// Reads the progress from a pod.
    pub fn of(pod: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let state = &pod["status"]["containerStatuses"][0]["state"];
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
        let shell = NodeShell {
            cluster: "berlin".to_owned(),
            node: "n1".to_owned(),
            namespace: "default".to_owned(),
            image: NODE_IMAGE.to_owned(),
        };
        assert_eq!(
            shell.kubectl(),
            "kubectl --context berlin --namespace default debug node/n1 -it --image busybox:1.37"
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
    fn pod_of_a_node_shell_runs_on_the_node_and_has_its_files() {
        let shell = NodeShell {
            cluster: "berlin".to_owned(),
            node: "n".repeat(200),
            namespace: "default".to_owned(),
            image: "alpine".to_owned(),
        };
        let pod = shell.pod();
        assert_eq!(pod["spec"]["nodeName"], "n".repeat(200));
        assert_eq!(pod["spec"]["containers"][0]["image"], "alpine");
        assert_eq!(pod["spec"]["volumes"][0]["hostPath"]["path"], "/");
        // Kubernetes adds five characters, and limits names of pods to 63 for their host name.
        let name = pod["metadata"]["generateName"].as_str().unwrap_or_default();
        assert!(name.len() + 5 <= 63, "{name}");
    }

    #[test]
    fn progress_of_a_starting_pod_names_the_problem() {
        let pod = |state: &Value| json!({"status": {"phase": "Pending", "containerStatuses": [{"state": state}]}});
        let of = |state| PodProgress::of(&pod(&state));
        assert_eq!(of(json!({"running": {}})), PodProgress::Running);
        assert_eq!(PodProgress::of(&json!({})), PodProgress::Starting(None));
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
    fn ended_terminal_shows_the_reason_of_the_server() {
        let ended = TerminalState::of("ended", "the token was revoked");
        assert!(ended.is_ended());
        assert_eq!(ended.words(), "Closed: the token was revoked");
        assert!(!TerminalState::of("lost", "").is_ended());
    }
}
