//! Tests that every command has a complete help text, and that docs/cli.md contains the same text.

use std::fmt::Write;
use std::path::Path;

use clap::{Arg, Command, CommandFactory};
use drover_server::args::Args;

use super::program::Drover;

const INTRODUCTION: &str = "\
# The command line

This page describes all commands of `drover` with the texts of `--help`. A test generates this page from the commands.
After a change of a command, run `DROVER_WRITE_DOCS=1 cargo test -p drover-server --test it` and commit docs/cli.md.

Every command has the options `-h` and `--help`.

## Connection options

Each command that calls a server accepts these connection options, before or after the subcommand:

";

const CONNECTION: &str = "Connection";

/// Returns the options and arguments of a command, except the options that every command has.
fn arguments(command: &Command) -> impl Iterator<Item = &Arg> {
    command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str()))
}

fn is_connection(arg: &Arg) -> bool {
    arg.get_help_heading() == Some(CONNECTION)
}

/// Formats an option or argument as a list item.
fn item(arg: &Arg) -> String {
    let short = arg.get_short().filter(|_| arg.get_long().is_some());
    let short = short.map_or_else(String::new, |short| format!("-{short}, "));
    let name = arg.to_string();
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let mut text = format!("- `{short}{name}`: {help}");
    if arg.get_action().takes_values() {
        let values: Vec<_> = arg
            .get_possible_values()
            .iter()
            .map(|value| match value.get_help() {
                Some(help) => format!("`{}` ({help})", value.get_name()),
                None => format!("`{}`", value.get_name()),
            })
            .collect();
        if !values.is_empty() {
            write!(text, ". Possible values: {}", values.join(", ")).unwrap();
        }
        let defaults = arg.get_default_values();
        for value in defaults.iter().filter(|value| !value.is_empty()) {
            write!(text, ". Default: `{}`", value.to_string_lossy()).unwrap();
        }
    }
    if let Some(variable) = arg.get_env() {
        write!(text, ". Variable: `${}`", variable.to_string_lossy()).unwrap();
    }
    text
}

/// Appends the section of a command, and the sections of its subcommands.
fn section(command: &Command, path: &str, out: &mut String) {
    let about = command.get_long_about().or_else(|| command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().bin_name(path).render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:");
    let usage: Vec<_> = usage.lines().map(str::trim).collect();
    write!(
        out,
        "\n## {path}\n\n{about}\n\n```text\n{}\n```\n",
        usage.join("\n")
    )
    .unwrap();
    let own: Vec<_> = arguments(command)
        .filter(|arg| !is_connection(arg))
        .map(item)
        .collect();
    if !own.is_empty() {
        write!(out, "\n{}\n", own.join("\n")).unwrap();
    }
    let connection: Vec<_> = arguments(command)
        .filter(|arg| is_connection(arg))
        .collect();
    if connection.len() == 1 {
        writeln!(
            out,
            "{}{}",
            if own.is_empty() { "\n" } else { "" },
            item(connection[0])
        )
        .unwrap();
    } else if !connection.is_empty() {
        out.push_str("\nThis command accepts the [connection options](#connection-options).\n");
    }
    let inner: Vec<_> = subcommands(command).collect();
    if !inner.is_empty() {
        out.push_str("\nSubcommands:\n\n");
        for command in &inner {
            let path = format!("{path} {}", command.get_name());
            let link = path.replace(' ', "-");
            let about = command.get_about().unwrap_or_default();
            writeln!(out, "- [`{path}`](#{link}): {about}").unwrap();
        }
    }
    if let Some(more) = command.get_after_long_help() {
        write!(out, "\n```text\n{}\n```\n", more.to_string().trim_end()).unwrap();
    }
    for command in inner {
        section(command, &format!("{path} {}", command.get_name()), out);
    }
}

fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|command| command.get_name() != "help" && !command.is_hide_set())
}

fn program() -> Command {
    let mut program = Args::command();
    // Propagates the global options to the subcommands.
    program.build();
    program
}

/// Returns the connection options of `drover cluster` as list items.
fn connection_options(program: &Command) -> Vec<String> {
    let clusters = program.find_subcommand("cluster").unwrap();
    let options = arguments(clusters).filter(|arg| is_connection(arg));
    options.map(item).collect()
}

#[test]
fn cli_document_contains_the_help_of_every_command() {
    let program = program();
    let mut text = INTRODUCTION.to_owned();
    writeln!(text, "{}", connection_options(&program).join("\n")).unwrap();
    section(&program, "drover", &mut text);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md");
    if std::env::var_os("DROVER_WRITE_DOCS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = kept
        .lines()
        .zip(text.lines())
        .find(|(kept, created)| kept != created);
    assert!(
        kept == text,
        "docs/cli.md is out of date at {differs:?}; run DROVER_WRITE_DOCS=1 cargo test -p drover-server --test it"
    );
}

#[test]
fn connection_options_are_equal_in_all_commands() {
    fn check(command: &Command, path: &str, options: &[String]) {
        for arg in arguments(command).filter(|arg| is_connection(arg)) {
            assert!(options.contains(&item(arg)), "{path}: {}", arg.get_id());
        }
        for inner in subcommands(command) {
            check(inner, &format!("{path} {}", inner.get_name()), options);
        }
    }
    let program = program();
    check(&program, "drover", &connection_options(&program));
}

#[test]
fn every_command_and_option_has_a_help_text() {
    fn check(command: &Command, path: &str) {
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
async fn completion_scripts_of_all_shells_run_the_program_for_candidates() {
    let drover = Drover::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = drover.run(&["completion", shell]).await.ok();
        let registers = ended.out.contains("DROVER_COMPLETE") && ended.err.is_empty();
        assert!(registers, "{shell}: {ended:?}");
    }
}
