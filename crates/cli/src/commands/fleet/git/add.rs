//! Implements `drover git add`.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_api::fleet::{CorrectDrift, GitRepo, GitTarget};
use drover_api::gitops::REPO_CREDENTIAL;
use k8s_openapi::ByteString;
use serde_json::{Map, Value, json};

use super::super::folder::read_argument;
use super::{progress, repos};
use crate::args::{GitAdd, GitCredential, GitName, GitSource, GitTargets};
use crate::client::{CallError, Client};
use crate::failure::Failure;
use crate::kubernetes::{HubObjects, LabelSelector};
use crate::terminal::notice;

/// Maximum size of a file with a credential, in bytes.
const MAX_CREDENTIAL_BYTES: u64 = 256 << 10;
/// The type and the data of a Secret.
type SecretContent = (&'static str, Map<String, Value>);

/// Branch without `--branch`.
const BRANCH: &str = "main";

/// Creates a GitRepo, and the Secret with its credential.
pub(super) async fn run(client: &Client, args: &GitAdd) -> Result<(), Failure> {
    let name = GitName {
        name: args.name.clone(),
        namespace: args.namespace.clone(),
    };
    let mut repo = repo(args)?;
    let credential = credential(&args.credential)?;
    let has_credential = credential.is_some();
    if let Some((type_, data)) = credential {
        let secret = format!("{}-git", args.name);
        create_secret(client, &name, &secret, type_, data).await?;
        repo.spec.client_secret_name = secret;
    }
    let created = repos(client, &name).create::<GitRepo>(&repo).await;
    // The Secret of a GitRepo that the hub rejected must not stay. Without a response, the GitRepo can exist.
    if let Err(CallError::Refused(_)) = &created
        && has_credential
        && let Err(error) = delete_credential(client, &name, &repo).await
    {
        notice(&format!(
            "Delete the Secret {:?}: {error}",
            repo.spec.client_secret_name
        ));
    }
    let created = created?;
    notice(&format!(
        "Created the GitRepo {:?}. For its state, run: drover git get {}",
        args.name,
        super::command_line(&name)
    ));
    progress::wait(client, &name, &created, &args.wait).await
}

/// Returns the GitRepo of the command line.
fn repo(args: &GitAdd) -> Result<GitRepo, Failure> {
    let mut repo = GitRepo::default();
    repo.metadata.name = Some(args.name.clone());
    repo.metadata.namespace = Some(args.namespace.namespace.clone());
    let spec = &mut repo.spec;
    spec.repo = location(&args.url)?;
    let GitSource {
        branch,
        revision,
        paths,
        polling_interval,
        no_polling,
    } = &args.source;
    match revision {
        Some(revision) => spec.revision.clone_from(revision),
        None => spec.branch = branch.clone().unwrap_or_else(|| BRANCH.to_owned()),
    }
    spec.paths.clone_from(paths);
    spec.polling_interval = polling_interval.map(|it| format!("{}s", it.0.as_secs()));
    spec.disable_polling = *no_polling;
    spec.targets = targets(&args.targets)?;
    if let Some(file) = &args.credential.git_ca_file {
        spec.ca_bundle = Some(ByteString(read(file)?));
    }
    if let Some(secret) = &args.credential.secret {
        spec.client_secret_name.clone_from(secret);
    }
    let options = &args.options;
    spec.target_namespace.clone_from(&options.target_namespace);
    spec.service_account.clone_from(&options.service_account);
    spec.keep_resources = options.keep_resources;
    spec.paused = options.paused;
    spec.correct_drift = options.correct_drift.then(|| CorrectDrift {
        enabled: true,
        ..CorrectDrift::default()
    });
    Ok(repo)
}

/// Checks the address of a repository. The server checks the rest of the address.
fn location(url: &str) -> Result<String, Failure> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("ssh", url));
    let authority = rest.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    // SSH needs the name of a user in the address.
    let is_ssh = scheme.eq_ignore_ascii_case("ssh");
    let credential = user.is_some_and(|user| !is_ssh || user.contains(':'));
    if credential {
        return Err(Failure::Usage(
            "the address contains a user name or a password, which all readers of the GitRepo could see; \
             use --username with --password-file, or --ssh-key-file"
                .to_owned(),
        ));
    }
    Ok(url.to_owned())
}

/// Returns the targets of the command line.
fn targets(args: &GitTargets) -> Result<Vec<GitTarget>, Failure> {
    if args.all_clusters {
        return Ok(vec![GitTarget {
            cluster_selector: Some(drover_api::fleet::LabelSelector::default()),
            ..GitTarget::default()
        }]);
    }
    let clusters = args.clusters.iter().map(|name| {
        Ok(GitTarget {
            cluster_name: name.clone(),
            ..GitTarget::default()
        })
    });
    let selectors = args.selectors.iter().map(|text| {
        let selector: LabelSelector = text
            .parse()
            .map_err(|error| Failure::Usage(format!("--clusters: {error}")))?;
        Ok(GitTarget {
            cluster_selector: Some(selector.into()),
            ..GitTarget::default()
        })
    });
    let groups = args.groups.iter().map(|name| {
        Ok(GitTarget {
            cluster_group: name.clone(),
            ..GitTarget::default()
        })
    });
    clusters.chain(selectors).chain(groups).collect()
}

