//! Tests that the installed server contains the agent's image, and that docker and OCI tools load
//! the archives of the images.

use drover_e2e::{BuiltImage, inspect_image};
use serde_json::{Value, json};

use crate::stage::{Installed, NAMESPACE};

pub(crate) async fn server_image_contains_the_agent(installed: &mut Installed) {
    let file = installed.east.cluster.folder().join("from-the-server.tar");
    let line = format!(
        "kubectl --namespace {NAMESPACE} exec deployment/drover -- /drover agent image > {}",
        file.display()
    );
    installed.tools.shell(&line).await.unwrap();
    let built = std::fs::read(BuiltImage::Agent.archive().unwrap()).unwrap();
    assert!(std::fs::read(&file).unwrap() == built, "another image");
}

pub(crate) async fn docker_and_oci_tools_load_the_image_archives(_: &mut Installed) {
    for (built, program) in [
        (BuiltImage::Server, "/drover"),
        (BuiltImage::Agent, "/drover-agent"),
    ] {
        let archive = built.archive().unwrap();
        for form in ["docker-archive", "oci-archive"] {
            let seen = inspect_image(&archive, form).await.unwrap();
            let seen: Value = serde_json::from_str(&seen).unwrap();
            let (image, case) = (&seen["OCIv1"], format!("{form} of {program}"));
            assert_eq!(image["architecture"], "amd64", "{case}");
            assert_eq!(image["os"], "linux", "{case}");
            assert_eq!(image["config"]["User"], "65532:65532", "{case}");
            assert_eq!(image["config"]["Entrypoint"], json!([program]), "{case}");
        }
    }
}
