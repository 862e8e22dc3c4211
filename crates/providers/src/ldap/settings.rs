//! The configuration, once it is known to make sense.

use drover_api::kinds::{LdapGroups, LdapSchema, LdapSpec, LdapUsers};
use tokio_rustls::TlsConnector;
use uuid::Uuid;

use super::dn;
use super::server::{Server, tls_that_believes};
use super::wire::filter::{Filter, is_attribute};
use super::wire::message::Entry;
use crate::ProviderError;

/// An id that is longer is none; those of the AuthProvider's `allowed` are bounded alike.
const MAX_ID_CHARS: usize = 253;

/// The configuration, once it is known to make sense.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) schema: LdapSchema,
    /// One at least.
    pub(super) servers: Vec<Server>,
    pub(super) tls: TlsConnector,
    pub(super) bind_dn: String,
    pub(super) people: People,
    pub(super) groups: Option<GroupsOf>,
}

/// Where people are, and how they are told apart.
#[derive(Clone, Debug)]
pub(super) struct People {
    pub(super) base: String,
    /// Who counts: what the configuration says, and what the schema says of people.
    filters: Vec<Filter>,
    pub(super) login_attribute: String,
    pub(super) id: IdAttribute,
}

/// Where groups are, and who is in them.
#[derive(Clone, Debug)]
pub(super) struct GroupsOf {
    pub(super) base: String,
    pub(super) filter: Option<Filter>,
    pub(super) members: Members,
    pub(super) id: IdAttribute,
}

/// How a group names its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Members {
    /// By what they type to sign in, as `memberUid` does; such groups hold no groups.
    Logins(String),
    /// By distinguished names.
    Names {
        attribute: String,
        /// Whether members of a group that is in a group are in both.
        nested: bool,
    },
}

/// An attribute that never changes and is never another's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IdAttribute {
    pub(super) name: String,
    /// Which field of the spec says so.
    pub(super) field: &'static str,
    form: IdForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdForm {
    /// `entryUUID`: a UUID's text.
    Uuid,
    /// `objectGUID`: 16 bytes, of which the first three fields are little-endian (MS-DTYP §2.3.4).
    Guid,
    Text,
}

impl Settings {
    /// Checks what a schema cannot.
    pub(super) fn of(spec: &LdapSpec) -> Result<Self, ProviderError> {
        let servers: Result<Vec<_>, _> =
            spec.servers.iter().map(|url| Server::parse(url)).collect();
        let servers = servers?;
        if servers.is_empty() {
            return Err(wrong("ldap.servers", "name one server at least"));
        }
        Ok(Self {
            schema: spec.schema,
            servers,
            tls: tls_that_believes(spec.ca_bundle.as_deref())?,
            bind_dn: name("ldap.bindDn", &spec.bind_dn)?,
            people: People::of(&spec.users, spec.schema)?,
            groups: spec
                .groups
                .as_ref()
                .map(|groups| GroupsOf::of(groups, spec.schema))
                .transpose()?,
        })
    }
}

impl People {
    fn of(users: &LdapUsers, schema: LdapSchema) -> Result<Self, ProviderError> {
        let login = match schema {
            LdapSchema::Posix => "uid",
            LdapSchema::ActiveDirectory => "sAMAccountName",
        };
        let login = users.login_attribute.as_deref().unwrap_or(login);
        let id = users.id_attribute.as_deref();
        Ok(Self {
            base: name("ldap.users.base", &users.base)?,
            filters: filter("ldap.users.filter", users.filter.as_deref())?
                .into_iter()
                .chain(only_people(schema))
                .collect(),
            login_attribute: attribute("ldap.users.loginAttribute", login)?,
            id: IdAttribute::of("ldap.users.idAttribute", id, schema)?,
        })
    }

    /// Those that the configuration allows, and that are like this.
    pub(super) fn like(&self, condition: Filter) -> Filter {
        let filters = self.filters.iter().cloned();
        Filter::And(filters.chain([condition]).collect())
    }
}

/// Groups and computers of Active Directory have the login attribute as well, and computers have
/// passwords.
fn only_people(schema: LdapSchema) -> Vec<Filter> {
    let class = |name: &[u8]| Filter::Equal("objectClass".to_owned(), name.to_vec());
    match schema {
        LdapSchema::Posix => Vec::new(),
        LdapSchema::ActiveDirectory => {
            vec![class(b"user"), Filter::Not(Box::new(class(b"computer")))]
        }
    }
}

