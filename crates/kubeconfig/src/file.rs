//! The parser of kubeconfigs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::url::{HttpsUrl, HttpsUrlError};

/// Maximum size of a kubeconfig, in bytes.
const MAX_BYTES: usize = 256 << 10;

/// The reason why a kubeconfig cannot be used. The text contains no values of the kubeconfig.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum KubeconfigError {
    /// The kubeconfig is too large.
    #[error("the kubeconfig has more than {MAX_BYTES} bytes")]
    Size,
    /// The kubeconfig is no YAML document with the fields of a kubeconfig.
    #[error("the kubeconfig is not valid YAML: error in line {line}, column {column}")]
    Yaml {
        /// Line of the error, from 1. 0 if unknown.
        line: u64,
        /// Column of the error, from 1. 0 if unknown.
        column: u64,
    },
    /// The current context, or its cluster or user, is missing.
    #[error(
        "the kubeconfig has no {0}; set current-context to a context with a cluster and a user"
    )]
    Missing(&'static str),
    /// The field would read a file, start a program, or weaken the connection.
    #[error("the kubeconfig contains the field {field}; {advice}")]
    Refused {
        /// Name of the field.
        field: &'static str,
        /// The alternative.
        advice: &'static str,
    },
    /// The URL of the API server is not valid.
    #[error("the field server of the kubeconfig is not valid: {0}")]
    Server(#[from] HttpsUrlError),
    /// The data of the field is not valid.
    #[error("the field {0} of the kubeconfig is not base64 of PEM")]
    Pem(&'static str),
    /// The user has no credential.
    #[error(
        "the user of the kubeconfig has no credential; set token, client-certificate-data with \
         client-key-data, or username with password"
    )]
    NoCredential,
    /// The user has two credentials for the same header.
    #[error("the user of the kubeconfig has a token and a password; remove one of them")]
    TwoCredentials,
}

/// The value of the header `Authorization`.
#[derive(Clone, Debug)]
pub enum Authorization {
    /// A bearer token.
    Token(SecretString),
    /// A user name and a password.
    Basic {
        /// The user name.
        username: String,
        /// The password.
        password: SecretString,
    },
}

/// A client certificate and its key, in PEM.
#[derive(Clone, Debug)]
pub struct ClientCertificate {
    /// The certificate chain.
    pub certificate: String,
    /// The private key.
    pub key: SecretString,
}

/// The access to an API server that the current context of a kubeconfig describes.
#[derive(Clone, Debug)]
pub struct Access {
    /// URL of the API server.
    pub server: HttpsUrl,
    /// Name in the certificate of the API server, if it differs from the host.
    pub tls_server_name: Option<String>,
    /// CA certificates in DER. Empty for the authorities of the system.
    pub authorities: Vec<CertificateDer<'static>>,
    /// CA certificates in PEM. Empty for the authorities of the system.
    pub authorities_pem: String,
    /// Namespace of the context.
    pub namespace: Option<String>,
    /// Value of the header `Authorization`.
    pub authorization: Option<Authorization>,
    /// The client certificate.
    pub certificate: Option<ClientCertificate>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    #[serde(default)]
    current_context: Option<String>,
    #[serde(default)]
    contexts: Option<Vec<NamedContext>>,
    #[serde(default)]
    clusters: Option<Vec<NamedCluster>>,
    #[serde(default)]
    users: Option<Vec<NamedUser>>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Deserialize)]
struct Context {
    cluster: String,
    user: String,
    #[serde(default)]
    namespace: Option<String>,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: Cluster,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster {
    server: String,
    #[serde(default)]
    tls_server_name: Option<String>,
    #[serde(default)]
    certificate_authority_data: Option<String>,
    #[serde(default)]
    certificate_authority: Option<Value>,
    #[serde(default)]
    insecure_skip_tls_verify: Option<Value>,
    #[serde(default)]
    proxy_url: Option<Value>,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    user: User,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct User {
    #[serde(default)]
    token: Option<SecretText>,
    #[serde(default)]
    username: Option<String>,
    #[serde(default)]
    password: Option<SecretText>,
    #[serde(default)]
    client_certificate_data: Option<String>,
    #[serde(default)]
    client_key_data: Option<SecretText>,
    #[serde(default)]
    exec: Option<Value>,
    #[serde(default)]
    auth_provider: Option<Value>,
    #[serde(default, rename = "tokenFile")]
    token_file: Option<Value>,
    #[serde(default)]
    client_certificate: Option<Value>,
    #[serde(default)]
    client_key: Option<Value>,
    #[serde(default, rename = "as")]
    impersonated: Option<Value>,
    #[serde(default)]
    as_uid: Option<Value>,
    #[serde(default)]
    as_groups: Option<Value>,
    #[serde(default)]
    as_user_extra: Option<Value>,
}

/// A text without debug output.
struct SecretText(SecretString);

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(SecretString::from(text)))
    }
}

