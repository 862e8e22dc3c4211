//! Simulates EndpointSlices, which contain the addresses of a Service's pods.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, Service, ServicePort};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::DecisionBuilder;
use super::owned::{controller, is_finished, is_ready, is_terminating, owner};
use crate::action::{Action, Component, ObjectRef};
use crate::world::World;

/// Maximum number of endpoints in a slice. Equals the limit of Kubernetes.
const MAX_ENDPOINTS: usize = 100;
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const CONTROLLER: &str = "endpointslice-controller.k8s.io";

pub(super) fn decide(world: &World, decision: &mut DecisionBuilder) {
    let mut slices: BTreeMap<&str, Vec<&EndpointSlice>> = BTreeMap::new();
    for slice in world.endpoint_slices.iter() {
        let ours = slice
            .labels()
            .get(MANAGED_BY)
            .is_some_and(|by| by == CONTROLLER);
        if let Some(uid) = controller(&slice.metadata).filter(|_| ours) {
            slices.entry(uid).or_default().push(slice);
        }
    }
    for service in world.services.iter() {
        let selects = service
            .spec
            .as_ref()
            .and_then(|spec| spec.selector.as_ref());
        if service.metadata.deletion_timestamp.is_some() || selects.is_none_or(BTreeMap::is_empty) {
            continue;
        }
        let uid = service.metadata.uid.as_deref().unwrap_or_default();
        one(
            world,
            service,
            &slices.remove(uid).unwrap_or_default(),
            decision,
        );
    }
}

fn one(
    world: &World,
    service: &Service,
    slices: &[&EndpointSlice],
    decision: &mut DecisionBuilder,
) {
    let endpoints: Vec<(&Pod, Value)> = world
        .pods
        .iter()
        .filter(|pod| is_selected(service, pod) && !is_finished(pod))
        .filter_map(|pod| Some((pod, endpoint(pod)?)))
        .collect();
    let first = endpoints.first().map(|(pod, _)| *pod);
    let ports = ports(service, first);
    let mut expected: Vec<Vec<Value>> = endpoints
        .chunks(MAX_ENDPOINTS)
        .map(|chunk| chunk.iter().map(|(_, endpoint)| endpoint.clone()).collect())
        .collect();
    if expected.is_empty() {
        expected.push(Vec::new());
    }
    for (number, endpoints) in expected.iter().enumerate() {
        let name = name(service, number);
        match slices.iter().find(|slice| slice.name_any() == name) {
            None => create(service, &name, endpoints, &ports, decision),
            Some(slice) if is_as(slice, endpoints, &ports) => {}
            Some(slice) => decision.action(Action::Patch {
                component: Component::Controllers,
                target: ObjectRef::of(*slice),
                subresource: "",
                patch: json!({"endpoints": endpoints, "ports": ports}),
            }),
        }
    }
    for slice in slices {
        let known = (0..expected.len()).any(|number| name(service, number) == slice.name_any());
        if !known {
            decision.delete(*slice, None);
        }
    }
}

fn name(service: &Service, number: usize) -> String {
    let uid = service.uid().unwrap_or_default();
    let end = super::template::encode(crate::hash::fnv1a(&format!("{uid}/{number}")));
    format!("{}-{}", service.name_any(), &end[..5])
}

fn is_selected(service: &Service, pod: &Pod) -> bool {
    let selector = service
        .spec
        .as_ref()
        .and_then(|spec| spec.selector.as_ref());
    let same = pod.namespace() == service.namespace();
    let mut labels = selector.into_iter().flatten();
    same && labels.all(|(name, value)| pod.labels().get(name) == Some(value))
}

fn endpoint(pod: &Pod) -> Option<Value> {
    let address = pod.status.as_ref()?.pod_ip.as_ref()?;
    let (ready, going) = (is_ready(pod), is_terminating(pod));
    Some(json!({
        "addresses": [address],
        "conditions": {"ready": ready && !going, "serving": ready, "terminating": going},
        "nodeName": pod.spec.as_ref()?.node_name,
        "targetRef": {
            "kind": "Pod", "name": pod.name_any(), "namespace": pod.namespace(), "uid": pod.uid(),
        },
    }))
}

fn ports(service: &Service, pod: Option<&Pod>) -> Vec<Value> {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_deref());
    let numbered = ports.unwrap_or_default().iter().filter_map(|port| {
        Some(json!({
            "name": port.name.clone().unwrap_or_default(),
            "protocol": port.protocol.as_deref().unwrap_or("TCP"), "port": number(port, pod)?,
        }))
    });
    numbered.collect()
}

/// Returns the number of the target port. `targetPort` contains the number, or the name of a
/// container port. Without `targetPort`, returns the port of the Service.
fn number(port: &ServicePort, pod: Option<&Pod>) -> Option<i32> {
    match &port.target_port {
        None => Some(port.port),
        Some(IntOrString::Int(number)) => Some(*number),
        Some(IntOrString::String(name)) => {
            let containers = pod?.spec.as_ref()?.containers.iter();
            let mut named = containers.flat_map(|container| container.ports.iter().flatten());
            named
                .find(|port| port.name.as_ref() == Some(name))
                .map(|port| port.container_port)
        }
    }
}

fn is_as(slice: &EndpointSlice, endpoints: &[Value], ports: &[Value]) -> bool {
    let own: Vec<Value> = slice
        .endpoints
        .iter()
        .flatten()
        .map(|one| json!(one))
        .collect();
    let own_ports: Vec<Value> = slice.ports.iter().flatten().map(|one| json!(one)).collect();
    own == endpoints && own_ports == ports
}

fn create(
    service: &Service,
    name: &str,
    endpoints: &[Value],
    ports: &[Value],
    decision: &mut DecisionBuilder,
) {
    decision.create::<EndpointSlice>(json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "name": name, "namespace": service.namespace(), "ownerReferences": owner(service),
            "labels": {"kubernetes.io/service-name": service.name_any(), MANAGED_BY: CONTROLLER},
        },
        "addressType": "IPv4", "endpoints": endpoints, "ports": ports,
    }));
}
