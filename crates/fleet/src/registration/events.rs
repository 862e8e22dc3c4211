//! Events that tell administrators why a ClusterRegistration is not granted.

use drover_api::fleet::{self, ClusterRegistration};
use drover_gitops::ids::safe_concat_name;
use drover_hub::HubError;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::{Api, Client, ResourceExt as _};

use super::decide::Refusal;
use crate::writes::create;

/// The controller that the events name.
const REPORTER: &str = "drover-server";
/// Maximum length of the note of an event, in bytes.
const MAX_NOTE: usize = 1024;

/// Creates an event about a request. Creates one event per request and reason.
pub(super) async fn report(
    client: &Client,
    request: &ClusterRegistration,
    refusal: &Refusal,
) -> Result<(), HubError> {
    let namespace = request.namespace().unwrap_or_default();
    let uid = request.uid().unwrap_or_default();
    let reason = refusal.reason();
    let name = safe_concat_name(&[&request.name_any(), &uid, &reason.to_lowercase()]);
    let event = Event {
        metadata: ObjectMeta {
            name: Some(name),
            ..ObjectMeta::default()
        },
        event_time: Some(MicroTime(Timestamp::now())),
        reporting_controller: Some(REPORTER.to_owned()),
        reporting_instance: Some(REPORTER.to_owned()),
        action: Some("Register".to_owned()),
        reason: Some(reason.to_owned()),
        regarding: Some(ObjectReference {
            api_version: Some(fleet::API_VERSION.to_owned()),
            kind: Some("ClusterRegistration".to_owned()),
            namespace: Some(namespace.clone()),
            name: Some(request.name_any()),
            uid: Some(uid),
            ..ObjectReference::default()
        }),
        note: Some(note(refusal)),
        type_: Some("Warning".to_owned()),
        ..Event::default()
    };
    let events = Api::namespaced(client.clone(), &namespace);
    create("report a refused registration", &events, &event).await?;
    Ok(())
}

fn note(refusal: &Refusal) -> String {
    let mut note = refusal.to_string();
    note.truncate(note.floor_char_boundary(MAX_NOTE));
    note
}
