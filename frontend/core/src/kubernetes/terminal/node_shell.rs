//! A shell on a node: the pod, and the equivalent kubectl command.

use serde_json::{Value, json};

use super::PodContainer;
use crate::shell::word;

/// The default image of a node shell.
pub const NODE_IMAGE: &str = "busybox:1.37";
/// The lifetime of the pod of a node shell, in seconds. The limit is for pods that the page could
/// not delete.
const NODE_POD_SECONDS: u32 = 12 * 60 * 60;

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
    /// The name of the container.
    const CONTAINER: &str = "debugger";

    /// Returns the container of the shell in a pod.
    pub fn container(&self, pod: String) -> PodContainer {
        PodContainer {
            cluster: self.cluster.clone(),
            namespace: self.namespace.clone(),
            pod,
            container: Self::CONTAINER.to_owned(),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_shell_has_an_equivalent_kubectl_command() {
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
}
