//! Tests of the WebSocket byte stream: both ends together, an independent implementation, and
//! invalid input.

use std::io;
use std::time::Duration;

use drover_fuzz_corpus::entries;
use drover_testkit::tunnel::websocket_pair;
use drover_tunnel::ws::{
    self, AcceptError, ByteStream, Decoder, DialError, DialOptions, FrameError, MAX_MESSAGE, Role,
};
use futures::{SinkExt, StreamExt};
use http::{HeaderMap, Request, StatusCode};
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role as OtherRole;

/// Decodes `bytes` in pieces. The sizes of the pieces repeat the list `sizes`.
fn decode(bytes: &[u8], sizes: &[usize]) -> (Vec<u8>, Result<bool, FrameError>) {
    let mut decoder = Decoder::new(Role::Server);
    let (mut payload, mut rest, mut closed) = (Vec::new(), bytes, false);
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*size).clamp(1, rest.len()));
        rest = after;
        let mut piece = piece.to_vec();
        match decoder.decode(&mut piece) {
            Err(error) => return (payload, Err(error)),
            Ok(found) => {
                payload.extend_from_slice(&piece[..found.payload]);
                closed |= found.closed;
            }
        }
    }
    (payload, Ok(closed))
}

#[test]
fn websocket_fuzz_corpus_decodes_equally_for_each_split_into_chunks() {
    for bytes in entries(env!("CARGO_MANIFEST_DIR"), "websocket", 10) {
        let (_, whole) = decode(&bytes, &[usize::MAX]);
        let (_, single) = decode(&bytes, &[1]);
        assert_eq!(whole, single);
    }
}

proptest! {
    #[test]
    fn decoded_websocket_payload_is_independent_of_chunk_boundaries(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        sizes in prop::collection::vec(1_usize..40, 1..8),
    ) {
        let (whole, ends_whole) = decode(&bytes, &[usize::MAX]);
        let (cut, ends_cut) = decode(&bytes, &sizes);
        prop_assert_eq!(&ends_whole, &ends_cut);
        // On an error, the payload before the invalid piece was already returned.
        let agree = if ends_whole.is_ok() { whole == cut } else { cut.starts_with(&whole) };
        prop_assert!(agree);
    }
}

/// Sends raw bytes to the server's end of a WebSocket. Returns the result of reading from the byte
/// stream.
async fn read_raw(raw: &[u8]) -> io::Result<Vec<u8>> {
    let (mut near, far) = duplex(1 << 20);
    near.write_all(raw).await.unwrap();
    drop(near);
    let mut read = Vec::new();
    ByteStream::new(far, Role::Server)
        .read_to_end(&mut read)
        .await
        .map(|_| read)
}

fn reason(error: &io::Error) -> FrameError {
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    *error
        .get_ref()
        .unwrap()
        .downcast_ref::<FrameError>()
        .unwrap()
}

#[tokio::test]
async fn invalid_websocket_frames_return_specific_errors() {
    let long = |opcode: u8, length: u64| {
        [&[0x80 | opcode, 0xFF][..], &length.to_be_bytes(), &[0; 4]].concat()
    };
    let cases: [(Vec<u8>, FrameError); 11] = [
        (vec![0x81, 0x81, 0, 0, 0, 0, b'x'], FrameError::Text),
        (
            long(2, MAX_MESSAGE as u64 + 1),
            FrameError::TooLarge(MAX_MESSAGE as u64 + 1),
        ),
        (
            long(2, i64::MAX as u64),
            FrameError::TooLarge(i64::MAX as u64),
        ),
        (long(2, u64::MAX), FrameError::LengthForm),
        (long(2, 9), FrameError::LengthForm),
        (vec![0x82, 0x01, b'x'], FrameError::Masking),
        (vec![0xC2, 0x80, 0, 0, 0, 0], FrameError::ReservedBits),
        (vec![0x83, 0x80, 0, 0, 0, 0], FrameError::UnknownOpcode(3)),
        (vec![0x09, 0x80, 0, 0, 0, 0], FrameError::Control),
        (vec![0x80, 0x80, 0, 0, 0, 0], FrameError::Fragments),
        (
            [&[0x02, 0x80, 0, 0, 0, 0][..], &[0x82, 0x80, 0, 0, 0, 0]].concat(),
            FrameError::Fragments,
        ),
    ];
    for (raw, expected) in cases {
        assert_eq!(
            reason(&read_raw(&raw).await.unwrap_err()),
            expected,
            "{raw:x?}"
        );
    }
}

#[tokio::test]
async fn fragmented_message_above_the_limit_is_rejected() {
    let mut raw = vec![0x02, 0xFE, 0xFF, 0xFF, 0, 0, 0, 0];
    raw.extend(vec![b'a'; 0xFFFF]);
    raw.extend([0x80, 0x82, 0, 0, 0, 0, b'b', b'b']);
    let expected = FrameError::TooLarge(MAX_MESSAGE as u64 + 1);
    assert_eq!(reason(&read_raw(&raw).await.unwrap_err()), expected);
}

#[tokio::test]
async fn websocket_end_within_a_frame_is_an_error_and_end_between_frames_is_eof() {
    let frame = [0x82, 0x83, 1, 2, 3, 4, b'a' ^ 1, b'b' ^ 2, b'c' ^ 3];
    assert_eq!(read_raw(&frame).await.unwrap(), b"abc");
    for cut in 1..frame.len() {
        let error = read_raw(&frame[..cut]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "cut at {cut}");
    }
}

