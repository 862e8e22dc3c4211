//! Writes and deletes the objects of a granted ClusterRegistration: the service account of the agent,
//! and the Secret with its token that the agent reads once.

use drover_api::fleet::ClusterRegistration;
use drover_api::fleet::labels::{
    CLUSTER, CLUSTER_REGISTRATION, CLUSTER_REGISTRATION_NAMESPACE, SECRET_TYPE_AGENT_CREDENTIAL,
};
use drover_gitops::ids::{credential_secret_name, safe_concat_name};
use drover_hub::{HubError, call};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding};
use kube::{Api, Client, ResourceExt as _};

use super::{
    ACCOUNT_NAME, ACCOUNT_TOKEN, CREDENTIAL, LONG_LIVED, REQUEST_UID, account_name, managed,
    optional, token_of,
};
use crate::mirror::Key;
use crate::namespaces::REGISTRATION_NAMESPACE;
use crate::rights::{account, role_ref};
use crate::writes::{apply, create, delete};

/// Namespace of Fleet's controllers, which agents only store.
const SYSTEM_NAMESPACE: &str = "cattle-fleet-system";

/// The result of [`Credentials::write`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// The agent can read the credential.
    Done,
    /// The hub has not yet written the token of the service account.
    TokenMissing,
    /// The Secret belongs to another request.
    SecretTaken,
}

/// The writer of the objects of one request.
pub(super) struct Credentials<'a> {
    pub(super) client: &'a Client,
    pub(super) request: &'a ClusterRegistration,
    pub(super) cluster: &'a Key,
    /// Namespace of the cluster's bundle deployments.
    pub(super) namespace: &'a str,
}