impl GroupsOf {
    fn of(groups: &LdapGroups, schema: LdapSchema) -> Result<Self, ProviderError> {
        let member = groups.member_attribute.as_deref().unwrap_or("member");
        let member = attribute("ldap.groups.memberAttribute", member)?;
        let members = if member.eq_ignore_ascii_case("memberUid") {
            if groups.nested {
                return Err(wrong(
                    "ldap.groups.nested",
                    "memberUid names people only, so no group is in another; switch it off, or \
                     set ldap.groups.memberAttribute to one that holds distinguished names",
                ));
            }
            Members::Logins(member)
        } else {
            Members::Names {
                attribute: member,
                nested: groups.nested,
            }
        };
        let id = groups.id_attribute.as_deref();
        Ok(Self {
            base: name("ldap.groups.base", &groups.base)?,
            filter: filter("ldap.groups.filter", groups.filter.as_deref())?,
            members,
            id: IdAttribute::of("ldap.groups.idAttribute", id, schema)?,
        })
    }

    /// Those that the configuration allows, and that are like this.
    pub(super) fn like(&self, condition: Filter) -> Filter {
        match &self.filter {
            Some(filter) => Filter::And(vec![filter.clone(), condition]),
            None => condition,
        }
    }
}

impl IdAttribute {
    fn of(
        field: &'static str,
        given: Option<&str>,
        schema: LdapSchema,
    ) -> Result<Self, ProviderError> {
        let default = match schema {
            LdapSchema::Posix => "entryUUID",
            LdapSchema::ActiveDirectory => "objectGUID",
        };
        let name = attribute(field, given.unwrap_or(default))?;
        let form = match name.to_ascii_lowercase().as_str() {
            "entryuuid" => IdForm::Uuid,
            "objectguid" => IdForm::Guid,
            _ => IdForm::Text,
        };
        Ok(Self { name, field, form })
    }

    /// An entry's id.
    pub(super) fn read(&self, entry: &Entry) -> Result<String, ProviderError> {
        let Self { name, field, .. } = self;
        let problem = match entry.values(name) {
            [value] => match self.text(value) {
                Some(id) => return Ok(id),
                None => "a value that is no text that could be an id",
            },
            [] => "no value that ldap.bindDn may see",
            _ => "several values",
        };
        Err(ProviderError::Misconfigured {
            field,
            problem: format!(
                "{name} has {problem}, in one of the entries at least; let it be readable, or \
                 choose an attribute that has one value in each and never changes"
            ),
        })
    }

    fn text(&self, value: &[u8]) -> Option<String> {
        let text = || std::str::from_utf8(value).ok();
        match self.form {
            IdForm::Guid => {
                let bytes = value.try_into().ok()?;
                Some(Uuid::from_bytes_le(bytes).hyphenated().to_string())
            }
            IdForm::Uuid => Some(Uuid::try_parse(text()?).ok()?.hyphenated().to_string()),
            IdForm::Text => is_id(text()?).then(|| text().map(str::to_owned))?,
        }
    }

    /// Whom an id belongs to; nothing if it can be nobody's.
    pub(super) fn filter(&self, id: &str) -> Option<Filter> {
        let value = match self.form {
            IdForm::Guid => Uuid::try_parse(id).ok()?.to_bytes_le().to_vec(),
            IdForm::Uuid => Uuid::try_parse(id).ok()?.hyphenated().to_string().into(),
            IdForm::Text => is_id(id).then(|| id.as_bytes().to_vec())?,
        };
        Some(Filter::Equal(self.name.clone(), value))
    }
}

fn is_id(text: &str) -> bool {
    (1..=MAX_ID_CHARS).contains(&text.chars().count()) && !text.contains(char::is_control)
}

fn wrong(field: &'static str, problem: &str) -> ProviderError {
    ProviderError::Misconfigured {
        field,
        problem: problem.to_owned(),
    }
}

fn name(field: &'static str, text: &str) -> Result<String, ProviderError> {
    if !dn::is_name(text) {
        return Err(wrong(
            field,
            "it is no distinguished name; write one such as ou=people,dc=example,dc=org",
        ));
    }
    Ok(text.to_owned())
}

fn attribute(field: &'static str, text: &str) -> Result<String, ProviderError> {
    if !is_attribute(text) {
        return Err(wrong(
            field,
            "it is no attribute's name; write one such as uid",
        ));
    }
    Ok(text.to_owned())
}

fn filter(field: &'static str, text: Option<&str>) -> Result<Option<Filter>, ProviderError> {
    text.map(Filter::parse)
        .transpose()
        .map_err(|error| wrong(field, &error.to_string()))
}
