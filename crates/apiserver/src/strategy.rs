//! Decodes, defaults, prepares and validates objects that clients write, by kind (kube-apiserver's
//! create and update strategies).

mod builtin;
mod embedded;

use serde_json::{Map, Value};

use crate::builtin::{self as builtins, metadata};
use crate::json::{field, number, put, set_generation};
use crate::resource::{Origin, Resource, Scope, WriteTarget};
use crate::schema::findings::Findings;
use crate::schema::{DecodeError, Path};
use crate::status::{FieldError, FieldErrorKind};

impl Resource {
    /// Decodes a request body as an object of its kind, and removes unknown fields. Returns the
    /// errors of strict decoding, such as `unknown field "spec.foo"`.
    ///
    /// # Errors
    ///
    /// See [`DecodeError`]; only built-in kinds and metadata return errors.
    pub fn read(&self, value: &mut Value) -> Result<Vec<String>, DecodeError> {
        if self.origin == Origin::BuiltIn {
            let findings = self.schema.decode(value)?;
            builtin::read(self, value);
            return Ok(findings);
        }
        let mut findings = self.read_known(value)?;
        self.schema.drop_nulls(value);
        findings.extend(self.schema.read_embedded(value)?);
        Ok(findings)
    }

    /// Converts the result of an apply, like [`Self::read`]. `null` values of custom objects stay,
    /// because apply leaves `null` for an emptied list or map. Validation rejects `null` values
    /// that the schema does not allow.
    ///
    /// # Errors
    ///
    /// See [`DecodeError`].
    pub(crate) fn read_merged(&self, value: &mut Value) -> Result<Vec<String>, DecodeError> {
        match self.origin {
            Origin::BuiltIn => self.read(value),
            Origin::Custom => {
                let mut findings = self.read_known(value)?;
                findings.extend(self.schema.read_embedded(value)?);
                Ok(findings)
            }
        }
    }

    /// Removes fields of a custom object that neither its schema nor `ObjectMeta` contains.
    fn read_known(&self, value: &mut Value) -> Result<Vec<String>, DecodeError> {
        let mut findings = self.schema.prune(value);
        if let Some(metadata) = value.get_mut("metadata") {
            let unknown = builtins::object_meta().decode(metadata)?;
            let below = unknown
                .iter()
                .map(|message| message.replacen("field \"", "field \"metadata.", 1));
            findings.splice(..0, below.collect::<Vec<_>>());
        }
        Ok(findings)
    }

    /// Sets missing fields to the default values of the kind.
    pub fn fill(&self, value: &mut Value) {
        match self.origin {
            Origin::BuiltIn => {
                builtin::fill(self, value);
                self.schema.encode(value);
            }
            Origin::Custom => self.schema.apply_defaults(value),
        }
    }

    /// Removes fields of a new object that clients may not set, and sets generated fields. The
    /// caller must set the name, namespace and UID before the call. For example, the selector of a
    /// Job contains its UID.
    pub fn prepare_create(&self, value: &mut Value) {
        match self.origin {
            Origin::BuiltIn => {
                builtin::prepare_create(self, value);
                self.schema.encode(value);
            }
            Origin::Custom => {
                if self.status
                    && let Some(map) = value.as_object_mut()
                {
                    map.remove("status");
                }
                set_generation(value, 1);
            }
        }
    }

    /// Reverts changes of fields that a write of `target` (such as the status) may not change. Also
    /// sets the generation.
    pub fn prepare_update(&self, new: &mut Value, old: &Value, target: WriteTarget) {
        match self.origin {
            Origin::BuiltIn => {
                builtin::prepare_update(self, new, old, target);
                self.schema.encode(new);
            }
            Origin::Custom => self.prepare_custom(new, old, target),
        }
    }

