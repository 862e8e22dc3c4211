//! The arguments of every benchmark.

use std::time::Duration;

use clap::ValueEnum;

/// The command line arguments of every benchmark. `P` lists the measurements of the benchmark.
#[derive(Clone, clap::Args)]
pub(crate) struct Measure<P: ValueEnum + Send + Sync + 'static> {
    /// Number of rounds in each comparison
    #[arg(long, default_value_t = 5)]
    pub(crate) turns: u32,
    /// Duration of each measurement in seconds
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Perform only these measurements, for profiling, and do not write the figures
    #[arg(long, value_delimiter = ',')]
    only: Vec<P>,
}

impl<P: ValueEnum + PartialEq + Send + Sync + 'static> Measure<P> {
    /// Returns the duration of each measurement.
    pub(crate) const fn duration(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// Returns true if the benchmark performs the measurement `part`.
    pub(crate) fn wants(&self, part: &P) -> bool {
        self.is_whole() || self.names(part)
    }

    /// Returns true if `--only` names the measurement `part`.
    pub(crate) fn names(&self, part: &P) -> bool {
        self.only.contains(part)
    }

    /// Returns true if the benchmark performs all measurements. Otherwise, the benchmark does not
    /// write figures.
    pub(crate) const fn is_whole(&self) -> bool {
        self.only.is_empty()
    }
}
