//! Runs comparison rows directly on the cluster and through Drover, and compares the output.

pub(crate) mod clients;
pub(crate) mod objects;
mod seen;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use drover_e2e::world::target_of_tests;
use drover_e2e::{CommandLine, World};
use futures::future::LocalBoxFuture;

pub(crate) use seen::Seen;

// Both names have the same length, so that columns have the same width.
const DIRECT: &str = "beside";
const THROUGH: &str = "remote";

/// A connection to the cluster, direct or through Drover, with a separate namespace.
pub(crate) struct Side<'w> {
    /// The namespace of this connection. The compared output contains the placeholder `NAMESPACE`.
    pub(crate) namespace: &'static str,
    /// True if the connection uses Drover.
    pub(crate) through: bool,
    pub(crate) kubectl: CommandLine,
    pub(crate) helm: CommandLine,
    pub(crate) kubeconfig: PathBuf,
    /// URL of the cluster's API, directly or through Drover.
    pub(crate) url: String,
    /// Folder for temporary files of this connection.
    pub(crate) folder: PathBuf,
    pub(crate) world: &'w World,
}

type Run = Box<dyn for<'a> Fn(&'a Side<'a>) -> LocalBoxFuture<'a, Seen>>;

/// A named user action in a cluster. The comparison runs the action directly and through Drover.
pub(crate) struct Row {
    name: &'static str,
    run: Run,
}

impl Row {
    /// Creates a row from a function, for actions that are not kubectl commands.
    pub(crate) fn of(
        name: &'static str,
        run: impl for<'a> Fn(&'a Side<'a>) -> LocalBoxFuture<'a, Seen> + 'static,
    ) -> Self {
        Self {
            name,
            run: Box::new(run),
        }
    }

    /// Creates a row from kubectl commands that run in sequence.
    pub(crate) fn steps(name: &'static str, steps: Vec<Step>) -> Self {
        Self {
            name,
            run: Box::new(move |side| Box::pin(run_steps(side, steps.clone()))),
        }
    }

    /// Creates a row from one kubectl command.
    pub(crate) fn kubectl(name: &'static str, line: &str) -> Self {
        Self::steps(name, vec![Step::new(line)])
    }
}

/// A kubectl command with its environment, its standard input and the filter of its output.
#[derive(Clone)]
pub(crate) struct Step {
    words: Vec<String>,
    stdin: Vec<u8>,
    environment: Vec<(&'static str, String)>,
    terminal: bool,
    kept: fn(&str) -> bool,
    first_column: bool,
}

impl Step {
    /// Creates a step from a command line with space-separated words. The connection's namespace
    /// replaces `{namespace}`.
    pub(crate) fn new(line: &str) -> Self {
        Self {
            words: line.split_whitespace().map(str::to_owned).collect(),
            stdin: Vec::new(),
            environment: Vec::new(),
            terminal: false,
            kept: |_| true,
            first_column: false,
        }
    }

    /// Appends one argument, which may contain spaces.
    pub(crate) fn word(mut self, word: &str) -> Self {
        self.words.push(word.to_owned());
        self
    }

    pub(crate) fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = text.into();
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: &str) -> Self {
        self.environment.push((name, value.to_owned()));
        self
    }

    /// Runs the command in a pseudo-terminal.
    pub(crate) fn in_terminal(mut self) -> Self {
        self.terminal = true;
        self
    }

    /// Compares only the output lines for which `kept` returns true.
    pub(crate) fn lines(mut self, kept: fn(&str) -> bool) -> Self {
        self.kept = kept;
        self
    }

    /// Compares only the first word of each output line.
    pub(crate) const fn only_first_column(mut self) -> Self {
        self.first_column = true;
        self
    }

