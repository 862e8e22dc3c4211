//! Searches for the groups of a user.

use std::collections::BTreeMap;

use super::account::{Account, displayable};
use super::classification::SearchBase;
use super::session::Session;
use super::settings::{GroupSettings, Members};
use super::wire::filter::Filter;
use super::wire::message::Entry;
use crate::{Group, ProviderError};

/// Maximum number of groups per user.
const MAX_GROUPS: usize = 5_000;
/// Maximum number of groups in a search for nested memberships. Each group needs a search.
const MAX_NESTED_GROUPS: usize = 1_000;
/// Maximum nesting depth of groups.
const MAX_LEVELS: usize = 16;
/// Maximum number of names in one search.
const MAX_NAMES_PER_SEARCH: usize = 50;

/// `LDAP_MATCHING_RULE_IN_CHAIN`: matches direct and nested members (MS-ADTS §3.1.1.3.4.4.3).
const IN_CHAIN: &str = "1.2.840.113556.1.4.1941";
/// `LDAP_CAP_ACTIVE_DIRECTORY_OID`: the capability that identifies Active Directory (MS-ADTS
/// §3.1.1.3.4.3.1).
const ACTIVE_DIRECTORY: &[u8] = b"1.2.840.113556.1.4.800";

/// Groups by ID.
type GroupsById = BTreeMap<String, Group>;

/// State of a nested search. `matching` contains the groups that match the configured filter.
/// `visited` also contains groups that do not match the filter, because their parent groups may
/// match. Active Directory also visits such groups.
#[derive(Default)]
struct NestedSearch {
    matching: GroupsById,
    visited: GroupsById,
}

/// Returns the groups of a user, sorted by ID.
pub(super) async fn of(
    session: &mut Session<'_>,
    groups: &GroupSettings,
    account: &Account,
) -> Result<Vec<Group>, ProviderError> {
    let mut nested_search = NestedSearch::default();
    match &groups.members {
        Members::Logins(attribute) => {
            let logins = account.logins.iter();
            let logins = logins.map(|login| equal(attribute, login)).collect();
            let filter = groups.and(Filter::Or(logins));
            search(session, groups, &filter, &mut nested_search.matching).await?;
        }
        Members::Names { attribute, nested } => {
            let mut names = vec![account.name.clone()];
            if let Some(sid) = &account.primary_group {
                let primary = Filter::Equal("objectSid".to_owned(), sid.clone());
                names.extend(visit(session, groups, &primary, &mut nested_search).await?);
            }
            if !nested {
                let filter = groups.and(equal(attribute, &account.name));
                search(session, groups, &filter, &mut nested_search.matching).await?;
            } else if supports_chain_rule(session).await? {
                let filter = groups.and(chains(attribute, &names));
                search(session, groups, &filter, &mut nested_search.matching).await?;
            } else {
                visit_all_levels(session, groups, attribute, names, &mut nested_search).await?;
            }
        }
    }
    Ok(nested_search.matching.into_values().collect())
}

fn chains(attribute: &str, names: &[String]) -> Filter {
    let chain = |name: &String| Filter::Extensible {
        rule: Some(IN_CHAIN.to_owned()),
        attribute: Some(attribute.to_owned()),
        value: name.clone().into_bytes(),
        dn_attributes: false,
    };
    Filter::Or(names.iter().map(chain).collect())
}

fn equal(attribute: &str, value: &str) -> Filter {
    Filter::Equal(attribute.to_owned(), value.as_bytes().to_vec())
}

/// Reports whether the directory can resolve nested memberships with the matching rule
/// `LDAP_MATCHING_RULE_IN_CHAIN`.
async fn supports_chain_rule(session: &mut Session<'_>) -> Result<bool, ProviderError> {
    let capabilities = "supportedCapabilities";
    let root = match session.base(SearchBase::Root, &[capabilities]).await {
        Ok(root) => root,
        // Without permission to read the root entry, search level by level.
        Err(ProviderError::Misconfigured { .. }) => return Ok(false),
        Err(error) => return Err(error),
    };
    Ok(root
        .values(capabilities)
        .iter()
        .any(|capability| capability == ACTIVE_DIRECTORY))
}

/// Searches the parent groups level by level. The search terminates for cyclic groups, because each
/// group is searched once.
async fn visit_all_levels(
    session: &mut Session<'_>,
    groups: &GroupSettings,
    member: &str,
    mut names: Vec<String>,
    nested_search: &mut NestedSearch,
) -> Result<(), ProviderError> {
    for _ in 0..MAX_LEVELS {
        let mut parents = Vec::new();
        for some in names.chunks(MAX_NAMES_PER_SEARCH) {
            let any = some.iter().map(|name| equal(member, name)).collect();
            parents.extend(visit(session, groups, &Filter::Or(any), nested_search).await?);
            if nested_search.visited.len() > MAX_NESTED_GROUPS {
                return Err(nesting_error(&format!(
                    "a user is in more than {MAX_NESTED_GROUPS} groups"
                )));
            }
        }
        if parents.is_empty() {
            return Ok(());
        }
        names = parents;
    }
    Err(nesting_error(&format!(
        "a user is in groups with more than {} nesting levels",
        MAX_LEVELS - 1
    )))
}

fn nesting_error(action: &str) -> ProviderError {
    ProviderError::Misconfigured {
        field: "ldap.groups.nested",
        problem: format!(
            "{action}; narrow ldap.groups.filter or ldap.groups.base, reduce nesting, or disable \
             nested groups"
        ),
    }
}

/// Visits the groups that match the condition, and records the visited groups that match the
/// configured filter. Returns the names of the newly visited groups.
async fn visit(
    session: &mut Session<'_>,
    groups: &GroupSettings,
    condition: &Filter,
    nested_search: &mut NestedSearch,
) -> Result<Vec<String>, ProviderError> {
    let new = search(session, groups, condition, &mut nested_search.visited).await?;
    if groups.filter.is_some() {
        let filter = groups.and(condition.clone());
        search(session, groups, &filter, &mut nested_search.matching).await?;
    } else {
        nested_search.matching.clone_from(&nested_search.visited);
    }
    Ok(new)
}

/// Adds the groups that match `filter` to `found`. Returns the names of the added groups.
async fn search(
    session: &mut Session<'_>,
    groups: &GroupSettings,
    filter: &Filter,
    found: &mut GroupsById,
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

fn group(groups: &GroupSettings, entry: &Entry) -> Result<Group, ProviderError> {
    let id = groups.id.read(entry)?;
    let name = entry
        .values("cn")
        .iter()
        .find_map(|value| displayable(value));
    Ok(Group {
        name: name.unwrap_or_else(|| id.clone()),
        id,
    })
}
