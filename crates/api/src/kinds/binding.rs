//! References and status that all kinds of bindings share.
//!
//! Users write the names of objects. The server adds the UID of each named object. A binding
//! without UIDs grants nothing. A new object with the name of a deleted object therefore does not
//! inherit the bindings of the deleted object.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

use crate::ids::{ClusterUid, ProjectUid, ProviderUid, RoleUid, UserUid};

/// The subject of a binding: either one user or all members of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = Rule::new("has(self.user) != has(self.group)")
        .message("set either user, with a user's name, or group, with the name \"drover:<provider>:<id>\"")
))]
#[serde(rename_all = "camelCase")]
pub struct BindingSubject {
    /// The user to whom the binding grants the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserReference>,
    /// The group to whose members the binding grants the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupReference>,
}

impl BindingSubject {
    /// Creates a subject from the name of a user, without a UID.
    pub fn user(name: &str) -> Self {
        Self {
            user: Some(UserReference {
                name: name.to_owned(),
                uid: None,
            }),
            group: None,
        }
    }

    /// Creates a subject from the name of a group, without a UID.
    pub fn group(name: &str) -> Self {
        Self {
            user: None,
            group: Some(GroupReference {
                name: name.to_owned(),
                provider_uid: None,
            }),
        }
    }
}

/// Reference to a group: the name of the group in clusters, and the UID of the group's provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = Rule::new("!has(oldSelf.providerUid) || (has(self.providerUid) && self.providerUid == oldSelf.providerUid)")
        .message("the providerUid cannot change: delete the binding and create it again")
))]
#[serde(rename_all = "camelCase")]
pub struct GroupReference {
    /// Name of the group, `drover:<provider>:<id>`. The ID has at most 253 visible ASCII
    /// characters.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 324)))]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new("self.matches('^drover:[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?:[!-~]{1,253}$') && !self.startsWith('drover:user:')")
        .message("must be \"drover:<provider>:<id>\", the id at most 253 visible ASCII characters; use the field user for a user")))]
    pub name: String,
    /// UID of the AuthProvider. The server sets this UID. The UID, not the name, identifies the
    /// AuthProvider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_uid: Option<ProviderUid>,
}

macro_rules! reference {
    ($(#[$doc:meta])* $name:ident, $uid:ty, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
        #[cfg_attr(feature = "crd", x_kube(
            validation = Rule::new("!has(oldSelf.uid) || (has(self.uid) && self.uid == oldSelf.uid)")
                .message("the uid cannot change: delete the binding and create it again")
        ))]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            #[doc = concat!("Name of the ", $what, ".")]
            #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 253)))]
            pub name: String,
            #[doc = concat!("UID of the ", $what, ". The server sets and uses it.")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub uid: Option<$uid>,
        }
    };
}

reference! {
    /// Reference to a User: its name, and its UID, which the server sets.
    UserReference, UserUid, "User"
}
reference! {
    /// Reference to a Cluster: its name, and its UID, which the server sets.
    ClusterReference, ClusterUid, "Cluster"
}
reference! {
    /// Reference to a Project: its name, and its UID, which the server sets.
    ProjectReference, ProjectUid, "Project"
}
reference! {
    /// Reference to a role: its name, and its UID, which the server sets.
    RoleReference, RoleUid, "role"
}

/// Observed state of a binding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct BindingStatus {
    /// The condition `Ready`. True if the binding grants its role. Otherwise, the message contains
    /// the reason.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
}
