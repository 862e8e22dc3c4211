//! Runs one hot path twice. valgrind counts the instructions of the second run only.
//!
//! Each hot path is a function with constant data. `drover-instructions list` prints the names of the
//! hot paths.

use std::hint::black_box;
use std::io::Write as _;
use std::process::ExitCode;

use crate::work::Work;
use crate::{headers, permits, roles, tunnel, watches};

/// The name of a hot path, and the function that prepares its data.
type HotPath = (&'static str, fn() -> Work);

const HOT_PATHS: &[HotPath] = &[
    ("header_rewriting", headers::header_rewriting),
    ("permit_decision", permits::permit_decision),
    ("role_resolution", roles::role_resolution),
    ("tunnel_frames", tunnel::tunnel_frames),
    ("watch_fan_out", watches::watch_fan_out),
];

/// Measures the hot path in the first argument.
pub(crate) fn run() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    let Some((_, prepare)) = HOT_PATHS.iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = HOT_PATHS.iter().map(|(name, _)| *name).collect();
        // Ignore errors: the exit code shows a failure, too.
        let _ = writeln!(std::io::stdout(), "{}", names.join("\n"));
        return match name.as_str() {
            "list" => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        };
    };
    let mut work = prepare();
    // The first run initializes static values.
    work();
    measured_region(&mut *work);
    ExitCode::SUCCESS
}

/// valgrind selects this function by its name.
#[inline(never)]
fn measured_region(work: &mut dyn FnMut()) {
    work();
    // Without this line, the call above would be a jump that leaves the function.
    black_box(());
}
