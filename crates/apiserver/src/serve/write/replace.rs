//! Handlers of update and patch requests.

use futures::future::BoxFuture;
use serde_json::Value;

use crate::access::{Attributes, Operation, Review, Target as AccessTarget, forbidden};
use crate::merge;
use crate::serve::exchange::Exchange;
use crate::serve::input::options::WriteOptions;
use crate::serve::input::query;
use crate::serve::limits::heavy::WorkCost;
use crate::serve::metadata;
use crate::serve::shared::Target;
use crate::serve::write::commit::{self, Edit, Live, MODIFIED, Next, Outcome, WriteResult};
use crate::serve::write::create::{self, check_roles, place, warn_of_duplicate_owners};
use crate::serve::write::patch::Patch;
use crate::serve::write::{addresses, namespace, prepare, rules, validate};
use crate::status::{ApiError, FieldError, FieldErrorKind};

/// The source of the new object.
pub(crate) enum Source {
    /// The object in the request body.
    Object(Value),
    /// A patch of the live object.
    Patch(Patch),
}

/// An update or patch of one object.
pub(crate) struct Replace<'e> {
    pub(crate) exchange: &'e Exchange,
    pub(crate) target: &'e Target,
    pub(crate) options: &'e WriteOptions,
    pub(crate) source: Source,
}

