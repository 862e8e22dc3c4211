//! Implements `drover plugin`.

use std::path::{Path, PathBuf};

use crate::args::{PluginArgs, PluginCommand};
use crate::failure::Failure;
use crate::platform::link;
use crate::terminal::notice;

/// The names of the programs that kubectl runs for `kubectl drover`.
const LINKS: [&str; 2] = ["kubectl-drover", "kubectl_complete-drover"];

/// Runs a subcommand of `drover plugin`.
pub(crate) fn run(args: &PluginArgs) -> Result<(), Failure> {
    let PluginCommand::Install(args) = &args.command;
    let program = std::env::current_exe().map_err(|source| Failure::Read {
        path: "the path of this program".to_owned(),
        source,
    })?;
    let folder = match (&args.folder, program.parent()) {
        (Some(folder), _) => folder.clone(),
        (None, Some(folder)) => folder.to_owned(),
        (None, None) => PathBuf::from("."),
    };
    for name in LINKS {
        install(
            &program,
            &folder
                .join(name)
                .with_extension(std::env::consts::EXE_EXTENSION),
        )?;
    }
    notice(&format!(
        "Installed {} in {folder}. kubectl finds the plugin if {folder} is in $PATH: kubectl drover get pods",
        LINKS.join(" and "),
        folder = folder.display()
    ));
    Ok(())
}

fn install(program: &Path, path: &Path) -> Result<(), Failure> {
    link(program, path).map_err(|source| {
        let path = path.display();
        Failure::Other(format!(
            "cannot create {path}: {source}; use --folder to select another folder"
        ))
    })
}
