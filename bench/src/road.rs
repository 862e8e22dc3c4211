//! `drover-bench road`.

/// TBD
#[derive(clap::Args)]
pub(crate) struct Road {}

impl Road {
    pub(crate) async fn run(self) -> Result<(), std::io::Error> {
        Ok(())
    }
}
