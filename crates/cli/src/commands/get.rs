//! Implements `drover get`.

mod columns;
mod fetch;
pub(super) mod history;
mod objects;
mod printer;
mod rows;
mod sort_key;
mod stored;
pub(super) mod top;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::args::{GetArgs, ObjectFormat};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::kubernetes::{
    ClusterApi, ClusterFailures, ObjectNames, Query, in_order, selected_clusters,
};
use crate::table::printable;
use crate::terminal::notice;
use fetch::{Message, Request};
use printer::{Printer, Style};

/// Runs `drover get`.
pub(crate) async fn run(args: &GetArgs, environment: &Environment) -> Result<(), Failure> {
    let request = request(args)?;
    let is_single = args.selection.clusters.len() == 1;
    let mut printer = Printer::new(args, style(args, &request, is_single))?;
    let client = environment.client(&args.connection)?;
    let clusters = selected_clusters(&client, &args.selection).await?;
    let request = Arc::new(request);
    if args.watch {
        return watch::run(args, &clusters, request, &mut printer).await;
    }
    list(&clusters, request, &mut printer).await
}

fn request(args: &GetArgs) -> Result<Request, Failure> {
    let wanted = ObjectNames::parse(&args.objects)?;
    let has_names = wanted.iter().any(|objects| !objects.names.is_empty());
    if has_names && (args.labels.is_some() || args.fields.is_some()) {
        return Err(Failure::Usage(
            "cannot use names together with -l or --field-selector; remove one of them".to_owned(),
        ));
    }
    if has_names && args.all_namespaces {
        return Err(Failure::Usage(
            "cannot use names together with -A; use -n, or --field-selector metadata.name=NAME"
                .to_owned(),
        ));
    }
    let query = Query {
        labels: args.labels.clone(),
        fields: args.fields.clone(),
        chunk_size: args.chunk_size,
        include_objects: args.sort_by.is_some(),
    };
    Ok(Request {
        wanted,
        namespace: (!args.all_namespaces).then(|| args.namespace.clone()),
        query,
        accept: printer::accept(&args.output),
    })
}

fn style(args: &GetArgs, request: &Request, is_single: bool) -> Style {
    let one_kind = match &request.wanted[..] {
        [objects] => Some(objects),
        _ => None,
    };
    let is_object = one_kind.is_some_and(|objects| objects.names.len() == 1);
    Style {
        shows_kind: one_kind.is_none(),
        shows_namespace: args.all_namespaces,
        names_cluster: !is_single,
        is_single_object: is_single && is_object,
        is_watch: args.watch,
    }
}

async fn list(
    clusters: &[ClusterApi],
    request: Arc<Request>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let mut failures = ClusterFailures::new(clusters.len());
    let mut found = BTreeSet::new();
    let mut absent = BTreeMap::new();
    let start = |api, sender| fetch::run(api, Arc::clone(&request), sender);
    in_order(clusters, start, |cluster, message| {
        match message {
            Message::Page(resource, asked, page) => {
                found.insert(asked);
                printer.page(cluster.name(), &resource, page)?;
            }
            Message::Absent(asked, reason) => {
                absent.insert(asked, reason);
            }
            Message::Failed(error) => failures.add(cluster.name(), error),
        }
        Ok(())
    })
    .await?;
    printer.finish()?;
    failures.finish()?;
    let missing: Vec<String> = absent
        .into_iter()
        .filter(|(asked, _)| !found.contains(asked))
        .map(|(_, reason)| reason)
        .collect();
    if !missing.is_empty() {
        return Err(Failure::Absent(missing.join("\ndrover: ")));
    }
    if printer.is_empty() {
        notice(&printable(&nothing_found(&request, clusters)));
    }
    Ok(())
}

/// Returns the message for a result without objects.
fn nothing_found(request: &Request, clusters: &[ClusterApi]) -> String {
    let place = match clusters {
        [cluster] => format!("the cluster {}", cluster.name()),
        clusters => format!("{} clusters", clusters.len()),
    };
    match &request.namespace {
        Some(namespace) => format!("No objects found in the namespace {namespace} of {place}."),
        None => format!("No objects found in {place}."),
    }
}

/// Reports whether a format is a table whose columns the API server creates.
fn is_server_table(format: &ObjectFormat) -> bool {
    matches!(format, ObjectFormat::Table | ObjectFormat::Wide)
}
