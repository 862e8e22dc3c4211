//! The port forwards of this server.

use std::collections::BTreeMap;
use std::sync::Arc;

use drover_api::ids::UserUid;
use parking_lot::Mutex;

use crate::forward::Forward;

/// Maximum number of port forwards of one user.
const MAX_OF_USER: usize = 16;
/// Maximum number of port forwards of all users.
const MAX_TOTAL: usize = 256;

/// The error of a new port forward.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TooMany {
    /// The user has too many port forwards.
    #[error("you have {MAX_OF_USER} open port forwards: stop a port forward, then try again")]
    OfUser,
    /// The server has too many port forwards.
    #[error("the server has {MAX_TOTAL} open port forwards: try again later")]
    Total,
}

/// The registry of all port forwards by ID. Clones share the registry.
#[derive(Clone, Default)]
pub(crate) struct Registry(Arc<Mutex<BTreeMap<String, Arc<Forward>>>>);

impl Registry {
    /// Adds a port forward.
    pub(crate) fn add(&self, forward: &Arc<Forward>) -> Result<(), TooMany> {
        let mut forwards = self.0.lock();
        forwards.retain(|_, forward| !forward.has_ended());
        let user = &forward.owner.user;
        let of_user = forwards.values().filter(|it| it.owner.user == *user);
        if of_user.count() >= MAX_OF_USER {
            return Err(TooMany::OfUser);
        }
        if forwards.len() >= MAX_TOTAL {
            return Err(TooMany::Total);
        }
        forwards.insert(forward.id.clone(), Arc::clone(forward));
        Ok(())
    }

    /// Returns an open port forward by its label.
    pub(crate) fn by_label(&self, label: &str) -> Option<Arc<Forward>> {
        let forward = self.0.lock().get(label).cloned();
        forward.filter(|forward| !forward.has_ended())
    }

    /// Returns a port forward of this user.
    pub(crate) fn get(&self, id: &str, user: &UserUid) -> Option<Arc<Forward>> {
        self.by_label(id).filter(|it| it.owner.user == *user)
    }

    /// Returns all port forwards of this user.
    pub(crate) fn of(&self, user: &UserUid) -> Vec<Arc<Forward>> {
        let all = self.all();
        let own = all.into_iter().filter(|it| it.owner.user == *user);
        own.filter(|it| !it.has_ended()).collect()
    }

    /// Returns all port forwards.
    pub(crate) fn all(&self) -> Vec<Arc<Forward>> {
        self.0.lock().values().cloned().collect()
    }

    /// Ends a port forward and removes it.
    pub(crate) fn remove(&self, forward: &Forward) {
        forward.close();
        self.0.lock().remove(&forward.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::tests::forward;

    #[tokio::test]
    async fn port_forward_is_available_only_to_its_user() {
        let registry = Registry::default();
        let (forward, _) = forward("ann");
        registry.add(&forward).unwrap();
        let (ann, bob) = (UserUid::new("ann"), UserUid::new("bob"));
        assert!(registry.get(&forward.id, &ann).is_some());
        assert_eq!(registry.of(&ann).len(), 1);
        assert!(registry.get(&forward.id, &bob).is_none());
        assert!(registry.of(&bob).is_empty());
        registry.remove(&forward);
        assert!(registry.get(&forward.id, &ann).is_none());
        assert!(forward.traffic.is_closing());
    }

    #[tokio::test]
    async fn numbers_of_port_forwards_of_a_user_and_of_all_users_are_limited() {
        let registry = Registry::default();
        for number in 0..MAX_TOTAL {
            let user = format!("user-{}", number / MAX_OF_USER);
            registry.add(&forward(&user).0).unwrap();
        }
        let more = |user| registry.add(&forward(user).0).err();
        assert_eq!(more("user-0"), Some(TooMany::OfUser));
        assert_eq!(more("new"), Some(TooMany::Total));
        let own = registry.of(&UserUid::new("user-0"));
        own[0].close();
        assert_eq!(registry.of(&UserUid::new("user-0")).len(), MAX_OF_USER - 1);
        assert_eq!(more("new"), None);
    }
}
