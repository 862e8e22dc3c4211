//! Creation of objects by a POST, or by an update or apply of a missing object.

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::access::{Operation, RbacKind, Review, RoleWrite, check_role_write};
use crate::merge::{self, MergeKind, UpdateOptions};
use crate::serve::exchange::Exchange;
use crate::serve::input::options::{DryRun, WriteOptions};
use crate::serve::limits::heavy::WorkCost;
use crate::serve::metadata;
use crate::serve::shared::Target;
use crate::serve::write::commit::{self, Edit, Live, Next, Outcome};
use crate::serve::write::{accounts, addresses, namespace, prepare};
use crate::status::ApiError;
use crate::store::Require;

/// Maximum number of attempts to generate an unused name (`generateName`), as in kube-apiserver.
const MAX_NAME_ATTEMPTS: usize = 8;

/// Creates the object, and returns the stored object.
pub(crate) async fn create(
    exchange: &Exchange,
    target: &Target,
    options: &WriteOptions,
    mut object: Value,
) -> Result<Value, ApiError> {
    let weight = WorkCost::of_values(&target.resource, &[&object]);
    let work = || {
        place(&mut object, target)?;
        prepare::wipe_system_fields(&mut object);
        warn_of_duplicate_owners(exchange, &mut object);
        track(exchange, target, options, None, &mut object);
        Ok::<_, ApiError>(())
    };
    exchange.shared.heavy.run(weight, work).await?;
    let seen = check_open(exchange, target, metadata::name(&object)).await?;
    let generate = metadata::text(&object, "generateName").to_owned();
    if generate.is_empty() || !metadata::name(&object).is_empty() {
        return store(exchange, target, options.dry_run, object, seen).await;
    }
    for _ in 1..MAX_NAME_ATTEMPTS {
        let mut attempt = object.clone();
        metadata::set(&mut attempt, "name", generated_name(&generate));
        match store(exchange, target, options.dry_run, attempt, seen.clone()).await {
            Err(error) if error.reason == "AlreadyExists" => {}
            outcome => return outcome,
        }
    }
    let name = generated_name(&generate);
    metadata::set(&mut object, "name", name.as_str());
    store(exchange, target, options.dry_run, object, seen)
        .await
        .map_err(|error| match error.reason {
            "AlreadyExists" => {
                ApiError::generated_name_taken(target.group(), &target.resource.plural, &name)
            }
            _ => error,
        })
}

async fn store(
    exchange: &Exchange,
    target: &Target,
    dry_run: DryRun,
    object: Value,
    seen: Vec<Require>,
) -> Result<Value, ApiError> {
    let named = target.named(metadata::name(&object));
    let _turn = addresses::turn(exchange, &named).await;
    let object = ready(exchange, &named, dry_run, object).await?;
    let edit = CreateAttempt {
        exchange,
        target: &named,
        object,
        seen: Mutex::new(Some(seen)),
    };
    let written = commit::run(&exchange.shared.store, &named, dry_run, &edit).await?;
    debug_assert_eq!(written.outcome, Outcome::Created);
    Ok(written.object)
}

/// Prepares a new object for storage: system fields, preparation, validation, admission.
pub(crate) async fn ready(
    exchange: &Exchange,
    target: &Target,
    dry_run: DryRun,
    mut object: Value,
) -> Result<Value, ApiError> {
    prepare::fill_system_fields(&mut object);
    if !metadata::resource_version(&object).is_empty() {
        // kube-apiserver also returns a Status without details in this case.
        return Err(ApiError::new(
            http::StatusCode::INTERNAL_SERVER_ERROR,
            "",
            "resourceVersion should not be set on objects to be created",
        ));
    }
    metadata::remove(&mut object, "resourceVersion");
    set_requester(exchange, target, &mut object);
    let withheld = accounts::admit(exchange, target, &mut object).await?;
    let clashes = addresses::assign(exchange, target, &mut object).await?;
    let weight = WorkCost::of_values(&target.resource, &[&object]);
    let work = || {
        prepare::create(&target.resource, &mut object);
        accounts::prepared(&mut object, withheld);
        crate::serve::write::validate::create(target, &object)
    };
    exchange.shared.heavy.run(weight, work).await?;
    crate::serve::write::validate::refuse(target, &object, &clashes)?;
    check_roles(exchange, target, &object, None)?;
    let review = Review {
        caller: &exchange.caller,
        operation: Operation::Create,
        resource: &target.resource,
        subresource: &target.subresource,
        namespace: &target.namespace,
        name: metadata::name(&object),
        object: Some(&object),
        old: None,
        dry_run: dry_run.is_on(),
    };
    exchange.shared.admission.admit(review).await?;
    Ok(object)
}

/// Sets the fields of a CertificateSigningRequest that contain the requesting user.
fn set_requester(exchange: &Exchange, target: &Target, object: &mut Value) {
    if !target.is("certificates.k8s.io", "certificatesigningrequests") {
        return;
    }
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let caller = &exchange.caller;
    let extra = (!caller.extra.is_empty()).then(|| json!(caller.extra));
    let uid = (!caller.uid.is_empty()).then(|| json!(caller.uid));
    for (name, value) in [
        ("username", Some(json!(caller.name))),
        ("uid", uid),
        ("groups", Some(json!(caller.groups))),
        ("extra", extra),
    ] {
        match value {
            Some(value) => spec.insert(name.to_owned(), value),
            None => spec.remove(name),
        };
    }
}

