//! Every command explains itself, and the document says the same.

use std::fmt::Write;
use std::path::Path;

use clap::CommandFactory;
use drover_server::args::Args;

use super::program::Drover;

const INTRODUCTION: &str = "\
# The command line

What `drover` and each of its commands say with `--help`. This page is made from the program: after
a change of the commands, run `DROVER_WRITE_DOCS=1 cargo test -p drover-server --test it` and commit it.
";

/// The commands and their help, outer before inner.
fn pages(command: &clap::Command, path: &str, out: &mut Vec<(String, String)>) {
    let mut shown = command.clone().bin_name(path).term_width(100);
    out.push((path.to_owned(), shown.render_long_help().to_string()));
    for inner in command.get_subcommands().filter(|c| c.get_name() != "help") {
        pages(inner, &format!("{path} {}", inner.get_name()), out);
    }
}

fn all() -> Vec<(String, String)> {
    let mut command = Args::command();
    // Fills in what subcommands inherit.
    command.build();
    let mut out = Vec::new();
    pages(&command, "drover", &mut out);
    out
}

#[test]
fn the_document_shows_the_help_of_every_command_as_it_is() {
    let mut text = INTRODUCTION.to_owned();
    for (path, help) in all() {
        let help: Vec<_> = help.lines().map(str::trim_end).collect();
        write!(
            text,
            "\n## {path}\n\n```text\n{}\n```\n",
            help.join("\n").trim_end()
        )
        .unwrap();
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md");
    if std::env::var_os("DROVER_WRITE_DOCS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = kept
        .lines()
        .zip(text.lines())
        .find(|(kept, made)| kept != made);
    assert!(
        kept == text,
        "docs/cli.md is out of date at {differs:?}; run DROVER_WRITE_DOCS=1 cargo test -p drover-server --test it"
    );
}

#[test]
fn every_command_and_every_flag_says_what_it_is_for() {
    fn check(command: &clap::Command, path: &str) {
        assert!(command.get_about().is_some(), "{path} has no description");
        for argument in command.get_arguments() {
            assert!(
                argument.get_help().is_some(),
                "{path}: {} has no help",
                argument.get_id()
            );
        }
        for inner in command.get_subcommands() {
            check(inner, &format!("{path} {}", inner.get_name()));
        }
    }
    check(&Args::command(), "drover");
}

#[tokio::test(flavor = "multi_thread")]
async fn completions_exist_for_every_shell_and_name_the_commands() {
    let drover = Drover::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = drover.run(&["completion", shell]).await.ok();
        assert!(
            ended.out.contains("kubeconfig") && ended.err.is_empty(),
            "{shell}"
        );
    }
}
