//! Request and response bodies for terminals in pods.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::yes;

/// The subresource of the pod to which a terminal connects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TerminalKind {
    /// The terminal runs a new command in a container (`kubectl exec`).
    #[default]
    Exec,
    /// The terminal connects to the first process of a container (`kubectl attach`).
    Attach,
}

/// The reason why a terminal ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TerminalEndReason {
    /// The command exited.
    Exited,
    /// The cluster could not run the command, or the container stopped.
    Failed,
    /// The user's permission or token is no longer valid.
    Revoked,
    /// The connection to the cluster was lost.
    Disconnected,
    /// No browser was connected to the terminal for too long.
    Abandoned,
    /// The user closed the terminal.
    Closed,
    /// The server shut down.
    ServerShutdown,
}

wire! {
    /// A request for a terminal in a container of a pod.
    #[serde(deny_unknown_fields)]
    TerminalCreate {
        /// Name of the cluster.
        cluster: String,
        /// Namespace of the pod.
        namespace: String,
        /// Name of the pod.
        pod: String,
        /// Name of the container. Absent for the pod's default container.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        container: Option<String>,
        /// The subresource of the pod to which the terminal connects.
        #[serde(default)]
        kind: TerminalKind,
        /// The command and its arguments. Empty for the kind `Attach`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        command: Vec<String>,
        /// True to allocate a terminal (TTY) in the container.
        #[serde(default = "yes")]
        tty: bool,
    }
}

wire! {
    /// A terminal of the caller.
    TerminalView {
        /// ID of the terminal, for `GET /v1/terminals/{id}/stream` and `DELETE /v1/terminals/{id}`.
        id: String,
        /// Name of the cluster.
        cluster: String,
        /// Namespace of the pod.
        namespace: String,
        /// Name of the pod.
        pod: String,
        /// Name of the container, if the request contained the name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        container: Option<String>,
        /// The subresource of the pod to which the terminal connects.
        kind: TerminalKind,
        /// The command and its arguments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        command: Vec<String>,
        /// The time at which the terminal was opened.
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
        created_at: Timestamp,
        /// True while a browser is connected to the terminal.
        attached: bool,
        /// The reason why the terminal ended. Absent while the terminal is open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ending: Option<TerminalEnding>,
    }
}

wire! {
    /// The end of a terminal.
    TerminalEnding {
        /// The reason.
        reason: TerminalEndReason,
        /// The reason as a sentence.
        message: String,
        /// The exit code of the command, if the cluster reported the code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
    }
}

/// A text message that the server sends on a terminal's WebSocket. The binary messages between the
/// text messages contain the output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum TerminalNotice {
    /// The first message. The following output begins at this offset.
    Attached {
        /// Number of output bytes before the first byte that the server sends.
        offset: u64,
    },
    /// The connection works. The client responds with [`TerminalControl::Alive`].
    Alive,
    /// The container did not read the input in time. The server discarded the input.
    InputDiscarded,
    /// A different connection took over the terminal.
    Replaced,
    /// The last message: the terminal has ended.
    Ended {
        /// The end of the terminal.
        ending: TerminalEnding,
    },
}

/// A text message that a client sends on a terminal's WebSocket. The binary messages contain the
/// input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum TerminalControl {
    /// The size of the screen.
    Resize {
        /// Number of columns.
        cols: u16,
        /// Number of rows.
        rows: u16,
    },
    /// The client has processed all output before this offset.
    Ack {
        /// Number of processed output bytes.
        offset: u64,
    },
    /// The client received [`TerminalNotice::Alive`].
    Alive,
}
