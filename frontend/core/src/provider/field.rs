//! The settings that each protocol has, as the form asks for them.

use super::Protocol;

/// One setting of a provider.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Where it is in the spec, such as `spec.ldap.users.base`: as the server names it.
    pub path: &'static str,
    /// What people call it.
    pub label: &'static str,
    /// What it has to be.
    pub help: &'static str,
    /// How it is typed.
    pub entry: Entry,
    /// Whether there is none without it.
    pub needed: bool,
    /// Whether it stays as it was when the provider was made.
    pub stays: bool,
    /// What the form begins with.
    pub begins: &'static str,
}

/// How a setting is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// One line.
    Line,
    /// Several words in one line: a list.
    Words,
    /// Several lines: a list.
    Lines,
    /// Several lines: one text, such as a certificate.
    Text,
    /// Yes or no.
    Flag,
    /// One of these, each with its words.
    OneOf(&'static [(&'static str, &'static str)]),
}

impl Field {
    const fn new(path: &'static str, label: &'static str, help: &'static str) -> Self {
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

const AUTHORITIES: &str =
    "PEM. Empty: the system's. If set, its certificate may come from no other.";

/// Where the group part of a directory is: there is none without its base.
pub(super) const GROUPS_BASE: &str = "spec.ldap.groups.base";

const OIDC: &[Field] = &[
    Field::new(
        "spec.oidc.issuer",
        "Issuer",
        "https://…, exactly as the provider names itself.",
    )
    .needed()
    .stays(),
    Field::new(
        "spec.oidc.clientId",
        "Client ID",
        "As which Drover is known there.",
    )
    .needed()
    .stays(),
    Field::new(
        "spec.oidc.scopes",
        "Scopes",
        "Words that are asked for beside openid.",
    )
    .typed(Entry::Words)
    .begins("profile email"),
    Field::new(
        "spec.oidc.groupsClaim",
        "Claim with the groups",
        "A dot leads into an object. Empty: groups.",
    )
    .stays()
    .begins("groups"),
    Field::new(
        "spec.oidc.loginClaim",
        "Claim with the login",
        "What a person types there to sign in. Empty: preferred_username.",
    )
    .begins("preferred_username"),
    Field::new("spec.oidc.caBundle", "Authorities", AUTHORITIES).typed(Entry::Text),
];

const GITHUB: &[Field] = &[
    Field::new(
        "spec.github.url",
        "Server",
        "https://host of a GitHub Enterprise Server. Empty: github.com.",
    )
    .stays(),
    Field::new(
        "spec.github.clientId",
        "Client ID",
        "Of an OAuth app; a GitHub App does not work.",
    )
    .needed(),
    Field::new("spec.github.caBundle", "Authorities", AUTHORITIES).typed(Entry::Text),
];

const LDAP: &[Field] = &[
    Field::new("spec.ldap.schema", "Kind of directory", "")
        .typed(Entry::OneOf(&[
            ("Posix", "Posix: OpenLDAP and others"),
            ("ActiveDirectory", "Active Directory"),
        ]))
        .needed()
        .stays()
        .begins("Posix"),
    Field::new(
        "spec.ldap.servers",
        "Servers",
        "One a line, asked in this order: ldaps://host, or ldap://host where StartTLS follows.",
    )
    .typed(Entry::Lines)
    .needed(),
    Field::new(
        "spec.ldap.bindDn",
        "Account that looks people up",
        "Its distinguished name. It needs to read people and groups, and nothing else.",
    )
    .needed(),
    Field::new(
        "spec.ldap.users.base",
        "Where people are",
        "Distinguished name beneath which all of them are.",
    )
    .needed(),
    Field::new(
        "spec.ldap.users.filter",
        "People it matches only",
        "A filter such as (memberOf=CN=staff,DC=acme,DC=example). Empty: all.",
    ),
    Field::new(
        "spec.ldap.users.loginAttribute",
        "Attribute with the login",
        "Empty: uid, or sAMAccountName in Active Directory.",
    ),
    Field::new(
        "spec.ldap.users.idAttribute",
        "Attribute with a person's id",
        "One that never changes and is never another's. Empty: entryUUID, or objectGUID.",
    )
    .stays(),
    Field::new(
        GROUPS_BASE,
        "Where groups are",
        "Distinguished name beneath which all of them are. Empty: nobody is in any.",
    ),
    Field::new(
        "spec.ldap.groups.filter",
        "Groups it matches only",
        "Empty: all.",
    ),
    Field::new(
        "spec.ldap.groups.memberAttribute",
        "Attribute with the members",
        "member, uniqueMember or memberUid. Empty: member.",
    ),
    Field::new(
        "spec.ldap.groups.idAttribute",
        "Attribute with a group's id",
        "One that never changes and is never another's. Empty: entryUUID, or objectGUID.",
    )
    .stays(),
    Field::new(
        "spec.ldap.groups.nested",
        "Members of a group that is in a group are in both",
        "",
    )
    .typed(Entry::Flag),
    Field::new("spec.ldap.caBundle", "Authorities", AUTHORITIES).typed(Entry::Text),
];

/// All of their paths: complaints about them stand at their fields.
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

/// The settings of a protocol.
pub(super) const fn of(protocol: Protocol) -> &'static [Field] {
    match protocol {
        Protocol::Oidc => OIDC,
        Protocol::Github => GITHUB,
        Protocol::Ldap => LDAP,
    }
}
