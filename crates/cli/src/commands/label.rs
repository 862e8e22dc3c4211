//! Implements `drover label`.

mod changes;

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::args::{DryRun, LabelArgs};
use crate::client::CallError;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::kubernetes::{
    ClusterApi, ClusterFailures, Discovery, JSON, ObjectNames, Query, Resource, in_order,
    list_pages, selected_clusters,
};
use crate::table::one_line;
use crate::terminal::{notice, print};
use changes::{Changes, Conflict, Outcome};

/// Number of objects in a page of a list.
const CHUNK: u32 = 500;

/// The requested changes.
struct Request {
    wanted: Vec<ObjectNames>,
    changes: Changes,
    namespace: Option<String>,
    labels: Option<String>,
    overwrite: bool,
    dry_run: DryRun,
}

/// The result of one object, or an error that affects several objects.
enum Message {
    Done(String),
    NotChanged(String),
    Failed(CallError),
}

/// Runs `drover label`.
pub(crate) async fn run(args: &LabelArgs, environment: &Environment) -> Result<(), Failure> {
    let request = Arc::new(request(args)?);
    let client = environment.client(&args.connection)?;
    let clusters = selected_clusters(&client, &args.selection).await?;
    let mut failures = ClusterFailures::new(clusters.len());
    let mut not_changed = 0_usize;
    let mut changed = 0_usize;
    let start = |api, sender| label_cluster(api, Arc::clone(&request), sender);
    in_order(&clusters, start, |cluster, message| {
        let name = cluster.name();
        match message {
            Message::Done(text) => {
                changed += 1;
                print(&format!("{}\n", one_line(&format!("{name}: {text}"))))?;
            }
            Message::NotChanged(reason) => {
                not_changed += 1;
                notice(&one_line(&format!("drover: {name}: {reason}")));
            }
            Message::Failed(error) => failures.add(name, error),
        }
        Ok(())
    })
    .await?;
    failures.finish()?;
    match (not_changed, changed) {
        (0, 0) => {
            notice("No objects found.");
            Ok(())
        }
        (0, _) => Ok(()),
        (failed, done) => Err(Failure::Other(format!(
            "{failed} of {} objects were not changed",
            failed + done
        ))),
    }
}

fn request(args: &LabelArgs) -> Result<Request, Failure> {
    let selection = &args.selection;
    if selection.clusters.is_empty() && selection.selector.is_none() && !args.all_clusters {
        return Err(Failure::Usage(
            "select the clusters with --cluster, --clusters or --all-clusters".to_owned(),
        ));
    }
    let (changes, objects): (Vec<_>, Vec<_>) = args
        .words
        .iter()
        .cloned()
        .partition(|word| Changes::is_change(word));
    let changes = Changes::parse(&changes).map_err(Failure::Usage)?;
    let wanted = ObjectNames::parse(&objects)?;
    let has_names = wanted.iter().all(|objects| !objects.names.is_empty());
    let selects = args.labels.is_some() || args.all;
    if has_names == selects {
        return Err(Failure::Usage(
            "select the objects with names, with -l, or with --all".to_owned(),
        ));
    }
    if has_names && args.all_namespaces {
        return Err(Failure::Usage(
            "cannot use names together with -A; use -n".to_owned(),
        ));
    }
    Ok(Request {
        wanted,
        changes,
        namespace: (!args.all_namespaces).then(|| args.namespace.clone()),
        labels: args.labels.clone(),
        overwrite: args.overwrite,
        dry_run: args.dry_run,
    })
}

/// The receiver of the messages was dropped, or the cluster failed.
struct Stop;

async fn label_cluster(api: ClusterApi, request: Arc<Request>, sender: mpsc::Sender<Message>) {
    let labeler = Labeler {
        api: &api,
        request: &request,
        sender: &sender,
    };
    let _stopped = labeler.all().await;
}

struct Labeler<'a> {
    api: &'a ClusterApi,
    request: &'a Request,
    sender: &'a mpsc::Sender<Message>,
}

