//! The project's recipes: `cargo run -p xtask -- help`.

mod kubernetes;

use std::error::Error;

use clap::Parser;

/// Build, demonstration, weakening and bench recipes of Drover.
#[derive(Parser)]
#[command(name = "xtask")]
enum Recipe {
    /// The real Kubernetes programs that tests use.
    #[command(subcommand)]
    Kubernetes(kubernetes::Recipe),
}

fn main() -> Result<(), Box<dyn Error>> {
    match Recipe::parse() {
        Recipe::Kubernetes(recipe) => recipe.run().map_err(Into::into),
    }
}
