//! Checks that `.ci/install` contains a package for each program that tests start.

use crate::{files, read};

/// Prefixes of calls whose argument is the name of a program.
const STARTS: &[&str] = &[
    "Command::new(\"",
    "CommandLine::new(\"",
    "CommandLine::new(Path::new(\"",
];
/// Programs that need no package: the README requires these programs, or every Debian system
/// contains these programs.
const GIVEN: &[&str] = &["go", "id", "node", "npm", "rustc", "sh", "sleep", "true"];
/// Programs whose package `.ci/install` detects by a different file.
const BESIDE: &[(&str, &str)] = &[("nsenter", "setpriv"), ("cat", "sh")];

/// Returns the names of the programs that a source file starts.
fn started(text: &str) -> Vec<String> {
    let named = STARTS.iter().flat_map(|start| text.split(start).skip(1));
    named
        .filter_map(|rest| rest.split('"').next())
        .filter(|name| !name.contains('/') && !name.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn install_script_installs_every_program_that_tests_start() {
    let install = read(".ci/install");
    let mut seen = 0;
    for file in files(".rs") {
        if ![
            "e2e/",
            "xtask/src",
            "server/tests",
            "agent/tests",
            "crates/git/tests",
            "crates/providers/tests",
            "crates/testkit",
        ]
        .iter()
        .any(|folder| file.starts_with(folder))
        {
            continue;
        }
        for name in started(&read(&file)) {
            seen += 1;
            let beside = BESIDE.iter().find(|(program, _)| *program == name);
            let shown_by = beside.map_or(name.as_str(), |(_, other)| other);
            let packaged = [" ", "\n", "\""]
                .iter()
                .any(|end| install.contains(&format!("/{shown_by}{end}")));
            assert!(
                packaged || GIVEN.contains(&shown_by),
                "{file} starts {name}: add its package to .ci/install"
            );
        }
    }
    assert!(seen >= 5, "the rule does not find what is started: {seen}");
}

#[test]
fn install_script_contains_the_compiler_and_its_headers() {
    // Without its recommended packages, gcc has neither headers nor start files.
    let install = read(".ci/install");
    let line = install.split("packages_run=\"").nth(1).unwrap();
    let run = line.split('"').next().unwrap();
    for package in ["gcc:", "libc6-dev:", "make:", "ca-certificates:"] {
        assert!(run.contains(package), "{run}");
    }
}

#[test]
fn charts_have_the_version_of_the_programs() {
    let cargo = read("Cargo.toml");
    let version = cargo
        .lines()
        .find_map(|line| line.strip_prefix("version = "))
        .unwrap()
        .trim_matches('"');
    let charts = files("Chart.yaml").into_iter();
    let charts: Vec<String> = charts.filter(|file| file.starts_with("charts/")).collect();
    assert_eq!(charts.len(), 2, "{charts:?}");
    for chart in charts {
        let text = read(&chart);
        for key in ["version", "appVersion"] {
            let line = format!("{key}: {version}");
            let found = text.lines().any(|found| found == line);
            assert!(found, "{chart} has no line {line:?}");
        }
    }
}
