//! What becomes of an object on its way in, by the kind that it is of: reading, defaults, what a
//! client may not set, and what is wrong with it.

use serde_json::{Map, Value};

use super::findings::Findings;
use super::look::{field, number};
use super::{DecodeError, Path};
use crate::builtin::{self, metadata};
use crate::resource::{Origin, Resource, Scope};
use crate::status::{FieldError, FieldErrorKind};

/// The part of an object that a request may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All but the status, where that is a part of its own.
    Main,
    /// `status`.
    Status,
    /// A Namespace's finalizers (`namespaces/finalize`).
    Finalize,
    /// A Pod's ephemeral containers (`pods/ephemeralcontainers`).
    EphemeralContainers,
    /// What a Pod's containers have of cpu and memory (`pods/resize`).
    Resize,
    /// The verdict on a CertificateSigningRequest (`certificatesigningrequests/approval`).
    Approval,
}

impl Resource {
    /// Reads what a client sent, so that it is in the form of its kind. What it returns are the
    /// findings of strict decoding (`unknown field "spec.foo"`); the fields are gone by then.
    ///
    /// # Errors
    /// See [`DecodeError`]; only built-in kinds and metadata have them.
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

    /// Reads what an apply has made. A list or map of a custom object that nothing is left of is
    /// `null` then, and stays so: validation tells whether it may be.
    ///
    /// # Errors
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

    /// Takes out of a custom object what its schema and that of metadata do not know.
    fn read_known(&self, value: &mut Value) -> Result<Vec<String>, DecodeError> {
        let mut findings = self.schema.prune(value);
        if let Some(metadata) = value.get_mut("metadata") {
            let unknown = builtin::object_meta().decode(metadata)?;
            let below = unknown
                .iter()
                .map(|said| said.replacen("field \"", "field \"metadata.", 1));
            findings.splice(..0, below.collect::<Vec<_>>());
        }
        Ok(findings)
    }

    /// Fills in what the kind says stands where nothing does.
    pub fn fill(&self, value: &mut Value) {
        match self.origin {
            Origin::BuiltIn => {
                builtin::fill(self, value);
                self.schema.encode(value);
            }
            Origin::Custom => self.schema.apply_defaults(value),
        }
    }

    /// Takes out of a new object what its creator may not set, and sets what creation does. Name,
    /// namespace and UID are there by then: a Job's selector is made of them.
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

    /// Brings a changed object back to what this part may change, and counts its generation.
    pub fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        match self.origin {
            Origin::BuiltIn => {
                builtin::prepare_update(self, new, old, part);
                self.schema.encode(new);
            }
            Origin::Custom => self.prepare_custom(new, old, part),
        }
    }

    fn prepare_custom(&self, new: &mut Value, old: &Value, part: Part) {
        if part == Part::Status {
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

    /// What is wrong with a new object.
    pub fn validate_create(&self, value: &Value) -> Vec<FieldError> {
        let mut found = Findings::default();
        let namespaced = self.scope == Scope::Namespaced;
        metadata::validate(value, namespaced, builtin::name_check(self), &mut found);
        match self.origin {
            Origin::BuiltIn => {
                metadata::standard_finalizers(value, &mut found);
                builtin::validate(self, value, &mut found);
            }
            Origin::Custom => self.validate_custom(value, None, Part::Main, &mut found),
        }
        found.0
    }

    /// What is wrong with a changed object.
    pub fn validate_update(&self, new: &Value, old: &Value, part: Part) -> Vec<FieldError> {
        let mut found = Findings::default();
        let namespaced = self.scope == Scope::Namespaced;
        metadata::validate_update(new, old, namespaced, &mut found);
        match self.origin {
            Origin::BuiltIn => builtin::validate_update(self, new, old, part, &mut found),
            Origin::Custom => self.validate_custom(new, Some(old), part, &mut found),
        }
        found.0
    }

    /// Rules are looked at only when all else is right.
    fn validate_custom(
        &self,
        value: &Value,
        old: Option<&Value>,
        part: Part,
        found: &mut Findings,
    ) {
        found
            .0
            .append(&mut self.schema.validate(value, old, &Path::ROOT));
        if let Some(scale) = &self.scale
            && part == Part::Main
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

/// What the scale subresource would read must be a number that makes sense.
fn replicas(value: &Value, path: &str, found: &mut Findings) {
    let at = Path::new(path);
    match super::look::at(value, path.trim_start_matches('.')) {
        Value::Null => {}
        set => match set.as_i64() {
            None => {
                let (shown, kind) = match set {
                    Value::String(text) => (text.clone(), "string"),
                    Value::Bool(set) => (set.to_string(), "bool"),
                    other => (other.to_string(), "float64"),
                };
                let said =
                    format!("{path} accessor error: {shown} is of the type {kind}, expected int64");
                found.invalid(&at, 0, said);
            }
            Some(count) if count < 0 => {
                found.invalid(&at, count, "should be a non-negative integer");
            }
            Some(count) if count > i64::from(i32::MAX) => {
                let said = format!("should be less than or equal to {}", i32::MAX);
                found.invalid(&at, count, said);
            }
            Some(_) => {}
        },
    }
}

/// Sets or, with nothing, takes out a field.
pub(crate) fn put(value: &mut Value, name: &str, set: Option<Value>) {
    let Some(map) = value.as_object_mut() else {
        return;
    };
    match set {
        Some(set) if !set.is_null() => map.insert(name.to_owned(), set),
        _ => map.remove(name),
    };
}

pub(crate) fn set_generation(value: &mut Value, generation: i64) {
    if let Some(metadata) = super::look::make(value, "metadata") {
        put(metadata, "generation", Some(generation.into()));
    }
}

fn without_metadata(value: &Value, status: bool) -> Map<String, Value> {
    let map = value.as_object().cloned().unwrap_or_default();
    map.into_iter()
        .filter(|(name, _)| name != "metadata" && name != "apiVersion")
        .filter(|(name, _)| !(status && name == "status"))
        .collect()
}
