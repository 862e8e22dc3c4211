//! Validated LDAP configuration.

use drover_api::kinds::{LdapGroups, LdapSchema, LdapSpec, LdapUsers};
use tokio_rustls::TlsConnector;
use uuid::Uuid;

use super::dn;
use super::server::{Server, tls_connector};
use super::wire::filter::{Filter, is_attribute};
use super::wire::message::Entry;
use crate::ProviderError;

/// Maximum length of an ID in characters. The CRD schema has the same limit for IDs in `allowed`.
const MAX_ID_CHARS: usize = 253;

/// Validated LDAP configuration.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) schema: LdapSchema,
    /// Servers of the directory, at least one.
    pub(super) servers: Vec<Server>,
    pub(super) tls: TlsConnector,
    pub(super) bind_dn: String,
    pub(super) people: UserSettings,
    pub(super) groups: Option<GroupSettings>,
}

/// Search settings for users.
#[derive(Clone, Debug)]
pub(super) struct UserSettings {
    pub(super) base: String,
    /// The configured filter, and the filter for user entries of the directory's schema.
    filters: Vec<Filter>,
    pub(super) login_attribute: String,
    pub(super) id: IdAttribute,
}

/// Search settings for groups.
#[derive(Clone, Debug)]
pub(super) struct GroupSettings {
    pub(super) base: String,
    pub(super) filter: Option<Filter>,
    pub(super) members: Members,
    pub(super) id: IdAttribute,
}

/// Format of the membership attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Members {
    /// Login names, as in `memberUid`. Groups with this format contain no nested groups.
    Logins(String),
    /// Distinguished names of users and nested groups.
    Names {
        attribute: String,
        /// True if members of nested groups are also members of the parent group.
        nested: bool,
    },
}

/// Attribute with an immutable, unique identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IdAttribute {
    pub(super) name: String,
    /// Field of the spec that configures the attribute.
    pub(super) field: &'static str,
    form: IdForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdForm {
    /// Text of a UUID, as in `entryUUID`.
    Uuid,
    /// 16 bytes, as in `objectGUID`. The first three fields are little-endian (MS-DTYP §2.3.4).
    Guid,
    Text,
}

impl Settings {
    /// Creates the settings. Validates the constraints that the CRD schema cannot express.
    pub(super) fn of(spec: &LdapSpec) -> Result<Self, ProviderError> {
        let servers: Result<Vec<_>, _> =
            spec.servers.iter().map(|url| Server::parse(url)).collect();
        let servers = servers?;
        if servers.is_empty() {
            return Err(wrong("ldap.servers", "enter at least one server"));
        }
        Ok(Self {
            schema: spec.schema,
            servers,
            tls: tls_connector(spec.ca_bundle.as_deref())?,
            bind_dn: name("ldap.bindDn", &spec.bind_dn)?,
            people: UserSettings::of(&spec.users, spec.schema)?,
            groups: spec
                .groups
                .as_ref()
                .map(|groups| GroupSettings::of(groups, spec.schema))
                .transpose()?,
        })
    }
}

impl UserSettings {
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

    /// Combines the filters of the search with a condition.
    pub(super) fn and(&self, condition: Filter) -> Filter {
        let filters = self.filters.iter().cloned();
        Filter::And(filters.chain([condition]).collect())
    }
}

/// Returns filters that exclude groups and computers of Active Directory. Groups and computers also
/// have the login attribute, and computers have passwords.
fn only_people(schema: LdapSchema) -> Vec<Filter> {
    let class = |name: &[u8]| Filter::Equal("objectClass".to_owned(), name.to_vec());
    match schema {
        LdapSchema::Posix => Vec::new(),
        LdapSchema::ActiveDirectory => {
            vec![class(b"user"), Filter::Not(Box::new(class(b"computer")))]
        }
    }
}

impl GroupSettings {
    fn of(groups: &LdapGroups, schema: LdapSchema) -> Result<Self, ProviderError> {
        let member = groups.member_attribute.as_deref().unwrap_or("member");
        let member = attribute("ldap.groups.memberAttribute", member)?;
        let members = if member.eq_ignore_ascii_case("memberUid") {
            if groups.nested {
                return Err(wrong(
                    "ldap.groups.nested",
                    "memberUid contains login names, so groups cannot be nested; disable nesting, or \
                     set ldap.groups.memberAttribute to an attribute with distinguished names",
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

    /// Combines the filter of the search with a condition.
    pub(super) fn and(&self, condition: Filter) -> Filter {
        match &self.filter {
            Some(filter) => Filter::And(vec![filter.clone(), condition]),
            None => condition,
        }
    }
}

impl IdAttribute {
    fn of(
        field: &'static str,
        configured: Option<&str>,
        schema: LdapSchema,
    ) -> Result<Self, ProviderError> {
        let default = match schema {
            LdapSchema::Posix => "entryUUID",
            LdapSchema::ActiveDirectory => "objectGUID",
        };
        let name = attribute(field, configured.unwrap_or(default))?;
        let form = match name.to_ascii_lowercase().as_str() {
            "entryuuid" => IdForm::Uuid,
            "objectguid" => IdForm::Guid,
            _ => IdForm::Text,
        };
        Ok(Self { name, field, form })
    }

    /// Reads the ID of an entry.
    pub(super) fn read(&self, entry: &Entry) -> Result<String, ProviderError> {
        let Self { name, field, .. } = self;
        let problem = match entry.values(name) {
            [value] => match self.text(value) {
                Some(id) => return Ok(id),
                None => "an invalid value",
            },
            [] => "no value that ldap.bindDn can read",
            _ => "several values",
        };
        Err(ProviderError::Misconfigured {
            field,
            problem: format!(
                "{name} has {problem} in at least one entry; grant read access, or \
                 choose an attribute with exactly one value that never changes"
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

    /// Returns a filter for the entry with this ID. Returns `None` for an invalid ID.
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
            "the value is not a distinguished name, such as ou=people,dc=example,dc=org",
        ));
    }
    Ok(text.to_owned())
}

fn attribute(field: &'static str, text: &str) -> Result<String, ProviderError> {
    if !is_attribute(text) {
        return Err(wrong(
            field,
            "the value is not an attribute name, such as uid",
        ));
    }
    Ok(text.to_owned())
}

fn filter(field: &'static str, text: Option<&str>) -> Result<Option<Filter>, ProviderError> {
    text.map(Filter::parse)
        .transpose()
        .map_err(|error| wrong(field, &error.to_string()))
}