#[tokio::test]
async fn websocket_transfers_megabytes_in_both_directions_concurrently() {
    let (mut client, mut server) = websocket_pair();
    let pattern: Vec<u8> = (0..3_000_001_u32).map(|n| (n % 251) as u8).collect();
    let (sent_up, sent_down) = (pattern.clone(), pattern.clone());
    let client = tokio::spawn(async move {
        let (mut read, mut write) = tokio::io::split(&mut client);
        let mut got = vec![0; 3_000_001];
        let (sent, received) = tokio::join!(
            async {
                write.write_all(&sent_up).await?;
                write.flush().await
            },
            read.read_exact(&mut got)
        );
        sent?;
        received.map(|_| got)
    });
    let (mut read, mut write) = tokio::io::split(&mut server);
    let mut got = vec![0; 3_000_001];
    let (sent, received) = tokio::join!(
        async {
            write.write_all(&sent_down).await?;
            write.flush().await
        },
        read.read_exact(&mut got)
    );
    sent.unwrap();
    received.unwrap();
    assert!(got == pattern && client.await.unwrap().unwrap() == pattern);
}

#[tokio::test]
async fn websocket_frames_interoperate_with_tungstenite() {
    for (role, other) in [
        (Role::Client, OtherRole::Server),
        (Role::Server, OtherRole::Client),
    ] {
        let (near, far) = duplex(1 << 20);
        let mut ours = ByteStream::new(near, role);
        let mut theirs = WebSocketStream::from_raw_socket(far, other, None).await;
        for size in [1, 125, 126, 127, 65_535, 65_536] {
            let sent: Vec<u8> = (0..size).map(|n: u32| (n % 253) as u8).collect();
            ours.write_all(&sent).await.unwrap();
            ours.flush().await.unwrap();
            assert_eq!(
                theirs.next().await.unwrap().unwrap(),
                Message::Binary(sent.clone().into())
            );
            theirs.send(Message::Ping(vec![9; 3].into())).await.unwrap();
            theirs
                .send(Message::Binary(sent.clone().into()))
                .await
                .unwrap();
            let mut got = vec![0; sent.len()];
            ours.read_exact(&mut got).await.unwrap();
            assert_eq!(got, sent);
            assert_eq!(
                theirs.next().await.unwrap().unwrap(),
                Message::Pong(vec![9; 3].into())
            );
        }
        let closing = tokio::spawn(async move { ours.shutdown().await });
        assert!(matches!(
            theirs.next().await,
            Some(Ok(Message::Close(Some(_))))
        ));
        assert!(theirs.next().await.is_none_or(|end| end.is_err()));
        closing.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn websocket_close_frame_is_answered_and_closes_the_stream() {
    let (near, far) = duplex(1 << 16);
    let mut ours = ByteStream::new(near, Role::Client);
    let mut theirs = WebSocketStream::from_raw_socket(far, OtherRole::Server, None).await;
    theirs.close(None).await.unwrap();
    assert_eq!(ours.read(&mut [0; 8]).await.unwrap(), 0);
    assert!(matches!(
        theirs.next().await,
        Some(Ok(Message::Close(Some(_))))
    ));
    let error = ours.write_all(b"late").await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn small_writes_are_sent_together_after_a_flush() {
    let (near, mut far) = duplex(1 << 16);
    let mut ours = ByteStream::new(near, Role::Server);
    for _ in 0..100 {
        ours.write_all(b"small").await.unwrap();
    }
    let early = tokio::time::timeout(Duration::from_millis(20), far.read_u8()).await;
    assert!(early.is_err(), "no bytes are sent before the flush");
    ours.flush().await.unwrap();
    let mut all = vec![0; 700];
    far.read_exact(&mut all).await.unwrap();
}

/// Opens a WebSocket to a server that responds with these bytes. Returns the error.
async fn dial_answered(answer: &'static str) -> DialError {
    let (near, mut far) = duplex(1 << 16);
    tokio::spawn(async move {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(far.read_u8().await.unwrap());
        }
        far.write_all(answer.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(20)).await;
    });
    let request = Request::get("wss://server.example/v1/connect")
        .body(())
        .unwrap();
    ws::dial(near, request, DialOptions::default())
        .await
        .unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn rejected_websocket_handshake_returns_the_server_response() {
    let error = dial_answered(
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 27\r\nDrover-Protocol-Known: 1, 2\r\n\r\nthe token was used already\n",
    )
    .await;
    assert_eq!(
        error.to_string(),
        "the server returned 403 Forbidden instead of opening the tunnel: the token was used already"
    );
    let DialError::Refused {
        status, headers, ..
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!(
        (status, &headers["drover-protocol-known"]),
        (StatusCode::FORBIDDEN, &"1, 2".parse().unwrap())
    );
}

#[tokio::test(start_paused = true)]
async fn client_requires_a_valid_websocket_accept_header() {
    let error = dial_answered(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
    )
    .await;
    assert!(matches!(error, DialError::NotWebSocket(_)), "{error}");
    assert!(matches!(dial_answered("").await, DialError::Timeout(_)));
}

fn opening(change: impl FnOnce(&mut HeaderMap)) -> Request<()> {
    let mut request = Request::get("/v1/connect")
        .header("connection", "keep-alive, Upgrade")
        .header("upgrade", "WebSocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .body(())
        .unwrap();
    change(request.headers_mut());
    request
}

#[test]
fn handshake_response_matches_rfc_6455() {
    let response = ws::accept_response(&opening(|_| ())).unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    // Example of RFC 6455 §1.3.
    assert_eq!(
        response.headers()["sec-websocket-accept"],
        "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    );
}

#[test]
fn invalid_websocket_handshakes_are_rejected() {
    for missing in [
        "connection",
        "upgrade",
        "sec-websocket-version",
        "sec-websocket-key",
    ] {
        let request = opening(|headers| drop(headers.remove(missing)));
        let refused = ws::accept_response(&request);
        assert!(
            matches!(refused, Err(AcceptError::Request(_))),
            "handshake without {missing}"
        );
    }
}