impl Credentials<'_> {
    /// Writes all objects. `reader` is the service account of the registration token.
    pub(super) async fn write(&self, reader: &str) -> Result<Written, HubError> {
        let Some(token) = self.write_account().await? else {
            return Ok(Written::TokenMissing);
        };
        if !self.write_secret(token).await? {
            return Ok(Written::SecretTaken);
        }
        self.let_read(reader).await?;
        Ok(Written::Done)
    }

    /// Writes the service account of the agent. Returns its token.
    async fn write_account(&self) -> Result<Option<ByteString>, HubError> {
        let name = account_name(self.request);
        let mut metadata = managed(&name);
        let annotations = [
            (CLUSTER, self.cluster.name.clone()),
            (CLUSTER_REGISTRATION, self.request.name_any()),
            (
                CLUSTER_REGISTRATION_NAMESPACE,
                self.cluster.namespace.clone(),
            ),
        ];
        let owned = |(key, value): (&str, String)| (key.to_owned(), value);
        metadata.annotations = Some(annotations.into_iter().map(owned).collect());
        let accounts = Api::namespaced(self.client.clone(), self.namespace);
        let object = ServiceAccount {
            metadata,
            ..ServiceAccount::default()
        };
        apply("write the account of a Fleet agent", &accounts, &object).await?;
        let mut metadata = managed(&self.token_name());
        let annotations = [(ACCOUNT_NAME, name), (LONG_LIVED, "true".to_owned())];
        metadata.annotations = Some(annotations.into_iter().map(owned).collect());
        let secret = Secret {
            metadata,
            type_: Some(ACCOUNT_TOKEN.to_owned()),
            ..Secret::default()
        };
        let secrets = self.secrets(self.namespace);
        let operation = "write the Secret with the token of a Fleet agent";
        let written = apply(operation, &secrets, &secret).await?;
        Ok(token_of(&written).map(|token| ByteString(token.to_vec())))
    }

    /// Writes the Secret that the agent reads. Returns false if the Secret belongs to another request.
    async fn write_secret(&self, token: ByteString) -> Result<bool, HubError> {
        let mut metadata = managed(&self.secret_name());
        let uid = self.request.uid().unwrap_or_default();
        metadata.annotations = Some([(REQUEST_UID.to_owned(), uid)].into());
        let labels = metadata.labels.get_or_insert_default();
        labels.insert(CREDENTIAL.to_owned(), "true".to_owned());
        let text = |text: &str| ByteString(text.as_bytes().to_vec());
        let data = [
            ("token", token),
            ("deploymentNamespace", text(self.namespace)),
            ("clusterNamespace", text(&self.cluster.namespace)),
            ("clusterName", text(&self.cluster.name)),
            ("systemNamespace", text(SYSTEM_NAMESPACE)),
        ];
        let data = data.map(|(key, value)| (key.to_owned(), value));
        let secret = Secret {
            metadata,
            type_: Some(SECRET_TYPE_AGENT_CREDENTIAL.to_owned()),
            data: Some(data.into()),
            ..Secret::default()
        };
        let secrets = self.secrets(REGISTRATION_NAMESPACE);
        let created = create("create the credential of a Fleet agent", &secrets, &secret).await?;
        if created.is_some() {
            return Ok(true);
        }
        let present = self.present_secret().await?;
        Ok(present.is_some_and(|present| self.is_own(&present)))
    }

    /// Lets only the holder of the registration token read the Secret.
    async fn let_read(&self, reader: &str) -> Result<(), HubError> {
        let name = self.secret_name();
        let role = Role {
            metadata: managed(&name),
            rules: Some(vec![PolicyRule {
                api_groups: Some(vec![String::new()]),
                resources: Some(vec!["secrets".to_owned()]),
                resource_names: Some(vec![name.clone()]),
                verbs: vec!["get".to_owned()],
                ..PolicyRule::default()
            }]),
        };
        let roles = Api::namespaced(self.client.clone(), REGISTRATION_NAMESPACE);
        apply("write the role for a credential", &roles, &role).await?;
        let binding = RoleBinding {
            metadata: managed(&name),
            role_ref: role_ref("Role", &name),
            subjects: Some(vec![account(&self.cluster.namespace, reader)]),
        };
        let bindings = Api::namespaced(self.client.clone(), REGISTRATION_NAMESPACE);
        apply("bind the role for a credential", &bindings, &binding).await?;
        Ok(())
    }

    /// Deletes all objects. The token of the agent is then invalid.
    pub(super) async fn delete(&self) -> Result<(), HubError> {
        let accounts = Api::<ServiceAccount>::namespaced(self.client.clone(), self.namespace);
        let name = account_name(self.request);
        delete("delete the account of a Fleet agent", &accounts, &name).await?;
        let operation = "delete the token of a Fleet agent";
        delete(operation, &self.secrets(self.namespace), &self.token_name()).await?;
        let present = self.present_secret().await?;
        if present.is_some_and(|present| self.is_own(&present)) {
            delete_credential(self.client, &self.secret_name()).await?;
        }
        Ok(())
    }

    async fn present_secret(&self) -> Result<Option<Secret>, HubError> {
        let secrets = self.secrets(REGISTRATION_NAMESPACE);
        let name = self.secret_name();
        optional(call("read the credential of a Fleet agent", secrets.get(&name)).await)
    }

    fn is_own(&self, secret: &Secret) -> bool {
        let uid = secret.annotations().get(REQUEST_UID);
        uid.is_some() && uid == self.request.metadata.uid.as_ref()
    }

    fn secrets(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.client.clone(), namespace)
    }

    fn token_name(&self) -> String {
        safe_concat_name(&[&account_name(self.request), "token"])
    }

    fn secret_name(&self) -> String {
        let spec = &self.request.spec;
        credential_secret_name(&spec.client_id, &spec.client_random)
    }
}

/// Deletes a Secret with a credential, and the permission to read the Secret. The Secret is last, so
/// that a crash leaves a Secret that the next cleanup finds.
pub(super) async fn delete_credential(client: &Client, name: &str) -> Result<(), HubError> {
    let bindings = Api::<RoleBinding>::namespaced(client.clone(), REGISTRATION_NAMESPACE);
    delete("delete the binding for a credential", &bindings, name).await?;
    let roles = Api::<Role>::namespaced(client.clone(), REGISTRATION_NAMESPACE);
    delete("delete the role for a credential", &roles, name).await?;
    let secrets = Api::<Secret>::namespaced(client.clone(), REGISTRATION_NAMESPACE);
    delete("delete the credential of a Fleet agent", &secrets, name).await
}