/// Rejects a create in a terminating namespace or of a terminating CRD. Returns the namespace and
/// the CRD as required objects, because they must stay unchanged until the create.
async fn check_open(
    exchange: &Exchange,
    target: &Target,
    name: &str,
) -> Result<Vec<Require>, ApiError> {
    let shared = &exchange.shared;
    let namespace = namespace::check_open(exchange, target, name).await?;
    let definition = shared.definitions.check_open(&shared.store, target).await?;
    Ok(namespace.into_iter().chain(definition).collect())
}

struct CreateAttempt<'t> {
    exchange: &'t Exchange,
    target: &'t Target,
    object: Value,
    /// The required objects for the first attempt. Each later attempt reads the required objects
    /// again.
    seen: Mutex<Option<Vec<Require>>>,
}

impl CreateAttempt<'_> {
    async fn change(&self, live: Option<&Live>) -> Result<Next, ApiError> {
        let seen = self.seen.lock().take();
        let requires = match seen {
            Some(seen) => seen,
            None => check_open(self.exchange, self.target, &self.target.name).await?,
        };
        let Some(live) = live else {
            return Ok(Next::Create(self.object.clone(), requires));
        };
        let mut error = ApiError::already_exists(
            self.target.group(),
            &self.target.resource.plural,
            &self.target.name,
        );
        if metadata::is_deleting(&live.object) {
            error.message = format!("object is being deleted: {}", error.message);
        }
        Err(error)
    }
}

impl Edit for CreateAttempt<'_> {
    fn next<'a>(&'a self, live: Option<&'a Live>) -> BoxFuture<'a, Result<Next, ApiError>> {
        Box::pin(self.change(live))
    }
}

/// Sets the namespace of the request.
///
/// # Errors
///
/// Returns 400 if the namespace of the object differs from the namespace of the request.
pub(crate) fn place(object: &mut Value, target: &Target) -> Result<(), ApiError> {
    let namespace = match target.resource.scope {
        crate::resource::Scope::Namespaced => target.namespace.as_str(),
        crate::resource::Scope::Cluster => "",
    };
    let own = metadata::text(object, "namespace");
    if own == namespace {
        if namespace.is_empty() {
            metadata::remove(object, "namespace");
        }
        Ok(())
    } else if own.is_empty() {
        metadata::set(object, "namespace", namespace);
        Ok(())
    } else if namespace.is_empty() {
        metadata::remove(object, "namespace");
        Ok(())
    } else {
        Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ))
    }
}

/// Removes duplicate owner references, and adds a warning to the response.
pub(crate) fn warn_of_duplicate_owners(exchange: &Exchange, object: &mut Value) {
    let twice = metadata::dedup_owners(object);
    if !twice.is_empty() {
        exchange.warn(format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner \
             references in 1.20+, and may reject such requests as early as 1.24; please fix your \
             requests; duplicate UID(s) observed: {}",
            twice.join(", ")
        ));
    }
}

/// Updates the managed fields of an object for this write.
pub(crate) fn track(
    exchange: &Exchange,
    target: &Target,
    options: &WriteOptions,
    live: Option<&Value>,
    object: &mut Value,
) {
    let options = UpdateOptions {
        manager: &options.manager,
        now: jiff::Timestamp::now(),
    };
    merge::update(live, object, &merge_kind(exchange, target), options);
}

/// Returns the merge properties of the target's kind.
pub(crate) fn merge_kind(exchange: &Exchange, target: &Target) -> MergeKind {
    let catalog = exchange.shared.catalog.load();
    let same = target.group_resource();
    let versions = catalog
        .iter()
        .filter(|other| other.group_resource() == same)
        .map(AsRef::as_ref);
    MergeKind::new(&target.resource, &target.subresource, versions)
}

/// Runs privilege escalation checks for RBAC objects.
pub(crate) fn check_roles(
    exchange: &Exchange,
    target: &Target,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), ApiError> {
    let Some(kind) = RbacKind::of_resource(target.group(), &target.resource.plural) else {
        return Ok(());
    };
    let request_name = exchange
        .info
        .resource
        .as_ref()
        .map_or("", |path| &path.name);
    let shared = &exchange.shared;
    let write = RoleWrite {
        kind,
        namespace: &target.namespace,
        request_name,
        object,
        old,
    };
    check_role_write(
        &exchange.caller,
        &shared.rbac,
        shared.authorizer.as_ref(),
        &write,
    )
}

/// Appends a suffix of five consonants and digits to the prefix (apiserver `SimpleNameGenerator`).
fn generated_name(prefix: &str) -> String {
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    const MAX_PREFIX: usize = 63 - RANDOM;
    const RANDOM: usize = 5;
    let mut name = prefix.to_owned();
    let mut end = name.len().min(MAX_PREFIX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.truncate(end);
    let random = uuid::Uuid::new_v4();
    name.extend(
        random
            .as_bytes()
            .iter()
            .take(RANDOM)
            .map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()])),
    );
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_name_has_prefix_and_valid_length() {
        let name = generated_name("web-");
        assert_eq!(name.len(), 9);
        assert!(name.starts_with("web-"));
        assert_eq!(generated_name(&"x".repeat(100)).len(), 63);
        assert_ne!(generated_name("a"), generated_name("a"));
    }
}
