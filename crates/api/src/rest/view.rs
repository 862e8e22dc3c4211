//! Request and response bodies for saved views.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::kinds::ViewSharing;

wire! {
    /// A saved view: a named page of the web UI with its filters.
    #[derive(Eq)]
    ViewView {
        /// ID of the view: the UID of the SavedView on the hub. A new view has a new ID, although the
        /// name of its SavedView can be the name of a deleted one.
        id: String,
        /// Name of the view.
        name: String,
        /// Path and query of the page.
        path: String,
        /// The users who can see the view.
        shared: ViewSharing,
        /// Name of the project whose members can see the view. Absent unless `shared` is `Project`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<String>,
        /// User name of the owner.
        owner: String,
        /// True if the caller is the owner, and can change and delete the view.
        own: bool,
        /// Time at which the view was created.
        created_at: Timestamp,
    }
}
wire! {
    /// The content of a new or changed saved view.
    #[derive(Eq)]
    #[serde(deny_unknown_fields)]
    ViewUpdate {
        /// Name of the view: 1 to 100 characters.
        name: String,
        /// Path and query of a page of the web UI, for example `/objects/pods?state=failed`: at most
        /// 2048 bytes.
        path: String,
        /// The users who can see the view. `Project` requires a role in the project. `Everyone`
        /// requires an administrator.
        #[serde(default)]
        shared: ViewSharing,
        /// Name of the project whose members can see the view. Set exactly if `shared` is `Project`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<String>,
    }
}
