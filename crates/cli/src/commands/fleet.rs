//! Implements `drover fleet`.

mod bundle_diff;
mod charts;
mod commit;
mod folder;
pub(super) mod git;
mod hub;
mod monitor;
mod rendering;
pub(super) mod rollout;
mod target;

use std::collections::BTreeMap;
use std::path::Path;

use drover_api::fleet::labels::{COMMIT, REPO_NAME};
use drover_api::fleet::{Bundle, BundlePath, CorrectDrift, GitRepo};
use drover_gitops::fleet_yaml::{
    BundleDraft, Compression, Limits, Placement, ReadError, Tree, read_folders,
};
use drover_gitops::targeting::yaml_text;
use serde_json::{Value, json};

use self::folder::LocalFiles;
use crate::args::{BundleArgs, BundleCommand, FleetApply, FleetArgs, FleetCommand, FolderArgs};
use crate::client::Client;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{notice, print};

/// Maximum size of a targets file, in bytes.
const MAX_TARGETS_BYTES: u64 = 1 << 20;

/// Runs a subcommand of `drover fleet`.
pub(crate) async fn run(args: &FleetArgs, environment: &Environment) -> Result<(), Failure> {
    let client = || environment.client(&args.connection);
    match &args.command {
        FleetCommand::Apply(apply) => run_apply(apply, client).await,
        FleetCommand::Target(target) => target::run(&client()?, target).await,
        FleetCommand::Deploy(deploy) => rendering::deploy(deploy, client).await,
        FleetCommand::Render(render) => Box::pin(rendering::render(render, client)).await,
        FleetCommand::Test(test) => Box::pin(rendering::test(test, client)).await,
        FleetCommand::Diff(diff) => Box::pin(rendering::diff(diff, client)).await,
        FleetCommand::BundleDiff(diff) => bundle_diff::run(&client()?, diff).await,
        FleetCommand::Monitor(monitor) => monitor::run(&client()?, monitor).await,
    }
}

/// Runs a subcommand of `drover bundle`.
pub(crate) async fn run_bundle(
    args: &BundleArgs,
    environment: &Environment,
) -> Result<(), Failure> {
    let BundleCommand::Diff(diff) = &args.command;
    let client = || environment.client(&args.connection);
    Box::pin(rendering::bundle_diff(diff, client)).await
}

/// Runs `drover fleet apply`. `client` connects to the server of the command line.
async fn run_apply(
    apply: &FleetApply,
    client: impl Fn() -> Result<Client, Failure>,
) -> Result<(), Failure> {
    check_flags(apply)?;
    let bundles = local_bundles(&apply.folder).await?;
    if let Some(file) = &apply.output {
        let bundles: Vec<Value> = bundles.iter().map(|bundle| json!(bundle)).collect();
        return write(file, &documents(&bundles));
    }
    hub::apply(&client()?, &apply.folder.namespace, bundles).await
}

/// Rejects flags of Fleet that the command does not support.
fn check_flags(args: &FleetApply) -> Result<(), Failure> {
    match args.rejected.first() {
        Some((flag, advice)) => Err(Failure::Usage(format!(
            "drover does not support the flag {flag} of Fleet; {advice}"
        ))),
        None => Ok(()),
    }
}

/// Returns the Bundles of the folders below the current folder.
async fn local_bundles(args: &FolderArgs) -> Result<Vec<Bundle>, Failure> {
    let root = std::env::current_dir().map_err(|source| Failure::Read {
        path: ".".to_owned(),
        source,
    })?;
    let program = charts::program();
    bundles(args, &root, program.as_deref()).await
}

/// Returns the Bundles of the folders below `root`. `program` is the program that fetches charts.
async fn bundles(
    args: &FolderArgs,
    root: &Path,
    program: Option<&Path>,
) -> Result<Vec<Bundle>, Failure> {
    let drafts = drafts(args, root)?;
    let fetched = Box::pin(charts::fetch(&args.charts, &drafts, program)).await?;
    let compression = if args.options.compress {
        Compression::All
    } else {
        Compression::Large
    };
    let mut bundles = Vec::new();
    for (draft, fetched) in drafts.into_iter().zip(fetched) {
        if !draft.image_scans().is_empty() {
            notice(&format!("Ignored the imageScans of {}.", draft.name()));
        }
        let draft = draft.compressed(compression);
        let bundle = draft.finish(&fetched, &[]);
        bundles.push(bundle.map_err(|error| other(&error))?);
    }
    Ok(bundles)
}

fn other(error: &dyn std::fmt::Display) -> Failure {
    Failure::Other(format!("cannot read the bundles: {error}"))
}