const DATA: &str = "use the field with the suffix -data, with the content of the file in base64";
const PROGRAM: &str =
    "the server starts no programs of a kubeconfig; use the token of a service account";
const DIRECT: &str =
    "the server uses no proxy and no impersonation of a kubeconfig; remove the field";
const INSECURE: &str =
    "use certificate-authority-data, so that the server can verify the API server";
const TOKEN: &str = "use the field token";

/// Parses a kubeconfig of an untrusted user. Only the current context counts.
///
/// # Errors
///
/// The kubeconfig has another form, names files or programs, has no TLS, or has no credential.
pub fn parse(bytes: &[u8]) -> Result<Access, KubeconfigError> {
    if bytes.len() > MAX_BYTES {
        return Err(KubeconfigError::Size);
    }
    let (line, column) = (0, 0);
    let text = std::str::from_utf8(bytes).map_err(|_| KubeconfigError::Yaml { line, column })?;
    let file: File = serde_saphyr::from_str(text).map_err(|error| {
        // The message of the error contains parts of the text.
        let at = error.location();
        KubeconfigError::Yaml {
            line: at.map_or(0, |at| at.line()),
            column: at.map_or(0, |at| at.column()),
        }
    })?;
    let current = file.current_context.unwrap_or_default();
    let mut contexts = file.contexts.unwrap_or_default().into_iter();
    let context = contexts.find(|context| context.name == current);
    let context = context.ok_or(KubeconfigError::Missing("current context"))?;
    let Context {
        cluster,
        user,
        namespace,
    } = context.context;
    let mut clusters = file.clusters.unwrap_or_default().into_iter();
    let cluster = clusters.find(|found| found.name == cluster);
    let cluster = cluster.ok_or(KubeconfigError::Missing("cluster of the current context"))?;
    let mut users = file.users.unwrap_or_default().into_iter();
    let user = users.find(|found| found.name == user);
    let user = user.ok_or(KubeconfigError::Missing("user of the current context"))?;
    access(cluster.cluster, user.user, namespace)
}

fn access(
    cluster: Cluster,
    user: User,
    namespace: Option<String>,
) -> Result<Access, KubeconfigError> {
    refuse_files_and_programs(&user)?;
    refuse_weak_connections(&cluster)?;
    let server = HttpsUrl::parse(&cluster.server)?;
    let (authorities, authorities_pem) = authorities(cluster.certificate_authority_data)?;
    let authorization = authorization(user.token, user.username, user.password)?;
    let certificate = certificate(user.client_certificate_data, user.client_key_data)?;
    if authorization.is_none() && certificate.is_none() {
        return Err(KubeconfigError::NoCredential);
    }
    let text = |text: Option<String>| text.filter(|text| !text.is_empty());
    Ok(Access {
        server,
        tls_server_name: text(cluster.tls_server_name),
        authorities,
        authorities_pem,
        namespace: text(namespace),
        authorization,
        certificate,
    })
}

/// Refuses fields that would start a program, read a file of this machine, or change the user.
fn refuse_files_and_programs(user: &User) -> Result<(), KubeconfigError> {
    refuse("exec", user.exec.as_ref(), PROGRAM)?;
    refuse("auth-provider", user.auth_provider.as_ref(), PROGRAM)?;
    refuse("tokenFile", user.token_file.as_ref(), TOKEN)?;
    refuse("client-certificate", user.client_certificate.as_ref(), DATA)?;
    refuse("client-key", user.client_key.as_ref(), DATA)?;
    refuse("as", user.impersonated.as_ref(), DIRECT)?;
    refuse("as-uid", user.as_uid.as_ref(), DIRECT)?;
    refuse("as-groups", user.as_groups.as_ref(), DIRECT)?;
    refuse("as-user-extra", user.as_user_extra.as_ref(), DIRECT)
}

