//! AuthProvider: an identity provider.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Serialize};

/// An identity provider. Users of the provider can sign in. Users can bind roles to groups of the
/// provider. The names of these groups in clusters contain the object's name, so the name cannot
/// change.
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
        doc = "An identity provider whose users can sign in.",
        validation = Rule::new("self.metadata.name.matches('^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')")
            .message("a provider's name has 1 to 63 characters: lower-case letters, digits and \"-\", with a letter or digit at both ends"),
        validation = Rule::new("!(self.metadata.name in ['user', 'local'])")
            .message("the names \"user\" and \"local\" are reserved; choose another name"),
        printcolumn(name = "Display Name", type_ = "string", json_path = ".spec.displayName"),
        printcolumn(name = "Enabled", type_ = "boolean", json_path = ".spec.enabled"),
        printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
        printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
    )
)]
#[cfg_attr(feature = "crd", x_kube(
    validation = Rule::new("has(self.oidc) == has(oldSelf.oidc) && has(self.github) == has(oldSelf.github) && has(self.ldap) == has(oldSelf.ldap) && (!has(self.oidc) || (self.oidc.issuer == oldSelf.oidc.issuer && self.oidc.clientId == oldSelf.oidc.clientId && self.oidc.groupsClaim == oldSelf.oidc.groupsClaim)) && (!has(self.github) || has(self.github.url) == has(oldSelf.github.url) && (!has(self.github.url) || self.github.url == oldSelf.github.url)) && (!has(self.ldap) || (self.ldap.schema == oldSelf.ldap.schema && has(self.ldap.users.idAttribute) == has(oldSelf.ldap.users.idAttribute) && (!has(self.ldap.users.idAttribute) || self.ldap.users.idAttribute == oldSelf.ldap.users.idAttribute) && (!has(self.ldap.groups) || !has(oldSelf.ldap.groups) || has(self.ldap.groups.idAttribute) == has(oldSelf.ldap.groups.idAttribute) && (!has(self.ldap.groups.idAttribute) || self.ldap.groups.idAttribute == oldSelf.ldap.groups.idAttribute))))")
        .message("the issuer or directory cannot change, because IDs of users and groups are valid for one provider only: create another AuthProvider"),
    validation = Rule::new("[has(self.oidc), has(self.github), has(self.ldap)].exists_one(set, set)")
        .message("set exactly one of oidc, github and ldap")
))]
#[serde(rename_all = "camelCase")]
pub struct AuthProviderSpec {
    /// Label of the button on the sign-in page. The default is the object's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 64)))]
    pub display_name: Option<String>,
    /// True if users can sign in. After a change to false, the sessions and open streams of the
    /// provider's users end within seconds.
    #[serde(default)]
    pub enabled: bool,
    /// True to end the user's session at the provider when the user signs out of Drover. For OpenID
    /// Connect, the browser opens the provider's `end_session_endpoint`, which must redirect to the
    /// server's URL. For GitHub, the server revokes the user's GitHub token when no Drover session
    /// or token depends on this GitHub token. For LDAP, the field has no effect.
    #[serde(default)]
    pub sign_out_there: bool,
    /// The users and groups that can sign in. If unset, all users of the provider can sign in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Allowed>,
    /// Configuration of an OpenID Connect provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oidc: Option<OidcSpec>,
    /// Configuration of GitHub or GitHub Enterprise Server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub github: Option<GithubSpec>,
    /// Configuration of an LDAP directory or Active Directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ldap: Option<LdapSpec>,
}

/// Users and groups that can sign in. A user can sign in if the user or one of the user's groups is
/// in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Allowed {
    /// IDs of users at the provider. Names of users are not valid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 1000), inner(length(min = 1, max = 253)))
    )]
    pub users: Vec<String>,
    /// IDs of groups at the provider. Names of groups are not valid.
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
    /// Name of the Secret in the namespace `drover-system`.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 253)))]
    pub name: String,
    /// Key in the Secret's data.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 253)))]
    pub key: String,
}

