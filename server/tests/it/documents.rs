//! Checks the examples, commands, metrics and reasons in the documentation.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _};
use drover_api::kinds::auth_provider::AuthProviderSpec;
use drover_server::args::Args;
use serde_json::Value;

/// Asserts that every field of the example exists in the kind's schema.
fn assert_kept(example: &Value, read: &Value) {
    match (example, read) {
        (Value::Object(example), Value::Object(read)) => {
            for (name, value) in example {
                let kept = read.get(name);
                assert_kept(value, kept.unwrap_or_else(|| panic!("no field {name}")));
            }
        }
        _ => assert_eq!(example, read),
    }
}

#[test]
fn documented_openid_connect_examples_are_valid_provider_specs() {
    let page = include_str!("../../../docs/openid-connect.md");
    let examples: Vec<&str> = page
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```").map(|(example, _)| example))
        .collect();
    assert_eq!(examples.len(), 4, "Keycloak, Entra ID, Okta, Google");
    for example in examples {
        let written: Value = serde_saphyr::from_str(example).unwrap();
        let spec: AuthProviderSpec = serde_saphyr::from_str(example).unwrap();
        assert!(spec.oidc.is_some(), "{example}");
        assert_kept(&written, &serde_json::to_value(&spec).unwrap());
    }
}

/// Returns README.md and the user pages in docs, without the generated reference and the decisions.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages = vec![root.join("README.md")];
    for folder in ["docs", "docs/install"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "md") && !path.ends_with("cli.md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// Returns the `drover` commands of a page, from its code blocks and inline code.
fn commands(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut in_block, mut joined) = (false, String::new());
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if in_block {
            joined.push_str(line.trim().trim_end_matches('\\'));
            if !line.ends_with('\\') {
                found.push(std::mem::take(&mut joined));
            }
        } else {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    let ours = |part: &str| part.trim().strip_prefix("drover ").map(str::to_owned);
    let parts = found
        .iter()
        .flat_map(|line| line.split([';', '|', '#', '>', '<', '&', '(', ')']));
    parts.filter_map(ours).collect()
}

/// Returns the first word that is not a subcommand or option of the command.
fn unknown(command: &Command, words: &str) -> Option<String> {
    let mut command = command.clone();
    command.build();
    let mut at = &command;
    for word in words.split_whitespace() {
        if let Some(flag) = word.strip_prefix("--").filter(|flag| !flag.is_empty()) {
            let flag = flag.split(['=', ']']).next().unwrap_or(flag);
            let knows = |arg: &clap::Arg| arg.get_long() == Some(flag);
            if !at.get_arguments().any(knows) && flag != "help" {
                return Some(word.to_owned());
            }
        } else if let Some(deeper) = at.find_subcommand(word) {
            at = deeper;
        } else if at.has_subcommands() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
            return Some(word.to_owned());
        }
    }
    None
}

#[test]
fn documented_commands_exist() {
    let drover = Args::command();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for command in commands(&text) {
            seen += 1;
            if let Some(word) = unknown(&drover, &command) {
                wrong.push(format!("{}: drover {command}: {word}", page.display()));
            }
        }
    }
    assert!(seen > 40, "only {seen} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the source of the server, the agent and the crates.
fn sources() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![
        root.join("server/src"),
        root.join("agent/src"),
        root.join("crates"),
    ];
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                text.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }
    text
}

#[test]
fn documented_metrics_and_condition_reasons_exist() {
    let sources = sources();
    let monitoring = include_str!("../../../docs/monitoring.md");
    let metrics: Vec<&str> = monitoring
        .split(|c: char| !(c.is_ascii_lowercase() || c == '_'))
        .filter_map(|word| word.strip_prefix("drover_"))
        .map(|name| name.trim_end_matches("_total").trim_end_matches("_info"))
        .collect();
    assert!(metrics.len() > 10, "{metrics:?}");
    let troubleshooting = include_str!("../../../docs/troubleshooting.md");
    let reasons: Vec<&str> = troubleshooting
        .lines()
        .filter(|line| line.starts_with("| `") && line.as_bytes()[3].is_ascii_uppercase())
        .filter_map(|line| line.split('|').nth(1))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .filter(|word| word.chars().all(char::is_alphabetic))
        .collect();
    assert!(reasons.len() > 8, "{reasons:?}");
    for name in metrics.into_iter().chain(reasons) {
        let quoted = format!("\"{name}\"");
        assert!(
            sources.contains(&quoted),
            "{name} is nowhere in the sources"
        );
    }
}
