//! The report.

use std::io::{self, Write as _};

use drover_e2e::conformance::Judgement;

/// Prints a line; a closed standard output is no reason to stop.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stdout().lock(), "{line}");
}

/// Prints what is left of the differences.
pub(crate) fn tell(judgement: &Judgement) {
    let mut script = "";
    for (name, step, differences) in &judgement.differences {
        if script != name {
            say(&format!("\nscript {name}"));
            script = name;
        }
        say(&format!("  step {step:?}"));
        for difference in differences {
            say(&difference.to_string());
        }
    }
    for entry in &judgement.stale {
        say(&format!(
            "\naccepted.yaml has an entry that matches nothing any more; take it out: {entry}"
        ));
    }
}
