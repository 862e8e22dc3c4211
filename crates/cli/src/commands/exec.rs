//! Implements `drover exec`.

use std::io::{IsTerminal as _, Read as _, Write as _};

use futures::SinkExt as _;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Api;
use kube::api::{AttachParams, AttachedProcess, TerminalSize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::args::ExecArgs;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::kubernetes::{ClusterApi, PodTarget, default_container, pod_of};
use crate::platform::{RawMode, TerminalChanges};
use crate::terminal::PrintError;

/// Size of the buffer of each stream, in bytes.
const BUFFER: usize = 64 * 1024;
/// Exit code if the remote command ended without an exit code, such as after a signal.
const UNKNOWN_CODE: u8 = 1;

/// Runs `drover exec`.
pub(crate) async fn run(args: &ExecArgs, environment: &Environment) -> Result<(), Failure> {
    let target = PodTarget::parse(&args.target)?;
    if args.tty && !std::io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "-t needs a terminal as standard input; remove -t".to_owned(),
        ));
    }
    let client = environment.client(&args.connection)?;
    let api = ClusterApi::new(&client, &args.cluster);
    let (pod, _) = pod_of(&api, &args.namespace, &target).await?;
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let container = args.container.clone().or_else(|| default_container(&pod));
    let parameters = AttachParams {
        container,
        stdin: args.stdin,
        stdout: true,
        // A terminal has one output.
        stderr: !args.tty,
        tty: args.tty,
        max_stdin_buf_size: Some(BUFFER),
        max_stdout_buf_size: Some(BUFFER),
        max_stderr_buf_size: Some(BUFFER),
    };
    let pods: Api<Pod> = Api::namespaced(api.kube_client(&args.namespace), &args.namespace);
    let started = pods.exec(name, args.command.clone(), &parameters).await;
    let process = started.map_err(failure)?;
    let status = {
        // The guard restores the terminal before the result is printed, also after an error.
        let _raw = if args.tty {
            Some(RawMode::start().map_err(Failure::Terminal)?)
        } else {
            None
        };
        session(process).await
    };
    result(status?.as_ref())
}

/// Copies the streams until the remote command ends, and returns its status.
async fn session(mut process: AttachedProcess) -> Result<Option<Status>, Failure> {
    let status = process.take_status();
    let output = copy_output(process.stdout(), to_stdout);
    let errors = copy_output(process.stderr(), to_stderr);
    // Reading standard input can block, so these tasks end with the session.
    let tasks = Tasks(vec![
        tokio::spawn(send_input(process.stdin())),
        tokio::spawn(send_sizes(process.terminal_size())),
    ]);
    let streams = async { tokio::join!(output, errors) };
    let (output, errors) = tokio::select! {
        copied = streams => copied,
        () = crate::platform::termination() => {
            return Err(Failure::Other("stopped by a signal".to_owned()));
        }
    };
    drop(tasks);
    output?;
    errors?;
    Ok(match status {
        Some(status) => status.await,
        None => None,
    })
}

/// Tasks that end when the value is dropped.
struct Tasks(Vec<JoinHandle<()>>);

