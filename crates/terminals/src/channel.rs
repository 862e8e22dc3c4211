//! The messages of `v4.channel.k8s.io` and `v5.channel.k8s.io`, the WebSocket protocols of exec and
//! attach (KEP-4006). The first byte of each message is the number of a channel.

use bytes::{BufMut as _, Bytes, BytesMut};
use drover_api::rest::{TerminalEndReason, TerminalEnding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use serde_json::json;

/// The protocols in order of preference, for `Sec-WebSocket-Protocol`.
pub(crate) const PROTOCOLS: &str = "v5.channel.k8s.io, v4.channel.k8s.io";

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
const RESIZE: u8 = 4;
/// Maximum length of a message from the cluster that the server repeats to the user, in characters.
const MAX_MESSAGE: usize = 1024;

/// Input for the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Bytes for the standard input.
    Bytes(Bytes),
    /// The new size of the terminal.
    Resize {
        /// Number of columns.
        cols: u16,
        /// Number of rows.
        rows: u16,
    },
}

impl Input {
    /// Encodes the input as a message.
    pub(crate) fn encode(&self) -> Bytes {
        let mut message = BytesMut::new();
        match self {
            Self::Bytes(bytes) => {
                message.put_u8(STDIN);
                message.put_slice(bytes);
            }
            Self::Resize { cols, rows } => {
                message.put_u8(RESIZE);
                let size = json!({ "Width": cols, "Height": rows });
                message.put_slice(size.to_string().as_bytes());
            }
        }
        message.freeze()
    }
}

/// A message from the cluster.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Received {
    /// Output of the container.
    Output(Bytes),
    /// The command has ended.
    Ended(TerminalEnding),
    /// A message without meaning for terminals.
    Other,
}

/// Decodes a message from the cluster.
pub(crate) fn decode(mut message: Bytes) -> Received {
    if message.is_empty() {
        return Received::Other;
    }
    let channel = message.split_to(1)[0];
    match channel {
        STDOUT | STDERR => Received::Output(message),
        STATUS => Received::Ended(ending(&message)),
        _ => Received::Other,
    }
}

/// Returns the end of a terminal from the `metav1.Status` of the status channel.
fn ending(status: &[u8]) -> TerminalEnding {
    let status: Status = serde_json::from_slice(status).unwrap_or_default();
    if status.status.as_deref() == Some("Success") {
        return exited(0);
    }
    let causes = status.details.and_then(|details| details.causes);
    let code = causes.unwrap_or_default().into_iter().find_map(|cause| {
        let code = cause.reason.as_deref() == Some("ExitCode");
        code.then(|| cause.message?.parse().ok()).flatten()
    });
    if let Some(code) = code {
        return exited(code);
    }
    let message = status.message.unwrap_or_default();
    let message: String = message.chars().take(MAX_MESSAGE).collect();
    TerminalEnding {
        reason: TerminalEndReason::Failed,
        message: format!("the cluster ended the terminal: {message}"),
        exit_code: None,
    }
}

fn exited(code: i32) -> TerminalEnding {
    let message = match code {
        137 => "the command was killed (exit code 137); possible causes: the container stopped, \
                the pod was deleted or evicted, or the container exceeded its memory limit"
            .to_owned(),
        code => format!("the command exited with code {code}"),
    };
    TerminalEnding {
        reason: TerminalEndReason::Exited,
        message,
        exit_code: Some(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(value: &serde_json::Value) -> TerminalEnding {
        let mut message = vec![STATUS];
        message.extend(value.to_string().into_bytes());
        match decode(message.into()) {
            Received::Ended(ending) => ending,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn exit_code_of_the_command_is_read_from_the_status_channel() {
        let success = status(&json!({"status": "Success"}));
        assert_eq!(success.exit_code, Some(0));
        let failure = status(&json!({
            "status": "Failure", "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": "7"}]},
        }));
        assert_eq!(failure.exit_code, Some(7));
        assert_eq!(failure.reason, TerminalEndReason::Exited);
        let missing = status(&json!({"status": "Failure", "message": "no such container"}));
        assert_eq!(missing.reason, TerminalEndReason::Failed);
        assert!(missing.message.ends_with(": no such container"));
    }

    #[test]
    fn long_error_of_a_cluster_is_shortened() {
        let ending = status(&json!({"status": "Failure", "message": "x".repeat(100_000)}));
        assert!(ending.message.len() < 2 * MAX_MESSAGE);
    }

    #[test]
    fn output_and_input_use_the_channels_of_kubernetes() {
        let output = |bytes: &'static [u8]| decode(Bytes::from_static(bytes));
        assert_eq!(output(b"\x01out"), Received::Output("out".into()));
        assert_eq!(output(b"\x02err"), Received::Output("err".into()));
        assert_eq!(output(b"\xff\x01"), Received::Other);
        assert_eq!(output(b""), Received::Other);
        assert_eq!(&*Input::Bytes("ls".into()).encode(), b"\0ls");
        let resize = Input::Resize { cols: 80, rows: 24 };
        let expected = b"\x04{\"Height\":24,\"Width\":80}";
        let (channel, size) = (resize.encode()[0], resize.encode().slice(1..));
        assert_eq!(channel, expected[0]);
        let size: serde_json::Value = serde_json::from_slice(&size).unwrap();
        assert_eq!(size, json!({"Width": 80, "Height": 24}));
    }

    proptest::proptest! {
        #[test]
        fn message_of_a_hostile_cluster_causes_no_panic(message: Vec<u8>) {
            decode(message.into());
        }
    }
}
