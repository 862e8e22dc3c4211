//! UserPreferences: the appearance and the language of the web UI for one user.

use serde::{Deserialize, Serialize};

use crate::ids::UserUid;

/// The appearance and the language of the web UI for one user. The object's name is the UID of the
/// user, so each user has at most one object. An absent field means that the user has not chosen a
/// value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::CustomResource, kube::KubeSchema))]
#[cfg_attr(
    feature = "crd",
    kube(
        group = "management.drover.dev",
        version = "v1alpha1",
        kind = "UserPreferences",
        plural = "userpreferences",
        shortname = "dpref",
        category = "drover",
        derive = "PartialEq",
        doc = "The appearance and the language of the web UI for one user.",
        validation = Rule::new("self.metadata.name == self.spec.userUid")
            .message("metadata.name must be equal to spec.userUid, so that each user has one object"),
        printcolumn(name = "User", type_ = "string", json_path = ".spec.userName"),
        printcolumn(name = "Row Height", type_ = "string", json_path = ".spec.rowHeight"),
        printcolumn(name = "Theme", type_ = "string", json_path = ".spec.theme"),
        printcolumn(name = "Language", type_ = "string", json_path = ".spec.language"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
    )
)]
#[cfg_attr(feature = "crd", x_kube(
    validation = Rule::new("self.userUid == oldSelf.userUid && self.userName == oldSelf.userName")
        .message("the user cannot change: delete the object and create one for the other user")
))]
#[serde(rename_all = "camelCase")]
pub struct UserPreferencesSpec {
    /// Name of the user, for display.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63)))]
    pub user_name: String,
    /// UID of the user. The UID, not the name, identifies the user.
    pub user_uid: UserUid,
    /// The height of table rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_height: Option<RowHeight>,
    /// The theme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theme: Option<ThemePreference>,
    /// The language of the texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<LanguagePreference>,
    /// True if keys with a single character act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_keys: Option<bool>,
}

/// The height of table rows in the web UI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum RowHeight {
    /// The lowest rows.
    Compact,
    /// The default height.
    Normal,
    /// The highest rows.
    Spacious,
}

/// The theme of the web UI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ThemePreference {
    /// The theme of the operating system or browser.
    System,
    /// Dark text on a light background.
    Light,
    /// Light text on a dark background.
    Dark,
    /// High contrast.
    Contrast,
}

/// The language of the web UI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum LanguagePreference {
    /// The first known language in the language list of the browser.
    Browser,
    /// English.
    English,
    /// German.
    German,
}
