//! What the code means with which a process ended.

/// Why a process ended, in words. `reason` is what the cluster says beside the code.
pub fn meaning(code: i64, reason: Option<&str>) -> String {
    match reason {
        Some("OOMKilled") => {
            return "out of memory: it used more than its limit. Raise the limit, or have it use less"
                .to_owned();
        }
        Some("ContainerCannotRun" | "StartError") => {
            return "the container could not be started: look at its command and its image"
                .to_owned();
        }
        Some("DeadlineExceeded") => return "it ran longer than it may".to_owned(),
        _ => {}
    }
    let words = match code {
        0 => "it ended by itself, without an error",
        1 => "the program ended with an error: its logs say which",
        2 => "the program was called wrongly or panicked: its logs say more",
        125 => "the container's runtime failed",
        126 => "the command may not be run: look at the rights of the file",
        127 => "the command was not found: look at the image and the command",
        130 => "it was interrupted (SIGINT)",
        132 => "illegal instruction (SIGILL): is the image made for this processor?",
        134 => "the program aborted itself (SIGABRT): its logs say why",
        135 => "it read memory wrongly (SIGBUS)",
        136 => "it calculated wrongly (SIGFPE)",
        137 => {
            "it was killed (SIGKILL): the node ran out of memory, a liveness probe failed, or it did \
             not stop in time"
        }
        139 => "it touched memory that is not its own (SIGSEGV)",
        141 => "nobody read what it wrote (SIGPIPE)",
        143 => "it was asked to stop (SIGTERM), and did",
        255 => "the program ended with an error outside of its own codes",
        _ => return other(code),
    };
    words.to_owned()
}

fn other(code: i64) -> String {
    match code {
        129..=192 => format!("it was ended by signal {}", code - 128),
        _ => "the program ended with an error code of its own".to_owned(),
    }
}
