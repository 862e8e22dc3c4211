//! Explains exit codes of containers.

use crate::messages::t;

/// Explains the exit code of a process. `reason` is from the container status.
pub fn meaning(code: i64, reason: Option<&str>) -> String {
    match reason {
        Some("OOMKilled") => {
            return t().pods.exit_oom().to_owned();
        }
        Some("ContainerCannotRun" | "StartError") => {
            return t().pods.exit_not_started().to_owned();
        }
        Some("DeadlineExceeded") => return t().pods.exit_deadline().to_owned(),
        _ => {}
    }
    let words = match code {
        0 => t().pods.exit_success(),
        1 => t().pods.exit_error(),
        2 => t().pods.exit_usage(),
        125 => t().pods.exit_runtime(),
        126 => t().pods.exit_not_executable(),
        127 => t().pods.exit_not_found(),
        130 => t().pods.exit_interrupted(),
        132 => t().pods.exit_illegal(),
        134 => t().pods.exit_aborted(),
        135 => t().pods.exit_bus(),
        136 => t().pods.exit_arithmetic(),
        137 => t().pods.exit_killed(),
        139 => t().pods.exit_segfault(),
        141 => t().pods.exit_pipe(),
        143 => t().pods.exit_terminated(),
        255 => t().pods.exit_out_of_range(),
        _ => return other(code),
    };
    words.to_owned()
}

fn other(code: i64) -> String {
    match code {
        129..=192 => t().pods.exit_signal(code - 128),
        _ => t().pods.exit_custom().to_owned(),
    }
}
