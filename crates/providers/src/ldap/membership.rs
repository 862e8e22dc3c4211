//! Which groups somebody is in.

use std::collections::BTreeMap;

use super::account::{Account, shown};
use super::session::Session;
use super::settings::{GroupsOf, Members};
use super::verdict::SearchBase;
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

/// What is known on the way from somebody to the groups they are in. The configuration's filter
/// says which of them count; by the others there is still a way, as Active Directory has it.
#[derive(Default)]
struct Way {
    counted: Found,
    passed: Found,
}

/// Which groups somebody is in, sorted by id.
pub(super) async fn of(
    session: &mut Session<'_>,
    groups: &GroupsOf,
    who: &Account,
) -> Result<Vec<Group>, ProviderError> {
    let mut way = Way::default();
    match &groups.members {
        Members::Logins(attribute) => {
            let logins = who.logins.iter();
            let logins = logins.map(|login| equal(attribute, login)).collect();
            let filter = groups.like(Filter::Or(logins));
            search(session, groups, &filter, &mut way.counted).await?;
        }
        Members::Names { attribute, nested } => {
            let mut names = vec![who.name.clone()];
            if let Some(sid) = &who.primary_group {
                let primary = Filter::Equal("objectSid".to_owned(), sid.clone());
                names.extend(step(session, groups, &primary, &mut way).await?);
            }
            if !nested {
                let filter = groups.like(equal(attribute, &who.name));
                search(session, groups, &filter, &mut way.counted).await?;
            } else if follows_chains(session).await? {
                let filter = groups.like(chains(attribute, &names));
                search(session, groups, &filter, &mut way.counted).await?;
            } else {
                walk(session, groups, attribute, names, &mut way).await?;
            }
        }
    }
    Ok(way.counted.into_values().collect())
}

fn chains(attribute: &str, names: &[String]) -> Filter {
    let chain = |name: &String| Filter::Rule {
        rule: Some(IN_CHAIN.to_owned()),
        attribute: Some(attribute.to_owned()),
        value: name.clone().into_bytes(),
        name_too: false,
    };
    Filter::Or(names.iter().map(chain).collect())
}

fn equal(attribute: &str, value: &str) -> Filter {
    Filter::Equal(attribute.to_owned(), value.as_bytes().to_vec())
}

/// Whether the directory itself can say which groups somebody is in by way of others.
async fn follows_chains(session: &mut Session<'_>) -> Result<bool, ProviderError> {
    let capabilities = "supportedCapabilities";
    let root = match session.base(SearchBase::Root, &[capabilities]).await {
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
    way: &mut Way,
) -> Result<(), ProviderError> {
    for _ in 0..MAX_LEVELS {
        let mut above = Vec::new();
        for some in names.chunks(NAMES_AT_ONCE) {
            let any = some.iter().map(|name| equal(member, name)).collect();
            above.extend(step(session, groups, &Filter::Or(any), way).await?);
            if way.passed.len() > MAX_NESTED_GROUPS {
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

/// Passes the groups that are like this, and counts those of them that the configuration allows;
/// the names of those that were not passed before.
async fn step(
    session: &mut Session<'_>,
    groups: &GroupsOf,
    condition: &Filter,
    way: &mut Way,
) -> Result<Vec<String>, ProviderError> {
    let new = search(session, groups, condition, &mut way.passed).await?;
    if groups.filter.is_some() {
        let filter = groups.like(condition.clone());
        search(session, groups, &filter, &mut way.counted).await?;
    } else {
        way.counted.clone_from(&way.passed);
    }
    Ok(new)
}

/// Adds the groups that a filter matches; the names of those that were not known before.
async fn search(
    session: &mut Session<'_>,
    groups: &GroupsOf,
    filter: &Filter,
    found: &mut Found,
) -> Result<Vec<String>, ProviderError> {
    let attributes = [groups.id.name.as_str(), "cn"];
    let entries = session
        .all(SearchBase::Groups, filter, &attributes, MAX_GROUPS)
        .await?;
    let mut new = Vec::new();
    for entry in entries {
        let group = group(groups, &entry)?;
        if found.insert(group.id.clone(), group).is_none() {
            new.push(entry.name);
        }
    }
    if found.len() > MAX_GROUPS {
        return Err(SearchBase::Groups.too_many(MAX_GROUPS));
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
