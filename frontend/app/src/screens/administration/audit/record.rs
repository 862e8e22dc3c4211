//! The dialog that shows a record of the audit log.

use std::sync::Arc;

use drover_api::rest::AuditView;
use drover_ui_core::audit::{end, facts};
use drover_ui_core::messages::t;
use drover_ui_kit::badge::Badge;
use drover_ui_kit::dialog::Dialog;
use leptos::prelude::*;

use super::columns::tone;
use crate::clock::in_full;

/// The record in the dialog, and the state of the dialog.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    open: RwSignal<bool>,
    record: RwSignal<Option<Arc<AuditView>>>,
}

impl Opened {
    /// Provides the state of the dialog as a context.
    pub(super) fn provide() -> Self {
        let opened = Self {
            open: RwSignal::new(false),
            record: RwSignal::new(None),
        };
        provide_context(opened);
        opened
    }

    /// Opens the dialog for a record.
    pub(super) fn show(self, record: Arc<AuditView>) {
        self.record.set(Some(record));
        self.open.set(true);
    }
}

/// Shows the dialog with the fields of a record.
#[component]
pub(super) fn RecordDialog(opened: Opened) -> impl IntoView {
    let Opened { open, record } = opened;
    view! {
        <Dialog open=open title=t().audit.record()>
            {move || record.get().map(|record| view! { <Whole record=record/> })}
        </Dialog>
    }
}

#[component]
fn Whole(record: Arc<AuditView>) -> impl IntoView {
    let rows = facts(&record).into_iter();
    let rows =
        rows.map(|(heading, value)| view! { <dt>{heading}</dt><dd><code>{value}</code></dd> });
    let rows = rows.collect_view();
    view! {
        <div class="dialog-body">
            <div class="row">
                <Badge tone=tone(&record) words=end(&record)/>
                <span class="muted">{in_full(record.time).to_string()}</span>
            </div>
            <dl class="facts">{rows}</dl>
        </div>
    }
}