/// Returns the type and the data of the Secret, if the command line contains a credential.
fn credential(args: &GitCredential) -> Result<Option<SecretContent>, Failure> {
    let encode = |data: &[u8]| Value::from(STANDARD.encode(data));
    let mut data = Map::new();
    if let (Some(username), Some(file)) = (&args.username, &args.password_file) {
        let password = read(file)?;
        data.insert("username".to_owned(), encode(username.as_bytes()));
        data.insert("password".to_owned(), encode(password.trim_ascii_end()));
        return Ok(Some(("kubernetes.io/basic-auth", data)));
    }
    if let (Some(key), Some(hosts)) = (&args.ssh_key_file, &args.known_hosts_file) {
        data.insert("ssh-privatekey".to_owned(), encode(&read(key)?));
        data.insert("known_hosts".to_owned(), encode(&read(hosts)?));
        return Ok(Some(("kubernetes.io/ssh-auth", data)));
    }
    Ok(None)
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    read_argument(file, MAX_CREDENTIAL_BYTES)
}

async fn create_secret(
    client: &Client,
    repo: &GitName,
    name: &str,
    type_: &str,
    data: Map<String, Value>,
) -> Result<(), Failure> {
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": type_,
        "metadata": { "name": name, "labels": { REPO_CREDENTIAL: repo.name } },
        "data": data,
    });
    match secrets(client, repo).create::<Value>(&secret).await {
        Err(CallError::Refused(refusal)) if refusal.code == 409 => Err(Failure::Other(format!(
            "the Secret {name:?} exists; delete the Secret, or use it with --secret {name}"
        ))),
        created => Ok(created.map(drop)?),
    }
}

fn secrets(client: &Client, repo: &GitName) -> HubObjects {
    HubObjects::secrets(client, &repo.namespace.namespace)
}

/// Deletes the Secret that `drover git add` created for a GitRepo.
pub(super) async fn delete_credential(
    client: &Client,
    name: &GitName,
    repo: &GitRepo,
) -> Result<(), CallError> {
    let secret = repo.spec.client_secret_name.as_str();
    if secret != format!("{}-git", name.name) {
        return Ok(());
    }
    let secrets = secrets(client, name);
    let present: Option<Value> = secrets.find(secret).await?;
    match present {
        Some(present) if present["metadata"]["labels"][REPO_CREDENTIAL] == *name.name => {
            secrets
                .delete_if_present(secret, &present["metadata"]["uid"])
                .await
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{ClientArgs, ClientCommand, GitArgs, GitCommand};

    fn parsed(args: &[&str]) -> Result<GitAdd, String> {
        let args = ["drover", "git", "add"].iter().chain(args);
        let args = ClientArgs::try_parse_from(args).map_err(|error| error.to_string())?;
        match args.command {
            ClientCommand::Git(GitArgs {
                command: GitCommand::Add(add),
                ..
            }) => Ok(*add),
            _ => panic!("another command"),
        }
    }

    #[test]
    fn options_become_fields_of_the_git_repo() {
        let args = parsed(&[
            "shop",
            "https://git.example/shop.git",
            "--path",
            "deploy",
            "--polling-interval",
            "1m",
            "--cluster",
            "berlin",
            "--clusters",
            "env in (prod,test),!old",
            "--cluster-group",
            "edge",
            "--correct-drift",
        ]);
        let repo = repo(&args.unwrap()).unwrap();
        assert_eq!(
            json!(repo)["spec"],
            json!({
                "repo": "https://git.example/shop.git",
                "branch": "main",
                "paths": ["deploy"],
                "pollingInterval": "60s",
                "correctDrift": { "enabled": true },
                "targets": [
                    { "clusterName": "berlin" },
                    { "clusterSelector": { "matchExpressions": [
                        { "key": "env", "operator": "In", "values": ["prod", "test"] },
                        { "key": "old", "operator": "DoesNotExist" },
                    ] } },
                    { "clusterGroup": "edge" },
                ],
            })
        );
    }

    #[test]
    fn all_clusters_is_a_selector_without_labels() {
        let args = parsed(&["shop", "https://git.example/shop.git", "--all-clusters"]);
        let repo = repo(&args.unwrap()).unwrap();
        assert_eq!(
            json!(repo)["spec"]["targets"],
            json!([{ "clusterSelector": {} }])
        );
    }

    #[test]
    fn incomplete_or_contradictory_options_are_errors() {
        for args in [
            &["shop", "https://git.example/shop.git"][..],
            &["shop", "u", "--all-clusters", "--cluster", "a"],
            &[
                "shop",
                "u",
                "--all-clusters",
                "--branch",
                "a",
                "--revision",
                "b",
            ],
            &["shop", "u", "--all-clusters", "--username", "ci"],
            &["shop", "u", "--all-clusters", "--ssh-key-file", "id"],
            &["shop", "u", "--all-clusters", "--paused", "--wait"],
        ] {
            assert!(parsed(args).is_err(), "{args:?}");
        }
    }

    #[test]
    fn address_with_a_password_is_rejected_without_the_password() {
        for url in [
            "https://me:s3cret@git.example/x",
            "HTTPS://s3cret@git.example/x",
            "ssh://git:s3cret@git.example/x",
            "git:s3cret@git.example:x",
        ] {
            let error = location(url).unwrap_err().text();
            assert!(error.contains("--password-file"), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
        for url in [
            "ssh://git@git.example/x",
            "git@git.example:x",
            "https://git.example/a@b",
        ] {
            assert_eq!(location(url).unwrap(), url);
        }
    }

    #[test]
    fn password_file_becomes_a_secret_without_its_line_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "t0ken\n").unwrap();
        let args = GitCredential {
            username: Some("ci".to_owned()),
            password_file: Some(file),
            ..GitCredential::default()
        };
        let (type_, data) = credential(&args).unwrap().unwrap();
        assert_eq!(type_, "kubernetes.io/basic-auth");
        assert_eq!(data["password"], STANDARD.encode("t0ken"));
    }
}
