//! Message arguments that each language translates.

/// The kind of objects in a list. Each language has separate sentences per kind, because articles,
/// cases and plurals differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the variants are sufficient")]
pub enum Noun {
    Clusters,
    IdentityProviders,
    Members,
    Projects,
    Roles,
    Settings,
    Tokens,
    Users,
}

/// A unit of a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the variants are sufficient")]
pub enum Unit {
    Day,
    Hour,
    Minute,
    Second,
}
