//! All suites, with their dependencies, resources and recorded times.
//!
//! Every build selects the whole workspace, because the features of a selected package differ and
//! cargo would compile the dependencies again. Suites of tests run the programs that the suite
//! `build` has built, because cargo would wait for builds in the background.

use std::fmt;

use crate::suite::Resource::{Browser, Build, Network, Node, TargetFolder, UiTargetFolder};
use crate::suite::{Group, Recorded, Suite};

/// A suite that does not need a build.
const SMALL: Suite = Suite {
    name: "",
    group: Group::Check,
    after: &[],
    behind: &[],
    cpu: 100,
    resources: &[],
    recorded: Recorded::always(5),
    command: "",
};

/// A build in the main target folder.
const BUILD: Suite = Suite {
    group: Group::Test,
    after: &["format"],
    cpu: 0,
    resources: &[Build, TargetFolder],
    ..SMALL
};

/// Tests that the suite `build` builds.
const TESTS: Suite = Suite {
    group: Group::Test,
    after: &["build"],
    ..SMALL
};

/// Tests with real Kubernetes programs.
const KUBERNETES: Suite = Suite {
    after: &["build", "go-programs"],
    cpu: 50,
    ..TESTS
};

/// The longest permitted run in minutes. The simulated run must also end within this time if each
/// suite needs its complete budget.
pub const RUN_MINUTES: u64 = 75;

