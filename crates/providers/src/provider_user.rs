//! Users and groups as reported by an identity provider.

/// A user as reported by an identity provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderUser {
    /// Immutable identifier that the provider never reassigns: `sub`, GitHub's user ID, `entryUUID`
    /// or `objectGUID`.
    pub id: String,
    /// Login name at the provider. The name can change, and a different user can take over the
    /// name.
    pub login: String,
    /// Name shown in the UI.
    pub display_name: Option<String>,
    /// Email address. Never used to identify the user.
    pub email: Option<String>,
    /// Groups of the user, sorted by ID, without duplicates.
    pub groups: Vec<Group>,
}

/// A group as reported by an identity provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// Identifier of the group: immutable for GitHub and LDAP; the value of the groups claim for
    /// OpenID Connect.
    pub id: String,
    /// Display name.
    pub name: String,
}

/// Reports whether a text is safe to display. A safe text contains no control, invisible or
/// bidirectional formatting characters. Different names with such characters can look identical.
pub(crate) fn is_plain(text: &str) -> bool {
    let disguises = |c| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    !text.chars().any(|c| c.is_control() || disguises(c))
}
