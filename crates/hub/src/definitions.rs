//! Installs and upgrades the CustomResourceDefinitions of Drover's kinds and of Fleet's kinds on the
//! hub. Never downgrades a definition, and never changes a definition that Fleet installed.

mod fleet;

use std::time::Duration;

use drover_api::group::SERVER_FIELD_MANAGER;
use drover_api::kinds::definitions;
use futures::future::try_join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use thiserror::Error;
use tokio::time::{Instant, sleep};

use super::{HubError, call};

/// The annotation with the [`SCHEMA_REVISION`] of a definition.
pub const REVISION_ANNOTATION: &str = "management.drover.dev/schema-revision";
/// The revision of the schemas. Increase the revision by 1 when a released schema changes.
pub const SCHEMA_REVISION: u32 = 1;
/// The timeout to wait until the API server serves a new kind.
const ESTABLISH_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of attempts to write a definition while a different client changes the
/// definition.
const MAX_ATTEMPTS: usize = 5;

/// The error of [`install`].
#[derive(Debug, Error)]
pub enum InstallError {
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// A server of a newer version installed the definition.
    #[error(
        "the schema revision {found} of the hub's kind {kind} is newer than the schema revision \
         {SCHEMA_REVISION} of this server: upgrade the server"
    )]
    Newer {
        /// The name of the definition.
        kind: String,
        /// The revision of the stored definition.
        found: u32,
    },
    /// The revision annotation of the stored definition is not a number.
    #[error(
        "the annotation {REVISION_ANNOTATION} of the hub's kind {kind} is not a number: set the \
         annotation to the schema revision of the server that installed the kind"
    )]
    Unreadable {
        /// The name of the definition.
        kind: String,
    },
    /// The API server does not serve the kind within 30 s after its installation.
    #[error(
        "the hub did not serve the kind {kind} within {seconds} s after the installation; check \
         the conditions of the CustomResourceDefinition", seconds = ESTABLISH_TIMEOUT.as_secs()
    )]
    NotEstablished {
        /// The name of the definition.
        kind: String,
    },
}

/// Installs or upgrades every definition, and waits until the hub serves the kinds.
pub async fn install(client: &Client) -> Result<(), InstallError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let own = definitions()
        .into_iter()
        .map(|kind| (kind, Present::Replaced));
    let of_fleet = fleet::definitions()
        .into_iter()
        .map(|kind| (kind, Present::Kept));
    let installed = own.chain(of_fleet).map(async |(definition, present)| {
        let name = definition.name_any();
        let stored = install_one(&api, definition, present).await?;
        if is_established(&stored) {
            return Ok(());
        }
        wait_until_established(&api, &name).await
    });
    try_join_all(installed).await?;
    Ok(())
}

/// The rule for a stored definition without the annotation of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Present {
    /// The server replaces the definition.
    Replaced,
    /// The server keeps the definition, because Fleet's chart installed it.
    Kept,
}

/// Writes a definition and returns the stored definition.
async fn install_one(
    api: &Api<CustomResourceDefinition>,
    mut definition: CustomResourceDefinition,
    present: Present,
) -> Result<CustomResourceDefinition, InstallError> {
    let name = definition.name_any();
    definition
        .annotations_mut()
        .insert(REVISION_ANNOTATION.to_owned(), SCHEMA_REVISION.to_string());
    let params = PatchParams::apply(SERVER_FIELD_MANAGER).force();
    let mut attempt = 1;
    loop {
        let stored = call("read a kind's definition", api.get_opt(&name)).await?;
        if let Some(stored) = &stored {
            refuse_newer(&name, stored)?;
            let is_foreign = !stored.annotations().contains_key(REVISION_ANNOTATION);
            if is_foreign && present == Present::Kept {
                return Ok(stored.clone());
            }
        }
        // With the resource version of the checked definition, a concurrent write of a newer server
        // causes a conflict.
        definition.metadata.resource_version = stored.and_then(|s| s.metadata.resource_version);
        let patch = Patch::Apply(&definition);
        let written = api.patch(&name, &params, &patch);
        match call("install a kind's definition", written).await {
            Ok(stored) => return Ok(stored),
            Err(error) if error.is_conflict() && attempt < MAX_ATTEMPTS => attempt += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Rejects a stored definition of a newer server version, because an older schema can drop fields
/// of stored objects.
fn refuse_newer(name: &str, stored: &CustomResourceDefinition) -> Result<(), InstallError> {
    let Some(text) = stored.annotations().get(REVISION_ANNOTATION) else {
        return Ok(());
    };
    match text.parse::<u32>() {
        Ok(found) if found > SCHEMA_REVISION => Err(InstallError::Newer {
            kind: name.to_owned(),
            found,
        }),
        Ok(_) => Ok(()),
        Err(_) => Err(InstallError::Unreadable {
            kind: name.to_owned(),
        }),
    }
}

async fn wait_until_established(
    api: &Api<CustomResourceDefinition>,
    name: &str,
) -> Result<(), InstallError> {
    let deadline = Instant::now() + ESTABLISH_TIMEOUT;
    while Instant::now() < deadline {
        let definition = call("read a kind's definition", api.get(name)).await?;
        if is_established(&definition) {
            return Ok(());
        }
        sleep(Duration::from_millis(100)).await;
    }
    Err(InstallError::NotEstablished {
        kind: name.to_owned(),
    })
}

fn is_established(definition: &CustomResourceDefinition) -> bool {
    let conditions = definition
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Established" && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The base64 SHA-256 digest of the definitions at [`SCHEMA_REVISION`].
    const DIGEST: &str = "UoCiS0COhvRc/Hg0DmlSZjQrL8vxZBu7m8anAvBqafw=";

    #[test]
    fn changed_crd_schemas_require_a_new_schema_revision() {
        use base64::Engine as _;
        let text = serde_json::to_vec(&(definitions(), fleet::definitions())).unwrap();
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &text);
        let digest = base64::engine::general_purpose::STANDARD.encode(digest);
        assert_eq!(
            digest, DIGEST,
            "the schemas changed: increase SCHEMA_REVISION if a release has the current revision, and \
             update DIGEST"
        );
    }

    #[test]
    fn schema_of_newer_server_is_not_replaced() {
        let mut stored = definitions().remove(0);
        for (revision, refused) in [
            (None, false),
            (Some("0".to_owned()), false),
            (Some(SCHEMA_REVISION.to_string()), false),
            (Some((SCHEMA_REVISION + 1).to_string()), true),
            (Some("next".to_owned()), true),
        ] {
            stored.metadata.annotations = revision
                .clone()
                .map(|text| [(REVISION_ANNOTATION.to_owned(), text)].into());
            let result = refuse_newer("clusters", &stored);
            assert_eq!(result.is_err(), refused, "{revision:?}");
        }
    }
}
