//! The pod and the port of a port forward.

use drover_access::names::is_dns_name;
use drover_api::rest::{PortForwardCreate, PortRef};
use k8s_openapi::api::core::v1::{Pod, Service, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Deserialize;
use thiserror::Error;
use url::form_urlencoded::Serializer;

/// Maximum length of a name in a path, in bytes.
const MAX_NAME: usize = 253;
/// Number of pods of a service from which the server selects a pod.
const MAX_PODS: u32 = 100;

/// The error of a request for a port forward.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum InvalidTarget {
    /// The field is not a name of Kubernetes.
    #[error("must be a name with lower-case letters, digits, \"-\" and \".\"")]
    Name(&'static str),
    /// The request contains a pod and a service, or neither.
    #[error("must be set if \"service\" is absent, and absent if \"service\" is set")]
    PodAndService,
    /// The port is not a port number.
    #[error("must be a number from 1 to 65535, or the name of a port")]
    Port,
}

impl InvalidTarget {
    /// Returns the name of the invalid field.
    pub(crate) const fn field(&self) -> &'static str {
        match self {
            Self::Name(field) => field,
            Self::PodAndService => "pod",
            Self::Port => "port",
        }
    }
}

/// The error of the search for the pod and the port.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum NotFound {
    /// The service selects no pods.
    #[error("the service has no selector of pods: select a pod")]
    Selector,
    /// No pod of the service runs.
    #[error("no pod of the service runs: check the pods of the service")]
    Pod,
    /// The service has no such port.
    #[error("the service has no port {0}: select a port of the service")]
    ServicePort(PortRef),
    /// The pod has no port with this name.
    #[error("the pod has no port with the name {0:?}: select a port of the pod, or enter a number")]
    PodPort(String),
    /// The cluster returned an object without a required field.
    #[error("the cluster returned an invalid object")]
    Invalid,
}

/// The object in the request: a pod or a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selected {
    Pod(String),
    Service(String),
}

/// A valid request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Requested {
    pub(crate) cluster: String,
    pub(crate) namespace: String,
    pub(crate) selected: Selected,
    pub(crate) port: PortRef,
}

/// The pod and the port of a port forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) cluster: String,
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) service: Option<String>,
    pub(crate) port: u16,
}

impl Requested {
    /// Checks a request.
    pub(crate) fn parse(create: PortForwardCreate) -> Result<Self, InvalidTarget> {
        for (field, name) in [
            ("cluster", Some(&create.cluster)),
            ("namespace", Some(&create.namespace)),
            ("pod", create.pod.as_ref()),
            ("service", create.service.as_ref()),
        ] {
            if name.is_some_and(|name| !is_name(name)) {
                return Err(InvalidTarget::Name(field));
            }
        }
        let valid_port = match &create.port {
            PortRef::Number(number) => *number > 0,
            PortRef::Name(name) => is_port_name(name),
        };
        if !valid_port {
            return Err(InvalidTarget::Port);
        }
        let selected = match (create.pod, create.service) {
            (Some(pod), None) => Selected::Pod(pod),
            (None, Some(service)) => Selected::Service(service),
            _ => return Err(InvalidTarget::PodAndService),
        };
        Ok(Self {
            cluster: create.cluster,
            namespace: create.namespace,
            selected,
            port: create.port,
        })
    }

    /// Returns the path of an object in the namespace.
    pub(crate) fn path(&self, resource: &str, name: &str) -> String {
        format!("{}/{resource}/{name}", self.base())
    }

    /// Returns the path of the list of pods with these labels.
    pub(crate) fn pods_path(&self, selector: &str) -> String {
        let mut query = Serializer::new(String::new());
        query.append_pair("labelSelector", selector);
        query.append_pair("limit", &MAX_PODS.to_string());
        format!("{}/pods?{}", self.base(), query.finish())
    }

    fn base(&self) -> String {
        let Self {
            cluster, namespace, ..
        } = self;
        format!("/k8s/clusters/{cluster}/api/v1/namespaces/{namespace}")
    }
}

impl Target {
    /// Returns the path of a connection to the port.
    pub(crate) fn path(&self) -> String {
        let Self {
            cluster,
            namespace,
            pod,
            port,
            ..
        } = self;
        format!(
            "/k8s/clusters/{cluster}/api/v1/namespaces/{namespace}/pods/{pod}/portforward?ports={port}"
        )
    }
}

