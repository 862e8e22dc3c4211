//! The saved views of the user, and the views that other users share with the user.

use std::sync::Arc;

use drover_api::rest::{ViewUpdate, ViewView};
use drover_ui_core::problem::Problem;
use drover_ui_core::url::segment;
use drover_ui_core::view::openable;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::listing::every_page;
use crate::latest::LatestRequest;
use crate::session::Session;

const PATH: &str = "/v1/views";

/// The views in the order of menus, as a context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SavedViews {
    session: Session,
    views: RwSignal<Arc<Vec<ViewView>>>,
    latest: LatestRequest,
}

impl SavedViews {
    /// Provides the views as a context. The page requests the views when a menu needs the views.
    pub(crate) fn provide() {
        provide_context(Self {
            session: expect_context(),
            views: RwSignal::default(),
            latest: LatestRequest::new(),
        });
    }

    /// Returns the views. Subscribes the caller to changes.
    pub(crate) fn all(self) -> Arc<Vec<ViewView>> {
        self.views.get()
    }

    /// Requests the views again. After an error, the previous views remain.
    pub(crate) fn refresh(self) {
        let number = self.latest.begin();
        spawn_local(async move {
            let read = every_page(self.session, PATH).await;
            // The user can sign out before the response arrives.
            let Some(views) = read.ok().filter(|_| self.latest.is_latest(number)) else {
                return;
            };
            let views = Arc::new(openable(views));
            // An unchanged list does not close an open menu.
            let is_changed = self.views.try_with_untracked(|known| *known != views);
            if is_changed == Some(true) {
                let _ = self.views.try_set(views);
            }
        });
    }

    /// Saves a new view, or changes the view with this ID.
    pub(crate) async fn save(
        self,
        id: Option<String>,
        content: ViewUpdate,
    ) -> Result<ViewView, Problem> {
        let saved = match id {
            None => self.session.send("POST", PATH, &content).await,
            Some(id) => {
                let path = path_of(&id);
                self.session.send("PUT", &path, &content).await
            }
        };
        self.refresh();
        saved
    }

    /// Deletes the view with this ID.
    pub(crate) async fn delete(self, id: &str) -> Result<(), Problem> {
        let deleted = self.session.delete(&path_of(id)).await;
        self.refresh();
        deleted
    }
}

fn path_of(id: &str) -> String {
    format!("{PATH}/{}", segment(id))
}
