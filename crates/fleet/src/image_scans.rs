//! Writes to the status of ImageScans that image scans are not supported.

use drover_api::fleet::ImageScan;
use drover_gitops::states::set_condition;
use drover_hub::HubError;
use drover_reconcile::{Action, Attempt, Reconciler};
use kube::{Api, Client};

use crate::mirror::Key;
use crate::world::World;
use crate::writes::{now, write_status};

/// The controller of ImageScans. The key is the namespace and name of an ImageScan.
#[derive(Clone)]
pub(crate) struct ImageScans {
    pub(crate) client: Client,
    pub(crate) world: World,
}

impl Reconciler for ImageScans {
    type Key = Key;
    type Error = HubError;

    async fn reconcile(&self, key: &Key, _: &Attempt) -> Result<Action, HubError> {
        let Some(scan) = self.world.image_scans.get(key) else {
            return Ok(Action::await_change());
        };
        let mut status = scan.status.clone().unwrap_or_default();
        status.observed_generation = scan.metadata.generation.unwrap_or_default();
        set_condition(
            &mut status.conditions,
            "ImageScanned",
            "False",
            "NotSupported",
            "image scans are not supported yet",
            &now(),
        );
        let scans = Api::<ImageScan>::namespaced(self.client.clone(), &key.namespace);
        let operation = "write the status of an ImageScan";
        let before = scan.status.as_ref();
        let written = write_status(operation, &scans, &key.name, before, &status).await?;
        if let Some(written) = written {
            self.world.image_scans.observe(written);
        }
        Ok(Action::await_change())
    }
}
