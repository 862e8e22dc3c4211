//! Determines the UID for a name in a binding.
//!
//! Users write names in bindings. A user can delete an object and create a different object with
//! the same name. After the creation of a binding, the server therefore adds the UID of the named
//! object. From then on, the binding refers to the object with this UID.

use jiff::Timestamp;
use thiserror::Error;

/// An existing object whose name is in a binding.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// UID of the object.
    pub uid: &'a str,
    /// Creation time, in full seconds.
    pub created_at: Timestamp,
    /// True if the object is being deleted.
    pub leaves: bool,
}

/// Reasons why the server cannot store the UID of a named object.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PinError {
    /// The named object does not exist yet.
    #[error("{kind} {name:?} not found: create the {kind}, then delete and recreate this binding")]
    Missing {
        /// Kind of the missing object: `user`, `cluster`, `project` or `role`.
        kind: &'static str,
        /// Name of the missing object.
        name: String,
    },
    /// The object was created after the binding, so the creator of the binding referred to an
    /// earlier object with this name.
    #[error(
        "the {kind} {name:?} was created after this binding: to bind the new {kind}, delete and \
         recreate the binding"
    )]
    Newer {
        /// Kind of the object: `user`, `cluster`, `project` or `role`.
        kind: &'static str,
        /// Name of the object.
        name: String,
    },
}

/// Returns the UID for a name, if the object existed when the binding was created.
///
/// Admission of the binding checked the creator's permissions for the objects that existed at that
/// time. An object that was created later can be a role with more permissions, or the cluster of a
/// different user.
pub fn pin<'a>(
    kind: &'static str,
    name: &str,
    bound_at: Timestamp,
    candidate: Option<Candidate<'a>>,
) -> Result<&'a str, PinError> {
    match candidate.filter(|candidate| !candidate.leaves) {
        None => Err(PinError::Missing {
            kind,
            name: name.to_owned(),
        }),
        Some(candidate) if candidate.created_at.as_second() > bound_at.as_second() => {
            Err(PinError::Newer {
                kind,
                name: name.to_owned(),
            })
        }
        Some(candidate) => Ok(candidate.uid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binding_does_not_store_the_uid_of_an_object_created_after_the_binding() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let created = |second, leaves| {
            Some(Candidate {
                uid: "1",
                created_at: at(second),
                leaves,
            })
        };
        for (candidate, expected) in [
            (created(9, false), Ok("1")),
            (created(10, false), Ok("1")),
            (
                created(11, false),
                Err("the role \"reader\" was created after this binding"),
            ),
            (created(9, true), Err("role \"reader\" not found")),
            (None, Err("role \"reader\" not found")),
        ] {
            let got = pin("role", "reader", at(10), candidate);
            let got = got.map_err(|error| error.to_string());
            match (&got, expected) {
                (Ok(uid), Ok(expected)) => assert_eq!(*uid, expected),
                (Err(error), Err(expected)) => assert!(error.starts_with(expected), "{error}"),
                _ => panic!("{candidate:?}: {got:?}"),
            }
        }
    }
}
