//! The containers of a pod template.

use serde_json::Value;

use crate::object::{Object, read};

/// A container of a pod template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateContainer {
    /// The name of the container.
    pub name: String,
    /// The image reference.
    pub image: String,
    /// True for an init container.
    pub init: bool,
}

/// Returns the containers of the pod template of a workload, the main containers first.
pub fn template_containers(object: &Object) -> Vec<TemplateContainer> {
    let value = object.value();
    let template = match value.pointer("/spec/jobTemplate/spec/template/spec") {
        Some(template) => template,
        None => read::at(value, "/spec/template/spec"),
    };
    let mut containers = of_list(template, "/containers", false);
    containers.extend(of_list(template, "/initContainers", true));
    containers
}

fn of_list(template: &Value, list: &str, init: bool) -> Vec<TemplateContainer> {
    let items = read::list(template, list).iter();
    let containers = items.filter_map(|item| {
        Some(TemplateContainer {
            name: read::owned(item, "/name")?,
            image: read::owned(item, "/image").unwrap_or_default(),
            init,
        })
    });
    containers.collect()
}
