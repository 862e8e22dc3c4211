//! GlobalRoleBinding: binds a GlobalRole on the hub and in every cluster.

use serde::{Deserialize, Serialize};

#[cfg(feature = "crd")]
use super::binding::BindingStatus;
use super::binding::{BindingSubject, RoleReference};

/// A binding of a GlobalRole to a user or a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::CustomResource, kube::KubeSchema))]
#[cfg_attr(
    feature = "crd",
    kube(
        group = "management.drover.dev",
        version = "v1alpha1",
        kind = "GlobalRoleBinding",
        status = "BindingStatus",
        shortname = "dgrb",
        category = "drover",
        derive = "PartialEq",
        doc = "Binds a GlobalRole to a user or a group.",
        printcolumn(name = "Role", type_ = "string", json_path = ".spec.role.name"),
        printcolumn(name = "User", type_ = "string", json_path = ".spec.subject.user.name"),
        printcolumn(
            name = "Group",
            type_ = "string",
            json_path = ".spec.subject.group.name"
        ),
        printcolumn(
            name = "Ready",
            type_ = "string",
            json_path = ".status.conditions[?(@.type==\"Ready\")].status"
        ),
        printcolumn(
            name = "Reason",
            type_ = "string",
            json_path = ".status.conditions[?(@.type==\"Ready\")].reason"
        ),
        printcolumn(
            name = "Age",
            type_ = "date",
            json_path = ".metadata.creationTimestamp"
        )
    )
)]
#[cfg_attr(feature = "crd", x_kube(
    validation = Rule::new("self.role.name == oldSelf.role.name && has(self.subject.user) == has(oldSelf.subject.user) && (has(self.subject.user) ? self.subject.user.name == oldSelf.subject.user.name : self.subject.group.name == oldSelf.subject.group.name)")
        .message("a binding cannot be changed: delete it and create a new one")
))]
#[serde(rename_all = "camelCase")]
pub struct GlobalRoleBindingSpec {
    /// Reference to the GlobalRole to bind: its name, and its UID, which the server sets.
    pub role: RoleReference,
    /// The user or the group to which the binding grants the role.
    pub subject: BindingSubject,
}
