//! Durability tests: acknowledged changes survive killed processes and power failures. Each loop
//! repeats its test with random times.
//!
//! `TRUST_ROUNDS` sets the number of rounds per loop. `TRUST_SEED` sets the seed, to repeat a run.
//! A command-line argument selects the loops whose names contain the argument.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed test panics, and the tests print their progress"
)]

mod kill;
mod ledger;
mod power;

use std::time::Instant;

use fault_vfs::Random;

/// A loop: name, default number of rounds, and function.
type Loop = (&'static str, u64, fn(&mut Random, u64));

const LOOPS: [Loop; 5] = [
    (
        "disk_without_syncs_loses_commits",
        40,
        power::unsynced_is_lost,
    ),
    (
        "acknowledged_changes_survive_power_failures",
        150,
        power::power_fails,
    ),
    (
        "acknowledged_changes_survive_failed_syncs",
        16,
        power::syncs_fail,
    ),
    ("store_recovers_from_a_full_disk", 12, power::disk_is_full),
    (
        "acknowledged_changes_survive_killed_processes",
        12,
        kill::process_is_killed,
    ),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, folder, seed] = &arguments[..]
        && flag == kill::WRITE
    {
        return kill::write(folder.as_ref(), seed.parse().unwrap());
    }
    let number = |name| std::env::var(name).ok().map(|text| text.parse().unwrap());
    let seed = number("TRUST_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let words: Vec<_> = arguments
        .iter()
        .filter(|word| !word.starts_with('-'))
        .collect();
    for (name, rounds, body) in LOOPS {
        if !words.is_empty() && !words.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let rounds = number("TRUST_ROUNDS").unwrap_or(rounds);
        println!("{name}: {rounds} rounds, TRUST_SEED={seed}");
        let start = Instant::now();
        body(&mut Random::new(seed), rounds);
        println!("{name}: ok in {:.1} s", start.elapsed().as_secs_f64());
    }
}

/// Runs a future to completion.
fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}
