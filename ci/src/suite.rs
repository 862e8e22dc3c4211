//! The description of a suite: command, dependencies, resources and recorded time.

use std::time::Duration;

/// The `make` target that runs a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// `make check`.
    Check,
    /// `make test`.
    Test,
    /// `make check` and `make test`.
    Both,
}

impl Group {
    /// Reports whether `make NAME` runs the suites of this group.
    pub fn belongs_to(self, name: &str) -> bool {
        match self {
            Self::Check => name == "check",
            Self::Test => name == "test",
            Self::Both => name == "check" || name == "test",
        }
    }
}

/// A resource of the machine. A suite occupies one unit of each resource that it declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A process that computes for minutes, such as a compiler. The operating system runs builds
    /// only while no test can use the CPU.
    Build,
    /// Cargo's lock on the target folder of the main workspace.
    TargetFolder,
    /// Cargo's lock on the target folder of the web UI.
    UiTargetFolder,
    /// A real node. The start and the end of a node change the network interfaces of the machine, and
    /// Chromium then cancels its requests. Therefore two suites do not have nodes at the same time.
    Node,
    /// A browser. Tests in a browser measure times, so they do not run concurrently.
    Browser,
    /// A connection to servers outside of this machine.
    Network,
}

impl Resource {
    /// All resources.
    pub const ALL: [Self; 6] = [
        Self::Build,
        Self::TargetFolder,
        Self::UiTargetFolder,
        Self::Node,
        Self::Browser,
        Self::Network,
    ];

    /// Returns the number of units on a machine.
    pub const fn units(self) -> usize {
        match self {
            // One build often waits for one long compilation. More builds need more memory.
            Self::Build => 3,
            Self::TargetFolder
            | Self::UiTargetFolder
            | Self::Node
            | Self::Browser
            | Self::Network => 1,
        }
    }
}

/// The recorded time of a suite on two cores, in seconds, within a run of all suites.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// With the caches of a previous run.
    pub warm: u64,
    /// Without caches.
    pub cold: u64,
}

impl Recorded {
    /// The time of a suite that needs no build, in seconds.
    pub const fn always(seconds: u64) -> Self {
        Self {
            warm: seconds,
            cold: seconds,
        }
    }
}

/// A command with a time budget.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    /// The unique name.
    pub name: &'static str,
    /// The `make` target that runs the suite.
    pub group: Group,
    /// The suites that must pass before this suite starts.
    pub after: &'static [&'static str],
    /// The suites that end before this suite starts, if the run contains them.
    pub behind: &'static [&'static str],
    /// The average CPU use of a suite of tests, in percent of one core. Suites that occupy
    /// [`Resource::Build`] use only the remaining CPU time, so their value is 0.
    pub cpu: usize,
    /// The resources that the suite occupies.
    pub resources: &'static [Resource],
    /// The recorded time.
    pub recorded: Recorded,
    /// The command, for `bash -c`.
    pub command: &'static str,
}

impl Suite {
    /// The longest permitted time: 1.3 times the recorded time without caches.
    pub const fn budget(&self) -> Duration {
        // The addition rounds up, and tolerates the start of a process in very short suites.
        Duration::from_secs(self.recorded.cold * 13 / 10 + 5)
    }

    /// Reports whether the operating system runs the suite only while no test can use the CPU.
    pub fn is_build(&self) -> bool {
        self.resources.contains(&Resource::Build)
    }
}
