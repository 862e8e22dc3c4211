//! Tests of a terminal with a container at the other end of a WebSocket in memory.

use tokio::io::DuplexStream;
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::*;
use crate::output::{CAPACITY, WINDOW};

/// A terminal and the container's end of its WebSocket.
struct Rig {
    session: Arc<Session>,
    container: WebSocketStream<DuplexStream>,
    running: JoinHandle<()>,
}

impl Rig {
    async fn new() -> Self {
        let owner = Owner {
            user: UserUid::new("u"),
            token: "t".to_owned(),
        };
        let create = TerminalCreate {
            cluster: "east".to_owned(),
            namespace: "default".to_owned(),
            pod: "web".to_owned(),
            container: None,
            kind: drover_api::rest::TerminalKind::Exec,
            command: vec!["sh".to_owned()],
            tty: true,
        };
        let (session, input) = Session::new("id".to_owned(), owner, create);
        let (near, far) = tokio::io::duplex(1024);
        let container = WebSocketStream::from_raw_socket(far, Role::Server, None).await;
        let config = Some(drover_proxy::in_process::websocket_config());
        let socket = WebSocketStream::from_raw_socket(near, Role::Client, config).await;
        let upstream = Upstream {
            socket,
            observer: AbortObserver::default(),
        };
        let run = Arc::clone(&session);
        let running = tokio::spawn(async move { run.run(upstream, input).await });
        Self {
            session,
            container,
            running,
        }
    }

    async fn print(&mut self, text: &[u8]) {
        let message = [&[1], text].concat();
        self.container
            .send(Message::Binary(message.into()))
            .await
            .unwrap();
    }

    async fn exit(&mut self, code: u8) {
        let status = serde_json::json!({
            "status": "Failure",
            "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]},
        });
        let message = [&[3], status.to_string().as_bytes()].concat();
        self.container
            .send(Message::Binary(message.into()))
            .await
            .unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn output_during_a_lost_connection_arrives_after_the_browser_reconnects() {
    let mut rig = Rig::new().await;
    let mut connection = rig.session.attach(0);
    rig.print(b"before ").await;
    assert_eq!(connection.next().await, Step::Send("before ".into()));
    drop(connection);
    rig.print(b"during").await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let mut connection = rig.session.attach(7);
    assert_eq!(connection.position(), 7);
    assert_eq!(connection.next().await, Step::Send("during".into()));
    // A browser that reloaded its page has received no output.
    let mut reloaded = rig.session.attach(0);
    assert_eq!(connection.next().await, Step::Replaced);
    assert_eq!(reloaded.next().await, Step::Send("before during".into()));
    // The end of the replaced connection does not detach the new connection.
    drop(connection);
    assert!(rig.session.view().attached);
}

#[tokio::test(start_paused = true)]
async fn terminal_without_a_browser_ends_after_two_minutes() {
    let rig = Rig::new().await;
    drop(rig.session.attach(0));
    tokio::time::sleep(Duration::from_secs(100)).await;
    // A connection starts the time again.
    drop(rig.session.attach(0));
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(!rig.session.has_ended());
    tokio::time::sleep(Duration::from_secs(21)).await;
    let ending = rig.session.view().ending.unwrap();
    assert_eq!(ending.reason, TerminalEndReason::Abandoned);
    rig.running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn attached_terminal_does_not_end_while_idle() {
    let rig = Rig::new().await;
    let _connection = rig.session.attach(0);
    tokio::time::sleep(Duration::from_hours(24)).await;
    assert!(!rig.session.has_ended());
}

#[tokio::test(start_paused = true)]
async fn container_with_endless_output_waits_for_a_slow_browser() {
    let mut rig = Rig::new().await;
    let mut connection = rig.session.attach(0);
    let mut sent = 0;
    // The container sends until its connection accepts no more bytes.
    let print = async {
        while sent < 4 * CAPACITY {
            rig.print(&[b'x'; 1024]).await;
            sent += 1024;
        }
    };
    let blocked = tokio::time::timeout(Duration::from_mins(1), print).await;
    assert!(blocked.is_err());
    let limit = usize::try_from(WINDOW).unwrap() + 8 * 1024;
    assert!(sent <= limit && sent < CAPACITY, "{sent}");
    // The browser receives all bytes, because the server discarded no byte.
    let mut received = 0;
    while received < WINDOW {
        let Step::Send(bytes) = connection.next().await else {
            panic!("no output");
        };
        received += bytes.len() as u64;
    }
    rig.session.acknowledge(received);
    assert!(matches!(connection.next().await, Step::Send(_)));
}

#[tokio::test]
async fn browser_receives_the_last_output_before_the_exit_code() {
    let mut rig = Rig::new().await;
    rig.print(b"bye").await;
    rig.exit(7).await;
    rig.running.await.unwrap();
    let mut connection = rig.session.attach(0);
    assert_eq!(connection.next().await, Step::Send("bye".into()));
    let Step::Ended(ending) = connection.next().await else {
        panic!("the terminal is open");
    };
    assert_eq!(ending.exit_code, Some(7));
}

#[tokio::test]
async fn lost_connection_to_the_cluster_ends_the_terminal() {
    let rig = Rig::new().await;
    drop(rig.container);
    rig.running.await.unwrap();
    let ending = rig.session.view().ending.unwrap();
    assert_eq!(ending.reason, TerminalEndReason::Disconnected);
}

#[tokio::test]
async fn input_and_size_reach_the_container_in_order() {
    let mut rig = Rig::new().await;
    let limit = Duration::from_secs(10);
    let resize = Input::Resize { cols: 80, rows: 24 };
    assert!(rig.session.input(resize.clone(), limit).await);
    let typed = Input::Bytes("ls\r".into());
    assert!(rig.session.input(typed.clone(), limit).await);
    for expected in [resize, typed] {
        let message = rig.container.next().await.unwrap().unwrap();
        assert_eq!(message, Message::Binary(expected.encode()));
    }
    rig.session.close();
    rig.running.await.unwrap();
    let ending = rig.session.view().ending.unwrap();
    assert_eq!(ending.reason, TerminalEndReason::Closed);
}