impl Replace<'_> {
    /// Runs the request. The result contains the effect on the store: the object was created,
    /// changed or deleted.
    pub(crate) async fn run(self) -> Result<WriteResult, ApiError> {
        if let Source::Object(object) = &self.source {
            self.check_identity(object)?;
        }
        let _turn = addresses::turn(self.exchange, self.target).await;
        let store = &self.exchange.shared.store;
        let mut written = commit::run(store, self.target, self.options.dry_run, &self).await?;
        if written.outcome == Outcome::Removed && self.options.dry_run.is_on() {
            written.outcome = Outcome::Updated;
        }
        Ok(written)
    }

    async fn change(&self, live: Option<&Live>) -> Result<Next, ApiError> {
        match live {
            Some(live) => self.update(live).await,
            None => self.create().await,
        }
    }

    async fn update(&self, live: &Live) -> Result<Next, ApiError> {
        let work = || {
            let mut object = self.new_object(Some(&live.object))?;
            self.check_uid(&object, &live.object)?;
            self.check_version(&mut object, &live.object)?;
            prepare::update(self.target, &mut object, &live.object);
            merge::keep_times(&live.object, &mut object);
            validate::update(self.target, &object, &live.object)?;
            Ok::<_, ApiError>(object)
        };
        let weight = self.weight(Some(&live.object));
        let object = self.exchange.shared.heavy.run(weight, work).await?;
        check_roles(self.exchange, self.target, &object, Some(&live.object))?;
        let review = Review {
            object: Some(&object),
            old: Some(&live.object),
            ..self.review(Operation::Update)
        };
        self.exchange.shared.admission.admit(review).await?;
        if rules::is_removed_by_update(self.target, &object, &live.object) {
            return Ok(Next::Remove(object));
        }
        Ok(Next::Put(object))
    }

    /// Creates a missing object if the kind allows it, or if the request is an apply.
    async fn create(&self) -> Result<Next, ApiError> {
        let allowed = match &self.source {
            Source::Object(_) => rules::creates_on_update(&self.target.resource),
            Source::Patch(patch) => patch.creates(),
        };
        if !allowed || !self.target.subresource.is_empty() {
            return Err(self.target.not_found());
        }
        let work = || self.new_object(None);
        let weight = self.weight(None);
        let mut object = self.exchange.shared.heavy.run(weight, work).await?;
        if let Source::Object(_) = self.source
            && !metadata::uid(&object).is_empty()
        {
            let requested = metadata::uid(&object);
            return Err(self.target.conflict(precondition_failed(
                self.target,
                &format!("UID in precondition: {requested}, UID in object meta: "),
            )));
        }
        if let Source::Patch(_) = self.source
            && !metadata::uid(&object).is_empty()
        {
            let uid = metadata::uid(&object);
            return Err(self.target.conflict(format_args!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object \
                 was found"
            )));
        }
        prepare::wipe_system_fields(&mut object);
        let (exchange, target) = (self.exchange, self.target);
        let namespace = namespace::check_open(exchange, target, &target.name).await?;
        self.authorize_create()?;
        let shared = &exchange.shared;
        let definition = shared.definitions.check_open(&shared.store, target).await?;
        let object = create::ready(exchange, target, self.options.dry_run, object).await?;
        let requires = namespace.into_iter().chain(definition).collect();
        Ok(Next::Create(object, requires))
    }

    fn weight(&self, live: Option<&Value>) -> WorkCost {
        let sent = match &self.source {
            Source::Object(object) => object,
            Source::Patch(patch) => patch.value(),
        };
        match live {
            Some(live) => WorkCost::of_values(&self.target.resource, &[sent, live]),
            None => WorkCost::of_values(&self.target.resource, &[sent]),
        }
    }

    /// Returns the requested object, with managed fields.
    fn new_object(&self, live: Option<&Value>) -> Result<Value, ApiError> {
        let mut object = match &self.source {
            Source::Object(object) => object.clone(),
            Source::Patch(patch) => {
                let object = patch.apply(self.exchange, self.target, self.options, live)?;
                self.check_identity(&object)?;
                object
            }
        };
        place(&mut object, self.target)?;
        warn_of_duplicate_owners(self.exchange, &mut object);
        let tracked = matches!(&self.source, Source::Patch(patch) if patch.creates());
        if !tracked {
            create::track(self.exchange, self.target, self.options, live, &mut object);
        }
        Ok(object)
    }

    fn check_identity(&self, object: &Value) -> Result<(), ApiError> {
        let (object_name, url_name) = (metadata::name(object), self.target.name.as_str());
        if object_name.is_empty() {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({url_name} based on URL) was undeterminable: name must \
                 be provided"
            )));
        }
        if object_name != url_name {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({object_name}) does not match the name on the URL \
                 ({url_name})"
            )));
        }
        place(&mut object.clone(), self.target)
    }

    /// Rejects an update with the UID of an earlier object of this name.
    fn check_uid(&self, object: &Value, live: &Value) -> Result<(), ApiError> {
        let (requested, there) = (metadata::uid(object), metadata::uid(live));
        if matches!(self.source, Source::Patch(_)) || requested.is_empty() || requested == there {
            return Ok(());
        }
        Err(self.target.conflict(precondition_failed(
            self.target,
            &format!("UID in precondition: {requested}, UID in object meta: {there}"),
        )))
    }

    fn check_version(&self, object: &mut Value, live: &Value) -> Result<(), ApiError> {
        let requested = metadata::resource_version(object).to_owned();
        let version = query::parse_resource_version(&requested).map_err(|reason| {
            // kube-apiserver also returns a Status without details in this case.
            let reason = reason
                .split_once("strconv")
                .map_or("", |(_, reason)| reason);
            let code = http::StatusCode::INTERNAL_SERVER_ERROR;
            ApiError::new(code, "", format!("strconv{reason}"))
        })?;
        if version == 0 {
            if rules::updates_unconditionally(&self.target.resource) {
                metadata::copy(live, object, "resourceVersion");
                return Ok(());
            }
            let error = FieldError {
                kind: FieldErrorKind::Invalid,
                path: "metadata.resourceVersion".to_owned(),
                value: Some(0.into()),
                detail: "must be specified for an update".to_owned(),
            };
            let resource = &self.target.resource.plural;
            let name = &self.target.name;
            return Err(ApiError::invalid(
                self.target.group(),
                resource,
                name,
                &[error],
            ));
        }
        if requested == metadata::resource_version(live) {
            Ok(())
        } else {
            Err(self.target.conflict(MODIFIED))
        }
    }

    fn review(&self, operation: Operation) -> Review<'_> {
        Review {
            caller: &self.exchange.caller,
            operation,
            resource: &self.target.resource,
            subresource: &self.target.subresource,
            namespace: &self.target.namespace,
            name: &self.target.name,
            object: None,
            old: None,
            dry_run: self.options.dry_run.is_on(),
        }
    }

    /// Checks that the caller has the verb `create`. An update that creates an object requires this
    /// verb.
    fn authorize_create(&self) -> Result<(), ApiError> {
        let attributes = Attributes {
            caller: &self.exchange.caller,
            verb: "create",
            target: AccessTarget::Resource {
                group: self.target.group(),
                version: &self.target.resource.group_version.version,
                resource: &self.target.resource.plural,
                subresource: &self.target.subresource,
                namespace: &self.target.namespace,
                name: &self.target.name,
            },
        };
        let decision = self.exchange.shared.authorizer.authorize(&attributes);
        if decision.allowed {
            Ok(())
        } else {
            Err(forbidden(&attributes, &decision.reason))
        }
    }
}

impl Edit for Replace<'_> {
    fn next<'a>(&'a self, live: Option<&'a Live>) -> BoxFuture<'a, Result<Next, ApiError>> {
        Box::pin(self.change(live))
    }
}

/// Returns etcd's message for a failed precondition.
pub(crate) fn precondition_failed(target: &Target, mismatch: &str) -> String {
    let resource = &target.resource;
    let group = match resource.origin {
        crate::resource::Origin::Custom => format!("{}/", target.group()),
        crate::resource::Origin::BuiltIn => String::new(),
    };
    let namespace = match target.namespace.as_str() {
        "" => String::new(),
        namespace => format!("{namespace}/"),
    };
    format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{group}{}/{namespace}{}, \
         ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {mismatch}",
        resource.plural, target.name
    )
}