impl Labeler<'_> {
    async fn all(&self) -> Result<(), Stop> {
        let discovery = match Discovery::of(self.api).await {
            Ok(discovery) => discovery,
            Err(error) => return self.fail(error).await,
        };
        for objects in &self.request.wanted {
            let resources = discovery.find(&objects.kind, "patch");
            if resources.is_empty() {
                let reason = format!("the cluster has no resource {:?}", objects.kind);
                self.send(Message::NotChanged(reason)).await?;
            }
            for resource in resources {
                if objects.names.is_empty() {
                    self.selected(resource).await?;
                }
                for name in &objects.names {
                    self.named(resource, name).await?;
                }
            }
        }
        Ok(())
    }

    async fn named(&self, resource: &Resource, name: &str) -> Result<(), Stop> {
        let path = resource.path(self.request.namespace.as_deref(), Some(name));
        match self.api.get::<Value>(&path, &[], JSON).await {
            Ok(object) => self.object(resource, &object).await,
            Err(error) if error.refusal().is_some() => {
                self.send(Message::NotChanged(error.to_string())).await
            }
            Err(error) => self.fail(error).await,
        }
    }

    async fn selected(&self, resource: &Resource) -> Result<(), Stop> {
        let path = resource.path(self.request.namespace.as_deref(), None);
        let query = Query {
            labels: self.request.labels.clone(),
            chunk_size: CHUNK,
            ..Query::default()
        };
        let mut pages = list_pages(self.api, &path, &query, JSON);
        loop {
            match pages.next().await {
                Ok(Some(page)) => {
                    for object in page["items"].as_array().into_iter().flatten() {
                        self.object(resource, object).await?;
                    }
                }
                Ok(None) => return Ok(()),
                Err(error) => return self.fail(error).await,
            }
        }
    }

    async fn object(&self, resource: &Resource, object: &Value) -> Result<(), Stop> {
        let metadata = &object["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        let subject = format!("{}/{name}", resource.short_kind());
        let outcome = self
            .request
            .changes
            .apply(&metadata["labels"], self.request.overwrite);
        let labels = match outcome {
            Ok(Outcome::Same) => {
                return self
                    .send(Message::Done(format!("{subject} not changed")))
                    .await;
            }
            Ok(Outcome::Patch(labels)) => labels,
            Err(Conflict { key, value }) => {
                return self
                    .send(Message::NotChanged(format!(
                        "{subject}: the label {key} has the value {value:?}; to replace it, use \
                         --overwrite"
                    )))
                    .await;
            }
        };
        let suffix = match self.request.dry_run {
            DryRun::None => "",
            DryRun::Client => {
                let text = format!("{subject} labeled (dry run)");
                return self.send(Message::Done(text)).await;
            }
            DryRun::Server => " (server dry run)",
        };
        let namespace = metadata["namespace"].as_str();
        let path = resource.path(namespace, Some(name));
        let mut body = json!({"metadata": {"labels": labels}});
        if !self.request.overwrite {
            // Another user may have set the label since the read.
            body["metadata"]["resourceVersion"] = metadata["resourceVersion"].clone();
        }
        let dry_run =
            (self.request.dry_run == DryRun::Server).then(|| ("dryRun", "All".to_owned()));
        let query: Vec<_> = dry_run.into_iter().collect();
        match self.api.merge_patch::<Value>(&path, &query, &body).await {
            Ok(_) => {
                let text = format!("{subject} labeled{suffix}");
                self.send(Message::Done(text)).await
            }
            Err(error) if error.refusal().is_some() => {
                self.send(Message::NotChanged(format!("{subject}: {error}")))
                    .await
            }
            Err(error) => self.fail(error).await,
        }
    }

    async fn fail(&self, error: CallError) -> Result<(), Stop> {
        self.send(Message::Failed(error)).await?;
        Err(Stop)
    }

    async fn send(&self, message: Message) -> Result<(), Stop> {
        self.sender.send(message).await.map_err(|_| Stop)
    }
}
