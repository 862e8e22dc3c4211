//! The terminals of this server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::session::{Owner, Session};

/// Maximum number of terminals of one user.
const MAX_OF_USER: usize = 16;
/// Maximum number of terminals of all users. Each terminal needs at most about 600 KiB of memory.
const MAX_TOTAL: usize = 256;
/// Time for which the server keeps an ended terminal. A browser without network learns the reason
/// of the end within this time.
pub(crate) const KEEP_ENDED: Duration = Duration::from_mins(2);

/// The error of a new terminal.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TooMany {
    /// The user has too many terminals.
    #[error("you have {MAX_OF_USER} open terminals: close a terminal, then try again")]
    OfUser,
    /// The server has too many terminals.
    #[error("the server has {MAX_TOTAL} open terminals: try again later")]
    Total,
}

/// The registry of all terminals by ID. Clones share the registry.
#[derive(Clone, Default)]
pub(crate) struct Registry(Arc<Mutex<BTreeMap<String, Arc<Session>>>>);

impl Registry {
    /// Adds a terminal. Removes ended terminals if there are too many.
    pub(crate) fn add(&self, session: Arc<Session>) -> Result<Registered, TooMany> {
        let mut sessions = self.0.lock();
        let user = session.owner.user.clone();
        let of_user = |session: &Session| session.owner.user == user;
        if sessions.values().filter(|it| of_user(it)).count() >= MAX_OF_USER {
            sessions.retain(|_, it| !(of_user(it) && it.has_ended()));
        }
        if sessions.len() >= MAX_TOTAL {
            sessions.retain(|_, it| !it.has_ended());
        }
        if sessions.values().filter(|it| of_user(it)).count() >= MAX_OF_USER {
            return Err(TooMany::OfUser);
        }
        if sessions.len() >= MAX_TOTAL {
            return Err(TooMany::Total);
        }
        let id = session.id.clone();
        sessions.insert(id.clone(), session);
        Ok(Registered {
            registry: self.clone(),
            id,
        })
    }

    /// Returns a terminal of this owner.
    pub(crate) fn get(&self, id: &str, owner: &Owner) -> Option<Arc<Session>> {
        let sessions = self.0.lock();
        sessions.get(id).filter(|it| it.owner == *owner).cloned()
    }

    /// Returns all terminals of this owner.
    pub(crate) fn of(&self, owner: &Owner) -> Vec<Arc<Session>> {
        let sessions = self.0.lock();
        let own = sessions.values().filter(|it| it.owner == *owner);
        own.cloned().collect()
    }
}

/// A registered terminal. Dropping the value removes the terminal.
pub(crate) struct Registered {
    registry: Registry,
    id: String,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.registry.0.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use drover_api::ids::UserUid;
    use drover_api::rest::{TerminalCreate, TerminalKind};

    use super::*;

    fn owner(user: &str, token: &str) -> Owner {
        Owner {
            user: UserUid::new(user),
            token: token.to_owned(),
        }
    }

    fn session(id: &str, owner: Owner) -> Arc<Session> {
        let create = TerminalCreate {
            cluster: "east".to_owned(),
            namespace: "default".to_owned(),
            pod: "web".to_owned(),
            container: None,
            kind: TerminalKind::Attach,
            command: Vec::new(),
            tty: true,
        };
        Session::new(id.to_owned(), owner, create).0
    }

    #[test]
    fn terminal_is_available_only_to_the_token_that_opened_the_terminal() {
        let registry = Registry::default();
        let ann = owner("ann", "1");
        let registered = registry.add(session("a", ann.clone())).unwrap();
        assert!(registry.get("a", &ann).is_some());
        for other in [owner("bob", "1"), owner("ann", "2"), owner("bob", "2")] {
            assert!(registry.get("a", &other).is_none(), "{other:?}");
            assert!(registry.of(&other).is_empty(), "{other:?}");
        }
        drop(registered);
        assert!(registry.get("a", &ann).is_none());
    }

    #[test]
    fn numbers_of_terminals_of_a_user_and_of_all_users_are_limited() {
        let registry = Registry::default();
        let mut kept = Vec::new();
        for number in 0..MAX_TOTAL {
            let user = format!("user-{}", number / MAX_OF_USER);
            let session = session(&number.to_string(), owner(&user, "1"));
            kept.push(registry.add(session).unwrap());
        }
        // A different token of the same user has no separate limit.
        let more = |user| registry.add(session("more", owner(user, "2"))).err();
        assert_eq!(more("user-0"), Some(TooMany::OfUser));
        assert_eq!(more("new"), Some(TooMany::Total));
        kept.pop();
        assert_eq!(more("new"), None);
    }
}
