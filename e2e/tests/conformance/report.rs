//! Prints the results of the comparison.

use std::io::{self, Write as _};

use drover_e2e::conformance::UnacceptedDifferences;

/// Prints a line. Ignores the error if standard output is closed.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stdout().lock(), "{line}");
}

/// Prints the differences that are not accepted, and the accepted entries that match no difference.
pub(crate) fn tell(judgement: &UnacceptedDifferences) {
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
            "\naccepted.yaml contains an unused entry; remove the entry: {entry}"
        ));
    }
}
