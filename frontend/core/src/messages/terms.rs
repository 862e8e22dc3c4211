//! Arguments of messages that each language has its own words for.

/// The objects of a list. A language has its own sentences for each, because articles, cases and
/// plurals differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
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
#[expect(missing_docs, reason = "the names say it")]
pub enum Unit {
    Day,
    Hour,
    Minute,
    Second,
}