/// Returns the selector of a service's pods.
pub(crate) fn selector(service: &Service) -> Result<String, NotFound> {
    let labels = service
        .spec
        .as_ref()
        .and_then(|spec| spec.selector.as_ref());
    let labels = labels.filter(|labels| !labels.is_empty());
    let labels = labels.ok_or(NotFound::Selector)?;
    let pairs = labels.iter().map(|(key, value)| format!("{key}={value}"));
    Ok(pairs.collect::<Vec<_>>().join(","))
}

/// A list of pods.
#[derive(Debug, Deserialize)]
pub(crate) struct PodList {
    pub(crate) items: Vec<Pod>,
}

impl PodList {
    /// Returns a ready pod, or a running pod if no pod is ready.
    pub(crate) fn best(self) -> Result<Pod, NotFound> {
        let best = self.items.into_iter().max_by_key(rank);
        best.filter(|pod| rank(pod) > 0).ok_or(NotFound::Pod)
    }
}

/// Returns 2 for a ready pod, 1 for a running pod, and 0 for all other pods.
fn rank(pod: &Pod) -> u8 {
    let Some(status) = &pod.status else { return 0 };
    if status.phase.as_deref() != Some("Running") || pod.metadata.deletion_timestamp.is_some() {
        return 0;
    }
    let mut conditions = status.conditions.iter().flatten();
    1 + u8::from(conditions.any(|it| it.type_ == "Ready" && it.status == "True"))
}

/// Returns the port of the pod for a port of the service.
pub(crate) fn service_port(port: &PortRef, service: &Service, pod: &Pod) -> Result<u16, NotFound> {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_ref());
    let wanted = |candidate: &&ServicePort| match port {
        PortRef::Number(number) => candidate.port == i32::from(*number),
        PortRef::Name(name) => candidate.name.as_ref() == Some(name),
    };
    let found = ports.into_iter().flatten().find(wanted);
    let found = found.ok_or_else(|| NotFound::ServicePort(port.clone()))?;
    match &found.target_port {
        Some(IntOrString::String(name)) => named_port(name, pod),
        Some(IntOrString::Int(number)) => valid(*number),
        None => valid(found.port),
    }
}

/// Returns the number of a named port of a container.
pub(crate) fn named_port(name: &str, pod: &Pod) -> Result<u16, NotFound> {
    let spec = pod.spec.as_ref();
    let containers = spec.into_iter().flat_map(|spec| {
        let sidecars = spec.init_containers.iter().flatten();
        spec.containers.iter().chain(sidecars)
    });
    let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
    let found = ports.find(|port| port.name.as_deref() == Some(name));
    let found = found.ok_or_else(|| NotFound::PodPort(name.to_owned()))?;
    valid(found.container_port)
}

fn valid(port: i32) -> Result<u16, NotFound> {
    let port = u16::try_from(port).ok().filter(|port| *port > 0);
    port.ok_or(NotFound::Invalid)
}

/// Returns true for a text that cannot change the path. The API server checks names completely.
pub(crate) fn is_name(name: &str) -> bool {
    is_dns_name(name, MAX_NAME) && !name.starts_with('.') && !name.ends_with('.')
}

