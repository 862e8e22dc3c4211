//! Which object a name in a binding means.
//!
//! People write names, and a name can be deleted and made again. The server writes the UID beside it
//! once, soon after the binding was made, and from then on the UID counts.

use jiff::Timestamp;
use thiserror::Error;

/// An object of the name that a binding holds.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its UID.
    pub uid: &'a str,
    /// When it was made, exact to a second.
    pub created_at: Timestamp,
    /// Whether it is being deleted.
    pub leaves: bool,
}

/// Why a name is not pinned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PinError {
    /// There is nothing of that name, which may come yet.
    #[error("there is no {what} {name:?}: make it, then delete this binding and make it anew")]
    Missing {
        /// `user`, `cluster`, `project` or `role`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// What is there was made later, so something else was meant.
    #[error(
        "the {what} {name:?} was made after this binding: delete the binding and make it anew, if \
         this {what} is meant"
    )]
    Newer {
        /// `user`, `cluster`, `project` or `role`.
        what: &'static str,
        /// Its name.
        name: String,
    },
}

/// The UID to write beside a name, if it was there when the binding was made.
///
/// Whoever made the binding was judged by what the name meant by then. What came later may be
/// something else: a more powerful role, or somebody else's cluster.
pub fn pin<'a>(
    what: &'static str,
    name: &str,
    bound_at: Timestamp,
    candidate: Option<Candidate<'a>>,
) -> Result<&'a str, PinError> {
    match candidate.filter(|candidate| !candidate.leaves) {
        None => Err(PinError::Missing {
            what,
            name: name.to_owned(),
        }),
        Some(candidate) if candidate.created_at.as_second() > bound_at.as_second() => {
            Err(PinError::Newer {
                what,
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
    fn a_name_means_what_was_there_when_the_binding_was_made() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let made = |second, leaves| {
            Some(Candidate {
                uid: "1",
                created_at: at(second),
                leaves,
            })
        };
        for (candidate, wanted) in [
            (made(9, false), Ok("1")),
            (made(10, false), Ok("1")),
            (
                made(11, false),
                Err("the role \"reader\" was made after this binding"),
            ),
            (made(9, true), Err("there is no role \"reader\"")),
            (None, Err("there is no role \"reader\"")),
        ] {
            let got = pin("role", "reader", at(10), candidate);
            let got = got.map_err(|error| error.to_string());
            match (&got, wanted) {
                (Ok(uid), Ok(wanted)) => assert_eq!(*uid, wanted),
                (Err(error), Err(wanted)) => assert!(error.starts_with(wanted), "{error}"),
                _ => panic!("{candidate:?}: {got:?}"),
            }
        }
    }
}