/// Reads the Bundles without the charts outside of their folders.
fn drafts(args: &FolderArgs, root: &Path) -> Result<Vec<BundleDraft>, Failure> {
    let options = options(args, root)?;
    let placement = match &args.options.targets_file {
        Some(file) => placement(file)?,
        None => Placement::default(),
    };
    let limits = Limits::default();
    let mut local = LocalFiles::open(root, &limits)?;
    if args.scan.driven_scan {
        for bundle in &options.spec.bundles {
            local.add(&bundle.base, &bundle.options)?;
        }
    } else if options.spec.paths.is_empty() {
        local.add("", "")?;
    } else {
        for path in &options.spec.paths {
            local.add(path, "")?;
        }
    }
    let (files, rejected) = local.into_files();
    let tree = Tree::new(files, &limits).map_err(|error| other(&error))?;
    let tree = tree.with_rejected(rejected);
    match read_folders(&options, &placement, &tree, &limits) {
        Err(ReadError::NoBundles { paths }) => Err(Failure::Other(format!(
            "no files to deploy in the paths {paths:?}: correct PATH"
        ))),
        read => read.map_err(|error| other(&error)),
    }
}

/// Returns the flags as the options of a GitRepo.
fn options(args: &FolderArgs, root: &Path) -> Result<GitRepo, Failure> {
    let flags = &args.options;
    let mut repo = GitRepo::default();
    repo.metadata.name = Some(args.name.clone());
    repo.metadata.namespace = Some(args.namespace.clone());
    let labels: BTreeMap<String, String> = flags.labels.iter().cloned().collect();
    if labels.contains_key(REPO_NAME) {
        return Err(Failure::Usage(format!(
            "cannot set the label {REPO_NAME}: the server deletes bundles of a GitRepo that does not \
             exist; remove the label"
        )));
    }
    repo.metadata.labels = Some(labels);
    let commit = flags.commit.clone().filter(|commit| !commit.is_empty());
    if let Some(commit) = commit.or_else(|| commit::current(root)) {
        let labels = repo.metadata.labels.get_or_insert_default();
        labels.insert(COMMIT.to_owned(), commit);
    }
    let spec = &mut repo.spec;
    let paths = args.paths.iter().map(|path| relative(path, root));
    let paths = paths.collect::<Result<Vec<String>, Failure>>()?;
    if args.scan.driven_scan {
        spec.bundles = driven(&paths, &args.scan.driven_scan_separator)?;
    } else {
        spec.paths = paths;
    }
    spec.service_account.clone_from(&flags.service_account);
    spec.target_namespace.clone_from(&flags.target_namespace);
    spec.paused = flags.paused;
    spec.force_sync_generation = flags.sync_generation;
    spec.keep_resources = flags.keep_resources;
    spec.delete_namespace = flags.delete_namespace;
    spec.correct_drift = Some(CorrectDrift {
        enabled: flags.correct_drift,
        force: flags.correct_drift_force,
        keep_fail_history: flags.correct_drift_keep_fail_history,
    });
    Ok(repo)
}

/// Returns a path relative to the current folder.
fn relative(path: &str, root: &Path) -> Result<String, Failure> {
    let relative = if Path::new(path).is_absolute() {
        Path::new(path)
            .strip_prefix(root)
            .ok()
            .and_then(Path::to_str)
    } else {
        Some(path)
    };
    relative.map(str::to_owned).ok_or_else(|| {
        Failure::Usage(format!(
            "cannot read {path:?}: the folder is not below the current folder; change the current \
             folder"
        ))
    })
}

fn driven(paths: &[String], separator: &str) -> Result<Vec<BundlePath>, Failure> {
    if separator.is_empty() {
        return Err(Failure::Usage(
            "--driven-scan-sep is empty; use a character".to_owned(),
        ));
    }
    let root = [".".to_owned()];
    let paths = if paths.is_empty() { &root } else { paths };
    let entry = |path: &String| {
        let (base, options) = path.split_once(separator).unwrap_or((path, ""));
        if options.contains(separator) {
            return Err(Failure::Usage(format!(
                "cannot use the path {path:?}: write FOLDER or FOLDER{separator}FILE"
            )));
        }
        Ok(BundlePath {
            base: base.to_owned(),
            options: options.to_owned(),
        })
    };
    paths.iter().map(entry).collect()
}

fn placement(file: &Path) -> Result<Placement, Failure> {
    let path = file.display().to_string();
    let data = folder::read_argument(file, MAX_TARGETS_BYTES)?;
    Placement::parse(&data)
        .map_err(|error| Failure::Other(format!("cannot read the targets file {path}: {error}")))
}

/// Returns YAML documents.
fn documents(objects: &[Value]) -> String {
    let documents: Vec<String> = objects.iter().map(yaml_text).collect();
    documents.join("---\n")
}

/// Writes text to a file, or to standard output.
fn write(file: &Path, text: &str) -> Result<(), Failure> {
    if file == Path::new("-") {
        return Ok(print(text)?);
    }
    let folder = file.parent().filter(|it| !it.as_os_str().is_empty());
    let created = folder.map_or(Ok(()), std::fs::create_dir_all);
    let written = created.and_then(|()| std::fs::write(file, text));
    written.map_err(|error| {
        let file = file.display();
        Failure::Other(format!("cannot write {file}: {error}"))
    })
}

#[cfg(test)]
mod tests;
