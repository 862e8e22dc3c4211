//! SavedView: a named page of the web UI with its filters.

use serde::{Deserialize, Serialize};

use crate::ids::{ProjectUid, UserUid};

/// The maximum number of saved views of one user.
pub const MAX_VIEWS: u8 = 100;
/// The maximum length of a view's name, in characters.
pub const MAX_VIEW_NAME: usize = 100;

/// A named page of the web UI with its filters and sort order.
///
/// The object's name is the UID of the owner, `-`, and a number from 0 to 99. A user therefore has
/// at most [`MAX_VIEWS`] views. The garbage collector deletes the views of a deleted user, because
/// `metadata.ownerReferences` contains the User.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::CustomResource, kube::KubeSchema))]
#[cfg_attr(
    feature = "crd",
    kube(
        group = "management.drover.dev",
        version = "v1alpha1",
        kind = "SavedView",
        shortname = "dview",
        category = "drover",
        derive = "PartialEq",
        doc = "A named page of the web UI with its filters.",
        validation = Rule::new("self.metadata.name.matches('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-(0|[1-9][0-9]?)$') && size(self.spec.userUid) == 36 && self.metadata.name.startsWith(self.spec.userUid)")
            .message("metadata.name must be spec.userUid, \"-\" and a number from 0 to 99: a user has at most 100 saved views; choose a free number or delete a view"),
        printcolumn(name = "View", type_ = "string", json_path = ".spec.displayName"),
        printcolumn(name = "User", type_ = "string", json_path = ".spec.userName"),
        printcolumn(name = "Shared", type_ = "string", json_path = ".spec.shared"),
        printcolumn(name = "Project", type_ = "string", json_path = ".spec.project.name"),
        printcolumn(name = "Path", type_ = "string", json_path = ".spec.path", priority = "1"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
    )
)]
#[cfg_attr(feature = "crd", x_kube(
    validation = Rule::new("self.userUid == oldSelf.userUid && self.userName == oldSelf.userName")
        .message("the owner cannot change: delete the view and create one for the other user"),
    validation = Rule::new("(self.shared == 'Project') == has(self.project)")
        .message("set project if shared is \"Project\", and remove project otherwise")
))]
#[serde(rename_all = "camelCase")]
pub struct SavedViewSpec {
    /// Name of the owner, for display.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63)))]
    pub user_name: String,
    /// UID of the owner. The UID, not the name, identifies the owner.
    #[cfg_attr(feature = "crd", schemars(length(max = 253)))]
    pub user_uid: UserUid,
    /// Name of the view: 1 to 100 characters.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 100)))]
    pub display_name: String,
    /// Path and query of a page of the web UI, for example `/objects/pods?state=failed`.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 2048)))]
    pub path: String,
    /// The users who can see the view.
    #[serde(default)]
    pub shared: ViewSharing,
    /// The project whose members can see the view. Set exactly if `shared` is `Project`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ViewProject>,
}

/// The users who can see a saved view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ViewSharing {
    /// The owner.
    #[default]
    Private,
    /// The owner and the members of a project.
    Project,
    /// All users.
    Everyone,
}

/// The project whose members can see a saved view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub struct ViewProject {
    /// Name of the project, for display.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 253)))]
    pub name: String,
    /// UID of the project. The UID, not the name, identifies the project.
    pub uid: ProjectUid,
}
