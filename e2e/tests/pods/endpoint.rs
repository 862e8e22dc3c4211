//! Tests of the authorized endpoint: a node agent's pod on a control-plane node serves the webhook in the
//! network of the node.

use std::path::Path;
use std::time::Duration;

use drover_e2e::{CommandError, CommandLine, World, eventually};
use serde_json::{Value, json};

use crate::client::{authority, parse, token};
use crate::failover::with_node_agent;

const SOON: Duration = Duration::from_mins(2);
const WEBHOOK: &str = "https://127.0.0.1:6440/v1/authenticate";

pub(crate) async fn webhook_of_a_node_agent_pod_authenticates_only_existing_tokens(
    world: &mut World,
) {
    with_node_agent(world).await;
    let east = world.east.name();
    let drover = world.admin.drover();
    let enable = ["cluster", "endpoint", "enable", east, "--offline=4h"];
    drover.run(enable).await.unwrap();
    let webhook = Webhook::new(world).await;
    let kubeconfig = world.admin.token_kubeconfig(east).await.unwrap();
    let config = std::fs::read_to_string(&kubeconfig).unwrap();
    let token = token(&parse(&config));

    let accepted = eventually("the webhook to know the token", SOON, async || {
        let status = webhook.review(&token).await.map_err(|e| e.to_string())?;
        if status["authenticated"] == true {
            Ok(status)
        } else {
            Err(status.to_string())
        }
    });
    let accepted = accepted.await.unwrap();
    let whoami = [
        "auth",
        "whoami",
        "-o",
        "jsonpath={.status.userInfo.username}",
    ];
    let whoami = world.admin.kubectl_with(&kubeconfig).run(whoami).await;
    let proxied = whoami.unwrap().stdout;
    assert!(proxied.starts_with("drover:user:"), "{proxied}");
    assert_eq!(accepted["user"]["username"], proxied);

    let id = token.split('_').nth(1).unwrap();
    drover.run(["token", "delete", id]).await.unwrap();
    eventually("the webhook to refuse the token", SOON, async || {
        let status = webhook.review(&token).await.map_err(|e| e.to_string())?;
        if status["authenticated"] == false && status["user"].is_null() {
            Ok(())
        } else {
            Err(status.to_string())
        }
    })
    .await
    .unwrap();

    let disable = ["cluster", "endpoint", "disable", east];
    drover.run(disable).await.unwrap();
    eventually("the webhook to stop", SOON, async || {
        match webhook.review(&token).await {
            Err(error) if error.to_string().contains(CONNECTION_REFUSED) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await
    .unwrap();
}

/// The start of curl's message if no program listens on the port.
const CONNECTION_REFUSED: &str = "curl: (7)";

/// The webhook, as the API server on the node reaches it.
struct Webhook {
    /// Arguments of `nsenter` that run curl in the network of the node.
    words: Vec<String>,
    nsenter: CommandLine,
}

impl Webhook {
    /// Reads the webhook configuration that the setup steps write to control-plane nodes.
    async fn new(world: &World) -> Self {
        let folder = world.scratch("endpoint").unwrap();
        let setup = ["cluster", "endpoint", "setup", world.east.name(), "--file"];
        let config = eventually("the webhook configuration", SOON, async || {
            world.admin.drover().run(setup).await
        });
        let config = parse(&config.await.unwrap().stdout);
        assert_eq!(config["clusters"][0]["cluster"]["server"], WEBHOOK);
        let file = folder.join("webhook-ca.pem");
        std::fs::write(&file, authority(&config)).unwrap();
        let node = world.east.node.as_ref().unwrap();
        let network = format!("--net={}", node.network().namespace_file());
        let file = file.display().to_string();
        let words = [&network, "curl", "--silent", "--show-error", "--fail"].into_iter();
        let words = words.chain(["--max-time", "10", "--cacert", &file]);
        let words = words.chain(["--data", "@-", WEBHOOK]);
        Self {
            words: words.map(str::to_owned).collect(),
            nsenter: CommandLine::new(Path::new("nsenter"), Path::new("/dev/null"), &folder),
        }
    }

    /// Sends a token review. Returns the status of the review.
    async fn review(&self, token: &str) -> Result<Value, CommandError> {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
            "spec": {"token": token},
        });
        let curl = self.nsenter.clone().with_stdin(review.to_string());
        let output = curl.run(&self.words).await?;
        let mut answer: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(answer["kind"], "TokenReview", "{answer}");
        Ok(answer["status"].take())
    }
}
