//! The settings of each identity provider protocol.

use super::Protocol;
use crate::messages::{Group, english, t};

type Providers = Group<english::Providers>;

/// A setting of an identity provider.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The path in the spec, such as `spec.ldap.users.base`.
    pub path: &'static str,
    /// The label of the field.
    label: Text,
    /// The help text of the field.
    help: Text,
    /// The type of the input element.
    pub entry: Entry,
    /// True if the setting is required.
    pub needed: bool,
    /// True if the setting is immutable.
    pub stays: bool,
    /// The initial value in a new form.
    pub begins: &'static str,
}

/// The type of an input element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A text in one line.
    Line,
    /// A list in one line, separated by spaces.
    Words,
    /// A list with one item per line.
    Lines,
    /// A multi-line text, such as a certificate.
    Text,
    /// A checkbox.
    Flag,
    /// A selection from a list. Each entry has a value and a label.
    OneOf(&'static [(&'static str, Text)]),
}

impl Field {
    const fn new(path: &'static str, label: Text, help: Text) -> Self {
        Self {
            path,
            label,
            help,
            entry: Entry::Line,
            needed: false,
            stays: false,
            begins: "",
        }
    }

    /// Returns the label of the field.
    pub fn label(&self) -> &'static str {
        (self.label)(&t().providers)
    }

    /// Returns the help text of the field; empty if the field needs no help.
    pub fn help(&self) -> &'static str {
        (self.help)(&t().providers)
    }

    const fn needed(mut self) -> Self {
        self.needed = true;
        self
    }

    const fn stays(mut self) -> Self {
        self.stays = true;
        self
    }

    const fn typed(mut self, entry: Entry) -> Self {
        self.entry = entry;
        self
    }

    const fn begins(mut self, with: &'static str) -> Self {
        self.begins = with;
        self
    }
}

type Text = fn(&Providers) -> &'static str;

/// The path of the base DN of groups. Without the base DN, the spec contains no group settings.
pub(super) const GROUPS_BASE: &str = "spec.ldap.groups.base";

const OIDC: &[Field] = &[
    Field::new(
        "spec.oidc.issuer",
        Providers::issuer,
        Providers::issuer_help,
    )
    .needed()
    .stays(),
    Field::new(
        "spec.oidc.clientId",
        Providers::client_id,
        Providers::client_id_help,
    )
    .needed()
    .stays(),
    Field::new(
        "spec.oidc.scopes",
        Providers::scopes,
        Providers::scopes_help,
    )
    .typed(Entry::Words)
    .begins("profile email"),
    Field::new(
        "spec.oidc.groupsClaim",
        Providers::groups_claim,
        Providers::groups_claim_help,
    )
    .stays()
    .begins("groups"),
    Field::new(
        "spec.oidc.loginClaim",
        Providers::login_claim,
        Providers::login_claim_help,
    )
    .begins("preferred_username"),
    Field::new(
        "spec.oidc.caBundle",
        Providers::ca_bundle,
        Providers::ca_bundle_help,
    )
    .typed(Entry::Text),
];

const GITHUB: &[Field] = &[
    Field::new("spec.github.url", Providers::server, Providers::server_help).stays(),
    Field::new(
        "spec.github.clientId",
        Providers::client_id,
        Providers::github_client_id_help,
    )
    .needed(),
    Field::new(
        "spec.github.caBundle",
        Providers::ca_bundle,
        Providers::ca_bundle_help,
    )
    .typed(Entry::Text),
];

const LDAP: &[Field] = &[
    Field::new("spec.ldap.schema", Providers::schema, Providers::no_help)
        .typed(Entry::OneOf(&[
            ("Posix", Providers::posix),
            ("ActiveDirectory", Providers::active_directory),
        ]))
        .needed()
        .stays()
        .begins("Posix"),
    Field::new(
        "spec.ldap.servers",
        Providers::servers,
        Providers::servers_help,
    )
    .typed(Entry::Lines)
    .needed(),
    Field::new(
        "spec.ldap.bindDn",
        Providers::bind_dn,
        Providers::bind_dn_help,
    )
    .needed(),
    Field::new(
        "spec.ldap.users.base",
        Providers::users_base,
        Providers::users_base_help,
    )
    .needed(),
    Field::new(
        "spec.ldap.users.filter",
        Providers::users_filter,
        Providers::users_filter_help,
    ),
    Field::new(
        "spec.ldap.users.loginAttribute",
        Providers::login_attribute,
        Providers::login_attribute_help,
    ),
    Field::new(
        "spec.ldap.users.idAttribute",
        Providers::user_id_attribute,
        Providers::id_attribute_help,
    )
    .stays(),
    Field::new(
        GROUPS_BASE,
        Providers::groups_base,
        Providers::groups_base_help,
    ),
    Field::new(
        "spec.ldap.groups.filter",
        Providers::groups_filter,
        Providers::groups_filter_help,
    ),
    Field::new(
        "spec.ldap.groups.memberAttribute",
        Providers::member_attribute,
        Providers::member_attribute_help,
    ),
    Field::new(
        "spec.ldap.groups.idAttribute",
        Providers::group_id_attribute,
        Providers::id_attribute_help,
    )
    .stays(),
    Field::new(
        "spec.ldap.groups.nested",
        Providers::nested_groups,
        Providers::no_help,
    )
    .typed(Entry::Flag),
    Field::new(
        "spec.ldap.caBundle",
        Providers::ca_bundle,
        Providers::ca_bundle_help,
    )
    .typed(Entry::Text),
];

/// The paths of all settings. The page shows server errors for these paths at the fields.
pub const PATHS: &[&str] = &ALL_PATHS;

const ALL_PATHS: [&str; OIDC.len() + GITHUB.len() + LDAP.len()] = {
    let mut paths = [""; OIDC.len() + GITHUB.len() + LDAP.len()];
    let (mut place, mut protocol) = (0, 0);
    while protocol < Protocol::ALL.len() {
        let fields = of(Protocol::ALL[protocol]);
        let mut field = 0;
        while field < fields.len() {
            paths[place] = fields[field].path;
            (place, field) = (place + 1, field + 1);
        }
        protocol += 1;
    }
    paths
};

/// Returns the settings of a protocol.
pub(super) const fn of(protocol: Protocol) -> &'static [Field] {
    match protocol {
        Protocol::Oidc => OIDC,
        Protocol::Github => GITHUB,
        Protocol::Ldap => LDAP,
    }
}
