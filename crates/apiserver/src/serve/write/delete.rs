//! Deletion of objects: immediate, graceful, or after all finalizers are removed.

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::access::{Operation, Review};
use crate::lifecycle::{DEFINITION_CLEANUP, marked_for_deletion};
use crate::serve::exchange::Exchange;
use crate::serve::input::options::{DeleteOptions, DryRun, Propagation};
use crate::serve::metadata;
use crate::serve::shared::Target;
use crate::serve::write::commit::{self, Edit, Live, Next, Outcome};
use crate::serve::write::namespace;
use crate::serve::write::rules::{self, Dependents};
use crate::status::ApiError;

/// The finalizer `orphan`. The garbage collector removes the owner references of the dependents,
/// then removes this finalizer.
pub(crate) const ORPHAN: &str = "orphan";
/// The finalizer `foregroundDeletion`. The garbage collector deletes the dependents, then removes
/// this finalizer.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// A delete of one object.
pub(crate) struct Delete<'e> {
    pub(crate) exchange: &'e Exchange,
    pub(crate) target: &'e Target,
    pub(crate) options: &'e DeleteOptions,
}

/// Checks the UID and resourceVersion preconditions.
pub(crate) fn check_preconditions(
    options: &DeleteOptions,
    target: &Target,
    live: &Value,
) -> Result<(), ApiError> {
    let kind = &target.resource.kind;
    let conflict = |reason: String| {
        Err(ApiError::conflict(
            target.group(),
            kind,
            &target.name,
            reason,
        ))
    };
    let (uid, version) = (metadata::uid(live), metadata::resource_version(live));
    if let Some(requested) = options.uid.as_deref().filter(|requested| *requested != uid) {
        return conflict(format!(
            "the UID in the precondition ({requested}) does not match the UID in record ({uid}). \
             The object might have been deleted and then recreated"
        ));
    }
    let requested = options.resource_version.as_deref();
    if let Some(requested) = requested.filter(|requested| *requested != version) {
        return conflict(format!(
            "the ResourceVersion in the precondition ({requested}) does not match the \
             ResourceVersion in record ({version}). The object might have been modified"
        ));
    }
    Ok(())
}

/// The response of a delete.
pub(crate) struct Deleted {
    /// The deleted object, or a Status.
    pub(crate) object: Value,
    /// True if the object is removed from the store. False if its deletion has only started.
    pub(crate) gone: bool,
}

