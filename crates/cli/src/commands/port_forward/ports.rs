//! Ports on the command line, of pods, and of Services.

use serde_json::Value;

/// A local port and the port of the pod or Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ForwardedPort {
    /// The local port. 0 for a free port.
    pub(super) local: u16,
    pub(super) remote: RemotePort,
}

/// A port of a pod or Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RemotePort {
    Number(u16),
    Name(String),
}

impl ForwardedPort {
    /// Parses `PORT`, `LOCAL:REMOTE` or `:REMOTE`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "cannot use {text:?} as a port; write PORT, LOCAL:REMOTE or :REMOTE, for example 8080:80"
            )
        };
        let (local, remote) = match text.split_once(':') {
            Some(("", remote)) => (Some(0), remote),
            Some((local, remote)) => (number(local), remote),
            None => (number(text).or(Some(0)), text),
        };
        let remote = match number(remote) {
            Some(number) => RemotePort::Number(number),
            None if is_name(remote) => RemotePort::Name(remote.to_owned()),
            None => return Err(wrong()),
        };
        let local = local.ok_or_else(wrong)?;
        Ok(Self { local, remote })
    }
}

fn number(text: &str) -> Option<u16> {
    text.parse().ok().filter(|number| *number > 0)
}

fn is_name(text: &str) -> bool {
    let has_letter = text.chars().any(|c| c.is_ascii_alphabetic());
    has_letter && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Returns the number of the port in the pod. For a Service, the port is a port of the Service.
pub(super) fn pod_port(
    port: &RemotePort,
    pod: &Value,
    workload: Option<&Value>,
) -> Result<u16, String> {
    let service = workload.filter(|object| object["kind"] == "Service");
    let Some(service) = service else {
        return match port {
            RemotePort::Number(number) => Ok(*number),
            RemotePort::Name(name) => named(pod, name),
        };
    };
    let ports = service["spec"]["ports"].as_array();
    let wanted = |candidate: &&Value| match port {
        RemotePort::Number(number) => candidate["port"] == *number,
        RemotePort::Name(name) => candidate["name"] == **name,
    };
    let found = ports.into_iter().flatten().find(wanted);
    let found = found.ok_or_else(|| match port {
        RemotePort::Number(number) => format!("the Service has no port {number}"),
        RemotePort::Name(name) => format!("the Service has no port with the name {name:?}"),
    })?;
    match &found["targetPort"] {
        Value::String(name) => named(pod, name),
        Value::Null => valid(&found["port"]),
        target => valid(target),
    }
}

fn valid(port: &Value) -> Result<u16, String> {
    let number = port.as_u64().and_then(|number| u16::try_from(number).ok());
    number.ok_or_else(|| format!("{port} is not a port"))
}

/// Returns the number of a named port of a container.
fn named(pod: &Value, name: &str) -> Result<u16, String> {
    let containers = pod["spec"]["containers"].as_array();
    let ports = containers
        .into_iter()
        .flatten()
        .filter_map(|container| container["ports"].as_array())
        .flatten();
    let found = ports.into_iter().find(|port| port["name"] == *name);
    let found = found.ok_or_else(|| format!("the pod has no port with the name {name:?}"))?;
    valid(&found["containerPort"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ports_are_parsed() {
        let of = |local, remote| ForwardedPort { local, remote };
        let name = |name: &str| RemotePort::Name(name.to_owned());
        for (text, port) in [
            ("80", Some(of(80, RemotePort::Number(80)))),
            ("8080:80", Some(of(8080, RemotePort::Number(80)))),
            (":80", Some(of(0, RemotePort::Number(80)))),
            ("8080:http", Some(of(8080, name("http")))),
            ("http", Some(of(0, name("http")))),
            ("", None),
            ("0", None),
            ("70000", None),
            ("80:", None),
            ("x:80", None),
            ("1:2:3", None),
        ] {
            assert_eq!(ForwardedPort::parse(text).ok(), port, "{text}");
        }
    }

    #[test]
    fn port_of_a_service_is_the_target_port_of_the_pod() {
        let pod = json!({"spec": {"containers": [{"name": "a"},
            {"ports": [{"name": "web", "containerPort": 8080}]}]}});
        let service = json!({"kind": "Service", "spec": {"ports": [
            {"name": "http", "port": 80, "targetPort": "web"},
            {"name": "metrics", "port": 9090, "targetPort": 9091},
            {"port": 53}]}});
        let name = |name: &str| RemotePort::Name(name.to_owned());
        for (port, is_service, expected) in [
            (RemotePort::Number(80), true, Some(8080)),
            (name("http"), true, Some(8080)),
            (RemotePort::Number(9090), true, Some(9091)),
            (RemotePort::Number(53), true, Some(53)),
            (RemotePort::Number(81), true, None),
            (name("web"), true, None),
            (RemotePort::Number(81), false, Some(81)),
            (name("web"), false, Some(8080)),
            (name("http"), false, None),
        ] {
            let workload = is_service.then_some(&service);
            assert_eq!(pod_port(&port, &pod, workload).ok(), expected, "{port:?}");
        }
    }
}
