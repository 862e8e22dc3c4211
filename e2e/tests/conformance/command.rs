//! Starts both servers, runs the scripts on both servers, and reports the differences.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use drover_e2e::conformance::{
    Accepted, Cells, Credential, Outcome, Pair, RunError, Script, Side, folder, load,
};
use drover_e2e::{ControlPlane, Options};
use futures::StreamExt as _;

use crate::embedded::{Embedded, TOKEN};
use crate::report::{say, tell};

/// The reason why the servers cannot be compared.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// Maximum number of scripts that run in parallel. The limit exists because both servers share the
/// machine's CPUs.
const CONCURRENCY: usize = 6;

/// The controllers of kube-controller-manager that also run in the embedded API. Additional
/// controllers would change objects of the scripts.
const CONTROLLERS: &str = "--controllers=namespace-controller,garbage-collector-controller,\
                           serviceaccount-controller,root-ca-certificate-publisher-controller,\
                           clusterrole-aggregation-controller";

/// Flags of kube-apiserver. The flags compact etcd every 5 s, because scripts wait until versions
/// expire. The flags also disable the watch cache of ControllerRevisions, which would keep versions
/// longer.
const EXPIRY: [&str; 2] = [
    "--etcd-compaction-interval=5s",
    "--watch-cache-sizes=controllerrevisions.apps#0",
];

/// The command line arguments of the comparison.
struct Arguments {
    scripts: PathBuf,
    names: Vec<String>,
    write_table: bool,
}

impl Arguments {
    /// Parses the arguments. Ignores arguments of the standard test harness that this program does
    /// not support.
    fn read() -> Result<Self, Failure> {
        let mut arguments = Self {
            scripts: folder().join("scripts"),
            names: Vec::new(),
            write_table: false,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--scripts" => {
                    let folder = words.next().ok_or("--scripts needs a folder")?;
                    arguments.scripts = std::path::absolute(folder)?;
                }
                "--write-table" => arguments.write_table = true,
                _ if word.starts_with('-') => {}
                _ => arguments.names.push(word),
            }
        }
        Ok(arguments)
    }
}

/// Runs the comparison, or writes the coverage table with the argument `--write-table`. Returns the
/// exit code.
pub(crate) fn main() -> ExitCode {
    let done = Arguments::read().and_then(|arguments| {
        if arguments.write_table {
            return write_table().map(|()| true);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        runtime.block_on(compare(&arguments))
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("{error}"));
            let mut cause = error.source();
            while let Some(error) = cause {
                say(&format!("  because: {error}"));
                cause = error.source();
            }
            ExitCode::FAILURE
        }
    }
}

fn write_table() -> Result<(), Failure> {
    let cells = Cells::load(&folder().join("features.yaml"))?;
    let scripts = load(&folder().join("scripts"))?;
    std::fs::write(folder().join("COVERAGE.md"), cells.table(&scripts)?)?;
    Ok(())
}

async fn compare(arguments: &Arguments) -> Result<bool, Failure> {
    let mut scripts = load(&arguments.scripts)?;
    if !arguments.names.is_empty() {
        scripts.retain(|script| {
            arguments
                .names
                .iter()
                .any(|name| script.name.contains(name))
        });
    }
    if scripts.is_empty() {
        return Err(format!(
            "no script in {} matches the names; check the names",
            arguments.scripts.display()
        )
        .into());
    }
    let accepted = Accepted::load(&arguments.scripts.join("../accepted.yaml"))?;
    let begin = Instant::now();
    let options = Options {
        name: "conformance".to_owned(),
        api_server_flags: EXPIRY.map(str::to_owned).to_vec(),
        controller_manager_flags: vec![CONTROLLERS.to_owned()],
        ..Options::default()
    };
    let (real, ours) = tokio::try_join!(
        async { ControlPlane::start(options).await.map_err(Failure::from) },
        Embedded::start(),
    )?;
    let pair = pair(&real, &ours)?;
    say(&format!(
        "both servers are ready after {:.1} s",
        begin.elapsed().as_secs_f64()
    ));
    let results = run_all(&pair, &scripts, &accepted).await;
    Ok(conclude(&accepted, results, begin))
}

fn pair(real: &ControlPlane, ours: &Embedded) -> Result<Pair, Failure> {
    let admin = real.identity("admin", Some("system:masters"))?;
    let credential = Credential::Certificate {
        ca: real.ca().to_owned(),
        client: admin.certificate,
    };
    Ok(Pair {
        real: Side::new("kube-apiserver", &real.url(), credential)?,
        ours: Side::new(
            "the embedded API",
            &format!("http://{}", ours.address),
            Credential::Token(TOKEN.to_owned()),
        )?,
    })
}

/// Runs all scripts in parallel, then the scripts with differences again.
async fn run_all(
    pair: &Pair,
    scripts: &[Script],
    accepted: &Accepted,
) -> Vec<Result<Outcome, RunError>> {
    let runs = scripts
        .iter()
        .map(|script| async move { (script, run(pair, script, &script.name).await) });
    let mut results: Vec<_> = futures::stream::iter(runs)
        .buffer_unordered(CONCURRENCY)
        .collect()
        .await;
    for (script, result) in &mut results {
        let is_expected = |outcome: &Outcome| accepted.accepts(outcome);
        if !result.as_ref().is_ok_and(is_expected) {
            // On a busy machine, a watch can end before the events that the script expects.
            // Therefore a difference counts only if it also occurs while the script runs alone.
            *result = run(pair, script, &format!("{}-again", script.name)).await;
        }
    }
    results.sort_by(|(left, _), (right, _)| left.name.cmp(&right.name));
    results.into_iter().map(|(_, result)| result).collect()
}

async fn run(pair: &Pair, script: &Script, namespace: &str) -> Result<Outcome, RunError> {
    let begin = Instant::now();
    let result = pair.run(script, namespace).await;
    let word = match &result {
        Ok(outcome) if outcome.differences.is_empty() => "same",
        Ok(_) => "different",
        Err(_) => "FAILED",
    };
    let seconds = begin.elapsed().as_secs_f64();
    say(&format!("script {namespace} ... {word} ({seconds:.1} s)"));
    result
}

/// Prints the result of the comparison. Returns true if no script failed, all differences are
/// accepted, and every accepted entry matches a difference.
fn conclude(accepted: &Accepted, results: Vec<Result<Outcome, RunError>>, begin: Instant) -> bool {
    let (mut outcomes, mut failures) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => failures.push(error),
        }
    }
    let steps: usize = outcomes.iter().map(|outcome| outcome.steps).sum();
    let scripts = outcomes.len();
    let judgement = accepted.judge(outcomes);
    tell(&judgement);
    for error in &failures {
        say(&format!("\n{error}"));
    }
    let different = judgement
        .differences
        .iter()
        .map(|(script, _, _)| script)
        .collect::<std::collections::BTreeSet<_>>()
        .len();
    let places: usize = judgement
        .differences
        .iter()
        .map(|(_, _, found)| found.len())
        .sum();
    say(&format!(
        "\n{scripts} scripts, {steps} steps compared in {:.0} s: {different} scripts differ in \
         {places} fields; {} differences accepted, {} entries of accepted.yaml unused, {} scripts failed",
        begin.elapsed().as_secs_f64(),
        judgement.accepted,
        judgement.stale.len(),
        failures.len()
    ));
    judgement.differences.is_empty() && judgement.stale.is_empty() && failures.is_empty()
}