fn is_port_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !name.is_empty() && name.len() <= 63 && name.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn create() -> PortForwardCreate {
        PortForwardCreate {
            cluster: "east".to_owned(),
            namespace: "shop".to_owned(),
            pod: Some("web-1".to_owned()),
            service: None,
            port: PortRef::Number(80),
        }
    }

    fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    fn pod() -> Pod {
        object(
            json!({"metadata": {"name": "web-1"}, "spec": {"containers": [{"name": "a"},
            {"name": "b", "ports": [{"name": "web", "containerPort": 8080}]}]}}),
        )
    }

    #[test]
    fn names_that_change_the_path_of_a_port_forward_are_rejected() {
        for name in [
            "",
            "..",
            ".",
            "a/b",
            "a%2fb",
            "a?b",
            "A",
            "a b",
            "a\\b",
            "ä",
            &"a".repeat(254),
        ] {
            for field in ["cluster", "namespace", "pod", "service"] {
                let mut create = create();
                match field {
                    "cluster" => create.cluster = name.to_owned(),
                    "namespace" => create.namespace = name.to_owned(),
                    "pod" => create.pod = Some(name.to_owned()),
                    _ => create.service = Some(name.to_owned()),
                }
                let parsed = Requested::parse(create);
                assert_eq!(parsed, Err(InvalidTarget::Name(field)), "{name}");
            }
        }
        for port in [PortRef::Number(0), PortRef::Name("a&ports=1".to_owned())] {
            let parsed = Requested::parse(PortForwardCreate { port, ..create() });
            assert_eq!(parsed, Err(InvalidTarget::Port));
        }
    }

    #[test]
    fn request_names_either_a_pod_or_a_service() {
        let service = Some("web".to_owned());
        let both = PortForwardCreate {
            service: service.clone(),
            ..create()
        };
        let neither = PortForwardCreate {
            pod: None,
            ..create()
        };
        for create in [both, neither] {
            assert_eq!(Requested::parse(create), Err(InvalidTarget::PodAndService));
        }
        let parsed = Requested::parse(PortForwardCreate {
            pod: None,
            service,
            ..create()
        });
        assert_eq!(
            parsed.unwrap().selected,
            Selected::Service("web".to_owned())
        );
    }

    #[test]
    fn paths_contain_the_names_of_the_target() {
        let target = Target {
            cluster: "east".to_owned(),
            namespace: "shop".to_owned(),
            pod: "web-1".to_owned(),
            service: None,
            port: 8080,
        };
        let path = "/k8s/clusters/east/api/v1/namespaces/shop/pods/web-1/portforward?ports=8080";
        assert_eq!(target.path(), path);
        let requested = Requested::parse(create()).unwrap();
        assert_eq!(
            requested.pods_path("app=web,tier=a"),
            "/k8s/clusters/east/api/v1/namespaces/shop/pods?labelSelector=app%3Dweb%2Ctier%3Da&limit=100"
        );
    }

    #[test]
    fn port_of_a_service_is_the_target_port_of_the_pod() {
        let service: Service = object(json!({"spec": {"ports": [
            {"name": "http", "port": 80, "targetPort": "web"},
            {"name": "metrics", "port": 9090, "targetPort": 9091},
            {"name": "wrong", "port": 1, "targetPort": 70000},
            {"port": 53}]}}));
        let name = |name: &str| PortRef::Name(name.to_owned());
        for (port, expected) in [
            (PortRef::Number(80), Ok(8080)),
            (name("http"), Ok(8080)),
            (PortRef::Number(9090), Ok(9091)),
            (PortRef::Number(53), Ok(53)),
            (name("wrong"), Err(NotFound::Invalid)),
            (
                PortRef::Number(81),
                Err(NotFound::ServicePort(PortRef::Number(81))),
            ),
            (name("web"), Err(NotFound::ServicePort(name("web")))),
        ] {
            assert_eq!(service_port(&port, &service, &pod()), expected, "{port}");
        }
        assert_eq!(named_port("web", &pod()), Ok(8080));
        let absent = named_port("http", &pod());
        assert_eq!(absent, Err(NotFound::PodPort("http".to_owned())));
    }

    #[test]
    fn ready_pod_of_the_service_is_selected() {
        let with = |name: &str, phase: &str, ready: &str| {
            json!({"metadata": {"name": name}, "status": {"phase": phase,
                "conditions": [{"type": "Ready", "status": ready}]}})
        };
        let best = |pods: &[Value]| {
            let list: PodList = object(json!({"items": pods}));
            list.best().map(|pod| pod.metadata.name.unwrap())
        };
        let (ready, started) = (with("a", "Running", "True"), with("b", "Running", "False"));
        let ended = with("c", "Succeeded", "False");
        assert_eq!(
            best(&[started.clone(), ready, ended.clone()]),
            Ok("a".to_owned())
        );
        assert_eq!(best(&[ended.clone(), started]), Ok("b".to_owned()));
        assert_eq!(best(&[ended]), Err(NotFound::Pod));
        assert_eq!(best(&[]), Err(NotFound::Pod));
    }

    #[test]
    fn service_without_a_selector_has_no_pods() {
        let service = |selector: Value| object(json!({"spec": {"selector": selector}}));
        assert_eq!(selector(&service(json!(null))), Err(NotFound::Selector));
        assert_eq!(selector(&service(json!({}))), Err(NotFound::Selector));
        let labels = json!({"app": "web", "tier": "a"});
        assert_eq!(selector(&service(labels)).unwrap(), "app=web,tier=a");
    }
}
