//! HTTP clients with the trusted certificates of a request.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Certificate, Client, redirect};

use super::super::Target;
use super::super::addresses::Resolver;
use crate::error::GitError;

/// The longest time for a new connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// The longest time without a byte of the server.
const READ_TIMEOUT: Duration = Duration::from_mins(1);
/// Most clients that a worker keeps for the connections of its next requests.
const MAX_CLIENTS: usize = 16;

/// The trusted certificates, whether any certificate is accepted, and the host of the configured repository.
type Key = (Option<String>, bool, Arc<str>);

/// The clients of a worker, each with the settings that decide whom the client trusts.
#[derive(Default)]
pub(crate) struct Clients {
    kept: Vec<(Key, Client)>,
    system: Option<Vec<Certificate>>,
}

impl Clients {
    /// Returns the client for a target.
    pub(crate) fn get(&mut self, target: &Target) -> Result<Client, GitError> {
        let key = (
            target.ca_bundle.clone(),
            target.insecure_skip_tls_verify,
            Arc::clone(&target.home),
        );
        if let Some((_, client)) = self.kept.iter().find(|(kept, _)| *kept == key) {
            return Ok(client.clone());
        }
        let client = self.create(target)?;
        if self.kept.len() >= MAX_CLIENTS {
            self.kept.remove(0);
        }
        self.kept.push((key, client.clone()));
        Ok(client)
    }

    fn create(&mut self, target: &Target) -> Result<Client, GitError> {
        let mut trusted = self.system.get_or_insert_with(system_certificates).clone();
        if let Some(bundle) = target
            .ca_bundle
            .as_deref()
            .filter(|text| !text.trim().is_empty())
        {
            trusted.extend(parse_bundle(bundle)?);
        }
        let builder = Client::builder()
            .redirect(redirect::Policy::none())
            .dns_resolver(Arc::new(Resolver {
                home: Arc::clone(&target.home),
            }))
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .pool_max_idle_per_host(1)
            .referer(false)
            .user_agent(concat!("git/2.0 (drover ", env!("CARGO_PKG_VERSION"), ")"));
        let builder = if target.insecure_skip_tls_verify {
            builder.danger_accept_invalid_certs(true)
        } else {
            builder.tls_certs_only(trusted)
        };
        builder.build().map_err(|error| GitError::InvalidCaBundle {
            reason: super::answer::innermost(&error),
        })
    }
}

fn parse_bundle(bundle: &str) -> Result<Vec<Certificate>, GitError> {
    let invalid = |reason: String| GitError::InvalidCaBundle { reason };
    let found = Certificate::from_pem_bundle(bundle.as_bytes())
        .map_err(|error| invalid(super::answer::innermost(&error)))?;
    if found.is_empty() {
        return Err(invalid("no block `BEGIN CERTIFICATE`".to_owned()));
    }
    Ok(found)
}

/// Returns the certificates of the operating system. Drover's images contain no certificates, so
/// that the program then uses Mozilla's list.
fn system_certificates() -> Vec<Certificate> {
    let mut store = rustls::RootCertStore::empty();
    let mut accepted = |der: rustls::pki_types::CertificateDer<'static>| {
        store.add(der.clone()).ok()?;
        Certificate::from_der(&der).ok()
    };
    let system: Vec<Certificate> = rustls_native_certs::load_native_certs()
        .certs
        .into_iter()
        .filter_map(&mut accepted)
        .collect();
    if !system.is_empty() {
        return system;
    }
    let mozilla = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
    mozilla.filter_map(|der| accepted(der.clone())).collect()
}
