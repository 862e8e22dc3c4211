//! Requests for certificates, which only a real hub has.

use http::Method;
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestSpec,
};
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use serde_json::json;

use super::{JANE, PERSON, Row, row};
use crate::server::Server;

/// Makes two requests, and tries to approve them.
pub(super) async fn requests(server: &Server) -> Vec<Row> {
    let (client, other) = ("kubernetes.io/kube-apiserver-client", "example.com/mine");
    ask(server, "login", client).await;
    ask(server, "other", other).await;
    let approve = |writer, name: &str, kind: &str, refused| {
        let path =
            format!("/apis/certificates.k8s.io/v1/certificatesigningrequests/{name}/approval");
        let condition = json!({ "type": kind, "status": "True", "reason": "Because" });
        let body = json!({ "status": { "conditions": [condition] } });
        row(writer, Method::PATCH, path, body, refused)
    };
    vec![
        approve(PERSON, "login", "Approved", "outlive"),
        approve(PERSON, "login", "Denied", ""),
        approve(PERSON, "other", "Approved", ""),
        approve(JANE, "login", "Approved", ""),
    ]
}

async fn ask(server: &Server, name: &str, signer: &str) {
    let mut params = rcgen::CertificateParams::default();
    let name_of_a_controller = "system:kube-controller-manager";
    let subject = &mut params.distinguished_name;
    subject.push(rcgen::DnType::CommonName, name_of_a_controller);
    let key = rcgen::KeyPair::generate().unwrap();
    let pem = params.serialize_request(&key).unwrap().pem().unwrap();
    let request = CertificateSigningRequest {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        spec: CertificateSigningRequestSpec {
            request: ByteString(pem.into_bytes()),
            signer_name: signer.to_owned(),
            usages: Some(vec!["client auth".to_owned()]),
            ..CertificateSigningRequestSpec::default()
        },
        status: None,
    };
    let requests: Api<CertificateSigningRequest> = Api::all(server.hub.client());
    requests
        .create(&PostParams::default(), &request)
        .await
        .unwrap();
}
