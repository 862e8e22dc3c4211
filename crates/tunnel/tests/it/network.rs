//! Tests of network failures in virtual time. Both ends of the tunnel use a simulated TCP network
//! and the real handshake.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use drover_testkit::tunnel::{open_end, open_options};
use drover_tunnel::protocol::{self, VERSION_HEADER, Version};
use drover_tunnel::reconnect::{Policy, Session, Sessions};
use drover_tunnel::tunnel::{ClosedReason, Tunnel};
use drover_tunnel::{ServeError, ServeOptions, serve, ws};
use http::{Request, Response};
use http_body_util::Empty;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use turmoil::net::{TcpListener, TcpStream};

use crate::agent::{agent, full, get, text};

type Tunnels = mpsc::UnboundedSender<Tunnel>;
type Served = Rc<RefCell<Vec<Result<(), ServeError>>>>;

/// Accepts tunnels and sends each tunnel to the channel.
async fn server(tunnels: Tunnels) -> turmoil::Result {
    let listener = TcpListener::bind((IpAddr::from(Ipv4Addr::UNSPECIFIED), 8443)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let tunnels = tunnels.clone();
        let service =
            service_fn(move |request| std::future::ready(connect(request, tunnels.clone())));
        tokio::spawn(
            hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades(),
        );
    }
}

fn connect(
    mut request: Request<hyper::body::Incoming>,
    tunnels: Tunnels,
) -> Result<Response<Empty<Bytes>>, ws::AcceptError> {
    let mut response = ws::accept_response(&request)?;
    let version = protocol::negotiate(request.headers()).unwrap();
    response
        .headers_mut()
        .insert(VERSION_HEADER, protocol::chosen(version));
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let stream = ws::accept(upgrade).await.unwrap();
        tunnels
            .send(open_end(stream, open_options()).await.0)
            .unwrap();
    });
    Ok(response.map(|()| Empty::new()))
}

/// Connects an agent and serves one tunnel until the tunnel ends.
async fn connect_once(session: &mut Session<'_>) -> Result<(), ServeError> {
    let dialed = async {
        let stream = TcpStream::connect("server:8443").await.ok()?;
        let request = Request::get("wss://server/v1/connect")
            .header(VERSION_HEADER, protocol::offer(&Version::KNOWN))
            .body(())
            .unwrap();
        ws::dial(stream, request, ws::DialOptions::default())
            .await
            .ok()
    };
    let Ok(Some(dialed)) = timeout(Duration::from_secs(10), dialed).await else {
        return Ok(());
    };
    let version = protocol::confirm(&dialed.headers, &Version::KNOWN);
    assert_eq!(version, Ok(Version::LATEST));
    session.opened();
    let service = agent(|request| async move {
        if request.uri().path() == "/never" {
            return std::future::pending().await;
        }
        Response::new(full("alive"))
    });
    serve(
        dialed.stream,
        service,
        ServeOptions::default(),
        CancellationToken::new(),
    )
    .await
}

/// Runs the reconnect loop of the agent with a fixed random value.
async fn agent_host(served: Served) -> turmoil::Result {
    let mut sessions = Sessions::new(Policy::default(), CancellationToken::new());
    while let Some(mut session) = sessions.next(0.5).await {
        let ended = connect_once(&mut session).await;
        served.borrow_mut().push(ended);
    }
    Ok(())
}

/// Starts a server and an agent, and runs `test`. The arguments of `test` are the opened tunnels
/// and the results of the agent's sessions.
fn simulate<F>(test: impl FnOnce(mpsc::UnboundedReceiver<Tunnel>, Served) -> F + 'static)
where
    F: Future<Output = turmoil::Result> + 'static,
{
    let mut sim = turmoil::Builder::new()
        .simulation_duration(Duration::from_mins(10))
        .tick_duration(Duration::from_millis(10))
        .tcp_capacity(1024)
        .build();
    let (opened, tunnels) = mpsc::unbounded_channel();
    sim.host("server", move || server(opened.clone()));
    let served = Served::default();
    let ends = Rc::clone(&served);
    sim.host("agent", move || agent_host(Rc::clone(&ends)));
    sim.client("test", test(tunnels, served));
    sim.run().unwrap();
}

async fn assert_alive(tunnel: &Tunnel) {
    assert_eq!(text(tunnel.send(get("/")).await.unwrap()).await, "alive");
}

#[test]
fn network_partition_closes_both_tunnel_ends_and_the_agent_reconnects() {
    simulate(async |mut tunnels, served| {
        let tunnel = tunnels.recv().await.unwrap();
        assert_alive(&tunnel).await;
        let waiting = tokio::spawn({
            let tunnel = tunnel.clone();
            async move { tunnel.send(get("/never")).await }
        });
        tokio::time::sleep(Duration::from_secs(2)).await;
        turmoil::partition("agent", "server");
        let cut = Instant::now();
        assert_eq!(tunnel.closed().await, ClosedReason::KeepaliveTimeout);
        assert!(
            cut.elapsed() <= Duration::from_secs(41),
            "{:?}",
            cut.elapsed()
        );
        assert!(
            waiting.await.unwrap().is_err(),
            "its users receive an error"
        );
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(
            matches!(served.borrow()[0], Err(ServeError::KeepaliveTimeout(_))),
            "{served:?}"
        );
        turmoil::repair("agent", "server");
        let healed = Instant::now();
        let tunnel = tunnels.recv().await.unwrap();
        assert!(
            healed.elapsed() <= Duration::from_secs(26),
            "{:?}",
            healed.elapsed()
        );
        assert_alive(&tunnel).await;
        Ok(())
    });
}

#[test]
fn one_way_network_partition_closes_the_tunnel_end_without_incoming_data() {
    simulate(async |mut tunnels, _| {
        let tunnel = tunnels.recv().await.unwrap();
        assert_alive(&tunnel).await;
        // Data of the agent is lost; data of the server still arrives.
        turmoil::partition_oneway("agent", "server");
        let cut = Instant::now();
        assert_eq!(tunnel.closed().await, ClosedReason::KeepaliveTimeout);
        assert!(
            cut.elapsed() <= Duration::from_secs(41),
            "{:?}",
            cut.elapsed()
        );
        turmoil::repair_oneway("agent", "server");
        assert_alive(&tunnels.recv().await.unwrap()).await;
        Ok(())
    });
}

#[test]
fn idle_tunnel_stays_open_for_minutes() {
    simulate(async |mut tunnels, served| {
        let tunnel = tunnels.recv().await.unwrap();
        tokio::time::sleep(Duration::from_mins(5)).await;
        assert_alive(&tunnel).await;
        assert!(tunnel.stats().round_trip.is_some());
        assert!(served.borrow().is_empty());
        Ok(())
    });
}

#[test]
fn agent_reconnects_after_the_server_closes_the_tunnel() {
    simulate(async |mut tunnels, _| {
        for _ in 0..3 {
            let tunnel = tunnels.recv().await.unwrap();
            assert_alive(&tunnel).await;
            tunnel.close("the agent must move to another server");
        }
        let lost = Instant::now();
        assert_alive(&tunnels.recv().await.unwrap()).await;
        assert!(
            lost.elapsed() <= Duration::from_secs(5),
            "{:?}",
            lost.elapsed()
        );
        Ok(())
    });
}
