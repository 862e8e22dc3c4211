//! What a measurement costs, and who pays: the CPU that each process took meanwhile.

use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::figures::machine;
use crate::process::{self, ProcessError};

/// The CPU that a measurement took of one core, by process.
pub(crate) struct Meter {
    start: Instant,
    used: Vec<(&'static str, u32, Duration)>,
    stolen: Option<Duration>,
}

impl Meter {
    /// Begins with this process, the generator, and those given.
    pub(crate) fn start(others: &[(&'static str, u32)]) -> Result<Self, ProcessError> {
        let own = [("generator", std::process::id())];
        let used = own
            .iter()
            .chain(others)
            .map(|&(name, id)| Ok((name, id, process::cpu(id)?)))
            .collect::<Result<_, ProcessError>>()?;
        Ok(Self {
            start: Instant::now(),
            used,
            stolen: machine::stolen(),
        })
    }

    /// Shares of one core since the start, the generator's first; last what the host of a virtual
    /// machine took from it, without which figures of different runs cannot be compared.
    pub(crate) fn shares(&self) -> Result<Vec<(&'static str, f64)>, ProcessError> {
        let elapsed = self.start.elapsed().as_secs_f64();
        let share = |used: Duration| used.as_secs_f64() / elapsed;
        let stolen = self.stolen.zip(machine::stolen());
        let stolen = stolen.map(|(before, now)| ("taken by the host", now.saturating_sub(before)));
        self.used
            .iter()
            .map(|&(name, id, before)| Ok((name, process::cpu(id)?.saturating_sub(before))))
            .chain(stolen.map(Ok))
            .map(|used| used.map(|(name, used)| (name, share(used))))
            .collect()
    }
}

/// Above this share of its one core, the generator is what was measured.
const GENERATOR_LIMIT: f64 = 0.9;

/// The shares of a measurement as one line.
pub(crate) fn shares_line(what: &str, shares: &[(&'static str, f64)]) -> String {
    let list: Vec<String> = shares
        .iter()
        .map(|(name, share)| format!("{name} {:.0} %", share * 100.0))
        .collect();
    let limited = shares
        .first()
        .is_some_and(|(_, share)| *share > GENERATOR_LIMIT);
    let verdict = if limited {
        "; the generator was the limit"
    } else {
        ""
    };
    format!("{what}: CPU of one core: {}{verdict}", list.join(", "))
}

/// Tells whoever watches.
pub(crate) fn say(text: &str) {
    // Whoever closed standard output reads the file.
    let _ = writeln!(std::io::stdout(), "{text}");
}
