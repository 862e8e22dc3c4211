//! Somebody, as their provider knows them.

/// Somebody, as their provider knows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Stays the same for ever and is never another's: `sub`, GitHub's number, `entryUUID` or
    /// `objectGUID`.
    pub id: String,
    /// What they type there to sign in; it can change, and become another's.
    pub login: String,
    /// What others see.
    pub display_name: Option<String>,
    /// Where mail reaches them; never an identity.
    pub email: Option<String>,
    /// Which groups they are in, each once, sorted by id.
    pub groups: Vec<Group>,
}

/// A group of people, as their provider knows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// Stays the same for ever and is never another's, where the provider has such a thing.
    pub id: String,
    /// What people call it.
    pub name: String,
}

/// Whether a text can be shown beside others: nothing in it moves the cursor, hides, or turns the
/// direction of what follows, to look like somebody else.
pub(crate) fn is_plain(text: &str) -> bool {
    let disguises = |c| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    !text.chars().any(|c| c.is_control() || disguises(c))
}
