//! The credentials of a control plane: certificate authorities, certificates of its programs, and
//! credentials of users.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::error::StartError;
use super::folder::Folder;
use super::{API_SERVICE_IP, Options};
use crate::pki::{Authority, CertificateFiles, KeyedCertificate, PkiError, open_key, write};

/// The credentials of one user of a cluster.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The client certificate of the user, with its key.
    pub certificate: KeyedCertificate,
    /// A kubeconfig with the user's certificate and key.
    pub kubeconfig: String,
}

/// The certificate authorities of a control plane, and the certificate files of its programs.
pub(super) struct Credentials {
    authority: Authority,
    pub(super) ca: String,
    pub(super) ca_file: PathBuf,
    pub(super) ca_key_file: PathBuf,
    pub(super) serving: CertificateFiles,
    pub(super) kubelet_client: CertificateFiles,
    pub(super) front_proxy_ca_file: PathBuf,
    pub(super) front_proxy_client: CertificateFiles,
    pub(super) service_account_key_file: PathBuf,
    pub(super) service_account_public_file: PathBuf,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Credentials")
            .field("ca_file", &self.ca_file)
            .finish_non_exhaustive()
    }
}

impl Credentials {
    /// Creates the credentials in a folder. Reuses keys that exist in the folder.
    pub(super) fn open(folder: &Folder, options: &Options) -> Result<Self, StartError> {
        let pki = folder.pki();
        let authority = Authority::open(&pki, "ca")?;
        let front_proxy = Authority::open(&pki, "front-proxy-ca")?;
        let service_account_key_file = pki.join("service-account.key");
        let public = open_key(&service_account_key_file)?.public_key_pem();
        write(&pki.join("service-account.pub"), &public)?;
        let serving = authority.server("kube-apiserver", &api_server_names(options))?;
        let kubelet_client = authority.client("kube-apiserver", Some("system:masters"))?;
        let front_proxy_client = front_proxy.client("front-proxy-client", None)?;
        Ok(Self {
            ca: authority.certificate(),
            ca_file: pki.join("ca.crt"),
            ca_key_file: pki.join("ca.key"),
            serving: serving.write(&pki, "kube-apiserver")?,
            kubelet_client: kubelet_client.write(&pki, "kubelet-client")?,
            front_proxy_ca_file: pki.join("front-proxy-ca.crt"),
            front_proxy_client: front_proxy_client.write(&pki, "front-proxy-client")?,
            service_account_public_file: pki.join("service-account.pub"),
            service_account_key_file,
            authority,
        })
    }

    pub(super) fn identity(
        &self,
        url: &str,
        cluster: &str,
        user: &str,
        group: Option<&str>,
    ) -> Result<Identity, PkiError> {
        let certificate = self.authority.client(user, group)?;
        Ok(Identity {
            kubeconfig: kubeconfig(cluster, url, &self.ca, user, &certificate),
            certificate,
        })
    }

    /// Creates a server certificate for a server of this cluster, for example a kubelet. The API
    /// server has a separate certificate.
    pub(super) fn server(
        &self,
        name: &str,
        alternatives: &[String],
    ) -> Result<KeyedCertificate, PkiError> {
        self.authority.server(name, alternatives)
    }
}

/// Returns the DNS names and IP addresses of the API server.
fn api_server_names(options: &Options) -> Vec<String> {
    let mut names = vec![
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        API_SERVICE_IP.to_owned(),
        "kubernetes".to_owned(),
        "kubernetes.default".to_owned(),
        "kubernetes.default.svc".to_owned(),
        "kubernetes.default.svc.cluster.local".to_owned(),
    ];
    if !options.address.is_loopback() {
        names.push(options.address.to_string());
    }
    names
}

/// Returns a kubeconfig without references to files. The text is JSON, and therefore also YAML.
fn kubeconfig(
    cluster: &str,
    url: &str,
    ca: &str,
    user: &str,
    certificate: &KeyedCertificate,
) -> String {
    let document = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": {
            "server": url,
            "certificate-authority-data": STANDARD.encode(ca),
        }}],
        "users": [{"name": user, "user": {
            "client-certificate-data": STANDARD.encode(&certificate.certificate),
            "client-key-data": STANDARD.encode(&certificate.key),
        }}],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": user}}],
        "current-context": cluster,
    });
    format!("{document:#}\n")
}
