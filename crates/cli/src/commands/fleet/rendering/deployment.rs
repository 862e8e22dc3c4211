//! Implements `drover fleet deploy`.

use drover_api::fleet::{BundleDeployment, Content};
use drover_deploy::cluster::Cluster;
use drover_deploy::deployment::{Deployer, Input, Place, Previewer, Settings};
use drover_deploy::signature::SigningKeys;
use drover_gitops::ids::Manifest;
use serde_json::Value;

use super::super::{documents, folder};
use super::contents;
use super::plan::{input, renderer};
use crate::args::FleetDeploy;
use crate::client::Client;
use crate::failure::Failure;
use crate::kubernetes::ClusterApi;
use crate::terminal::{notice, print};

/// Maximum size of the file, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The objects of the file.
#[derive(Debug)]
struct File {
    manifest: Manifest,
    deployment: BundleDeployment,
}

/// Installs a BundleDeployment in a cluster, or prints its objects.
pub(super) async fn run(args: &FleetDeploy, client: Option<&Client>) -> Result<(), Failure> {
    let path = args.input_file.display().to_string();
    let data = folder::read_argument(&args.input_file, MAX_FILE_BYTES)?;
    let mut file = parse(&data).map_err(|reason| {
        Failure::Other(format!(
            "cannot read {path}: {reason}; create the file with: drover fleet target"
        ))
    })?;
    let options = &mut file.deployment.spec.options;
    if options.default_namespace.is_empty() {
        options.default_namespace.clone_from(&args.namespace);
    }
    let cluster = match (&args.cluster, client) {
        (Some(name), Some(client)) => {
            let api = ClusterApi::new(client, name);
            Some(Cluster::new(api.kube_client(&args.namespace)))
        }
        _ => None,
    };
    let File {
        manifest,
        deployment,
    } = &file;
    let input = input(&deployment.metadata, &deployment.spec, &manifest.resources);
    match cluster {
        Some(cluster) if !args.dry_run => install(args, cluster, &input).await,
        cluster => {
            let place = match &cluster {
                Some(cluster) => Place::Cluster(cluster),
                None => Place::Offline {
                    kube_version: &args.kube_version,
                },
            };
            let previewer = Previewer::new(renderer()?, &args.agent_namespace);
            let preview = previewer.render(place, &input, None).await;
            let preview = preview.map_err(Failure::command)?;
            let objects = preview.definitions.iter().chain(&preview.objects);
            let objects: Vec<Value> = objects.map(|object| object.0.clone()).collect();
            Ok(print(&documents(&objects))?)
        }
    }
}

async fn install(args: &FleetDeploy, cluster: Cluster, input: &Input<'_>) -> Result<(), Failure> {
    let settings = Settings {
        agent_namespace: args.agent_namespace.clone(),
        default_namespace: args.namespace.clone(),
    };
    let keys = SigningKeys::new(cluster.client().clone(), &args.agent_namespace);
    let deployer = Deployer::new(cluster, renderer()?, settings, keys);
    let outcome = Box::pin(deployer.deploy(input)).await;
    let outcome = outcome.map_err(Failure::command)?;
    notice(&format!("Installed the release {}.", outcome.release));
    let objects: Vec<String> = outcome
        .objects
        .iter()
        .map(|key| format!("{key}\n"))
        .collect();
    Ok(print(&objects.concat())?)
}

/// Parses the YAML documents of a file.
fn parse(data: &[u8]) -> Result<File, String> {
    let text = std::str::from_utf8(data).map_err(|error| error.to_string())?;
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(text).map_err(|error| error.to_string())?;
    let (mut all, mut deployments) = (Vec::new(), Vec::new());
    for document in documents {
        match document["kind"].as_str() {
            Some("Content") => all.push(parsed::<Content>("Content", document)?),
            Some("BundleDeployment") => {
                deployments.push(parsed::<BundleDeployment>("BundleDeployment", document)?);
            }
            _ => {}
        }
    }
    let [deployment] = <[BundleDeployment; 1]>::try_from(deployments).map_err(|found| {
        let count = found.len();
        format!("the file must contain one BundleDeployment, and contains {count}")
    })?;
    if deployment.spec.helm_chart_options.is_some() {
        return Err("the agent pulls the chart of a HelmOp, so the file has no Content".to_owned());
    }
    if !deployment.spec.values_hash.is_empty() {
        return Err(
            "spec.valuesHash is set, and the Helm values are in a Secret on the hub".to_owned(),
        );
    }
    let id = deployment.spec.deployment_id.split(':').next();
    let id = id.unwrap_or_default();
    let manifest = contents::files(id, &contents::by_name(all))
        .map_err(|error| format!("{error} in the file"))?;
    Ok(File {
        manifest,
        deployment,
    })
}

fn parsed<T: serde::de::DeserializeOwned>(kind: &str, document: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(document).map_err(|error| format!("{kind}: {error}"))
}

#[cfg(test)]
mod tests {
    use drover_api::fleet::BundleResource;
    use drover_gitops::ids::content_objects;
    use serde_json::json;

    use super::*;

    fn text(deployments: usize, with_content: bool) -> String {
        let manifest = Manifest {
            resources: vec![BundleResource {
                name: "a.yaml".to_owned(),
                content: "kind: ConfigMap".to_owned(),
                encoding: String::new(),
            }],
        };
        let contents = content_objects(&manifest.sha256(), &manifest).unwrap();
        let contents = contents.iter().map(|content| json!(content));
        let mut deployment = BundleDeployment::default();
        deployment.spec.deployment_id = format!("{}:1", manifest.id());
        let deployments = (0..deployments).map(|_| json!(deployment));
        let all: Vec<Value> = deployments
            .chain(contents.filter(|_| with_content))
            .collect();
        documents(&all)
    }

    #[test]
    fn file_needs_one_deployment_and_its_content() {
        let file = parse(text(1, true).as_bytes()).unwrap();
        assert_eq!(file.manifest.resources[0].name, "a.yaml");
        for (deployments, with_content, reason) in [
            (0, true, "contains 0"),
            (2, true, "contains 2"),
            (1, false, "is missing in the file"),
        ] {
            let error = parse(text(deployments, with_content).as_bytes()).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        assert!(parse(b"a: [").is_err());
        assert!(parse(b"\xff").is_err());
    }
}
