//! Tests of the tokens with which agents access the hub without a tunnel.

mod access;
mod proof;
mod rights;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drover_access::proof::{PublicKey, hub_token_message};
use drover_agent_link::binding::{ServerBinding, data};
use drover_agent_link::enrollment::Enrollment;
use drover_agent_link::hub::HubAccess;
use drover_agent_link::key::AgentKey;
use drover_agent_link::registration::{
    Membership, ReadBindingError, RegistrationError, StoreError,
};
use drover_agent_link::server::Server as DialledServer;
use drover_api::ids::ClusterUid;
use drover_e2e::eventually;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, PostParams};
use reqwest::Method;
use serde_json::{Value, json};

use crate::registration::{PendingCluster, key, pending_cluster, register};
use crate::server::{Answer, Server};

/// The namespace of the cluster `shop` on the hub.
const NAMESPACE: &str = "cluster-fleet-default-shop-079927a5ce7c";
const ACCOUNT: &str = "drover-agent";
const SOON: Duration = Duration::from_mins(1);

/// A registered Cluster with its agent's key.
struct RegisteredCluster {
    uid: ClusterUid,
    key: Arc<AgentKey>,
}

async fn registered_cluster(server: &Server, admin: &str, name: &str) -> RegisteredCluster {
    let pending: PendingCluster = pending_cluster(server, admin, name).await;
    let key = Arc::new(key());
    let (code, body) = register(server, &key, &pending).await;
    assert_eq!(code, 200, "{body}");
    let uid = ClusterUid::new(&*pending.uid);
    RegisteredCluster { uid, key }
}

/// Requests a challenge for a Cluster.
async fn challenge(server: &Server, uid: &ClusterUid) -> String {
    let body = Some(json!({ "clusterUid": uid }));
    let call = server.call(Method::POST, "/v1/agent/challenge", None, body);
    let answer = call.await.expect(200);
    answer["nonce"].as_str().unwrap().to_owned()
}

/// Requests a hub token with a signature over `message`.
async fn request_signed(
    server: &Server,
    uid: &ClusterUid,
    key: &AgentKey,
    nonce: &str,
    message: &[u8],
) -> Answer {
    let body = json!({
        "clusterUid": uid, "nonce": nonce, "signature": key.sign(message), "agentVersion": "test",
    });
    let path = "/v1/agent/hub-token";
    server.call(Method::POST, path, None, Some(body)).await
}

async fn request(server: &Server, uid: &ClusterUid, key: &AgentKey, nonce: &str) -> Answer {
    let message = hub_token_message(uid, nonce);
    request_signed(server, uid, key, nonce, &message).await
}

/// Requests a hub token as the agent of the Cluster.
async fn request_token(server: &Server, cluster: &RegisteredCluster) -> Answer {
    let nonce = challenge(server, &cluster.uid).await;
    request(server, &cluster.uid, &cluster.key, &nonce).await
}

/// Returns the code and the reason of a refusal.
fn refusal(answer: &Answer) -> (u16, &str) {
    let reason = &answer.body["details"]["causes"][0]["reason"];
    (answer.code.as_u16(), reason.as_str().unwrap_or_default())
}

async fn create<K>(api: Api<K>, object: Value)
where
    K: kube::Resource + serde::Serialize + serde::de::DeserializeOwned + Clone + std::fmt::Debug,
{
    let object: K = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

/// Name of the role that the tests add to the service account.
const ADDED_ROLE: &str = "added-by-the-test";

/// Waits until the server has created the service account of the agent of the cluster `shop`, and adds
/// a role.
async fn create_account(server: &Server, rules: Value) {
    let client = || server.hub.client();
    let named = |name: &str| json!({ "name": name });
    let accounts = Api::<ServiceAccount>::namespaced(client(), NAMESPACE);
    let account = eventually("the service account of the agent", SOON, async || {
        accounts.get(ACCOUNT).await
    });
    account.await.unwrap();
    create::<Role>(
        Api::namespaced(client(), NAMESPACE),
        json!({ "metadata": named(ADDED_ROLE), "rules": rules }),
    )
    .await;
    let role = json!({
        "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ADDED_ROLE,
    });
    let subject = json!({ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE });
    create::<RoleBinding>(
        Api::namespaced(client(), NAMESPACE),
        json!({ "metadata": named(ADDED_ROLE), "roleRef": role, "subjects": [subject] }),
    )
    .await;
}

/// The enrollment of a registered agent, in memory.
#[derive(Debug)]
struct Enrolled {
    binding: ServerBinding,
    key: Arc<AgentKey>,
}

impl Enrollment for Enrolled {
    async fn binding(&self) -> Result<ServerBinding, ReadBindingError> {
        Ok(self.binding.clone())
    }

    async fn enroll(
        &self,
        binding: &ServerBinding,
        _: &DialledServer,
        _: bool,
    ) -> Result<Membership, RegistrationError> {
        Ok(Membership {
            cluster_name: "shop".to_owned(),
            cluster_uid: binding.cluster_uid.clone(),
            node: None,
            key: Arc::clone(&self.key),
            other_keys: Vec::new(),
        })
    }

    async fn next_key(&self) -> Result<AgentKey, RegistrationError> {
        panic!("these tests do not replace keys")
    }

    async fn use_key(&self, _: &PublicKey) -> Result<(), RegistrationError> {
        Ok(())
    }

    async fn clean_up(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Returns the access of a cluster's agent to the hub.
fn access(server: &Server, cluster: &RegisteredCluster) -> HubAccess<Enrolled> {
    drover_agent_link::program::install_crypto();
    let binding = ServerBinding::read(&BTreeMap::from([
        (data::SERVER_URL.to_owned(), server.url.clone()),
        (data::SERVER_CA.to_owned(), server.trust.clone()),
        (
            data::CLUSTER_UID.to_owned(),
            cluster.uid.as_str().to_owned(),
        ),
    ]));
    let enrolled = Enrolled {
        binding: binding.unwrap(),
        key: Arc::clone(&cluster.key),
    };
    HubAccess::new(enrolled, None, None)
}
