//! Where people come from.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Serialize};

/// An identity provider: people of it can sign in, and its groups can be given roles.
///
/// Its name is part of the names of its groups in clusters, so it cannot change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::CustomResource, kube::KubeSchema))]
#[cfg_attr(
    feature = "crd",
    kube(
        group = "management.drover.dev",
        version = "v1alpha1",
        kind = "AuthProvider",
        status = "AuthProviderStatus",
        shortname = "dap",
        category = "drover",
        derive = "PartialEq",
        doc = "An identity provider whose people can sign in.",
        validation = Rule::new("self.metadata.name.matches('^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')")
            .message("a provider's name has 1 to 63 characters: lower-case letters, digits and \"-\", with a letter or digit at both ends"),
        validation = Rule::new("!(self.metadata.name in ['user', 'local'])")
            .message("the names \"user\" and \"local\" are Drover's own; choose another name"),
        printcolumn(name = "Display Name", type_ = "string", json_path = ".spec.displayName"),
        printcolumn(name = "Enabled", type_ = "boolean", json_path = ".spec.enabled"),
        printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
        printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
    )
)]
#[cfg_attr(feature = "crd", x_kube(
    validation = Rule::new("has(self.oidc) == has(oldSelf.oidc) && has(self.github) == has(oldSelf.github) && has(self.ldap) == has(oldSelf.ldap) && (!has(self.oidc) || (self.oidc.issuer == oldSelf.oidc.issuer && self.oidc.clientId == oldSelf.oidc.clientId && self.oidc.groupsClaim == oldSelf.oidc.groupsClaim)) && (!has(self.github) || has(self.github.url) == has(oldSelf.github.url) && (!has(self.github.url) || self.github.url == oldSelf.github.url)) && (!has(self.ldap) || (self.ldap.schema == oldSelf.ldap.schema && has(self.ldap.users.idAttribute) == has(oldSelf.ldap.users.idAttribute) && (!has(self.ldap.users.idAttribute) || self.ldap.users.idAttribute == oldSelf.ldap.users.idAttribute) && (!has(self.ldap.groups) || !has(oldSelf.ldap.groups) || has(self.ldap.groups.idAttribute) == has(oldSelf.ldap.groups.idAttribute) && (!has(self.ldap.groups.idAttribute) || self.ldap.groups.idAttribute == oldSelf.ldap.groups.idAttribute))))")
        .message("people and groups are known by ids of this provider, which mean others elsewhere: make another AuthProvider for another issuer or directory"),
    validation = Rule::new("[has(self.oidc), has(self.github), has(self.ldap)].exists_one(set, set)")
        .message("set exactly one of oidc, github and ldap")
))]
#[serde(rename_all = "camelCase")]
pub struct AuthProviderSpec {
    /// What stands on the button of the sign-in page; the object's name if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 64)))]
    pub display_name: Option<String>,
    /// Whether people can sign in; what they opened before ends within seconds once they cannot.
    #[serde(default)]
    pub enabled: bool,
    /// Whether signing out of Drover signs out there as well: of the session that an OpenID provider
    /// keeps in the browser, whose `end_session_endpoint` must lead back to the server's URL; and of
    /// GitHub's token, once nothing of the person stands on it any more. A directory keeps nothing.
    #[serde(default)]
    pub sign_out_there: bool,
    /// If set, nobody else signs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Allowed>,
    /// OpenID Connect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oidc: Option<OidcSpec>,
    /// GitHub, or GitHub Enterprise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub github: Option<GithubSpec>,
    /// LDAP, or Active Directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ldap: Option<LdapSpec>,
}

/// Who may sign in: whoever is one of the users or in one of the groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Allowed {
    /// The provider's ids of people, which names are not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 1000), inner(length(min = 1, max = 253)))
    )]
    pub users: Vec<String>,
    /// The provider's ids of groups, which names are not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 1000), inner(length(min = 1, max = 253)))
    )]
    pub groups: Vec<String>,
}

/// A key of a Secret in the hub's namespace `drover-system`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SecretKey {
    /// Name of the Secret.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 253)))]
    pub name: String,
    /// Key in it.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 253)))]
    pub key: String,
}

