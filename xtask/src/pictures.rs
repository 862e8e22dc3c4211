//! `xtask pictures` (`make pictures`): pictures of the web UI for README.md, into `docs/images`.

use std::io;

use drover_e2e::{
    BrowserError, BuildError, DemoOptions, DemoServer, DroverError, Playwright, ProgramError, Tool,
};

use crate::build::target;

/// Small, large and troubled.
const CLUSTERS: u32 = 3;

/// Why there are no pictures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PicturesError {
    /// The demonstration did not start.
    #[error(transparent)]
    Drover(#[from] DroverError),
    /// kubectl is not there.
    #[error(transparent)]
    Kubectl(#[from] BuildError),
    /// The browser.
    #[error(transparent)]
    Browser(#[from] BrowserError),
    /// The demonstration did not end.
    #[error(transparent)]
    Ended(#[from] ProgramError),
    /// The system did not give what is needed.
    #[error("the system gave no runtime or no temporary folder")]
    System(#[source] io::Error),
}

/// `xtask pictures`.
pub(crate) fn run() -> Result<(), PicturesError> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(PicturesError::System)?
        .block_on(take())
}

async fn take() -> Result<(), PicturesError> {
    let folder = tempfile::tempdir().map_err(PicturesError::System)?;
    let playwright = Playwright::prepare(&target().join("e2e")).await?;
    let server = DemoServer::start(DemoOptions {
        folder: folder.path().to_owned(),
        port: None,
        clusters: CLUSTERS,
    })
    .await?;
    let password = server.log_in().await?;
    server.wait_for_clusters(CLUSTERS as usize).await?;
    let kubectl = Tool::Kubectl.locate().await?;
    let told = server.told_to_browser(&password, &kubectl);
    playwright.run("pictures", told).await?;
    server.stop().await?;
    Ok(())
}
