//! What all bindings hold: who is given a role, and which.
//!
//! People write names. The server pins each name to the object that it means, by its UID, and an
//! unpinned binding gives nothing: a name that is deleted and made again inherits nothing.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

use crate::ids::{ClusterUid, ProjectUid, ProviderUid, RoleUid, UserUid};

/// Who is given a role: one person, or everybody of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = Rule::new("has(self.user) != has(self.group)")
        .message("set either user, with a person's name, or group, with the name \"drover:<provider>:<id>\"")
))]
#[serde(rename_all = "camelCase")]
pub struct BindingSubject {
    /// A person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserReference>,
    /// Everybody of a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupReference>,
}

impl BindingSubject {
    /// The person of this name.
    pub fn user(name: &str) -> Self {
        Self {
            user: Some(UserReference {
                name: name.to_owned(),
                uid: None,
            }),
            group: None,
        }
    }

    /// The group of this name.
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

/// A group of a provider, by its name in clusters and the provider's UID.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = Rule::new("!has(oldSelf.providerUid) || (has(self.providerUid) && self.providerUid == oldSelf.providerUid)")
        .message("the providerUid cannot change, it says which provider of that name is meant: delete the binding and make it anew")
))]
#[serde(rename_all = "camelCase")]
pub struct GroupReference {
    /// `drover:<provider>:<id>`, the id at most 253 visible ASCII characters.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 324)))]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new("self.matches('^drover:[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?:[!-~]{1,253}$') && !self.startsWith('drover:user:')")
        .message("must be \"drover:<provider>:<id>\", the id at most 253 visible ASCII characters; a person goes into user")))]
    pub name: String,
    /// UID of the AuthProvider: what counts; the server fills it in.
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
                .message("the uid cannot change, it says which object of that name is meant: delete the binding and make it anew")
        ))]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            #[doc = concat!("Name of the ", $what, ".")]
            #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 253)))]
            pub name: String,
            #[doc = concat!("UID of the ", $what, ": what counts; the server fills it in.")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub uid: Option<$uid>,
        }
    };
}

reference! {
    /// A person, by name and UID.
    UserReference, UserUid, "User"
}
reference! {
    /// A cluster, by name and UID.
    ClusterReference, ClusterUid, "Cluster"
}
reference! {
    /// A project, by name and UID.
    ProjectReference, ProjectUid, "Project"
}
reference! {
    /// A role, by name and UID.
    RoleReference, RoleUid, "role"
}

/// What the server found of a binding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct BindingStatus {
    /// `Ready`: whether it gives what it says, or why it gives nothing.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
}