/// All suites. A suite is declared after its dependencies.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "format",
        recorded: Recorded::always(10),
        group: Group::Both,
        command: "cargo fmt --all --check; cd frontend; cargo fmt --all --check",
        ..SMALL
    },
    Suite {
        name: "deny",
        cpu: 20,
        resources: &[Network],
        recorded: Recorded::always(40),
        command: ".ci/deny",
        ..SMALL
    },
    // The libraries that the build of the server needs. They do not contain the web UI, so they
    // compile while the web UI compiles.
    Suite {
        name: "libraries",
        recorded: Recorded {
            warm: 80,
            cold: 240,
        },
        command: "cargo build --workspace --locked --bin xtask --bin drover-bench --bin drover-agent \
                  --bin drover-node-agent",
        ..BUILD
    },
    // The page of a demonstration: the page of a release needs several times as much CPU time. `make ui`
    // and `make bench-ui` build the page of a release.
    Suite {
        name: "ui",
        resources: &[Build, UiTargetFolder],
        recorded: Recorded {
            warm: 160,
            cold: 400,
        },
        command: "cd frontend; export CARGO_TARGET_DIR=$DROVER_UI_TARGET; \
                  cargo test --locked --package drover-ui-bundle; \
                  cargo run --quiet --locked --package drover-ui-bundle -- --demonstration",
        ..BUILD
    },
    // The server's build embeds the web UI.
    Suite {
        name: "build",
        after: &["libraries", "ui"],
        // 516 s while the suite `images` also compiles all crates of the workspace.
        recorded: Recorded {
            warm: 200,
            cold: 520,
        },
        command: "cargo test --workspace --locked --no-run --message-format json-render-diagnostics \
                  >\"$DROVER_SUITES/programs.json\"; cargo build --workspace --locked --bins",
        ..BUILD
    },
    Suite {
        name: "go-programs",
        after: &["libraries"],
        resources: &[Build],
        recorded: Recorded { warm: 5, cold: 800 },
        command: "\"$CARGO_TARGET_DIR/debug/xtask\" kubernetes build; \
                  \"$CARGO_TARGET_DIR/debug/xtask\" renderer; cd renderer; \
                  GOWORK=off go test ./addresses ./roots ./tarball",
        ..BUILD
    },
    Suite {
        name: "images",
        after: &["libraries", "ui"],
        resources: &[Build],
        recorded: Recorded {
            warm: 160,
            cold: 700,
        },
        command: "\"$CARGO_TARGET_DIR/debug/xtask\" images",
        ..BUILD
    },
    Suite {
        name: "clippy",
        group: Group::Check,
        behind: &["build"],
        recorded: Recorded {
            warm: 350,
            cold: 560,
        },
        command: "cargo clippy --workspace --locked --all-targets --all-features -- -D warnings",
        ..BUILD
    },
    Suite {
        name: "ui-clippy",
        group: Group::Check,
        resources: &[Build, UiTargetFolder],
        recorded: Recorded {
            warm: 60,
            cold: 240,
        },
        command: "cd frontend; export CARGO_TARGET_DIR=$DROVER_UI_TARGET; \
                  cargo clippy --locked --workspace --exclude drover-ui-bundle \
                  --target wasm32-unknown-unknown -- -D warnings; \
                  cargo clippy --locked --package drover-ui-bundle --all-targets -- -D warnings",
        ..BUILD
    },
    // The program without the server also builds for Windows.
    Suite {
        name: "windows",
        group: Group::Check,
        recorded: Recorded {
            warm: 40,
            cold: 200,
        },
        command: "cargo clippy --locked --package drover-cli --package drover-server --lib --bins \
                  --no-default-features --target x86_64-pc-windows-gnu -- -D warnings",
        ..BUILD
    },
    Suite {
        name: "docs",
        group: Group::Check,
        behind: &["build"],
        recorded: Recorded {
            warm: 200,
            cold: 460,
        },
        command: "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --locked --no-deps",
        ..BUILD
    },
    // Needs only a small part of the build, for a short `make check`.
    Suite {
        name: "layering",
        group: Group::Both,
        behind: &["build"],
        recorded: Recorded { warm: 40, cold: 80 },
        command: "cargo test --workspace --locked --test rules",
        ..BUILD
    },
    Suite {
        name: "unit",
        after: &["build", "go-programs"],
        cpu: 100,
        recorded: Recorded {
            warm: 180,
            cold: 260,
        },
        command: "\"$DROVER_CI\" tests --jobs 2 --repeat --lib --bins --test it",
        ..TESTS
    },
    Suite {
        name: "trust",
        cpu: 60,
        recorded: Recorded::always(40),
        command: "\"$DROVER_CI\" tests --test trust",
        ..TESTS
    },
    Suite {
        name: "active-directory",
        cpu: 40,
        // The domain controller waits for the disk: 8 s alone, 67 s while other suites write.
        recorded: Recorded::always(70),
        command: "\"$DROVER_CI\" tests --test active-directory",
        ..TESTS
    },
    Suite {
        name: "fault-vfs",
        after: &["build"],
        recorded: Recorded::always(40),
        command: "cargo test --locked --package fault-vfs",
        ..BUILD
    },
    // The code in documentation.
    Suite {
        name: "examples",
        after: &["build"],
        recorded: Recorded::always(90),
        command: "cargo test --workspace --locked --doc",
        ..BUILD
    },
    Suite {
        name: "conformance",
        cpu: 80,
        recorded: Recorded::always(50),
        command: "\"$DROVER_CI\" tests --test conformance",
        ..KUBERNETES
    },
    // More threads than cores, because most tests wait for controllers. The suite does not run at the
    // same time as a browser, whose tests would wait for the CPU until their timeouts.
    Suite {
        name: "kubernetes",
        cpu: 130,
        recorded: Recorded {
            warm: 560,
            cold: 620,
        },
        command: "\"$DROVER_CI\" tests --repeat --package server --test kubernetes -- --test-threads 5",
        ..KUBERNETES
    },
    // The tests of the test harness.
    Suite {
        name: "harness",
        cpu: 40,
        resources: &[Node],
        recorded: Recorded {
            warm: 130,
            cold: 170,
        },
        command: "\"$DROVER_CI\" tests --repeat --package e2e --test kubernetes",
        ..KUBERNETES
    },
    // The suite `pods` compares all kubectl commands with direct access, so this suite skips the
    // comparison of the commands that need no pods.
    Suite {
        name: "e2e",
        cpu: 30,
        recorded: Recorded {
            warm: 320,
            cold: 330,
        },
        command: "\"$DROVER_CI\" tests --repeat --test proxy -- \
                  --skip proxied_objects_and_clients_match_direct_access",
        ..KUBERNETES
    },
    // The embedded hub runs all tests except two: a test cannot stop the embedded hub alone, and
    // cannot write to it without admission.
    Suite {
        name: "e2e-embedded",
        cpu: 30,
        recorded: Recorded {
            warm: 320,
            cold: 330,
        },
        command: "DROVER_TEST_HUB=embedded \"$DROVER_CI\" tests --repeat --test proxy -- \
                  --skip proxied_objects_and_clients_match_direct_access \
                  --skip proxy_forwards_requests_while_the_hub_is_down --skip demoted_administrator",
        ..KUBERNETES
    },
    Suite {
        name: "pods",
        after: &["build", "go-programs", "images"],
        // With three other Kubernetes suites at the same time, the disk would be too slow.
        cpu: 75,
        resources: &[Node],
        recorded: Recorded {
            warm: 325,
            cold: 355,
        },
        command: "\"$DROVER_CI\" tests --repeat --test pods",
        ..KUBERNETES
    },
    Suite {
        name: "install",
        after: &["build", "go-programs", "images"],
        cpu: 50,
        resources: &[Node],
        recorded: Recorded {
            warm: 130,
            cold: 210,
        },
        command: "\"$DROVER_CI\" tests --repeat --test install",
        ..KUBERNETES
    },
    Suite {
        name: "browser",
        after: &["build", "go-programs", "images"],
        cpu: 100,
        resources: &[Node, Browser],
        recorded: Recorded {
            warm: 680,
            cold: 740,
        },
        command: "\"$DROVER_CI\" tests --repeat --test browser",
        ..KUBERNETES
    },
    Suite {
        name: "simulated",
        cpu: 60,
        recorded: Recorded::always(75),
        command: "\"$DROVER_CI\" tests --repeat --test simulated",
        ..KUBERNETES
    },
    Suite {
        name: "demo",
        after: &["build", "go-programs"],
        cpu: 80,
        recorded: Recorded::always(20),
        command: "\"$CARGO_TARGET_DIR/debug/xtask\" demo --once --port 0 --folder \"$(mktemp -d)\"",
        ..TESTS
    },
    // Counts the instructions of hot paths, after a build of a few crates.
    Suite {
        name: "instructions",
        after: &["build"],
        recorded: Recorded {
            warm: 40,
            cold: 100,
        },
        command: "\"$CARGO_TARGET_DIR/debug/xtask\" instructions",
        ..BUILD
    },
    Suite {
        name: "weaken",
        recorded: Recorded::always(35),
        command: "\"$CARGO_TARGET_DIR/debug/xtask\" weaken --check",
        ..TESTS
    },
    Suite {
        name: "weaken-changed",
        after: &["build"],
        behind: &[
            "clippy",
            "docs",
            "examples",
            "fault-vfs",
            "instructions",
            "layering",
            // Both suites use the copy of the checkout.
            "weaken",
            "windows",
        ],
        cpu: 50,
        resources: &[TargetFolder],
        recorded: Recorded::always(270),
        command: "\"$CARGO_TARGET_DIR/debug/xtask\" weaken --changed --minutes 4",
        ..TESTS
    },
];

