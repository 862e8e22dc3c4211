//! Acknowledged means on disk: processes are killed and disks lose what was not synced, many times.
//!
//! `TRUST_ROUNDS` is how many rounds each loop makes, `TRUST_SEED` repeats a run. A word as the
//! argument runs the loops whose name contains it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it did"
)]

mod kill;
mod ledger;
mod power;

use std::time::Instant;

use lost_sync::Chance;

/// A loop: a name, the rounds it makes by default, and itself.
type Loop = (&'static str, u64, fn(&mut Chance, u64));

const LOOPS: [Loop; 5] = [
    (
        "without_syncs_the_disk_does_lose_what_was_written",
        40,
        power::unsynced_is_lost,
    ),
    (
        "nothing_acknowledged_is_lost_when_the_power_fails",
        150,
        power::power_fails,
    ),
    (
        "nothing_acknowledged_is_lost_when_syncs_fail",
        16,
        power::syncs_fail,
    ),
    ("a_full_disk_is_said_and_got_over", 12, power::disk_is_full),
    (
        "nothing_acknowledged_is_lost_when_the_process_is_killed",
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
        body(&mut Chance::new(seed), rounds);
        println!("{name}: ok in {:.1} s", start.elapsed().as_secs_f64());
    }
}

/// Runs a future to its end.
fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}
