//! The plan of an action on several objects: one request, or one reason, for each object.

use std::collections::BTreeMap;

use super::{BulkRights, ObjectKey};
use crate::action::{Action, Change, ChangeRequest, available};
use crate::kind::Kind;
use crate::label;
use crate::messages::t;
use crate::object::Object;

/// A change of several objects.
#[derive(Clone, Debug, PartialEq)]
pub enum BulkChange {
    /// The same change of each object.
    Same(Change),
    /// Sets and removes labels. Other labels stay.
    Labels(label::plan::Change),
}

impl BulkChange {
    /// Returns the change of one object.
    pub fn of(&self, object: &Object) -> Change {
        match self {
            Self::Same(change) => change.clone(),
            Self::Labels(change) => {
                let labels: BTreeMap<_, _> = object.labels().into_iter().collect();
                Change::Labels(change.apply(labels))
            }
        }
    }
}

/// A selected object, and its state in the cluster or the error of the request.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadObject {
    /// The identity of the object.
    pub key: ObjectKey,
    /// The object, or the error message.
    pub object: Result<Object, String>,
}

/// An object of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedObject {
    /// The identity of the object.
    pub key: ObjectKey,
    /// The request, or the reason for no request.
    pub step: Step,
}

/// The step of a plan for one object.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The page sends a request.
    Send(Box<PlannedRequest>),
    /// The action is not possible or not necessary, with the reason.
    Omit(String),
}

/// The request for one object of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedRequest {
    /// The change of the object.
    pub change: Change,
    /// The state before the change.
    pub before: Object,
    /// The request.
    pub request: ChangeRequest,
    /// The text for the missing permission. The page sends no request without the permission.
    pub missing: Option<String>,
}

impl PlannedObject {
    /// Returns the request that the page sends. Returns `None` if the user does not have the
    /// permission.
    pub fn sent(&self) -> Option<&PlannedRequest> {
        match &self.step {
            Step::Send(planned) => Some(&**planned).filter(|it| it.missing.is_none()),
            Step::Omit(_) => None,
        }
    }

    /// Returns the kubectl command of the request.
    pub fn command(&self, kind: Kind) -> Option<String> {
        let PlannedRequest { change, before, .. } = self.sent()?;
        Some(change.command(&self.key.target(kind), before))
    }
}

/// Returns the plan of a change.
pub fn bulk_plan(
    kind: Kind,
    action: Action,
    change: &BulkChange,
    objects: &[ReadObject],
    rights: &BulkRights,
) -> Vec<PlannedObject> {
    let planned = objects.iter().map(|read| PlannedObject {
        key: read.key.clone(),
        step: step(kind, action, change, read, rights),
    });
    planned.collect()
}

fn step(
    kind: Kind,
    action: Action,
    change: &BulkChange,
    read: &ReadObject,
    rights: &BulkRights,
) -> Step {
    let object = match &read.object {
        Ok(object) => object,
        Err(message) => return Step::Omit(message.clone()),
    };
    if !available(kind, object).contains(&action) {
        return Step::Omit(t().bulk.not_available().to_owned());
    }
    let change = change.of(object);
    if change.undo(object).as_ref() == Some(&change) {
        return Step::Omit(t().bulk.unchanged().to_owned());
    }
    Step::Send(Box::new(PlannedRequest {
        request: change.request(&read.key.target(kind), object),
        before: object.clone(),
        missing: rights.missing(&read.key).map(|access| access.missing()),
        change,
    }))
}
