//! Tests that kill the process at random times.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use drover_apiserver::store::{OpenError, Store, StoreOptions};
use fault_vfs::Random;

use crate::block_on;
use crate::ledger::{Ledger, WRITERS, choose, value_of, verify};

/// The command line argument that starts the writer process.
pub(crate) const WRITE: &str = "--write";

/// Writes to the store and reports progress until the process is killed.
///
/// Prints `begin KEY VALUE` or `delete KEY` before each change, and `done KEY REVISION` after its
/// acknowledgement.
pub(crate) fn write(folder: &Path, seed: u64) {
    let mut random = Random::new(seed);
    block_on(async {
        let store = Store::open(&folder.join("store.db"), options()).unwrap();
        // The parent has verified the store, so its content is the initial state.
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        adopt(&store, &ledger).await;
        print_line("ready");
        let writers = (0..WRITERS).map(|writer| {
            let random = Random::new(random.number());
            write_and_report(&store, Arc::clone(&ledger), writer, random)
        });
        futures::future::join_all(writers).await;
    });
}

fn options() -> StoreOptions {
    StoreOptions {
        history_changes: 200,
        ..StoreOptions::default()
    }
}

async fn adopt(store: &Store, ledger: &Mutex<Ledger>) {
    let all = drover_apiserver::store::List::all("/");
    for stored in store.list(all).await.unwrap().items {
        let value = String::from_utf8(stored.value.to_vec()).unwrap();
        let mut ledger = ledger.lock().unwrap();
        ledger.begin(&stored.key, Some(value));
        ledger.acknowledge(&stored.key, stored.revision);
    }
}

async fn write_and_report(
    store: &Store,
    ledger: Arc<Mutex<Ledger>>,
    writer: u64,
    mut random: Random,
) {
    loop {
        let (expected, key) = choose(&ledger.lock().unwrap(), writer, &mut random);
        let value = value_of(&expected);
        match &value {
            Some(value) => print_line(&format!("begin {key} {value}")),
            None => print_line(&format!("delete {key}")),
        }
        ledger.lock().unwrap().begin(&key, value);
        let revision = store.commit(expected).await.unwrap();
        ledger.lock().unwrap().acknowledge(&key, revision);
        print_line(&format!("done {key} {revision}"));
    }
}

/// Prints and flushes one line.
fn print_line(line: &str) {
    let mut out = std::io::stdout().lock();
    // The reader may have ended.
    writeln!(out, "{line}").and_then(|()| out.flush()).ok();
}

/// Starts and kills the writer repeatedly, and verifies the store.
pub(crate) fn process_is_killed(random: &mut Random, rounds: u64) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Mutex::new(Ledger::default());
    for _ in 0..rounds {
        let lines = run_and_kill(folder.path(), random);
        for line in &lines {
            note(&mut ledger.lock().unwrap(), line);
        }
        block_on(async {
            let path = folder.path().join("store.db");
            let store = Store::open(&path, options())
                .expect("the store opens after the process was killed");
            verify(&ledger, &store).await;
            let problems = Store::check(&path).unwrap().problems;
            assert!(problems.is_empty(), "{problems:?}");
        });
    }
    let acknowledged = ledger.lock().unwrap().acknowledged;
    println!("  {acknowledged} changes acknowledged");
    assert!(acknowledged > rounds, "the writer made too few changes");
}

/// Returns the lines that the writer printed before it was killed.
fn run_and_kill(folder: &Path, random: &mut Random) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([WRITE.as_ref(), folder.as_os_str()])
        .arg(random.number().to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let (ready, readied) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut lines = Vec::new();
        let mut line = String::new();
        // An incomplete line does not count.
        while out.read_line(&mut line).is_ok() && line.ends_with('\n') {
            if line == "ready\n" {
                ready.send(()).ok();
            }
            lines.push(std::mem::take(&mut line));
        }
        lines
    });
    // The process is sometimes killed before the writer is ready, to interrupt opening.
    if random.below(4) > 0 {
        readied
            .recv_timeout(Duration::from_mins(1))
            .expect("the writer starts within a minute");
        // The lock is free as soon as the process has ended.
        match Store::open(&folder.join("store.db"), options()) {
            Err(OpenError::Locked { pid, .. }) => assert_eq!(pid, Some(child.id())),
            other => panic!("unexpected result: {other:?}"),
        }
    }
    std::thread::sleep(Duration::from_millis(random.below(300)));
    // SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

fn note(ledger: &mut Ledger, line: &str) {
    let mut words = line.trim_end().splitn(3, ' ');
    match (words.next(), words.next(), words.next()) {
        (Some("begin"), Some(key), Some(value)) => ledger.begin(key, Some(value.to_owned())),
        (Some("delete"), Some(key), None) => ledger.begin(key, None),
        (Some("done"), Some(key), Some(revision)) => {
            ledger.acknowledge(key, revision.parse().unwrap());
        }
        _ => {}
    }
}
