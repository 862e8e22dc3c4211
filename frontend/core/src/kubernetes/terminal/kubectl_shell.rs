//! A shell with kubectl: a pod in the cluster, and a token of the user that ends with the pod.
//!
//! The token is only in the standard input of a command, and in a file in the memory of the pod. Pod
//! specs, command lines and environment variables are visible to other users of the namespace and
//! in audit logs.

use drover_api::kinds::TokenPurpose;
use drover_api::rest::{KubeconfigRequest, Secret, TerminalCreate, TerminalKind, TokenCreate};
use serde_json::{Value, json};

use super::PodContainer;
use crate::kubeconfig::KubeconfigType;

/// The default image of a kubectl shell.
pub const KUBECTL_IMAGE: &str = "alpine/k8s:1.34.1";
/// The default namespace of the pod.
pub const DEFAULT_NAMESPACE: &str = "default";
/// The lifetime of the pod and of the token, in seconds. The limit is for shells that the page could
/// not close.
const LIFETIME_SECONDS: u32 = 4 * 60 * 60;
/// The mount path of the volume in memory.
const HOME: &str = "/home/drover";
/// The command of the pod. The pod ends after five minutes without a kubeconfig, for example if the
/// browser was closed. `wait` is necessary, because a shell runs traps only after a foreground
/// command.
const WAIT_SCRIPT: &str = r#"trap 'exit 0' TERM
(sleep 300; [ -e "$HOME/.kube/config" ] || kill "$$") &
while :; do sleep 3600 & wait "$!"; done"#;
/// The script that writes the kubeconfig from its standard input. The output is the size of the
/// written file.
const WRITE_SCRIPT: &str = r#"umask 077 && mkdir -p "$HOME/.kube" && cat >"$HOME/.kube/config" && wc -c <"$HOME/.kube/config""#;
/// The script of the terminal. The first parameter is the name of the cluster, for the prompt. The
/// completion of kubectl needs the package bash-completion. The pod and its kubeconfig end with the
/// shell. The delay lets the server read the exit code. With containerd, the shell can continue after
/// the end of its terminal, so bash ends after 30 minutes without input.
const SHELL_SCRIPT: &str = r#"export TERM=xterm-256color TMOUT=1800 DROVER_CLUSTER="$1" PS1="[$1] \$ "
trap : HUP
if command -v bash >/dev/null; then
  cat >"$HOME/.bashrc" <<'END'
PS1='[$DROVER_CLUSTER] \w \$ '
completion=/usr/share/bash-completion/bash_completion
[ -r "$completion" ] && . "$completion" && . <(kubectl completion bash)
END
  bash
else
  sh
fi
code=$?
trap '' HUP
(sleep 1; kill 1) </dev/null >/dev/null 2>&1 &
exit "$code""#;

/// A shell with kubectl in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubectlShell {
    /// The name of the cluster.
    pub cluster: String,
    /// The namespace of the pod.
    pub namespace: String,
    /// The image of the pod.
    pub image: String,
}

impl KubectlShell {
    /// The name of the container.
    const CONTAINER: &str = "kubectl";

    /// Returns the container of the shell in a pod.
    pub fn container(&self, pod: String) -> PodContainer {
        PodContainer {
            cluster: self.cluster.clone(),
            namespace: self.namespace.clone(),
            pod,
            container: Self::CONTAINER.to_owned(),
        }
    }

    /// Returns the pod, which satisfies the Pod Security Standard `restricted`.
    pub fn pod(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "generateName": "drover-kubectl-",
                "labels": {
                    "app.kubernetes.io/managed-by": "drover",
                    "app.kubernetes.io/name": "drover-kubectl-shell",
                },
            },
            "spec": {
                "restartPolicy": "Never",
                "activeDeadlineSeconds": LIFETIME_SECONDS,
                "terminationGracePeriodSeconds": 1,
                "automountServiceAccountToken": false,
                "enableServiceLinks": false,
                "securityContext": {
                    "runAsNonRoot": true,
                    "runAsUser": 65532,
                    "runAsGroup": 65532,
                    "fsGroup": 65532,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "volumes": [{"name": "home", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}],
                "containers": [{
                    "name": Self::CONTAINER,
                    "image": self.image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["/bin/sh", "-c", WAIT_SCRIPT],
                    // kubectl edit writes a temporary file.
                    "env": [{"name": "HOME", "value": HOME}, {"name": "TMPDIR", "value": HOME}],
                    "workingDir": HOME,
                    "volumeMounts": [{"name": "home", "mountPath": HOME}],
                    "resources": {
                        "requests": {"cpu": "10m", "memory": "32Mi"},
                        "limits": {"memory": "512Mi"},
                    },
                    "securityContext": {
                        "allowPrivilegeEscalation": false,
                        "readOnlyRootFilesystem": true,
                        "capabilities": {"drop": ["ALL"]},
                    },
                }],
            },
        })
    }

    /// Returns the requests for the token, best first. The server rejects the first request if a
    /// setting limits the lifetime of tokens.
    ///
    /// The token is valid only for the cluster, and ends when the user signs out everywhere.
    pub fn tokens(&self, pod: &str) -> [TokenCreate; 2] {
        let with_lifetime = |ttl_seconds| TokenCreate {
            purpose: TokenPurpose::Credential,
            cluster: Some(self.cluster.clone()),
            description: Some(format!("kubectl shell in the pod {}/{pod}", self.namespace)),
            ttl_seconds,
        };
        [Some(LIFETIME_SECONDS.into()), None].map(with_lifetime)
    }

    /// Returns the request for the kubeconfig without a token.
    pub fn kubeconfig_request(&self) -> KubeconfigRequest {
        KubeconfigType::Exec.request(&self.cluster)
    }

    /// Returns the equivalent command.
    pub fn command(&self) -> String {
        KubeconfigType::Exec.command(&self.cluster)
    }

    /// Returns the title of the terminal.
    pub fn title(&self) -> String {
        format!("kubectl ({})", self.cluster)
    }
}

