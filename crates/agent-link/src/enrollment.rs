//! The source of an agent's credential.

use drover_access::proof::PublicKey;

use crate::binding::ServerBinding;
use crate::key::AgentKey;
use crate::registration::{
    Membership, ReadBindingError, Registrar, RegistrationError, Store, StoreError,
};
use crate::server::Server;

/// The source of the server's address and of the credential for a connection.
///
/// [`Store`] implements this trait for the cluster agent. The binding is in a ConfigMap, the key is
/// in a Secret, and a registration token registers the key.
pub trait Enrollment: Send + Sync {
    /// Returns the server to connect to.
    fn binding(&self) -> impl Future<Output = Result<ServerBinding, ReadBindingError>> + Send;

    /// Returns the registered key. Registers the key if necessary.
    ///
    /// `trust_record` is false after the server rejected the registration in the agent's record.
    fn enroll(
        &self,
        binding: &ServerBinding,
        server: &Server,
        trust_record: bool,
    ) -> impl Future<Output = Result<Membership, RegistrationError>> + Send;

    /// Returns the key that replaces the current key. Generates and stores the key if there is none.
    fn next_key(&self) -> impl Future<Output = Result<AgentKey, RegistrationError>> + Send;

    /// Makes the stored key `public`, which the server has accepted, the current key.
    fn use_key(
        &self,
        public: &PublicKey,
    ) -> impl Future<Output = Result<(), RegistrationError>> + Send;

    /// Deletes credentials that can be used once and that the agent has already used. A connected
    /// agent calls this method regularly.
    fn clean_up(&self) -> impl Future<Output = Result<(), StoreError>> + Send;
}

impl Enrollment for Store {
    async fn binding(&self) -> Result<ServerBinding, ReadBindingError> {
        Self::binding(self).await
    }

    async fn enroll(
        &self,
        binding: &ServerBinding,
        server: &Server,
        trust_record: bool,
    ) -> Result<Membership, RegistrationError> {
        let registrar = Registrar {
            store: self,
            binding,
            server,
            trust_record,
        };
        registrar.run().await
    }

    async fn next_key(&self) -> Result<AgentKey, RegistrationError> {
        Ok(Self::next_key(self).await?)
    }

    async fn use_key(&self, public: &PublicKey) -> Result<(), RegistrationError> {
        Ok(Self::use_key(self, public).await?)
    }

    async fn clean_up(&self) -> Result<(), StoreError> {
        self.delete_registration_token().await
    }
}
