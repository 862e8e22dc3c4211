//! Which groups somebody is in.

use std::collections::BTreeMap;

use super::account::{Account, shown};
use super::session::Session;
use super::settings::{GroupsOf, Members};
use super::verdict::Place;
use super::wire::filter::Filter;
use super::wire::message::Entry;
use crate::{Group, ProviderError};

/// Somebody is in no more groups.
const MAX_GROUPS: usize = 5_000;
/// Groups that are in groups are followed up to so many; each is a question of its own.
const MAX_NESTED_GROUPS: usize = 1_000;
/// And so far from the person.
const MAX_LEVELS: usize = 16;
/// Names that are asked about at once.
const NAMES_AT_ONCE: usize = 50;

/// LDAP_MATCHING_RULE_IN_CHAIN: members of members (MS-ADTS §3.1.1.3.4.4.3).
const IN_CHAIN: &str = "1.2.840.113556.1.4.1941";
/// LDAP_CAP_ACTIVE_DIRECTORY_OID: it is Active Directory (MS-ADTS §3.1.1.3.4.3.1).
const ACTIVE_DIRECTORY: &[u8] = b"1.2.840.113556.1.4.800";

/// Groups by id.
type Found = BTreeMap<String, Group>;

/// Which groups somebody is in, sorted by id.
pub(super) async fn of(
    session: &mut Session<'_>,
    groups: &GroupsOf,
    who: &Account,
) -> Result<Vec<Group>, ProviderError> {
    let mut found = Found::new();
    match &groups.members {
        Members::Logins(attribute) => {
            let logins = who.logins.iter();
            let logins = logins.map(|login| equal(attribute, login)).collect();
            search(session, groups, Filter::Or(logins), &mut found).await?;
        }
        Members::Names { attribute, nested } => {
            let mut names = vec![who.name.clone()];
            if let Some(sid) = &who.primary_group {
                let primary = Filter::Equal("objectSid".to_owned(), sid.clone());
                names.extend(search(session, groups, primary, &mut found).await?);
            }
            if !nested {
                let direct = equal(attribute, &who.name);
                search(session, groups, direct, &mut found).await?;
            } else if follows_chains(session).await? {
                let chain = |name: &String| Filter::Rule {
                    rule: Some(IN_CHAIN.to_owned()),
                    attribute: Some(attribute.clone()),
                    value: name.clone().into_bytes(),
                    name_too: false,
                };
                let chains = Filter::Or(names.iter().map(chain).collect());
                search(session, groups, chains, &mut found).await?;
            } else {
                walk(session, groups, attribute, names, &mut found).await?;
            }
        }
    }
    Ok(found.into_values().collect())
}

fn equal(attribute: &str, value: &str) -> Filter {
    Filter::Equal(attribute.to_owned(), value.as_bytes().to_vec())
}

/// Whether the directory itself can say which groups somebody is in by way of others.
async fn follows_chains(session: &mut Session<'_>) -> Result<bool, ProviderError> {
    let capabilities = "supportedCapabilities";
    let root = match session.base(Place::Root, &[capabilities]).await {
        Ok(root) => root,
        // Whoever may not see it asks for each level.
        Err(ProviderError::Misconfigured { .. }) => return Ok(false),
        Err(error) => return Err(error),
    };
    Ok(root
        .values(capabilities)
        .iter()
        .any(|capability| capability == ACTIVE_DIRECTORY))
}

/// Goes from groups to the groups that they are in, level by level; each is asked about once, so
/// groups that are in each other end.
async fn walk(
    session: &mut Session<'_>,
    groups: &GroupsOf,
    member: &str,
    mut names: Vec<String>,
    found: &mut Found,
) -> Result<(), ProviderError> {
    for _ in 0..MAX_LEVELS {
        let mut above = Vec::new();
        for some in names.chunks(NAMES_AT_ONCE) {
            let any = some.iter().map(|name| equal(member, name)).collect();
            above.extend(search(session, groups, Filter::Or(any), found).await?);
            if found.len() > MAX_NESTED_GROUPS {
                return Err(unending(&format!(
                    "somebody is in more than {MAX_NESTED_GROUPS} groups"
                )));
            }
        }
        if above.is_empty() {
            return Ok(());
        }
        names = above;
    }
    Err(unending(&format!(
        "somebody is in groups that are nested more than {} deep",
        MAX_LEVELS - 1
    )))
}

fn unending(what: &str) -> ProviderError {
    ProviderError::Misconfigured {
        field: "ldap.groups.nested",
        problem: format!(
            "{what}; narrow ldap.groups.filter or ldap.groups.base, nest groups less, or switch \
             this off"
        ),
    }
}

/// Adds the groups that are like this; the names of those that were not known before.
async fn search(
    session: &mut Session<'_>,
    groups: &GroupsOf,
    condition: Filter,
    found: &mut Found,
) -> Result<Vec<String>, ProviderError> {
    let filter = groups.like(condition);
    let attributes = [groups.id.name.as_str(), "cn"];
    let entries = session
        .all(Place::Groups, &filter, &attributes, MAX_GROUPS)
        .await?;
    let mut new = Vec::new();
    for entry in entries {
        let group = group(groups, &entry)?;
        if found.insert(group.id.clone(), group).is_none() {
            new.push(entry.name);
        }
    }
    if found.len() > MAX_GROUPS {
        return Err(Place::Groups.too_many(MAX_GROUPS));
    }
    Ok(new)
}

fn group(groups: &GroupsOf, entry: &Entry) -> Result<Group, ProviderError> {
    let id = groups.id.read(entry)?;
    let name = entry.values("cn").iter().find_map(|value| shown(value));
    Ok(Group {
        name: name.unwrap_or_else(|| id.clone()),
        id,
    })
}