impl Delete<'_> {
    /// Deletes the object, or starts its deletion.
    pub(crate) async fn run(&self) -> Result<Deleted, ApiError> {
        namespace::check_deletable(self.target)?;
        let dry_run = self.options.dry_run.unwrap_or(DryRun::No);
        let store = &self.exchange.shared.store;
        let written = commit::run(store, self.target, dry_run, self).await?;
        let gone = written.outcome == Outcome::Removed;
        let mut object = written.object;
        if gone && let Some(revision) = written.revision {
            metadata::set(&mut object, "resourceVersion", revision.to_string());
        }
        let pending = written.outcome == Outcome::Kept;
        if rules::shows_deleted(&self.target.resource) || !(gone || pending) {
            return Ok(Deleted { object, gone });
        }
        let object = self.status(&object);
        Ok(Deleted { object, gone })
    }

    async fn change(&self, live: Option<&Live>) -> Result<Next, ApiError> {
        let Some(live) = live else {
            return Err(self.target.not_found());
        };
        check_preconditions(self.options, self.target, &live.object)?;
        let next = if self.target.is("", "namespaces") {
            self.namespace(&live.object)
        } else if self
            .target
            .is("apiextensions.k8s.io", "customresourcedefinitions")
        {
            self.definition(&live.object)
        } else {
            self.object(&live.object)
        };
        if matches!(next, Next::Keep) {
            return Ok(next);
        }
        let review = Review {
            caller: &self.exchange.caller,
            operation: Operation::Delete,
            resource: &self.target.resource,
            subresource: &self.target.subresource,
            namespace: &self.target.namespace,
            name: &self.target.name,
            object: None,
            old: Some(&live.object),
            dry_run: self.options.is_dry_run(),
        };
        self.exchange.shared.admission.admit(review).await?;
        Ok(next)
    }

    /// Starts the deletion of a namespace. The namespace controller deletes the content, then
    /// removes the finalizer.
    fn namespace(&self, live: &Value) -> Next {
        if metadata::is_deleting(live) {
            let has_finalizers = live["spec"]["finalizers"]
                .as_array()
                .is_some_and(|finalizers| !finalizers.is_empty());
            return if has_finalizers {
                Next::Keep
            } else {
                self.object(live)
            };
        }
        let mut object = live.clone();
        metadata::set(&mut object, "deletionTimestamp", metadata::now());
        object["status"]["phase"] = "Terminating".into();
        let finalizers = self.finalizers(live);
        metadata::set_finalizers(&mut object, &finalizers);
        Next::Put(object)
    }

    /// Starts the deletion of a CRD. The CRD controller deletes the custom objects, then removes
    /// the finalizer.
    fn definition(&self, live: &Value) -> Next {
        if metadata::is_deleting(live) {
            return self.object(live);
        }
        let mut object = live.clone();
        metadata::set(&mut object, "deletionTimestamp", metadata::now());
        let mut finalizers = self.finalizers(live);
        if !finalizers.iter().any(|own| own == DEFINITION_CLEANUP) {
            finalizers.push(DEFINITION_CLEANUP.to_owned());
        }
        metadata::set_finalizers(&mut object, &finalizers);
        object["status"] = marked_for_deletion(&object, Timestamp::now());
        Next::Put(object)
    }

    fn object(&self, live: &Value) -> Next {
        let mut object = live.clone();
        let graceful = match self.grace(&mut object) {
            GracePeriod::Pending => return Next::Keep,
            GracePeriod::Until(seconds) => Some(seconds),
            GracePeriod::None => None,
        };
        let finalizers = self.finalizers(live);
        metadata::set_finalizers(&mut object, &finalizers);
        if graceful.is_some_and(|seconds| seconds > 0) {
            return Next::Put(object);
        }
        if finalizers.is_empty() {
            return Next::Remove(if graceful.is_some() {
                object
            } else {
                live.clone()
            });
        }
        mark(&mut object, live, 0);
        Next::Put(object)
    }

    /// Starts or shortens the grace period, for kinds with graceful deletion.
    fn grace(&self, object: &mut Value) -> GracePeriod {
        let requested = self.options.grace_period;
        let live = object.clone();
        let Some(period) = rules::grace_period(self.target, object, requested) else {
            return GracePeriod::None;
        };
        if !metadata::is_deleting(object) {
            mark(object, &live, period);
            return GracePeriod::Until(period);
        }
        let running = metadata::integer(object, "deletionGracePeriodSeconds").unwrap_or(0);
        if running == 0 {
            return GracePeriod::None;
        }
        match requested.map(|requested| if requested < 0 { 1 } else { requested }) {
            Some(requested) if requested < running => {
                let period = shorten(object, running, requested);
                GracePeriod::Until(period)
            }
            _ => GracePeriod::Pending,
        }
    }

    /// Returns the finalizers, adjusted for the requested propagation.
    fn finalizers(&self, live: &Value) -> Vec<String> {
        let all = metadata::finalizers(live);
        if rules::dependents(&self.target.resource) == Dependents::Unsupported {
            return all.into_iter().map(str::to_owned).collect();
        }
        let (orphan, foreground) = self.effective_propagation(&all);
        let mut finalizers: Vec<String> = all
            .into_iter()
            .filter(|name| !matches!(*name, ORPHAN | FOREGROUND))
            .map(str::to_owned)
            .collect();
        if orphan {
            finalizers.push(ORPHAN.to_owned());
        }
        if foreground {
            finalizers.push(FOREGROUND.to_owned());
        }
        finalizers
    }

    /// Returns two flags. The first is true if dependents are orphaned. The second is true if
    /// dependents are deleted before the object.
    fn effective_propagation(&self, finalizers: &[&str]) -> (bool, bool) {
        if let Some(orphan) = self.options.orphan_dependents {
            return (orphan, false);
        }
        match self.options.propagation {
            Some(Propagation::Orphan) => return (true, false),
            Some(Propagation::Foreground) => return (false, true),
            Some(Propagation::Background) => return (false, false),
            None => {}
        }
        match finalizers
            .iter()
            .find(|name| matches!(**name, ORPHAN | FOREGROUND))
        {
            Some(&ORPHAN) => (true, finalizers.contains(&FOREGROUND)),
            Some(_) => (false, true),
            None => {
                let default = rules::dependents(&self.target.resource);
                (default == Dependents::Orphan, false)
            }
        }
    }

    /// Returns the success Status, with the resource as kind.
    fn status(&self, object: &Value) -> Value {
        let mut details = json!({
            "name": self.target.name, "kind": self.target.resource.plural,
            "uid": metadata::uid(object),
        });
        if !self.target.group().is_empty() {
            details["group"] = self.target.group().into();
        }
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": details,
        })
    }
}

enum GracePeriod {
    /// The object has no grace period, or the period has expired.
    None,
    /// The new grace period in seconds.
    Until(i64),
    /// The running grace period does not change.
    Pending,
}

/// Sets the deletion timestamp and grace period.
fn mark(object: &mut Value, live: &Value, period: i64) {
    if !metadata::is_deleting(live)
        && let Some(generation) = metadata::integer(live, "generation")
        && generation > 0
    {
        metadata::set(object, "generation", generation + 1);
    }
    let end = Timestamp::now().saturating_add(SignedDuration::from_secs(period.max(0)));
    let end = end.unwrap_or(Timestamp::MAX);
    let begun = metadata::text(live, "deletionTimestamp").parse::<Timestamp>();
    if begun.is_err() || begun.is_ok_and(|begun| begun > end) {
        metadata::set(object, "deletionTimestamp", metadata::time(end));
    }
    metadata::set(object, "deletionGracePeriodSeconds", period);
}

/// Shortens a running grace period, and returns the new grace period, in seconds.
fn shorten(object: &mut Value, running: i64, requested: i64) -> i64 {
    let now = Timestamp::now();
    let end = metadata::text(object, "deletionTimestamp")
        .parse::<Timestamp>()
        .unwrap_or(now);
    let moved = end
        .saturating_add(SignedDuration::from_secs(requested.saturating_sub(running)))
        .unwrap_or(now);
    // The end cannot move into the past. A graceful request retains one second.
    let (end, period) = match (moved < now, requested) {
        (false, requested) => (moved, requested),
        (true, 0) => (now, 0),
        (true, _) => (now, 1),
    };
    metadata::set(object, "deletionTimestamp", metadata::time(end));
    metadata::set(object, "deletionGracePeriodSeconds", period);
    period
}

impl Edit for Delete<'_> {
    fn next<'a>(&'a self, live: Option<&'a Live>) -> BoxFuture<'a, Result<Next, ApiError>> {
        Box::pin(self.change(live))
    }
}
