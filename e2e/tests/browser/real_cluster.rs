//! Runs the browser tests on a new server, with a real cluster, a real node and an identity
//! provider. A test configures the provider in Drover.

use drover_e2e::world::{BuiltImage, Server};
use drover_e2e::{Hub, Image, Options, Programs, Tool, cluster_with_node};
use drover_testkit::openid::{CLIENT, Provider, SECRET, Settings};

use crate::Browser;

pub(crate) async fn new_user_can_import_use_and_delete_a_cluster_in_the_ui(browser: &mut Browser) {
    let options = Options {
        name: "east".to_owned(),
        ..Options::default()
    };
    let (hub, cluster) = tokio::join!(Hub::embedded(), cluster_with_node(options));
    let (hub, (cluster, node)) = (hub.unwrap(), cluster.unwrap());
    node.load_image(&BuiltImage::Agent.archive().unwrap())
        .await
        .unwrap();
    let kubectl = Tool::Kubectl.locate().await.unwrap();
    let shell_image = Image::kubectl(&kubectl).await.unwrap();
    node.load_image(shell_image.archive()).await.unwrap();
    let address = node.network().host_address();
    let mut server = Server::start(&hub, address).await.unwrap();
    server.wait_for_first_password().await.unwrap();
    let provider = Provider::start(&Settings {
        back: format!("{}/v1/providers/corp/callback", server.url()),
        home: format!("{}/", server.url()),
        ..Settings::default()
    })
    .await;
    let authority = hub.folder().join("provider-ca.crt");
    std::fs::write(&authority, &provider.authority).unwrap();
    let programs = Programs::find().unwrap().drover;
    let reported = [
        ("DROVER_TEST_URL", server.url().into()),
        (
            "DROVER_TEST_PASSWORD",
            server.first_password().unwrap().into(),
        ),
        (
            "DROVER_TEST_FINGERPRINT",
            server.fingerprint().unwrap().into(),
        ),
        ("DROVER_TEST_FOLDER", hub.folder().into()),
        ("DROVER_TEST_PROGRAMS", programs.parent().unwrap().into()),
        ("DROVER_TEST_KUBECTL", kubectl.into()),
        ("DROVER_TEST_KUBECONFIG", cluster.kubeconfig_path().into()),
        ("DROVER_TEST_IMAGE", Image::TOOLS.into()),
        ("DROVER_TEST_KUBECTL_IMAGE", shell_image.name().into()),
        ("DROVER_TEST_ISSUER", provider.issuer.as_str().into()),
        ("DROVER_TEST_ISSUER_AUTHORITY", authority.into()),
        ("DROVER_TEST_CLIENT_ID", CLIENT.into()),
        ("DROVER_TEST_CLIENT_SECRET", SECRET.into()),
    ];
    browser
        .playwright
        .run("real-cluster", reported)
        .await
        .unwrap();
}
