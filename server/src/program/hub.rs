//! `drover hub`: backup, restore and check of the embedded hub's file.

use std::path::{Path, PathBuf};

use drover_apiserver::store::{CopyError, OpenError, Overwrite, Report, Store};
use drover_cli::args::Format;
use drover_cli::{Failure, Page, describe, notice, one, print};
use jiff::Timestamp;
use serde::Serialize;

use crate::args::{DataFolder, HubArgs, HubBackup, HubCheck, HubCommand, HubRestore};
use drover_hub::connect::ProcessEnvironment;
use drover_hub::embedded::data_dir::DataDir;

/// Runs a subcommand of `drover hub`.
pub(super) async fn run(args: HubArgs) -> Result<(), Failure> {
    // The commands block on files.
    let done = tokio::task::spawn_blocking(move || match args.command {
        HubCommand::Backup(args) => backup(&args),
        HubCommand::Restore(args) => restore(&args),
        HubCommand::Check(args) => check(&args),
    });
    done.await.map_err(Failure::command)?
}

fn data_dir(data: &DataFolder) -> Result<DataDir, Failure> {
    match &data.data_dir {
        Some(folder) => Ok(DataDir::new(folder)),
        None => ProcessEnvironment::read()
            .data_dir()
            .map_err(Failure::command),
    }
}

/// Returns the database file of an existing hub.
fn existing(data: &DataFolder) -> Result<PathBuf, Failure> {
    let file = data_dir(data)?.file();
    present(file, "set its data folder with --data-dir")
}

fn present(file: PathBuf, advice: &str) -> Result<PathBuf, Failure> {
    match std::fs::metadata(&file) {
        Ok(_) => Ok(file),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Failure::Absent(
            format!("{path} not found; {advice}", path = file.display()),
        )),
        Err(source) => Err(Failure::Read {
            path: file.display().to_string(),
            source,
        }),
    }
}

fn backup(args: &HubBackup) -> Result<(), Failure> {
    let hub = existing(&args.data)?;
    Store::backup_of(&hub, &args.file).map_err(|error| match error {
        CopyError::Exists(path) => Failure::Other(format!(
            "cannot write the backup to {path}: the file exists; use a different file",
            path = path.display()
        )),
        other => Failure::command(other),
    })?;
    if show(&args.file, args.output.format)? > 0 {
        return Err(Failure::Other(format!(
            "the hub's file and the backup {path} are damaged; keep older backups, and restore \
             the last intact backup with \"drover hub restore --replace\"",
            path = args.file.display()
        )));
    }
    notice(&format!(
        "{} contains hashes of passwords and tokens, and private keys. Keep it secret.",
        args.file.display()
    ));
    Ok(())
}

fn restore(args: &HubRestore) -> Result<(), Failure> {
    let backup = present(args.file.clone(), "use the file of a backup")?;
    let data_dir = data_dir(&args.data)?;
    let hub = data_dir.prepare().map_err(Failure::command)?;
    let over = if args.replace {
        Overwrite::Replace
    } else {
        Overwrite::Deny
    };
    Store::restore(&backup, &hub, over).map_err(|error| match error {
        CopyError::Exists(path) => Failure::Other(format!(
            "cannot restore to {path}: the file exists; use --replace to replace the file \
             (Drover keeps a copy of the current file), or --data-dir for a different folder",
            path = path.display()
        )),
        CopyError::Open(OpenError::Locked { path, pid }) => Failure::Other(format!(
            "cannot restore to {path}: a server uses the file{process_id}; stop the server, \
             restore the backup, then start the server",
            path = path.display(),
            process_id = pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
        )),
        other => Failure::command(other),
    })?;
    show(&hub, args.output.format)?;
    notice("Restored the hub. Start the server; agents reconnect automatically.");
    Ok(())
}

fn check(args: &HubCheck) -> Result<(), Failure> {
    let file = match &args.file {
        Some(file) => present(file.clone(), "use the file of a backup")?,
        None => existing(&args.data)?,
    };
    let problems = show(&file, args.output.format)?;
    if problems == 0 {
        return Ok(());
    }
    Err(Failure::Other(format!(
        "{path} is damaged; stop the server, keep a copy of the file for analysis, and restore \
         the last intact backup with \"drover hub restore --replace\"",
        path = file.display()
    )))
}

/// Prints the result of checking a hub's file, and returns the number of problems.
fn show(file: &Path, format: Format) -> Result<usize, Failure> {
    let report = Store::check(file).map_err(Failure::command)?;
    let view = HubView::of(file, report);
    print(&one(&view, format, Timestamp::now())?)?;
    Ok(view.problems.len())
}

/// The result of the check of a hub's file, as the command prints it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct HubView {
    file: PathBuf,
    sound: bool,
    objects: u64,
    changes: u64,
    revision: u64,
    /// Number of restores of the hub, plus one.
    epoch: u64,
    schema: u32,
    problems: Vec<String>,
}

impl HubView {
    fn of(file: &Path, report: Report) -> Self {
        Self {
            file: file.to_owned(),
            sound: report.problems.is_empty(),
            objects: report.objects,
            changes: report.changes,
            revision: report.revision,
            epoch: report.epoch,
            schema: report.schema,
            problems: report.problems,
        }
    }
}

impl Page for HubView {
    fn page(&self, _now: Timestamp) -> String {
        let intact = if self.sound { "yes" } else { "no" };
        let mut lines = vec![
            ("File", self.file.display().to_string()),
            ("Intact", intact.to_owned()),
            ("Objects", self.objects.to_string()),
            ("Stored changes", self.changes.to_string()),
            ("Revision", self.revision.to_string()),
            ("Epoch", self.epoch.to_string()),
            ("Schema", self.schema.to_string()),
        ];
        let problems = self.problems.iter().cloned();
        lines.extend(problems.map(|problem| ("Problem", problem)));
        describe(&lines)
    }
}