/// Returns a kubeconfig with the token instead of an exec plugin. Returns `None` if `kubeconfig` is
/// not a kubeconfig.
pub fn with_token(kubeconfig: &Secret, token: &Secret) -> Option<Secret> {
    let mut config: Value = serde_saphyr::from_str(kubeconfig.expose()).ok()?;
    for entry in config.get_mut("users")?.as_array_mut()? {
        *entry.get_mut("user")? = json!({ "token": token.expose() });
    }
    // kubectl reads JSON, which is a subset of YAML.
    Some(Secret::new(config.to_string()))
}

/// Returns the path of the exec request that writes the kubeconfig from its standard input.
pub fn write_path(container: &PodContainer) -> String {
    container.exec_path(&["/bin/sh", "-c", WRITE_SCRIPT], true)
}

/// Returns the request for the terminal.
pub fn terminal(container: &PodContainer) -> TerminalCreate {
    let command = ["/bin/sh", "-c", SHELL_SCRIPT, "sh", &container.cluster];
    container.terminal(TerminalKind::Exec, &command)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "drover_id_secret";

    fn shell() -> KubectlShell {
        KubectlShell {
            cluster: "berlin".to_owned(),
            namespace: "mine".to_owned(),
            image: KUBECTL_IMAGE.to_owned(),
        }
    }

    #[test]
    fn pod_of_a_kubectl_shell_satisfies_the_standard_restricted() {
        let spec = &shell().pod()["spec"];
        let pod = &spec["securityContext"];
        assert_eq!(pod["runAsNonRoot"], true);
        assert_ne!(pod["runAsUser"], 0);
        assert_eq!(pod["seccompProfile"]["type"], "RuntimeDefault");
        for of_host in ["hostNetwork", "hostPID", "hostIPC"] {
            assert!(spec[of_host].is_null(), "{of_host}");
        }
        let container = &spec["containers"][0]["securityContext"];
        assert_eq!(container["allowPrivilegeEscalation"], false);
        assert_eq!(container["capabilities"], json!({"drop": ["ALL"]}));
        assert!(container["privileged"].is_null());
        for volume in spec["volumes"].as_array().unwrap() {
            assert!(volume["emptyDir"].is_object(), "{volume}");
        }
    }

    #[test]
    fn pod_of_a_kubectl_shell_has_no_service_account_and_keeps_files_only_in_memory() {
        let spec = &shell().pod()["spec"];
        assert_eq!(spec["automountServiceAccountToken"], false);
        assert_eq!(spec["volumes"][0]["emptyDir"]["medium"], "Memory");
        let container = &spec["containers"][0];
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        let home = &container["volumeMounts"][0]["mountPath"];
        for variable in container["env"].as_array().unwrap() {
            assert_eq!(variable["value"], *home, "{variable}");
        }
    }

    #[test]
    fn pod_and_token_of_a_kubectl_shell_end_together() {
        let deadline = shell().pod()["spec"]["activeDeadlineSeconds"].as_u64();
        let [token, shortened] = shell().tokens("drover-kubectl-x");
        assert_eq!(token.ttl_seconds, deadline);
        assert_eq!(shortened.ttl_seconds, None);
        for token in [token, shortened] {
            // A token of this purpose ends when the user signs out everywhere.
            assert_eq!(token.purpose, TokenPurpose::Credential);
            assert_eq!(token.cluster.as_deref(), Some("berlin"));
        }
    }

    #[test]
    fn kubeconfig_of_a_kubectl_shell_contains_the_token_instead_of_a_command() {
        let text = "{apiVersion: v1, clusters: [{name: berlin}], users: [{name: ann@berlin, user: {exec: {command: drover}}}]}";
        let config = with_token(&Secret::new(text), &Secret::new(TOKEN)).unwrap();
        let config: Value = serde_json::from_str(config.expose()).unwrap();
        assert_eq!(config["users"][0]["user"], json!({"token": TOKEN}));
        assert_eq!(config["users"][0]["name"], "ann@berlin");
        assert_eq!(config["clusters"][0]["name"], "berlin");
        for text in ["", "[]", "a: b", "users: {}", "users: [{name: ann}]", "{"] {
            let config = with_token(&Secret::new(text), &Secret::new(TOKEN));
            assert_eq!(config, None, "{text}");
        }
    }

    #[test]
    fn commands_of_a_kubectl_shell_are_constant_and_only_the_user_can_read_the_kubeconfig() {
        let container = shell().container("drover-kubectl-x".to_owned());
        let script = "umask 077 && mkdir -p \"$HOME/.kube\" && cat >\"$HOME/.kube/config\" \
                      && wc -c <\"$HOME/.kube/config\"";
        let path = container.exec_path(&["/bin/sh", "-c", script], true);
        assert_eq!(write_path(&container), path);
        let request = terminal(&container);
        assert_eq!(request.command[3..], ["sh", "berlin"]);
        let other = PodContainer {
            cluster: "$(id)".to_owned(),
            ..container
        };
        assert_eq!(terminal(&other).command[..3], request.command[..3]);
        assert_eq!(terminal(&other).command[4], "$(id)");
    }

    #[test]
    fn kubectl_shell_has_an_equivalent_command() {
        let command = "drover cluster kubeconfig berlin --merge";
        assert_eq!(shell().command(), command);
    }
}
