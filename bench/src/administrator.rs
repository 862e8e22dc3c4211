//! The API of the measured server, with an administrator's permissions.

use std::io;
use std::path::{Path, PathBuf};

use drover_e2e::{CommandError, DemoServer};
use http::Request;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use serde_json::Value;

use crate::certificate::{self, CertificateError};
use crate::manifest;

/// Name of the Cluster from whose manifest the benchmark reads the server's certificate authority. No agent
/// connects to this Cluster.
pub(crate) const IMPORTED: &str = "of-nobody";

/// The reason why a request of the administrator failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AdministratorError {
    /// A command failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The server's certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// A file cannot be written.
    #[error("cannot write {path}")]
    Write { path: PathBuf, source: io::Error },
    /// The server rejected a request.
    #[error("{content}")]
    Refused {
        content: String,
        source: Box<kube::Error>,
    },
    /// A response cannot be parsed.
    #[error("cannot parse {content}")]
    Unreadable { content: &'static str },
}

/// A client with a token of the first administrator. Clones share the client.
#[derive(Clone)]
pub(crate) struct Administrator {
    api: kube::Client,
    config: kube::Config,
    bearer: String,
    authority: PathBuf,
}

impl Administrator {
    /// Signs in to the server and creates a client. Writes the server's CA certificate to `folder`.
    pub(crate) async fn of(server: &DemoServer, folder: &Path) -> Result<Self, AdministratorError> {
        let bearer = format!("Bearer {}", token(server).await?);
        let authority = authority(server, folder).await?;
        let unusable = |_| AdministratorError::Unreadable {
            content: "the server's address",
        };
        let mut config = kube::Config::new(server.url().parse().map_err(unusable)?);
        let roots = certificate::certificates(&authority)?;
        config.root_cert = Some(roots.iter().map(|root| root.to_vec()).collect());
        let api = client(&config)?;
        Ok(Self {
            api,
            config,
            bearer,
            authority,
        })
    }

    /// Returns a copy that sends each request once. The Kubernetes client otherwise repeats requests,
    /// also those that change objects, after some responses.
    pub(crate) fn without_retries(&self) -> Result<Self, AdministratorError> {
        let mut config = self.config.clone();
        config.default_retry = false;
        Ok(Self {
            api: client(&config)?,
            config,
            ..self.clone()
        })
    }

    /// Creates a client of the hub's Kubernetes API.
    pub(crate) fn hub_client(&self) -> Result<kube::Client, AdministratorError> {
        let mut config = self.config.clone();
        let unusable = |_| AdministratorError::Unreadable {
            content: "the address of the hub",
        };
        let url = format!("{}k8s/clusters/local", config.cluster_url);
        config.cluster_url = url.parse().map_err(unusable)?;
        let token = self.bearer.trim_start_matches("Bearer ");
        config.auth_info.token = Some(token.to_owned().into());
        // Watches have no events while nothing changes.
        config.read_timeout = None;
        client(&config)
    }

    /// Returns the value of the `Authorization` header.
    pub(crate) fn bearer(&self) -> &str {
        &self.bearer
    }

    /// Returns the PEM file of the server's certificate authority.
    pub(crate) fn authority(&self) -> &Path {
        &self.authority
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Result<Value, AdministratorError> {
        let request = Request::post(path)
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, &self.bearer)
            .body(body.to_string().into_bytes())
            .expect("path and headers are valid");
        let answered = self.api.request(request).await;
        answered.map_err(refused(&format!("POST {path}")))
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<(), AdministratorError> {
        let request = Request::delete(path)
            .header(AUTHORIZATION, &self.bearer)
            .body(Vec::new())
            .expect("path and header are valid");
        let answered = self.api.request_text(request).await;
        answered
            .map(drop)
            .map_err(refused(&format!("DELETE {path}")))
    }

    pub(crate) async fn get(&self, path: &str) -> Result<String, AdministratorError> {
        let request = Request::get(path)
            .header(AUTHORIZATION, &self.bearer)
            .body(Vec::new())
            .expect("path and header are valid");
        let answered = self.api.request_text(request).await;
        answered.map_err(refused(&format!("GET {path}")))
    }
}

fn client(config: &kube::Config) -> Result<kube::Client, AdministratorError> {
    kube::Client::try_from(config.clone()).map_err(refused("cannot create a client"))
}

fn refused(content: &str) -> impl Fn(kube::Error) -> AdministratorError {
    let content = content.to_owned();
    move |source| AdministratorError::Refused {
        content: content.clone(),
        source: Box::new(source),
    }
}

/// Creates an API token of the administrator.
async fn token(server: &DemoServer) -> Result<String, AdministratorError> {
    let words = ["token", "create", "--output", "json"];
    let answer = server.command_line().run(words).await?.stdout;
    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
    let token = answer["token"].as_str().map(str::to_owned);
    token.ok_or(AdministratorError::Unreadable {
        content: "the output of \"drover token create\"",
    })
}

/// Writes the server's certificate authority to a file.
async fn authority(server: &DemoServer, folder: &Path) -> Result<PathBuf, AdministratorError> {
    let words = ["cluster", "import", IMPORTED];
    let answer = server.command_line().run(words).await?.stdout;
    let objects = manifest::in_namespace(&answer, "of-nobody").unwrap_or_default();
    let found = objects
        .iter()
        .find_map(|object| object["data"]["server-ca.crt"].as_str());
    let found = found.ok_or(AdministratorError::Unreadable {
        content: "the output of \"drover cluster import\"",
    })?;
    let path = folder.join("server-ca.crt");
    std::fs::write(&path, found).map_err(|source| AdministratorError::Write {
        path: path.clone(),
        source,
    })?;
    Ok(path)
}
