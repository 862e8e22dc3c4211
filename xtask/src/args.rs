//! The command line of xtask.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use drover_e2e::with_causes;

use crate::{
    bench, compat_fleet, demo, images, instructions, kubernetes, pictures, release, renderer,
    schemas, weaken, wording,
};

/// The recipes of Drover, such as build, demo, release and mutation tests.
#[derive(Parser)]
#[command(name = "xtask")]
enum Recipe {
    /// Build the programs as for a release, and run a bench
    Bench(bench::Bench),
    /// Manage the Kubernetes programs of the tests
    #[command(subcommand)]
    Kubernetes(kubernetes::Recipe),
    /// Build Fleet's own programs, and deploy bundles with Fleet's agent at Drover's hub and with Drover's
    /// agent at a hub with Fleet's controllers
    CompatFleet(compat_fleet::CompatFleet),
    /// Run the server on its embedded hub with simulated clusters, until Ctrl-C
    Demo(demo::Demo),
    /// Build the images of the server and the agent, which contain static programs only
    Images(images::Images),
    /// Count the instructions of hot paths, and compare the counts with bench/instructions/baseline
    Instructions(instructions::Instructions),
    /// Write programs, images, charts and checksums into one folder
    Release(release::Release),
    /// Build the program that renders charts for the cluster agent
    Renderer(renderer::Renderer),
    /// Take the screenshots of the web UI for README.md, in docs/images
    Pictures,
    /// Generate the schemas, paths and discovery documents of crates/apiserver from the Kubernetes
    /// module
    ApiserverSchemas(schemas::Schemas),
    /// Remove each defence in turn, and check that its test fails
    Weaken(weaken::Weaken),
    /// Draw random samples of the project's text for the wording review, seeded with the commit
    WordingSample(wording::WordingSample),
}

/// Runs the selected recipe. Writes an error and the chain of its causes to standard error.
pub(crate) fn run() -> ExitCode {
    match start(Recipe::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A write error cannot be reported, so ignore it.
            let text = with_causes(&*error);
            let _ = writeln!(std::io::stderr(), "xtask: {text}");
            ExitCode::FAILURE
        }
    }
}

fn start(recipe: Recipe) -> Result<(), Box<dyn Error>> {
    match recipe {
        Recipe::Bench(bench) => bench.run().map_err(Into::into),
        Recipe::Kubernetes(recipe) => recipe.run().map_err(Into::into),
        Recipe::CompatFleet(compat) => compat.run().map_err(Into::into),
        Recipe::Demo(demo) => demo.run().map_err(Into::into),
        Recipe::Images(images) => images.run().map_err(Into::into),
        Recipe::Instructions(instructions) => instructions.run().map_err(Into::into),
        Recipe::Release(release) => release.run().map_err(Into::into),
        Recipe::Renderer(renderer) => renderer.run().map_err(Into::into),
        Recipe::Pictures => pictures::run().map_err(Into::into),
        Recipe::ApiserverSchemas(schemas) => schemas.run().map_err(Into::into),
        Recipe::Weaken(weaken) => weaken.run().map_err(Into::into),
        Recipe::WordingSample(sample) => sample.run().map_err(Into::into),
    }
}