    pub(crate) async fn run(&self, side: &Side<'_>) -> Seen {
        let words = ["--namespace", side.namespace].map(str::to_owned);
        let own = self.words.iter();
        let own = own.map(|word| word.replace("{namespace}", side.namespace));
        let words = words.into_iter().chain(own);
        let start = side.kubectl.clone().with_stdin(self.stdin.clone());
        let kubectl = self
            .environment
            .iter()
            .fold(start, |kubectl, (name, value)| kubectl.env(name, value));
        let output = if self.terminal {
            kubectl.in_terminal(words).await
        } else {
            kubectl.output(words).await
        };
        let mut output = output.unwrap();
        let kept = |text: &str| -> String {
            let lines = text.lines().filter(|line| (self.kept)(line));
            let lines = lines.map(|line| match line.split_whitespace().next() {
                Some(word) if self.first_column => word,
                _ => line,
            });
            lines.fold(String::new(), |all, line| all + line + "\n")
        };
        if self.terminal {
            // The terminal may or may not show this output when its input ends.
            for shown in ["^@", "^D\u{8}\u{8}"] {
                output.stdout = output.stdout.replace(shown, "");
            }
        }
        output.stdout = kept(&output.stdout);
        output.stderr = kept(&output.stderr);
        Seen::of(side, &output)
    }
}

async fn run_steps(side: &Side<'_>, steps: Vec<Step>) -> Seen {
    let mut all = Seen::default();
    for step in steps {
        all.add(&step.run(side).await);
    }
    all
}

/// The comparison result of a row: the durations, and the differing lines.
struct Compared {
    name: &'static str,
    direct: Duration,
    through: Duration,
    difference: Option<String>,
}

/// Runs each row directly and through Drover, and prints the results as a table. Panics if a row
/// differs.
///
/// Also writes the table to `target/e2e/FILE`.
pub(crate) async fn compare(world: &World, rows: Vec<Row>, file: &str) {
    let helm = world.east.cluster.helm().await.unwrap();
    let direct_kubeconfig = world.east.cluster.folder().join("direct.kubeconfig");
    let through_kubeconfig = world.kubeconfig().to_owned();
    let through_url = format!("{}/k8s/clusters/{}", world.server.url(), world.east.name());
    let side = |namespace, kubectl: CommandLine, kubeconfig: PathBuf, url| Side {
        namespace,
        through: namespace == THROUGH,
        helm: helm.clone().with_kubeconfig(&kubeconfig),
        kubectl,
        kubeconfig,
        url,
        folder: world.scratch(namespace).unwrap(),
        world,
    };
    let direct = side(
        DIRECT,
        world.direct(),
        direct_kubeconfig,
        world.east.cluster.url(),
    );
    let through = side(THROUGH, world.through(), through_kubeconfig, through_url);
    for side in [&direct, &through] {
        objects::prepare(side).await;
    }
    let mut results = Vec::new();
    for row in rows {
        let result = compare_row(&row, &direct, &through).await;
        if let Some(difference) = &result.difference {
            eprintln!("--- {} differs:\n{difference}", result.name);
        }
        results.push(result);
    }
    let table = render(&results);
    eprintln!("{table}");
    write(file, &table);
    let differing: Vec<_> = results
        .iter()
        .filter(|result| result.difference.is_some())
        .map(|result| result.name)
        .collect();
    assert!(
        differing.is_empty(),
        "{} of {} rows differ from direct access: {differing:#?}",
        differing.len(),
        results.len()
    );
}

async fn compare_row(row: &Row, direct: &Side<'_>, through: &Side<'_>) -> Compared {
    let begin = Instant::now();
    let expected = (row.run)(direct).await;
    let between = Instant::now();
    let got = (row.run)(through).await;
    Compared {
        name: row.name,
        direct: between - begin,
        through: between.elapsed(),
        difference: expected.difference(&got),
    }
}

fn render(results: &[Compared]) -> String {
    let mut table =
        "| action | equal output | direct ms | through Drover ms |\n|---|---|--:|--:|\n".to_owned();
    for result in results {
        let same = if result.difference.is_none() {
            "yes"
        } else {
            "NO"
        };
        let (direct, through) = (result.direct.as_millis(), result.through.as_millis());
        writeln!(table, "| {} | {same} | {direct} | {through} |", result.name).unwrap();
    }
    table
}

fn write(file: &str, table: &str) {
    let folder = target_of_tests().join("e2e");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(file), table).unwrap();
}
