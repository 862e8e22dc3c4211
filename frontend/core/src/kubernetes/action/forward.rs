//! Port forwards in the browser: the ports of an object, the request, and the texts of the list.

use drover_api::rest::{PortForwardCreate, PortForwardView, PortRef};
use serde_json::Value;

use crate::kind::Kind;
use crate::kubectl::KubectlObject;
use crate::object::{Object, read};
use crate::shell::word;

/// The key of the option for a port that the object does not declare.
pub const OTHER_PORT: &str = "other";

/// Returns the TCP ports that a pod or Service declares: the number, and the text of the option.
pub fn declared_ports(kind: Kind, object: &Object) -> Vec<(u16, String)> {
    let value = object.value();
    let (lists, field) = if kind == Kind::PODS {
        let lists = ["/spec/containers", "/spec/initContainers"];
        let containers = lists.iter().flat_map(|list| read::list(value, list));
        let ports = containers.map(|container| read::list(container, "/ports"));
        (ports.collect(), "/containerPort")
    } else {
        (vec![read::list(value, "/spec/ports")], "/port")
    };
    let mut ports: Vec<(u16, String)> = Vec::new();
    for port in lists.into_iter().flatten() {
        let is_tcp = read::text(port, "/protocol").is_none_or(|protocol| protocol == "TCP");
        let number = port.pointer(field).and_then(Value::as_u64);
        let number = number.and_then(|number| u16::try_from(number).ok());
        if let Some(number) = number.filter(|_| is_tcp)
            && !ports.iter().any(|(known, _)| *known == number)
        {
            let words = read::text(port, "/name")
                .map_or_else(|| number.to_string(), |name| format!("{number} ({name})"));
            ports.push((number, words));
        }
    }
    ports
}

/// Parses the number of a port.
pub fn port_number(text: &str) -> Option<u16> {
    text.trim().parse().ok().filter(|number| *number > 0)
}

/// Returns the request for a port forward of a pod or Service.
pub fn request(target: &KubectlObject, port: u16) -> PortForwardCreate {
    let is_pod = target.kind == Kind::PODS;
    let name = || Some(target.name.clone());
    PortForwardCreate {
        cluster: target.cluster.clone(),
        namespace: target.namespace.clone().unwrap_or_default(),
        pod: is_pod.then(name).flatten(),
        service: (!is_pod).then(name).flatten(),
        port: PortRef::Number(port),
    }
}

/// Returns the equivalent command. The command selects a free local port.
pub fn command(target: &KubectlObject, port: u16) -> String {
    let kind = if target.kind == Kind::PODS {
        ""
    } else {
        "svc/"
    };
    format!(
        "drover port-forward --cluster {} -n {} {} :{port}",
        word(&target.cluster),
        word(target.namespace.as_deref().unwrap_or_default()),
        word(&format!("{kind}{}", target.name)),
    )
}

/// Returns the target of a port forward: `shop/web-1:8080 (svc/web)`.
pub fn target_words(view: &PortForwardView) -> String {
    let PortForwardView {
        namespace,
        pod,
        port,
        ..
    } = view;
    let service = view.service.as_ref();
    let service = service
        .map(|name| format!(" (svc/{name})"))
        .unwrap_or_default();
    format!("{namespace}/{pod}:{port}{service}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target(kind: Kind, name: &str) -> KubectlObject {
        KubectlObject {
            cluster: "east".to_owned(),
            kind,
            namespace: Some("shop".to_owned()),
            name: name.to_owned(),
        }
    }

    #[test]
    fn tcp_ports_of_pods_and_services_are_offered_once() {
        let pod = Object::from(json!({"spec": {
            "containers": [
                {"ports": [{"containerPort": 8080, "name": "web"}, {"containerPort": 53, "protocol": "UDP"}]},
                {"ports": [{"containerPort": 8080}, {"containerPort": 70000}, {"containerPort": 9090}]},
                {},
            ],
            "initContainers": [{"ports": [{"containerPort": 15000, "protocol": "TCP"}]}],
        }}));
        let of = |pairs: &[(u16, &str)]| -> Vec<(u16, String)> {
            pairs
                .iter()
                .map(|(port, words)| (*port, (*words).to_owned()))
                .collect()
        };
        let expected = of(&[(8080, "8080 (web)"), (9090, "9090"), (15000, "15000")]);
        assert_eq!(declared_ports(Kind::PODS, &pod), expected);
        let service = Object::from(json!({"spec": {"ports": [
            {"port": 80, "name": "http", "targetPort": "web"}, {"port": 53, "protocol": "UDP"}]}}));
        assert_eq!(
            declared_ports(Kind::SERVICES, &service),
            of(&[(80, "80 (http)")])
        );
        assert_eq!(declared_ports(Kind::PODS, &Object::from(json!({}))), []);
    }

    #[test]
    fn request_and_command_name_the_pod_or_the_service() {
        let (pod, service) = (target(Kind::PODS, "web-1"), target(Kind::SERVICES, "web"));
        let of_pod = request(&pod, 8080);
        assert_eq!(
            (of_pod.pod.as_deref(), of_pod.service),
            (Some("web-1"), None)
        );
        let of_service = request(&service, 80);
        assert_eq!(
            (of_service.pod, of_service.service.as_deref()),
            (None, Some("web"))
        );
        assert_eq!(
            command(&pod, 8080),
            "drover port-forward --cluster east -n shop web-1 :8080"
        );
        assert_eq!(
            command(&service, 80),
            "drover port-forward --cluster east -n shop svc/web :80"
        );
    }

    #[test]
    fn entered_port_is_a_number_of_a_port() {
        for (text, port) in [
            ("80", Some(80)),
            (" 80 ", Some(80)),
            ("0", None),
            ("65536", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(port_number(text), port, "{text}");
        }
    }
}
