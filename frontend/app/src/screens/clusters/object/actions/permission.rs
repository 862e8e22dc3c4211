//! The permissions of the user for the actions of the page.

use drover_ui_core::action::{Access, Action};
use drover_ui_core::kubectl::KubectlObject;
use futures::StreamExt as _;
use futures::stream::iter;
use leptos::prelude::*;

use super::Offer;
use crate::reflector::until_cleanup;
use crate::session::Session;

/// The maximum number of concurrent access reviews.
const CONCURRENCY: usize = 4;

/// The answers of the cluster about permissions. The page asks for each permission once.
#[derive(Clone, Copy)]
pub(super) struct Permissions {
    named: StoredValue<KubectlObject>,
    /// The permissions with their answers; `None` if the cluster did not answer.
    known: RwSignal<Vec<(Access, Option<bool>)>>,
}

impl Permissions {
    /// Asks for the permissions of the actions, also when the actions change.
    pub(super) fn follow(named: StoredValue<KubectlObject>, actions: Memo<Vec<Action>>) -> Self {
        let session = expect_context::<Session>();
        let permissions = Self {
            named,
            known: RwSignal::new(Vec::new()),
        };
        Effect::new(move || {
            let open = permissions.unknown(&actions.get());
            if open.is_empty() {
                return;
            }
            let cluster = named.with_value(|named| named.cluster.clone());
            until_cleanup(async move {
                let cluster = &cluster;
                let ask = async |access: Access| {
                    let denied = session.is_denied(cluster, &access).await;
                    (access, denied)
                };
                let answers = iter(open).map(ask).buffer_unordered(CONCURRENCY);
                let answers: Vec<_> = answers.collect().await;
                permissions.known.update(|known| known.extend(answers));
            });
        });
        permissions
    }

    /// Returns the permissions that the page has not asked for.
    fn unknown(self, actions: &[Action]) -> Vec<Access> {
        let mut open: Vec<Access> = Vec::new();
        for action in actions {
            let access = self.named.with_value(|named| Access::of(*action, named));
            let is_known = self
                .known
                .with_untracked(|known| known.iter().any(|(it, _)| *it == access));
            if !is_known && !open.contains(&access) {
                open.push(access);
            }
        }
        open
    }

    /// Returns the actions with their missing permissions. Returns `None` before the cluster has
    /// answered. An action without an answer is enabled, because the cluster checks the request.
    pub(super) fn offers(self, actions: &[Action]) -> Option<Vec<Offer>> {
        let known = self.known.get();
        let offers = actions.iter().map(|action| {
            let access = self.named.with_value(|named| Access::of(*action, named));
            let denied = known.iter().find(|(it, _)| *it == access)?.1;
            let missing = (denied == Some(true)).then_some(access);
            Some((*action, missing))
        });
        offers.collect()
    }
}
