//! What can be typed.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use drover_e2e::with_causes;

use crate::{demo, images, kubernetes, pictures, release, schemas, weaken, wording};

/// Build, demonstration and weakening recipes of Drover.
#[derive(Parser)]
#[command(name = "xtask")]
enum Recipe {
    /// The real Kubernetes programs that tests use
    #[command(subcommand)]
    Kubernetes(kubernetes::Recipe),
    /// The server on its embedded hub with simulated clusters, until Ctrl-C
    Demo(demo::Demo),
    /// The server's and the agent's images: static programs, and nothing else
    Images(images::Images),
    /// One folder with programs, images, charts and checksums
    Release(release::Release),
    /// Pictures of the web UI for README.md, in docs/images
    Pictures,
    /// The schemas, paths and discovery that crates/apiserver serves, from the Kubernetes module
    ApiserverSchemas(schemas::Schemas),
    /// Remove one defence after the other, and see that its test notices
    Weaken(weaken::Weaken),
    /// Random samples of the project's text for the wording review, seeded with the commit
    WordingSample(wording::WordingSample),
}

/// Runs the recipe that was asked for; tells what went wrong, and why, on standard error.
pub(crate) fn run() -> ExitCode {
    match start(Recipe::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There is nowhere else to say it.
            let text = with_causes(&*error);
            let _ = writeln!(std::io::stderr(), "xtask: {text}");
            ExitCode::FAILURE
        }
    }
}

fn start(recipe: Recipe) -> Result<(), Box<dyn Error>> {
    match recipe {
        Recipe::Kubernetes(recipe) => recipe.run().map_err(Into::into),
        Recipe::Demo(demo) => demo.run().map_err(Into::into),
        Recipe::Images(images) => images.run().map_err(Into::into),
        Recipe::Release(release) => release.run().map_err(Into::into),
        Recipe::Pictures => pictures::run().map_err(Into::into),
        Recipe::ApiserverSchemas(schemas) => schemas.run().map_err(Into::into),
        Recipe::Weaken(weaken) => weaken.run().map_err(Into::into),
        Recipe::WordingSample(sample) => sample.run().map_err(Into::into),
    }
}
