//! Creates the namespaces of Fleet's objects.

use drover_api::gitops::{FLEET_LOCAL_NAMESPACE, FLEET_NAMESPACE};
use drover_hub::HubError;
use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Client};

use crate::writes::create;

/// Namespace of the credentials that Fleet's agents fetch during their registration.
pub(crate) const REGISTRATION_NAMESPACE: &str = "cattle-fleet-clusters-system";

/// The reconciler that creates the namespaces once.
struct Namespaces {
    client: Client,
}

impl Reconciler for Namespaces {
    type Key = ();
    type Error = HubError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, HubError> {
        let namespaces = Api::all(self.client.clone());
        for name in [
            FLEET_NAMESPACE,
            FLEET_LOCAL_NAMESPACE,
            REGISTRATION_NAMESPACE,
        ] {
            let namespace = Namespace {
                metadata: ObjectMeta {
                    name: Some(name.to_owned()),
                    ..ObjectMeta::default()
                },
                ..Namespace::default()
            };
            create("create a namespace of Fleet", &namespaces, &namespace).await?;
        }
        Ok(Action::await_change())
    }
}

/// Runs the controller of the namespaces.
pub(crate) async fn run(client: Client, runtime: &Runtime) {
    let options = Options::new("fleet-namespaces");
    runtime.run_single(options, Namespaces { client }, []).await;
}
