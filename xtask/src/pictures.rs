//! The recipe `xtask pictures` (`make pictures`): takes the screenshots of the web UI for
//! README.md, in `docs/images`.

use std::io;

use drover_e2e::{BrowserError, Playwright};

use crate::build::target;

/// The reason why the screenshots cannot be taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PicturesError {
    /// The browser tests or the demo failed.
    #[error(transparent)]
    Browser(#[from] BrowserError),
    /// The async runtime cannot be created.
    #[error("cannot start the runtime")]
    System(#[source] io::Error),
}

/// Runs the demo, and takes the screenshots with a browser.
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