    fn prepare_custom(&self, new: &mut Value, old: &Value, target: WriteTarget) {
        if target == WriteTarget::Status {
            let status = new.get("status").cloned();
            let managed = field(field(new, "metadata"), "managedFields").clone();
            *new = old.clone();
            put(new, "status", status);
            if let Some(metadata) = new.get_mut("metadata") {
                put(metadata, "managedFields", Some(managed));
            }
            return;
        }
        if self.status {
            put(new, "status", old.get("status").cloned());
        }
        let generation = number(field(old, "metadata"), "generation").unwrap_or(1);
        let same = without_metadata(new, self.status) == without_metadata(old, self.status);
        set_generation(new, if same { generation } else { generation + 1 });
    }

    /// Validates a new object, metadata included.
    pub fn validate_create(&self, value: &Value) -> Vec<FieldError> {
        let mut found = Findings::default();
        let namespaced = self.scope == Scope::Namespaced;
        metadata::validate(value, namespaced, builtin::name_check(self), &mut found);
        match self.origin {
            Origin::BuiltIn => {
                metadata::standard_finalizers(value, &mut found);
                builtin::validate(self, value, &mut found);
            }
            Origin::Custom => self.validate_custom(value, None, WriteTarget::Object, &mut found),
        }
        found.0
    }

    /// Validates a changed object, metadata included.
    pub fn validate_update(
        &self,
        new: &Value,
        old: &Value,
        target: WriteTarget,
    ) -> Vec<FieldError> {
        let mut found = Findings::default();
        let namespaced = self.scope == Scope::Namespaced;
        metadata::validate_update(new, old, namespaced, &mut found);
        match self.origin {
            Origin::BuiltIn => builtin::validate_update(self, new, old, target, &mut found),
            Origin::Custom => self.validate_custom(new, Some(old), target, &mut found),
        }
        found.0
    }

    /// Validates a custom object. CEL rules are evaluated only if all other checks pass, as in
    /// kube-apiserver.
    fn validate_custom(
        &self,
        value: &Value,
        old: Option<&Value>,
        target: WriteTarget,
        found: &mut Findings,
    ) {
        found
            .0
            .append(&mut self.schema.validate(value, old, &Path::ROOT));
        if let Some(scale) = &self.scale
            && target == WriteTarget::Object
        {
            replicas(value, &scale.spec_replicas, found);
        }
        self.schema.validate_embedded(value, &Path::ROOT, found);
        let Some(rules) = &self.schema.cel else {
            return;
        };
        if found.0.is_empty() {
            found.0 = rules.broken(&self.schema, value, old);
        } else {
            found.0.push(FieldError {
                kind: FieldErrorKind::Invalid,
                path: "<nil>".to_owned(),
                value: Some(Value::Null),
                detail: "some validation rules were not checked because the object was invalid; \
                         correct the existing errors to complete validation"
                    .to_owned(),
            });
        }
    }
}

/// Validates the number of replicas that the scale subresource reads.
fn replicas(value: &Value, path: &str, found: &mut Findings) {
    let at = Path::new(path);
    match crate::json::at(value, path.trim_start_matches('.')) {
        Value::Null => {}
        set => match set.as_i64() {
            None => {
                let (shown, kind) = match set {
                    Value::String(text) => (text.clone(), "string"),
                    Value::Bool(set) => (set.to_string(), "bool"),
                    other => (other.to_string(), "float64"),
                };
                let message =
                    format!("{path} accessor error: {shown} is of the type {kind}, expected int64");
                found.invalid(&at, 0, message);
            }
            Some(count) if count < 0 => {
                found.invalid(&at, count, "should be a non-negative integer");
            }
            Some(count) if count > i64::from(i32::MAX) => {
                let message = format!("should be less than or equal to {}", i32::MAX);
                found.invalid(&at, count, message);
            }
            Some(_) => {}
        },
    }
}

fn without_metadata(value: &Value, status: bool) -> Map<String, Value> {
    let map = value.as_object().cloned().unwrap_or_default();
    map.into_iter()
        .filter(|(name, _)| name != "metadata" && name != "apiVersion")
        .filter(|(name, _)| !(status && name == "status"))
        .collect()
}
