//! What can be typed, and the order of the steps.

use std::error::Error;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use crate::compile::{self, Program};
use crate::dist::{self, Stamp};
use crate::error::BundleError;
use crate::node;
use crate::page::{self, Sources};

/// Build the web UI into frontend/dist.
#[derive(Parser)]
#[command(name = "drover-ui-bundle")]
struct Recipe {
    /// Build for quick turns: larger and slower, without wasm-opt and with light compression
    #[arg(long)]
    dev: bool,
}

/// Runs the recipe; tells what went wrong, and why, on standard error.
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
        let mode = if self.dev { Mode::Quick } else { Mode::Final };
        let place = Place::find();
        let wasm = compile::cargo(&place, mode)?;
        let sources = Sources::read(&place.frontend)?;
        let stamp = Stamp::of(mode, &wasm, &sources)?;
        if stamp.is_of(&place.dist) {
            say("ui: frontend/dist is up to date");
            return Ok(());
        }
        let program = Program::bind(&wasm, &place.staging)?;
        let program = match mode {
            Mode::Quick => program,
            Mode::Final => node::optimised(program, &place)?,
        };
        let page = page::assemble(&sources, &program)?;
        let fresh = dist::write(&place, &page)?;
        node::compress(&place, &fresh, mode)?;
        stamp.keep(&fresh)?;
        dist::replace(&fresh, &place.dist)?;
        for line in dist::sizes(&place.dist)? {
            say(&line);
        }
        say(&format!(
            "ui: frontend/dist is built in {} s",
            started.elapsed().as_secs()
        ));
        Ok(())
    }
}

/// For whom a page is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// For who works on it.
    Quick,
    /// For who uses it.
    Final,
}

/// Where things lie.
#[derive(Debug)]
pub(crate) struct Place {
    /// The workspace.
    pub(crate) frontend: PathBuf,
    /// What is served.
    pub(crate) dist: PathBuf,
    /// cargo's target folder.
    pub(crate) target: PathBuf,
    /// Between the steps.
    pub(crate) staging: PathBuf,
}

impl Place {
    /// The target folder is the one that this very program was built in.
    fn find() -> Self {
        let frontend = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .unwrap_or_else(|| Path::new("."))
            .to_owned();
        let own = std::env::current_exe().unwrap_or_default();
        let target = own
            .ancestors()
            .nth(2)
            .map_or_else(|| frontend.join("target"), Path::to_path_buf);
        Self {
            dist: frontend.join("dist"),
            staging: target.join("ui-staging"),
            target,
            frontend,
        }
    }
}

fn say(text: &str) {
    // There is nowhere else to say it.
    let _ = writeln!(io::stderr(), "{text}");
}