/// Refuses fields that would read a file of this machine, or connect without verification.
fn refuse_weak_connections(cluster: &Cluster) -> Result<(), KubeconfigError> {
    let authority = cluster.certificate_authority.as_ref();
    refuse("certificate-authority", authority, DATA)?;
    refuse("proxy-url", cluster.proxy_url.as_ref(), DIRECT)?;
    let insecure = cluster.insecure_skip_tls_verify.as_ref();
    refuse("insecure-skip-tls-verify", insecure, INSECURE)
}

/// Refuses a field unless its value is the zero value of its type, which programs can write.
fn refuse(
    field: &'static str,
    value: Option<&Value>,
    advice: &'static str,
) -> Result<(), KubeconfigError> {
    let is_absent = match value {
        None | Some(Value::Null | Value::Bool(false)) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        Some(Value::Object(map)) => map.is_empty(),
        Some(_) => false,
    };
    if is_absent {
        return Ok(());
    }
    Err(KubeconfigError::Refused { field, advice })
}

fn authorities(
    data: Option<String>,
) -> Result<(Vec<CertificateDer<'static>>, String), KubeconfigError> {
    const FIELD: &str = "certificate-authority-data";
    let Some(data) = data.filter(|data| !data.is_empty()) else {
        return Ok((Vec::new(), String::new()));
    };
    let text = decode(FIELD, &data)?;
    let found: Vec<_> = CertificateDer::pem_slice_iter(text.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|_| KubeconfigError::Pem(FIELD))?;
    // Without an authority, the connection would trust the authorities of the system.
    if found.is_empty() {
        return Err(KubeconfigError::Pem(FIELD));
    }
    Ok((found, text))
}

fn authorization(
    token: Option<SecretText>,
    username: Option<String>,
    password: Option<SecretText>,
) -> Result<Option<Authorization>, KubeconfigError> {
    use secrecy::ExposeSecret as _;

    let full = |text: &SecretText| !text.0.expose_secret().is_empty();
    let token = token.filter(full).map(|token| token.0);
    let password = password.filter(full).map(|password| password.0);
    match (token, username.filter(|name| !name.is_empty()), password) {
        (Some(token), None, None) => Ok(Some(Authorization::Token(token))),
        (None, Some(username), Some(password)) => {
            Ok(Some(Authorization::Basic { username, password }))
        }
        (Some(_), _, _) => Err(KubeconfigError::TwoCredentials),
        (None, Some(_), None) | (None, None, Some(_)) => Err(KubeconfigError::NoCredential),
        (None, None, None) => Ok(None),
    }
}

fn certificate(
    certificate: Option<String>,
    key: Option<SecretText>,
) -> Result<Option<ClientCertificate>, KubeconfigError> {
    use secrecy::ExposeSecret as _;

    const CERTIFICATE: &str = "client-certificate-data";
    const KEY: &str = "client-key-data";
    let certificate = certificate.filter(|data| !data.is_empty());
    let key = key.filter(|data| !data.0.expose_secret().is_empty());
    let (certificate, key) = match (certificate, key) {
        (Some(certificate), Some(key)) => (certificate, key),
        (None, None) => return Ok(None),
        (Some(_), None) => return Err(KubeconfigError::Pem(KEY)),
        (None, Some(_)) => return Err(KubeconfigError::Pem(CERTIFICATE)),
    };
    let certificate = decode(CERTIFICATE, &certificate)?;
    CertificateDer::from_pem_slice(certificate.as_bytes())
        .map_err(|_| KubeconfigError::Pem(CERTIFICATE))?;
    let key = SecretString::from(decode(KEY, key.0.expose_secret())?);
    PrivateKeyDer::from_pem_slice(key.expose_secret().as_bytes())
        .map_err(|_| KubeconfigError::Pem(KEY))?;
    Ok(Some(ClientCertificate { certificate, key }))
}

fn decode(field: &'static str, data: &str) -> Result<String, KubeconfigError> {
    // Lines of wrapped base64 can end with white space.
    let compact: String = data.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(compact);
    let bytes = bytes.map_err(|_| KubeconfigError::Pem(field))?;
    String::from_utf8(bytes).map_err(|_| KubeconfigError::Pem(field))
}

#[cfg(test)]
mod tests;