impl Drop for Tasks {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

/// Copies a stream of the remote command. Writes in a blocking task: a full pipe must not delay
/// signals and the other streams.
async fn copy_output(
    from: Option<impl AsyncRead + Unpin>,
    write: fn(&[u8]) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let Some(mut from) = from else { return Ok(()) };
    let mut buffer = vec![0; BUFFER];
    loop {
        // The end of the connection is the end of the stream. The status then has no exit code.
        let read = from.read(&mut buffer).await.unwrap_or(0);
        if read == 0 {
            return Ok(());
        }
        let bytes = buffer[..read].to_vec();
        let written = spawn_blocking(move || write(&bytes)).await;
        let written = written.map_err(std::io::Error::other).flatten();
        written.map_err(PrintError::from)?;
    }
}

fn to_stdout(bytes: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

fn to_stderr(bytes: &[u8]) -> std::io::Result<()> {
    std::io::stderr().lock().write_all(bytes)
}

/// Copies standard input. The thread that reads standard input cannot be stopped, and ends with the
/// program.
async fn send_input(to: Option<impl tokio::io::AsyncWrite + Unpin>) {
    let Some(mut to) = to else { return };
    let (sender, mut received) = mpsc::channel::<Vec<u8>>(1);
    std::thread::spawn(move || read_input(&sender));
    while let Some(bytes) = received.recv().await {
        // An error ends the input: the remote command can end before it has read its input.
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
    let _closed = to.shutdown().await;
}

fn read_input(sender: &mpsc::Sender<Vec<u8>>) {
    let mut input = std::io::stdin().lock();
    let mut buffer = vec![0; BUFFER];
    while let Ok(read) = input.read(&mut buffer)
        && read > 0
    {
        if sender.blocking_send(buffer[..read].to_vec()).is_err() {
            return;
        }
    }
}

/// Sends the size of the terminal, and each new size.
async fn send_sizes(to: Option<futures::channel::mpsc::Sender<TerminalSize>>) {
    let Some(mut to) = to else { return };
    let Ok(mut changes) = TerminalChanges::listen() else {
        return;
    };
    loop {
        if let Some((width, height)) = crate::platform::terminal_size() {
            let size = TerminalSize { width, height };
            if to.send(size).await.is_err() {
                return;
            }
        }
        changes.next().await;
    }
}

/// Returns the exit code of the remote command as an error, unless the code is 0.
fn result(status: Option<&Status>) -> Result<(), Failure> {
    let Some(status) = status else {
        return Err(Failure::Other(
            "the connection to the remote command was interrupted".to_owned(),
        ));
    };
    if status.status.as_deref() == Some("Success") {
        return Ok(());
    }
    let causes = status
        .details
        .as_ref()
        .and_then(|details| details.causes.as_ref());
    let code = causes.into_iter().flatten().find_map(|cause| {
        let is_code = cause.reason.as_deref() == Some("ExitCode");
        cause
            .message
            .as_deref()
            .filter(|_| is_code)?
            .parse::<u8>()
            .ok()
    });
    Err(match code {
        Some(code) => Failure::RemoteExit {
            code,
            message: format!("the command ended with exit code {code}"),
        },
        None => Failure::RemoteExit {
            code: UNKNOWN_CODE,
            message: status.message.clone().unwrap_or_default(),
        },
    })
}

/// Converts an error of kube.
pub(super) fn failure(error: kube::Error) -> Failure {
    match error {
        kube::Error::Api(status) => {
            Failure::Call(crate::client::CallError::Refused(crate::client::Refusal {
                code: status.code,
                reason: status.reason.clone(),
                message: status.message.clone(),
                advice: None,
            }))
        }
        kube::Error::Service(source) => Failure::Command(source),
        error => Failure::command(error),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn code(status: serde_json::Value) -> u8 {
        let status: Status = serde_json::from_value(status).unwrap();
        result(Some(&status)).map_or_else(|failure| failure.code(), |()| 0)
    }

    #[test]
    fn exit_code_is_the_exit_code_of_the_remote_command() {
        assert_eq!(code(json!({"status": "Success"})), 0);
        let failed = |causes: serde_json::Value| {
            json!({"status": "Failure", "reason": "NonZeroExitCode", "message": "failed",
                "details": {"causes": causes}})
        };
        assert_eq!(
            code(failed(json!([{"reason": "ExitCode", "message": "7"}]))),
            7
        );
        assert_eq!(
            code(failed(json!([{"reason": "ExitCode", "message": "700"}]))),
            1
        );
        assert_eq!(code(failed(json!([]))), 1);
        assert_eq!(result(None).unwrap_err().code(), 1);
    }
}
