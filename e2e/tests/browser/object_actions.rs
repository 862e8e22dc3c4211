//! Runs the browser tests that change objects, on a real cluster with a real node. The agent runs
//! as a program of this machine.

use drover_e2e::world::{Member, Server, TestUser};
use drover_e2e::{Hub, Image, Options, Programs, Prometheus, Tool, cluster_with_node};

use crate::Browser;

/// The administrator's password after the first login.
const PASSWORD: &str = "a long password for tests";

pub(crate) async fn objects_change_in_the_cluster(browser: &mut Browser) {
    let options = Options {
        name: "east".to_owned(),
        ..Options::default()
    };
    let (hub, cluster) = tokio::join!(Hub::embedded(), cluster_with_node(options));
    let (hub, (cluster, node)) = (hub.unwrap(), cluster.unwrap());
    let address = node.network().host_address();
    let _prometheus = Prometheus::start(&cluster, node.network()).await.unwrap();
    let mut east = Member::new(cluster, Some(node));
    let mut server = Server::start(&hub, address).await.unwrap();
    server.wait_for_first_password().await.unwrap();
    let first = server.first_password().unwrap();
    let people = hub.folder().join("people");
    let mut admin = TestUser::new("admin", &first, &people, &hub.command_line()).unwrap();
    let fingerprint = server.fingerprint().unwrap();
    admin
        .log_in_first(&server.url(), &fingerprint, PASSWORD)
        .await
        .unwrap();
    east.import(&admin).await.unwrap();
    east.start_agents(1).await.unwrap();
    east.wait_until_usable(&admin).await.unwrap();
    let kubectl = Tool::Kubectl.locate().await.unwrap();
    let programs = Programs::find().unwrap().drover;
    let hostile = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let file = |name: &str, text: String| {
        let path = hub.folder().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let certificate = file("hostile.crt", hostile.cert.pem());
    let key = file("hostile.key", hostile.signing_key.serialize_pem());
    let reported = [
        ("DROVER_TEST_URL", server.url().into()),
        ("DROVER_TEST_PASSWORD", PASSWORD.into()),
        ("DROVER_TEST_FINGERPRINT", fingerprint.into()),
        ("DROVER_TEST_FOLDER", hub.folder().into()),
        ("DROVER_TEST_PROGRAMS", programs.parent().unwrap().into()),
        ("DROVER_TEST_KUBECTL", kubectl.into()),
        (
            "DROVER_TEST_KUBECONFIG",
            east.cluster.kubeconfig_path().into(),
        ),
        ("DROVER_TEST_IMAGE", Image::TOOLS.into()),
        ("DROVER_TEST_HOSTILE_CERTIFICATE", certificate.into()),
        ("DROVER_TEST_HOSTILE_KEY", key.into()),
        (
            "DROVER_TEST_SERVER_PROCESS",
            server.running().id().to_string().into(),
        ),
    ];
    browser
        .playwright
        .run("object-actions", reported)
        .await
        .unwrap();
}
