//! The charts of bundles.

use std::convert::Infallible;

use drover_api::fleet::GitRepo;
use drover_charts::{Access, ChartRequest, ChartSource, DownloadError, Downloads};
use drover_gitops::fleet_yaml::{
    BundleDraft, FetchedFiles, GitChart, Limits, Tree, read_repository,
};

use crate::archive::{Tar, chart};
use crate::site::{Reply, Site};

/// A source that permits all charts, and has no git repository.
struct Anyone(String);

impl ChartSource for Anyone {
    type Error = Infallible;

    async fn request(
        &mut self,
        _: &str,
        repo: &str,
        chart: &str,
        version: &str,
    ) -> Result<ChartRequest, Infallible> {
        Ok(ChartRequest {
            repo: repo.to_owned(),
            chart: chart.to_owned(),
            version: version.to_owned(),
            access: Access {
                authorities: self.0.clone(),
                ..Access::default()
            },
            ..ChartRequest::default()
        })
    }

    async fn git(&mut self, _: &str, _: &GitChart) -> Result<FetchedFiles, Infallible> {
        Ok(FetchedFiles::new())
    }
}

/// Starts a repository with two versions of the chart `db`, and a chart `web` without its dependencies.
async fn site(dependencies: &str) -> Site {
    let site = Site::start().await;
    let index = "entries:\n  db:\n  - {name: db, version: 1.0.0, urls: [db1.tgz]}\n  - {name: db, version: 2.0.0, urls: [db2.tgz]}\n  web:\n  - {name: web, version: 1.0.0, urls: [web.tgz]}\n";
    site.set("/index.yaml", Reply::ok(index));
    site.set("/db1.tgz", Reply::ok(chart("db", "1.0.0")));
    site.set("/db2.tgz", Reply::ok(chart("db", "2.0.0")));
    let text = dependencies.replace("URL", &site.url);
    let web = format!("apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: {text}\n");
    let web = Tar::default().file("web/Chart.yaml", web.as_bytes());
    site.set("/web.tgz", Reply::ok(web.gzip()));
    site
}

fn draft(options: &str) -> BundleDraft {
    let files = [("fleet.yaml".to_owned(), options.as_bytes().to_vec())].into();
    let limits = Limits::default();
    let tree = Tree::new(files, &limits).unwrap();
    let drafts = read_repository(&GitRepo::default(), &tree, &limits);
    drafts.unwrap().remove(0)
}

/// Returns the paths of the fetched files, or the error.
async fn fetched(site: &Site, options: &str) -> Result<Vec<String>, DownloadError<Infallible>> {
    let charts = crate::fetcher();
    let draft = draft(&format!(
        "helm: {{repo: '{}', chart: web{options}}}",
        site.url
    ));
    let mut downloads = Downloads::new(&charts, Anyone(site.certificate.clone()));
    let found = Box::pin(downloads.fetch(&draft)).await?;
    let files = found.into_values().flatten();
    Ok(files.map(|(path, _)| path).collect())
}

const ALIASES: &str = "[{name: db, version: 1.0.0, alias: old, repository: 'URL'}, \
                       {name: db, version: ^2, alias: new, repository: 'URL'}]";

#[tokio::test]
async fn missing_dependencies_of_a_fetched_chart_are_fetched_with_their_aliases() {
    let site = site(ALIASES).await;
    let expected = [
        "web/Chart.yaml",
        "web/charts/db-1.0.0.tgz",
        "web/charts/db-2.0.0.tgz",
    ];
    assert_eq!(fetched(&site, "").await.unwrap(), expected);
    let disabled = fetched(&site, ", disableDependencyUpdate: true").await;
    assert_eq!(disabled.unwrap(), expected[..1]);
}

#[tokio::test]
async fn dependency_in_a_local_folder_of_a_fetched_chart_is_an_error() {
    let site = site("[{name: db, repository: 'file:///etc'}]").await;
    let error = fetched(&site, "").await.unwrap_err().to_string();
    assert!(
        error.contains("dependency db") && error.contains("\"web\""),
        "{error}"
    );
}
