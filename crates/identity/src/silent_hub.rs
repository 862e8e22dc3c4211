//! A hub whose requests always fail, for unit tests.

use drover_hub::{Hub, Keys, Stores};

/// Returns a hub with empty synced stores. Every request to the hub fails.
pub(crate) fn silent_hub() -> Hub {
    let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Err::<http::Response<kube::client::Body>, tower::BoxError>("no hub".into())
    });
    let client = kube::Client::new(service, "default");
    Hub::new(client, Stores::synced_empty(), Keys::generate().unwrap())
}
