//! The command line, and the order of the build steps.

use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use crate::compile::{self, Program};
use crate::dist::{self, Stamp};
use crate::error::BundleError;
use crate::folders::{BuildMode, Folders};
use crate::node;
use crate::page::{self, Sources};

/// Build the web UI into frontend/dist.
#[derive(Parser)]
#[command(name = "drover-ui-bundle")]
struct Recipe {
    /// Build faster: a larger and slower page, without wasm-opt and with light compression
    #[arg(long, conflicts_with = "demonstration")]
    dev: bool,
    /// Build a page for a demonstration on this machine, without wasm-opt and with light compression
    #[arg(long)]
    demonstration: bool,
}

/// Runs the build. Writes an error and its causes to standard error.
pub(crate) fn run() -> ExitCode {
    match Recipe::parse().build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut text = error.to_string();
            let mut cause = error.source();
            while let Some(error) = cause {
                text = format!("{text}: {error}");
                cause = error.source();
            }
            say(&format!("ui: {text}"));
            ExitCode::FAILURE
        }
    }
}

impl Recipe {
    fn build(&self) -> Result<(), BundleError> {
        let started = Instant::now();
        let mode = match (self.dev, self.demonstration) {
            (true, _) => BuildMode::Dev,
            (false, true) => BuildMode::Demonstration,
            (false, false) => BuildMode::Release,
        };
        let folders = Folders::find();
        let wasm = compile::cargo(&folders, mode)?;
        node::install(&folders.frontend)?;
        let sources = Sources::read(&folders.frontend)?;
        let stamp = Stamp::of(mode, &wasm, &sources)?;
        if stamp.is_of(&folders.dist) {
            say("ui: frontend/dist is up to date");
            return Ok(());
        }
        let program = Program::generate(&wasm, &folders.staging)?;
        let program = match mode {
            BuildMode::Dev | BuildMode::Demonstration => program,
            BuildMode::Release => node::optimised(program, &folders)?,
        };
        let page = page::assemble(&sources, &program)?;
        let fresh = dist::write(&folders, &page)?;
        node::compress(&folders, &fresh, mode)?;
        stamp.keep(&fresh)?;
        dist::replace(&fresh, &folders.dist)?;
        for line in dist::sizes(&folders.dist)? {
            say(&line);
        }
        say(&format!(
            "ui: frontend/dist is built in {} s",
            started.elapsed().as_secs()
        ));
        Ok(())
    }
}

fn say(text: &str) {
    // A write error cannot be reported.
    let _ = writeln!(io::stderr(), "{text}");
}
