//! Measures how much CPU time each process uses during a measurement.

use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::figures::machine;
use crate::process::{self, ProcessError};

/// The CPU time of each process at the start of a measurement.
pub(crate) struct Meter {
    start: Instant,
    used: Vec<(&'static str, u32, Duration)>,
    stolen: Option<Duration>,
}

impl Meter {
    /// Starts to measure the CPU usage of this process (the load generator) and of the given
    /// processes.
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

    /// Returns the CPU usage of each process since the start, as a fraction of one core. The first
    /// value is the generator's usage. The last value is the CPU time that the host gave to other
    /// virtual machines. If this value is high, the results of different runs are not comparable.
    pub(crate) fn shares(&self) -> Result<Vec<(&'static str, f64)>, ProcessError> {
        let elapsed = self.start.elapsed().as_secs_f64();
        let share = |used: Duration| used.as_secs_f64() / elapsed;
        let stolen = self.stolen.zip(machine::stolen());
        let stolen = stolen.map(|(before, now)| ("stolen by the host", now.saturating_sub(before)));
        self.used
            .iter()
            .map(|&(name, id, before)| Ok((name, process::cpu(id)?.saturating_sub(before))))
            .chain(stolen.map(Ok))
            .map(|used| used.map(|(name, used)| (name, share(used))))
            .collect()
    }
}

/// Maximum CPU usage of the generator, as a fraction of one core. Above this value, the generator
/// limits the measured throughput.
const GENERATOR_LIMIT: f64 = 0.9;

/// Formats the CPU usage of a measurement.
pub(crate) fn shares_line(label: &str, shares: &[(&'static str, f64)]) -> String {
    let list: Vec<String> = shares
        .iter()
        .map(|(name, share)| format!("{name} {:.0} %", share * 100.0))
        .collect();
    let limited = shares
        .first()
        .is_some_and(|(_, share)| *share > GENERATOR_LIMIT);
    let result = if limited {
        "; the generator was the limit"
    } else {
        ""
    };
    format!("{label}: CPU of one core: {}{result}", list.join(", "))
}

/// Prints a progress message.
pub(crate) fn print_progress(text: &str) {
    // Ignore errors, because standard output may be closed.
    let _ = writeln!(std::io::stdout(), "{text}");
}
