//! Implements `drover search`.

mod fetch;
mod found;

use std::collections::BTreeMap;
use std::sync::Arc;

use drover_api::rest::{ClusterRights, ClusterView};
use drover_rows::Query;
use drover_rows::search::{SearchedKind, filter};
use jiff::Timestamp;

use crate::args::{Format, SearchArgs, SearchFormat};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::kubernetes::{ClusterFailures, in_order, selected_clusters};
use crate::output;
use crate::table::printable;
use crate::terminal::{notice, print};
use fetch::Message;
use found::FoundObject;

/// Maximum number of objects in the output.
const MAX_FOUND: usize = 10_000;

/// The searched objects.
#[derive(Debug)]
struct Request {
    query: Query,
    /// The part of the image's name; empty for all images.
    image: String,
    labels: Option<String>,
    namespace: Option<String>,
    /// The permissions of the user in the clusters, by name.
    rights: BTreeMap<String, ClusterRights>,
}

/// Runs `drover search`.
pub(crate) async fn run(args: &SearchArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    let clusters = selected_clusters(&client, &args.selection).await?;
    let known: Vec<ClusterView> = client.list(&["v1", "clusters"]).await?;
    let rights = known.into_iter().map(|it| (it.name, it.rights));
    let request = Arc::new(Request {
        query: Query::read(&filter(&args.text.join(" "))),
        image: args.image.clone().unwrap_or_default().to_lowercase(),
        labels: args.labels.clone(),
        namespace: args.namespace.clone(),
        rights: rights.collect(),
    });
    let mut result = SearchResult::new(clusters.len());
    let start = |api, sender| fetch::run(api, Arc::clone(&request), sender);
    in_order(&clusters, start, |cluster, message| {
        result.receive(cluster.name(), message)
    })
    .await?;
    result.finish(args.output)
}

/// The found objects, and the parts of the clusters that the command could not search.
struct SearchResult {
    found: Vec<FoundObject>,
    failures: ClusterFailures,
    /// The clusters in which the user cannot list a kind, by the plural of the kind.
    refused: BTreeMap<&'static str, Vec<String>>,
}

impl SearchResult {
    const fn new(clusters: usize) -> Self {
        Self {
            found: Vec::new(),
            failures: ClusterFailures::new(clusters),
            refused: BTreeMap::new(),
        }
    }

    fn receive(&mut self, cluster: &str, message: Message) -> Result<(), Failure> {
        match message {
            Message::Found(found) => self.found.extend(found),
            Message::Refused(SearchedKind { plural, .. }) => {
                let clusters = self.refused.entry(plural).or_default();
                clusters.push(cluster.to_owned());
            }
            Message::Failed(error) => self.failures.add(cluster, error),
        }
        if self.found.len() > MAX_FOUND {
            return Err(Failure::Other(format!(
                "more than {MAX_FOUND} objects match; add words, -l, --image or --clusters"
            )));
        }
        Ok(())
    }

    fn finish(self, format: SearchFormat) -> Result<(), Failure> {
        let text = match format {
            SearchFormat::Name => self.found.iter().map(FoundObject::line).collect(),
            SearchFormat::Table => listed(self.found, Format::Table)?,
            SearchFormat::Json => listed(self.found, Format::Json)?,
        };
        print(&text)?;
        for (plural, clusters) in self.refused {
            let clusters = clusters.join(", ");
            notice(&printable(&format!(
                "drover: {plural} not searched, because you have no permission to list them: \
                 {clusters}"
            )));
        }
        self.failures.finish()
    }
}

fn listed(found: Vec<FoundObject>, format: Format) -> Result<String, Failure> {
    let none = "No objects found.";
    Ok(output::list(found, format, Timestamp::now(), none)?)
}