/// An argument that is neither a `make` target nor a suite.
#[derive(Debug, PartialEq, Eq)]
pub struct Unknown(String);

impl fmt::Display for Unknown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "unknown suite {}; `drover-ci list` prints all suites",
            self.0
        )
    }
}

impl std::error::Error for Unknown {}

/// Returns the suites of the named `make` targets, the named suites, and the suites that they need.
pub fn choose(names: &[String]) -> Result<Vec<Suite>, Unknown> {
    let mut chosen = vec![false; SUITES.len()];
    for name in names {
        let mut known = false;
        for (index, suite) in SUITES.iter().enumerate() {
            if suite.name == name || suite.group.belongs_to(name) {
                chosen[index] = true;
                known = true;
            }
        }
        if !known {
            return Err(Unknown(name.clone()));
        }
    }
    // Dependencies have lower indexes, so one pass in reverse order finds indirect dependencies.
    for index in (0..SUITES.len()).rev() {
        if chosen[index] {
            for (earlier, suite) in SUITES[..index].iter().enumerate() {
                chosen[earlier] |= SUITES[index].after.contains(&suite.name);
            }
        }
    }
    let suites = SUITES.iter().zip(chosen);
    Ok(suites
        .filter_map(|(suite, chosen)| chosen.then_some(*suite))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;

    /// The longest permitted run in minutes with the caches of a previous run.
    const WARM: u64 = 35;
    /// The longest permitted run in minutes without caches.
    const COLD: u64 = 50;

    fn chosen(names: &[&str]) -> Vec<&'static str> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let suites = choose(&names).unwrap();
        suites.iter().map(|suite| suite.name).collect()
    }

    /// Returns the duration in seconds of a simulated run on two cores.
    fn simulate(time: impl Fn(&Suite) -> u64) -> u64 {
        let mut schedule = Schedule::new(SUITES.to_vec(), 2).unwrap();
        let (mut now, mut running) = (0, Vec::new());
        loop {
            for index in schedule.start() {
                running.push((now + time(&schedule.suites()[index]), index));
            }
            running.sort_unstable();
            if running.is_empty() {
                return now;
            }
            let (end, index) = running.remove(0);
            now = end;
            schedule.end(index, true);
        }
    }

    #[test]
    fn every_suite_has_a_unique_name_and_runs_after_its_dependencies() {
        let mut names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        let behind = SUITES.iter().flat_map(|suite| suite.behind);
        assert!(behind.clone().all(|name| names.contains(name)));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SUITES.len());
        assert_eq!(
            chosen(&["check", "test"]).len(),
            SUITES.len(),
            "a suite belongs to no make target"
        );
    }

    #[test]
    fn chosen_suites_include_the_suites_that_they_need() {
        assert_eq!(
            chosen(&["unit"]),
            ["format", "libraries", "ui", "build", "go-programs", "unit"]
        );
        assert!(!chosen(&["check"]).contains(&"build"));
        let unknown = choose(&["units".to_owned()]);
        assert_eq!(unknown.err(), Some(Unknown("units".to_owned())));
    }

    #[test]
    fn run_of_all_suites_ends_within_its_time_limits() {
        for (limit, seconds) in [
            (WARM, simulate(|suite| suite.recorded.warm)),
            (COLD, simulate(|suite| suite.recorded.cold)),
            (RUN_MINUTES, simulate(|suite| suite.budget().as_secs())),
        ] {
            assert!(
                seconds <= 60 * limit,
                "the run takes {seconds} s of {limit} min"
            );
        }
    }
}
