//! The address and credentials of a repository, from a GitRepo and its Secret.

use std::collections::BTreeMap;

use drover_api::fleet::GitRepo;
use drover_git::{Auth, Reference, Source};
use drover_hub::{HubError, call};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client, ResourceExt as _};
use secrecy::SecretString;
use thiserror::Error;

/// Name of the Secret with the credential if a GitRepo names no Secret.
const DEFAULT_SECRET: &str = "gitcredential";
/// Namespace and name of the ConfigMap with the SSH host keys of all repositories.
const KNOWN_HOSTS: (&str, &str) = ("cattle-fleet-system", "known-hosts");

/// The reason why a GitRepo has no usable address.
#[derive(Debug, Error)]
pub(crate) enum SourceError {
    /// A read from the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The named Secret does not exist.
    #[error(
        "spec.clientSecretName: the Secret {0} does not exist in the namespace of the GitRepo; create it \
         with the type kubernetes.io/basic-auth or kubernetes.io/ssh-auth"
    )]
    NoSecret(String),
    /// The Secret has an unsupported type.
    #[error(
        "spec.clientSecretName: the Secret {name} has the type {found}; use kubernetes.io/basic-auth or \
         kubernetes.io/ssh-auth"
    )]
    SecretType {
        /// Name of the Secret.
        name: String,
        /// Type of the Secret.
        found: String,
    },
    /// An entry of the Secret is missing or is not text.
    #[error(
        "spec.clientSecretName: the entry {entry} of the Secret {name} is missing or is not UTF-8 text"
    )]
    SecretEntry {
        /// Name of the Secret.
        name: String,
        /// The entry.
        entry: &'static str,
    },
    /// The CA bundle is not text.
    #[error("spec.caBundle: the value is not PEM text")]
    CaBundle,
    /// The GitRepo has no URL.
    #[error("spec.repo: set the URL of the repository")]
    NoUrl,
}

/// Returns the address and credentials of a GitRepo's repository.
pub(super) async fn source(client: &Client, repo: &GitRepo) -> Result<Source, SourceError> {
    let spec = &repo.spec;
    if spec.repo.is_empty() {
        return Err(SourceError::NoUrl);
    }
    let mut source = Source::anonymous(spec.repo.clone());
    source.insecure_skip_tls_verify = spec.insecure_skip_tls_verify;
    if let Some(bundle) = &spec.ca_bundle {
        let text = String::from_utf8(bundle.0.clone()).map_err(|_| SourceError::CaBundle)?;
        source.ca_bundle = Some(text);
    }
    let secrets = Api::<Secret>::namespaced(client.clone(), &repo.namespace().unwrap_or_default());
    let (name, is_required) = match &*spec.client_secret_name {
        "" => (DEFAULT_SECRET, false),
        name => (name, true),
    };
    let secret = call("read the credential of a repository", secrets.get_opt(name)).await?;
    match secret {
        Some(secret) => add_credential(&mut source, name, &secret)?,
        None if is_required => return Err(SourceError::NoSecret(name.to_owned())),
        None => {}
    }
    if source.known_hosts.is_empty() && matches!(source.auth, Auth::Ssh { .. }) {
        source.known_hosts = known_hosts(client).await?;
    }
    Ok(source)
}

/// Returns the commit, tag or branch that a GitRepo selects.
pub(super) fn reference(repo: &GitRepo) -> Reference {
    match (&*repo.spec.revision, &*repo.spec.branch) {
        ("", "") => Reference::Branch("master".to_owned()),
        ("", branch) => Reference::Branch(branch.to_owned()),
        (revision, _) => Reference::revision(revision),
    }
}

fn add_credential(source: &mut Source, name: &str, secret: &Secret) -> Result<(), SourceError> {
    let data = secret.data.as_ref();
    match secret.type_.as_deref().unwrap_or("Opaque") {
        "kubernetes.io/basic-auth" => {
            let username = entry(name, data, "username").unwrap_or_default();
            let password = entry(name, data, "password")?;
            source.auth = Auth::Basic {
                username,
                password: SecretString::from(password),
            };
        }
        "kubernetes.io/ssh-auth" => {
            let private_key = SecretString::from(entry(name, data, "ssh-privatekey")?);
            source.auth = Auth::Ssh { private_key };
            source.known_hosts = entry(name, data, "known_hosts").unwrap_or_default();
        }
        found => {
            return Err(SourceError::SecretType {
                name: name.to_owned(),
                found: found.to_owned(),
            });
        }
    }
    Ok(())
}

fn entry(
    name: &str,
    data: Option<&BTreeMap<String, ByteString>>,
    entry: &'static str,
) -> Result<String, SourceError> {
    let bytes = data.and_then(|data| data.get(entry));
    bytes
        .and_then(|bytes| String::from_utf8(bytes.0.clone()).ok())
        .ok_or_else(|| SourceError::SecretEntry {
            name: name.to_owned(),
            entry,
        })
}

/// Returns the SSH host keys of all repositories.
pub(super) async fn known_hosts(client: &Client) -> Result<String, SourceError> {
    let (namespace, name) = KNOWN_HOSTS;
    let config_maps = Api::<ConfigMap>::namespaced(client.clone(), namespace);
    let found = call("read the SSH host keys", config_maps.get_opt(name)).await?;
    let data = found.and_then(|found| found.data);
    Ok(data
        .and_then(|mut data| data.remove("known_hosts"))
        .unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(kind: &str, entries: &[(&str, &str)]) -> Secret {
        let entries = entries.iter();
        let data =
            entries.map(|(key, value)| ((*key).to_owned(), ByteString(value.as_bytes().to_vec())));
        Secret {
            type_: Some(kind.to_owned()),
            data: Some(data.collect()),
            ..Secret::default()
        }
    }

    #[test]
    fn type_of_the_secret_selects_the_credential() {
        let mut source = Source::anonymous("https://git.example/shop.git");
        let basic = secret("kubernetes.io/basic-auth", &[("password", "p")]);
        add_credential(&mut source, "git", &basic).unwrap();
        assert!(matches!(&source.auth, Auth::Basic { username, .. } if username.is_empty()));
        let entries = [
            ("ssh-privatekey", "key"),
            ("known_hosts", "git.example ssh-ed25519 A"),
        ];
        let ssh = secret("kubernetes.io/ssh-auth", &entries);
        add_credential(&mut source, "git", &ssh).unwrap();
        assert!(matches!(source.auth, Auth::Ssh { .. }));
        assert_eq!(source.known_hosts, "git.example ssh-ed25519 A");
        for wrong in [secret("Opaque", &[]), secret("kubernetes.io/ssh-auth", &[])] {
            assert!(add_credential(&mut source, "git", &wrong).is_err());
        }
    }

    #[test]
    fn revision_has_priority_over_branch_and_master_is_the_default() {
        let mut repo = GitRepo::default();
        assert_eq!(reference(&repo), Reference::Branch("master".to_owned()));
        repo.spec.branch = "main".to_owned();
        assert_eq!(reference(&repo), Reference::Branch("main".to_owned()));
        repo.spec.revision = "v1".to_owned();
        assert_eq!(reference(&repo), Reference::Tag("v1".to_owned()));
    }
}