/// An OpenID provider (OpenID Connect Core 1.0 and Discovery 1.0).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct OidcSpec {
    /// URL of the issuer, exactly as in the provider's `issuer` field.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 2048)))]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new("self.startsWith('https://')")
        .message("must begin with https://: an attacker who can modify an issuer's responses can sign in as any user")))]
    pub issuer: String,
    /// Client ID of Drover at the provider.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 512)))]
    pub client_id: String,
    /// Client secret of Drover at the provider. If unset, Drover is a public client (RFC 6749).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretKey>,
    /// Additional scopes in authorization requests. Drover always requests the scope `openid`.
    #[serde(default = "oidc_scopes")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 32), inner(length(min = 1, max = 128)))
    )]
    pub scopes: Vec<String>,
    /// Claim that contains the list of the user's groups. A dot separates the names of nested
    /// objects.
    #[serde(default = "oidc_groups_claim")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 128)))]
    pub groups_claim: String,
    /// Claim that contains the user's login name at the provider.
    #[serde(default = "oidc_login_claim")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 128)))]
    pub login_claim: String,
    /// CA certificates in PEM format. One of these certificates must have issued the TLS
    /// certificate of the issuer. If unset, the server uses the system's CA certificates.
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
    /// URL of a GitHub Enterprise Server, `https://host`. The default is github.com.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 2048)))]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new("self.startsWith('https://')")
        .message("must begin with https://: an attacker who can modify GitHub's responses can sign in as any user")))]
    pub url: Option<String>,
    /// Client ID of the OAuth app.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 512)))]
    pub client_id: String,
    /// Client secret of the OAuth app.
    pub client_secret: SecretKey,
    /// CA certificates in PEM format. One of these certificates must have issued the TLS
    /// certificate of GitHub. If unset, the server uses the system's CA certificates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 65536)))]
    pub ca_bundle: Option<String>,
}

/// An LDAP directory (RFC 4511).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct LdapSpec {
    /// The schema of the directory. The schema determines the default attributes of users and
    /// groups.
    #[serde(default)]
    pub schema: LdapSchema,
    /// URLs of the LDAP servers: `ldaps://host[:port]`, or `ldap://host[:port]` with StartTLS.
    /// Drover tries the URLs in order.
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 8), inner(length(min = 1, max = 512)))
    )]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new("self.all(url, url.startsWith('ldaps://') || url.startsWith('ldap://'))")
        .message("each must begin with ldaps:// or, for StartTLS, with ldap://")))]
    pub servers: Vec<String>,
    /// CA certificates in PEM format. One of these certificates must have issued the TLS
    /// certificates of the LDAP servers. If unset, the server uses the system's CA certificates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 65536)))]
    pub ca_bundle: Option<String>,
    /// Distinguished name of the account that searches the directory.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 1024)))]
    pub bind_dn: String,
    /// Password of the account in `bindDn`.
    pub bind_password: SecretKey,
    /// The search for users.
    pub users: LdapUsers,
    /// The search for groups. If unset, users have no groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<LdapGroups>,
}

/// The schema of a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum LdapSchema {
    /// `inetOrgPerson` or `posixAccount`, as in OpenLDAP. IDs are `entryUUID` (RFC 4530).
    #[default]
    Posix,
    /// Active Directory. IDs are `objectGUID`.
    ActiveDirectory,
}

/// The search for users in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LdapUsers {
    /// Base DN of the search for users. The search includes the whole subtree.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 1024)))]
    pub base: String,
    /// Additional search filter (RFC 4515). If unset, the search includes all users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 4096)))]
    pub filter: Option<String>,
    /// Attribute with the login name. The default is `uid`, or `sAMAccountName` in Active
    /// Directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 128)))]
    pub login_attribute: Option<String>,
    /// Attribute with the user's ID. The ID must be unique and must never change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 128)))]
    pub id_attribute: Option<String>,
}

/// The search for groups in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LdapGroups {
    /// Base DN of the search for groups. The search includes the whole subtree.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 1024)))]
    pub base: String,
    /// Additional search filter (RFC 4515). If unset, the search includes all groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 4096)))]
    pub filter: Option<String>,
    /// Attribute with the members of the group. The values of `member` and `uniqueMember` are
    /// distinguished names. The values of `memberUid` are login names. The default is `member`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 128)))]
    pub member_attribute: Option<String>,
    /// Attribute with the group's ID. The ID must be unique and must never change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 128)))]
    pub id_attribute: Option<String>,
    /// True if the members of a nested group are also members of the outer group.
    #[serde(default)]
    pub nested: bool,
}

/// Observed state of an identity provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuthProviderStatus {
    /// Time of the provider's last response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_answer_at: Option<Time>,
    /// The condition `Ready`. True if the provider responds. Otherwise, the message contains the
    /// reason and the next step.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
}
