//! Tests of certificate signing requests. Only an external hub serves certificate signing requests.

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

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// Creates two certificate signing requests. Returns writes that create further requests, and
/// writes that approve or deny the existing requests.
pub(super) async fn requests(server: &Server) -> Vec<Row> {
    let (client, other) = ("kubernetes.io/kube-apiserver-client", "example.com/mine");
    ask(server, "login", client).await;
    ask(server, "other", other).await;
    let approve = |writer, name: &str, kind: &str, refused| {
        let path = format!("{REQUESTS}/{name}/approval");
        let condition = json!({ "type": kind, "status": "True", "reason": "Because" });
        let body = json!({ "status": { "conditions": [condition] } });
        row(writer, Method::PATCH, path, body, refused)
    };
    let node = "kubernetes.io/kube-apiserver-client-kubelet";
    let make = |writer, signer: &str, refused| {
        let body = serde_json::to_value(request("tried", signer)).unwrap();
        row(writer, Method::POST, REQUESTS.to_owned(), body, refused)
    };
    vec![
        make(PERSON, node, "would stay valid"),
        make(JANE, node, ""),
        make(PERSON, client, ""),
        approve(PERSON, "login", "Approved", "would stay valid"),
        approve(PERSON, "login", "Denied", ""),
        approve(PERSON, "other", "Approved", ""),
        approve(JANE, "login", "Approved", ""),
    ]
}

async fn ask(server: &Server, name: &str, signer: &str) {
    let requests: Api<CertificateSigningRequest> = Api::all(server.hub.client());
    requests
        .create(&PostParams::default(), &request(name, signer))
        .await
        .unwrap();
}

fn request(name: &str, signer: &str) -> CertificateSigningRequest {
    let mut params = rcgen::CertificateParams::default();
    let name_of_a_controller = "system:kube-controller-manager";
    let subject = &mut params.distinguished_name;
    subject.push(rcgen::DnType::CommonName, name_of_a_controller);
    let key = rcgen::KeyPair::generate().unwrap();
    let pem = params.serialize_request(&key).unwrap().pem().unwrap();
    CertificateSigningRequest {
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
    }
}
