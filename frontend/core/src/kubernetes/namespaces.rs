//! Selects the namespaces of a list from the URL and the user's roles.

use std::sync::Arc;

use drover_api::rest::ClusterRights;

/// The namespaces of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All namespaces, or the cluster-scoped objects.
    All,
    /// One selected namespace.
    One(Arc<str>),
    /// No selected namespace. The variant contains the namespaces in which the user has a role. The
    /// user must select a namespace.
    Choose(Vec<String>),
}

impl Scope {
    /// Returns the namespaces of a list for a user.
    pub fn of(namespace: &str, wants_all: bool, rights: &ClusterRights) -> Self {
        if !namespace.is_empty() {
            return Self::One(namespace.into());
        }
        if wants_all || rights.all_namespaces || rights.namespaces.is_empty() {
            return Self::All;
        }
        Self::Choose(rights.namespaces.clone())
    }

    /// Returns the namespace of [`Scope::One`].
    pub fn namespace(&self) -> Option<&Arc<str>> {
        match self {
            Self::One(namespace) => Some(namespace),
            Self::All | Self::Choose(_) => None,
        }
    }
}

/// The maximum number of namespaces of one list.
pub const MAX_LISTED: usize = 200;

/// Returns the namespaces of a list for a user; an empty result selects all namespaces. A user with
/// roles only in some namespaces sees the objects of these namespaces.
pub fn listed(namespace: &str, rights: &ClusterRights) -> Vec<String> {
    if !namespace.is_empty() {
        return vec![namespace.to_owned()];
    }
    if rights.all_namespaces {
        return Vec::new();
    }
    rights.namespaces.iter().take(MAX_LISTED).cloned().collect()
}

/// Returns the namespace of the URL, or the only namespace in which the user has a role.
pub fn preselected(named: String, rights: &ClusterRights) -> String {
    if named.is_empty() {
        rights.only_namespace().unwrap_or_default().to_owned()
    } else {
        named
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(names: &[&str]) -> ClusterRights {
        ClusterRights {
            namespaces: names.iter().map(|&name| name.to_owned()).collect(),
            ..ClusterRights::default()
        }
    }

    #[test]
    fn single_namespace_of_a_member_is_selected_automatically() {
        let rights = member(&["till"]);
        assert_eq!(preselected(String::new(), &rights), "till");
        assert_eq!(preselected("bank".to_owned(), &rights), "bank");
        assert_eq!(preselected(String::new(), &member(&["a", "b"])), "");
        assert_eq!(preselected(String::new(), &ClusterRights::everything()), "");
    }

    #[test]
    fn list_of_a_member_contains_all_namespaces_of_the_member() {
        let rights = member(&["a", "b"]);
        assert_eq!(listed("", &rights), ["a", "b"]);
        assert_eq!(listed("c", &rights), ["c"]);
        assert_eq!(listed("", &ClusterRights::everything()), [""; 0]);
        assert_eq!(listed("", &member(&[])), [""; 0]);
    }

    #[test]
    fn member_of_several_namespaces_must_select_a_namespace_before_objects_are_listed() {
        let rights = member(&["a", "b"]);
        let choice = Scope::Choose(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(Scope::of("", false, &rights), choice);
        assert_eq!(Scope::of("", true, &rights), Scope::All);
        assert_eq!(Scope::of("b", false, &rights), Scope::One("b".into()));
        let wide = ClusterRights {
            all_namespaces: true,
            ..rights
        };
        assert_eq!(Scope::of("", false, &wide), Scope::All);
        assert_eq!(Scope::of("", false, &member(&[])), Scope::All);
    }
}
