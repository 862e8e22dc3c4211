//! A test agent that sends individual HTTP/2 frames, including invalid frames.

use drover_testkit::tunnel::websocket_pair;
use drover_tunnel::tunnel::{ClosedReason, OpenOptions, Tunnel};
use drover_tunnel::ws::ByteStream;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;

pub(crate) const DATA: u8 = 0x0;
pub(crate) const HEADERS: u8 = 0x1;
pub(crate) const RST_STREAM: u8 = 0x3;
pub(crate) const SETTINGS: u8 = 0x4;
pub(crate) const PUSH_PROMISE: u8 = 0x5;
pub(crate) const PING: u8 = 0x6;
pub(crate) const WINDOW_UPDATE: u8 = 0x8;
pub(crate) const CONTINUATION: u8 = 0x9;

pub(crate) const ACK: u8 = 0x1;
pub(crate) const END_STREAM: u8 = 0x1;
pub(crate) const END_HEADERS: u8 = 0x4;

/// The header `:status: 200`, encoded as an index of HPACK's static table.
pub(crate) const STATUS_200: &[u8] = &[0x88];
/// Payload of a SETTINGS frame that enables extended CONNECT (setting 8 has the value 1).
const SETTINGS_CONNECT: [u8; 6] = [0, 8, 0, 0, 0, 1];

pub(crate) struct RawAgent {
    stream: ByteStream<DuplexStream>,
}

#[derive(Debug)]
pub(crate) struct RawFrame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// A tunnel to a raw agent, and the task of the tunnel's driver.
pub(crate) struct Victim {
    pub(crate) tunnel: Tunnel,
    pub(crate) driver: JoinHandle<ClosedReason>,
    pub(crate) agent: RawAgent,
}

pub(crate) async fn victim(options: OpenOptions) -> Victim {
    let (agent, server) = websocket_pair();
    let mut agent = RawAgent { stream: agent };
    let opening = tokio::spawn(Tunnel::open(server, options));
    let mut preface = [0; 24];
    agent.stream.read_exact(&mut preface).await.unwrap();
    assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    agent.send(SETTINGS, 0, 0, &SETTINGS_CONNECT).await.unwrap();
    while !opening.is_finished() {
        if tokio::time::timeout(
            std::time::Duration::from_millis(50),
            agent.next_acknowledged(),
        )
        .await
        .is_err()
        {
            tokio::task::yield_now().await;
        }
    }
    let (tunnel, driver) = opening.await.unwrap().unwrap();
    Victim {
        tunnel,
        driver: tokio::spawn(driver),
        agent,
    }
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

impl RawAgent {
    /// Creates a raw peer on a byte stream, for either end of the tunnel.
    pub(crate) const fn on(stream: ByteStream<DuplexStream>) -> Self {
        Self { stream }
    }

    pub(crate) async fn send(
        &mut self,
        kind: u8,
        flags: u8,
        stream: u32,
        payload: &[u8],
    ) -> std::io::Result<()> {
        self.bytes(&frame(kind, flags, stream, payload)).await
    }

    pub(crate) async fn bytes(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    async fn next(&mut self) -> std::io::Result<RawFrame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).await?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload).await?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Ok(RawFrame {
            kind: head[3],
            flags: head[4],
            stream,
            payload,
        })
    }

    /// Reads the next frame and acknowledges pings and settings.
    pub(crate) async fn next_acknowledged(&mut self) -> std::io::Result<RawFrame> {
        let frame = self.next().await?;
        match (frame.kind, frame.flags & ACK) {
            (SETTINGS, 0) => self.send(SETTINGS, ACK, 0, &[]).await?,
            (PING, 0) => self.send(PING, ACK, 0, &frame.payload).await?,
            _ => {}
        }
        Ok(frame)
    }

    /// Waits for the next request. Returns the ID of its stream.
    pub(crate) async fn request(&mut self) -> u32 {
        loop {
            let frame = self.next_acknowledged().await.unwrap();
            if frame.kind == HEADERS {
                return frame.stream;
            }
        }
    }

    /// Acknowledges pings and settings until the connection ends.
    pub(crate) async fn idle(&mut self) {
        while self.next_acknowledged().await.is_ok() {}
    }
}
