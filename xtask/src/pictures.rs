//! `xtask pictures` (`make pictures`): pictures of the web UI for README.md, into `docs/images`.

use std::io;

use drover_e2e::{BrowserError, Playwright};

use crate::build::target;

/// Why there are no pictures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PicturesError {
    /// The browser, or what it was to look at.
    #[error(transparent)]
    Browser(#[from] BrowserError),
    /// The system did not give what is needed.
    #[error("the system gave no runtime")]
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
    let playwright = Playwright::prepare(&target().join("e2e")).await?;
    playwright.run_on_demonstration("pictures").await?;
    Ok(())
}