/// An OpenID provider (OpenID Connect Core 1.0 and Discovery 1.0).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct OidcSpec {
    /// `https://…`, exactly as the provider names itself.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 2048)))]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new("self.startsWith('https://')")
        .message("must begin with https://: whoever can change the answers of an issuer can be anybody")))]
    pub issuer: String,
    /// As which Drover is known there.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 512)))]
    pub client_id: String,
    /// What Drover proves that with; a public client if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretKey>,
    /// What is asked for beside `openid`.
    #[serde(default = "oidc_scopes")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 32), inner(length(min = 1, max = 128)))
    )]
    pub scopes: Vec<String>,
    /// Claim that lists a person's groups; a dot leads into an object.
    #[serde(default = "oidc_groups_claim")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 128)))]
    pub groups_claim: String,
    /// Claim that holds what a person types there to sign in.
    #[serde(default = "oidc_login_claim")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 128)))]
    pub login_claim: String,
    /// The only authorities that the issuer's certificate may come from, PEM; the system's if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 65536)))]
    pub ca_bundle: Option<String>,
}

fn oidc_scopes() -> Vec<String> {
    ["profile", "email"].map(str::to_owned).to_vec()
}

fn oidc_groups_claim() -> String {
    "groups".to_owned()
}

fn oidc_login_claim() -> String {
    "preferred_username".to_owned()
}

/// An OAuth app of GitHub, or of a GitHub Enterprise Server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct GithubSpec {
    /// `https://host` of a GitHub Enterprise Server; github.com if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 2048)))]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new("self.startsWith('https://')")
        .message("must begin with https://: whoever can change the answers of GitHub can be anybody")))]
    pub url: Option<String>,
    /// As which Drover is known there.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 512)))]
    pub client_id: String,
    /// What Drover proves that with.
    pub client_secret: SecretKey,
    /// The only authorities that its certificate may come from, PEM; the system's if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 65536)))]
    pub ca_bundle: Option<String>,
}

/// A directory (RFC 4511).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct LdapSpec {
    /// What kind of directory it is, which decides what is not said below.
    #[serde(default)]
    pub schema: LdapSchema,
    /// `ldaps://host[:port]`, or `ldap://host[:port]` where StartTLS follows; asked in this order
    /// until one answers.
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 8), inner(length(min = 1, max = 512)))
    )]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new("self.all(url, url.startsWith('ldaps://') || url.startsWith('ldap://'))")
        .message("each must begin with ldaps:// or, where StartTLS is spoken, ldap://")))]
    pub servers: Vec<String>,
    /// The only authorities that their certificates may come from, PEM; the system's if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 65536)))]
    pub ca_bundle: Option<String>,
    /// Distinguished name of the account that looks people up.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 1024)))]
    pub bind_dn: String,
    /// Its password.
    pub bind_password: SecretKey,
    /// Where people are.
    pub users: LdapUsers,
    /// Where groups are; nobody is in any if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<LdapGroups>,
}

/// What kind of directory it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum LdapSchema {
    /// `inetOrgPerson` or `posixAccount`, as OpenLDAP has them; ids are `entryUUID` (RFC 4530).
    #[default]
    Posix,
    /// Active Directory; ids are `objectGUID`.
    ActiveDirectory,
}

/// Where people are in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LdapUsers {
    /// Distinguished name beneath which all of them are.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 1024)))]
    pub base: String,
    /// Those it matches only (RFC 4515).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 4096)))]
    pub filter: Option<String>,
    /// Attribute that they type to sign in; `uid`, or `sAMAccountName` in Active Directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 128)))]
    pub login_attribute: Option<String>,
    /// Attribute that never changes and is never another's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 128)))]
    pub id_attribute: Option<String>,
}

/// Where groups are in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LdapGroups {
    /// Distinguished name beneath which all of them are.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 1024)))]
    pub base: String,
    /// Those it matches only (RFC 4515).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 4096)))]
    pub filter: Option<String>,
    /// Attribute that names the members: `member` and `uniqueMember` hold distinguished names,
    /// `memberUid` what people type to sign in. `member` if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 128)))]
    pub member_attribute: Option<String>,
    /// Attribute that never changes and is never another's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 128)))]
    pub id_attribute: Option<String>,
    /// Whether members of a group that is in a group are in both.
    #[serde(default)]
    pub nested: bool,
}

/// What the server knows of a provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuthProviderStatus {
    /// When it last answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_answer_at: Option<Time>,
    /// `Ready`: whether it can be asked, or what to put right.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
}
