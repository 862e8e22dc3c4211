//! The execution of an action on several objects.

use std::cell::RefCell;
use std::sync::Arc;

use drover_ui_core::action::{
    Access, BulkRights, ChangeRequest, ObjectKey, PlannedObject, PlannedRequest, ReadObject, Step,
    explain_problem,
};
use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_core::object::Object;
use drover_ui_core::object::secret::redacted;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_kit::toast::{ToastButton, Toasts};
use futures::StreamExt as _;
use futures::stream::iter;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde_json::Value;

use super::{BulkRequest, verb};
use crate::reflector::until_cleanup;
use crate::screens::batch::{Batch, CONCURRENCY};
use crate::session::Session;

/// The plan of an action.
pub(super) type BulkPlan = Arc<Vec<PlannedObject>>;

/// An action on several objects: the objects, the permissions and the progress.
#[derive(Clone, Copy)]
pub(super) struct BulkRun {
    pub(super) kind: Kind,
    pub(super) request: StoredValue<BulkRequest>,
    pub(super) batch: Batch,
    pub(super) rights: RwSignal<BulkRights>,
    objects: RwSignal<Option<Arc<[ReadObject]>>>,
    /// The plan at the start of the execution. The plan must not change during the execution.
    plan: RwSignal<Option<BulkPlan>>,
    /// True while a retry asks for the permissions.
    asks: RwSignal<bool>,
    session: Session,
    toasts: Toasts,
}

impl BulkRun {
    pub(super) fn new(kind: Kind, request: BulkRequest) -> Self {
        Self {
            kind,
            rights: RwSignal::new(BulkRights::new(kind, request.action)),
            request: StoredValue::new(request),
            batch: Batch::new(),
            objects: RwSignal::new(None),
            plan: RwSignal::new(None),
            asks: RwSignal::new(false),
            session: expect_context(),
            toasts: expect_context(),
        }
    }

    /// Returns the objects. Returns `None` before the page has read all objects.
    pub(super) fn objects(self) -> Option<Arc<[ReadObject]>> {
        self.objects.get()
    }

    /// Returns the plan of the execution. Returns `None` before the execution.
    pub(super) fn plan(self) -> Option<BulkPlan> {
        self.plan.get()
    }

    /// Reports whether requests are pending.
    pub(super) fn is_running(self) -> bool {
        self.asks.get() || self.batch.is_running()
    }

    /// Reads the objects and asks for the permissions until the dialog is disposed.
    pub(super) fn read(self) {
        let BulkRequest { keys, .. } = self.request.get_value();
        until_cleanup(async move {
            self.ask_rights(&keys).await;
            let one = async |key: &ObjectKey| ReadObject {
                key: key.clone(),
                object: self.object(key).await,
            };
            let read = iter(keys.iter()).map(one).buffered(CONCURRENCY);
            let objects: Vec<_> = read.collect().await;
            let _ = self.objects.try_set(Some(objects.into()));
        });
    }

    async fn object(self, key: &ObjectKey) -> Result<Object, String> {
        let path = key.target(self.kind).api_path();
        let answer = self.session.get(&path).await;
        let object: Value = answer.map_err(|problem: Problem| problem.message)?;
        Ok(if self.kind == Kind::SECRETS {
            redacted(object)
        } else {
            Object::from(object)
        })
    }

    async fn ask_rights(self, keys: &[ObjectKey]) {
        let required = self
            .rights
            .try_with_untracked(|rights| rights.required(keys));
        let ask = async |(key, access): (ObjectKey, Access)| {
            let denied = self.session.is_denied(&key.cluster, &access).await;
            (key, denied)
        };
        let answers = iter(required.unwrap_or_default()).map(ask);
        let answers: Vec<_> = answers.buffer_unordered(CONCURRENCY).collect().await;
        let _ = self.rights.try_update(|rights| {
            for (key, denied) in answers {
                rights.note(&key, denied);
            }
        });
    }

    /// Executes the plan, or the rest of the plan after a failure. Returns true if all requests
    /// succeeded.
    pub(super) async fn go(self, plan: BulkPlan) -> bool {
        let requests: Vec<_> = plan.iter().filter_map(planned).collect();
        let rest = requests.into_iter();
        let rest: Vec<_> = rest
            .filter(|(key, _)| self.batch.wants(&key.to_string()))
            .collect();
        if self.plan.get_untracked().is_some() {
            // A permission can be granted after a failure.
            let keys: Vec<_> = rest.iter().map(|(key, _)| key.clone()).collect();
            self.asks.set(true);
            self.ask_rights(&keys).await;
            let _ = self.asks.try_set(false);
        }
        let _ = self.plan.try_set(Some(plan));
        // The execution continues after the dialog is disposed.
        let Some(rights) = self.rights.try_get_untracked() else {
            return false;
        };
        let undo = RefCell::new(Vec::new());
        let send = async |(key, planned): (ObjectKey, PlannedRequest)| {
            if let Some(access) = rights.missing(&key) {
                return Err(Problem::new(ProblemKind::Forbidden, access.missing()));
            }
            let answer = self.session.change(&planned.request).await;
            let answer = answer.map_err(|problem| Problem {
                message: explain_problem(&problem, &rights.access(&key)),
                ..problem
            })?;
            let before = planned.change.undo(&planned.before);
            // The response of most changes is the changed object. Its labels can contain labels that
            // another user added, which the undo keeps.
            let labelled = planned.change.with_labels(&planned.before);
            let changed = labelled.unwrap_or_else(|| answer.into());
            let request = before.map(|it| it.request(&key.target(self.kind), &changed));
            undo.borrow_mut().push(request);
            Ok(())
        };
        let good = self.batch.run(rest, |(key, _)| key.to_string(), send).await;
        self.report(undo.into_inner());
        good
    }

    /// Shows the number of changed objects, with a button that undoes the changes.
    fn report(self, done: Vec<Option<ChangeRequest>>) {
        let action = self.request.try_with_value(|request| request.action);
        let Some(action) = action.filter(|_| !done.is_empty()) else {
            return;
        };
        let (session, toasts) = (self.session, self.toasts);
        let words = t().bulk.finished(verb(action), done.len());
        let undo: Vec<_> = done.into_iter().flatten().collect();
        if undo.is_empty() {
            toasts.say(words);
            return;
        }
        let on_press = move || {
            let undo = undo.clone();
            spawn_local(async move { undo_all(session, toasts, undo).await });
        };
        let button = ToastButton {
            label: t().actions.undo(),
            on_press: Arc::new(on_press),
        };
        toasts.offer(words, button);
    }
}

fn planned(object: &PlannedObject) -> Option<(ObjectKey, PlannedRequest)> {
    match &object.step {
        Step::Send(planned) => Some((object.key.clone(), PlannedRequest::clone(planned))),
        Step::Omit(_) => None,
    }
}

async fn undo_all(session: Session, toasts: Toasts, undo: Vec<ChangeRequest>) {
    let count = undo.len();
    let send = async |request: ChangeRequest| session.change(&request).await;
    let answers = iter(undo).map(send).buffer_unordered(CONCURRENCY);
    let answers: Vec<_> = answers.collect().await;
    let failed: Vec<_> = answers.into_iter().filter_map(Result::err).collect();
    if count > failed.len() {
        toasts.say(t().bulk.undone(count - failed.len()));
    }
    if let Some(first) = failed.first() {
        toasts.warn(t().bulk.cannot_undo(failed.len(), &first.message));
    }
}
