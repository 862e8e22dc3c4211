//! The HTTP proxy between agents and the server. The proxy causes faults of the agents' connections.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError};

use drover_agent_link::server::{Proxy, ProxyUrl};
use socket2::{SockFilter, Socket};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

/// Size of the buffer of each direction, in bytes.
const BUFFER: usize = 16 * 1024;
/// Maximum size of a `CONNECT` request, in bytes.
const MAX_REQUEST: usize = 4 * 1024;
const ESTABLISHED: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";
/// A socket filter that drops each packet (`BPF_RET | BPF_K` with the length 0, bpf(4)).
const DROP: SockFilter = SockFilter::new(0x06, 0, 0, 0);

/// The flow of bytes of an agent's connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Flow {
    #[default]
    Open,
    /// The relay forwards no bytes. The kernel acknowledges packets, as for a hung process.
    Stalled,
    /// The relay forwards no bytes, and drops the packets of the server.
    Partitioned,
}

/// The state of an agent's connections.
#[derive(Clone, Copy, Default)]
struct Link {
    flow: Flow,
    /// Number of times that the relay has closed the connections.
    closed: u32,
}

/// The proxy. Clones share the connections.
#[derive(Clone)]
pub(super) struct Relay {
    address: SocketAddr,
    /// The links of the agents, by the agents' addresses.
    links: Arc<Mutex<HashMap<IpAddr, watch::Sender<Link>>>>,
}

impl Relay {
    /// Starts a relay to the server.
    pub(super) async fn start(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let relay = Self {
            address: listener.local_addr()?,
            links: Arc::default(),
        };
        tokio::spawn(relay.clone().accept(listener, server));
        Ok(relay)
    }

    /// Returns the proxy setting of an agent.
    pub(super) fn proxy(&self) -> Proxy {
        let url = format!("http://{}", self.address);
        let url: ProxyUrl = url.parse().expect("an address is a valid host of a URL");
        Proxy::new(&url, None)
    }

    /// Sets the flow of the connections of the agent with this address.
    pub(super) fn set_flow(&self, agent: IpAddr, flow: Flow) {
        self.link(agent).send_modify(|link| link.flow = flow);
    }

    /// Closes the connections of the agent with this address. The agent can open new connections.
    pub(super) fn close(&self, agent: IpAddr) {
        self.link(agent).send_modify(|link| link.closed += 1);
    }

    fn link(&self, agent: IpAddr) -> watch::Sender<Link> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.entry(agent).or_default().clone()
    }

    async fn accept(self, listener: TcpListener, server: SocketAddr) {
        while let Ok((agent, from)) = listener.accept().await {
            let link = self.link(from.ip()).subscribe();
            // The agent reports a failed connection.
            tokio::spawn(relay(agent, from.ip(), server, link));
        }
    }
}

/// Connects to the server from the agent's address, and forwards bytes until a side closes.
async fn relay(
    mut agent: TcpStream,
    from: IpAddr,
    server: SocketAddr,
    mut link: watch::Receiver<Link>,
) -> io::Result<()> {
    let closed = link.borrow().closed;
    read_request(&mut agent).await?;
    wait_for_flow(&mut link, |flow| flow == Flow::Open).await?;
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(from, 0))?;
    let mut server = socket.connect(server).await?;
    agent.set_nodelay(true)?;
    server.set_nodelay(true)?;
    agent.write_all(ESTABLISHED).await?;
    let control = Socket::from(server.as_fd().try_clone_to_owned()?);
    let ((agent_read, agent_write), (server_read, server_write)) = (agent.split(), server.split());
    let (mut ended, mut partition) = (link.clone(), link.clone());
    tokio::select! {
        copied = async {
            tokio::try_join!(
                copy(agent_read, server_write, link.clone()),
                copy(server_read, agent_write, link.clone()),
            )
        } => copied.map(drop),
        never = drop_packets(&control, &mut partition) => never.map(|never| match never {}),
        _ = ended.wait_for(|link| link.closed != closed) => Ok(()),
    }
}

async fn read_request(agent: &mut TcpStream) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if request.len() >= MAX_REQUEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        request.push(agent.read_u8().await?);
    }
    Ok(())
}

async fn wait_for_flow(
    link: &mut watch::Receiver<Link>,
    expected: impl Fn(Flow) -> bool,
) -> io::Result<()> {
    let reached = link.wait_for(|link| expected(link.flow)).await;
    reached.map(drop).map_err(io::Error::other)
}

/// Copies bytes in one direction while the flow is open.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut link: watch::Receiver<Link>,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        wait_for_flow(&mut link, |flow| flow == Flow::Open).await?;
        let read = from.read(&mut buffer).await?;
        wait_for_flow(&mut link, |flow| flow == Flow::Open).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..read]).await?;
    }
}

/// Drops the packets that arrive at the socket while the agent is partitioned.
async fn drop_packets(socket: &Socket, link: &mut watch::Receiver<Link>) -> io::Result<Infallible> {
    loop {
        wait_for_flow(link, |flow| flow == Flow::Partitioned).await?;
        socket.attach_filter(&[DROP])?;
        wait_for_flow(link, |flow| flow != Flow::Partitioned).await?;
        socket.detach_filter()?;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const AGENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// Returns both ends of a connection through a relay.
    async fn connected() -> (Relay, TcpStream, TcpStream) {
        let server = TcpListener::bind((AGENT, 0)).await.unwrap();
        let relay = Relay::start(server.local_addr().unwrap()).await.unwrap();
        let mut agent = TcpStream::connect(relay.address).await.unwrap();
        let request = b"CONNECT server:443 HTTP/1.1\r\nHost: server:443\r\n\r\n";
        agent.write_all(request).await.unwrap();
        let mut head = [0; ESTABLISHED.len()];
        agent.read_exact(&mut head).await.unwrap();
        (relay, agent, server.accept().await.unwrap().0)
    }

    async fn received(stream: &mut TcpStream) -> Option<u8> {
        let read = tokio::time::timeout(Duration::from_millis(300), stream.read_u8());
        read.await.ok().and_then(Result::ok)
    }

    #[tokio::test]
    async fn relay_delivers_bytes_after_a_fault_and_closes_connections() {
        let (relay, mut agent, mut server) = connected().await;
        for flow in [Flow::Stalled, Flow::Partitioned] {
            relay.set_flow(AGENT, flow);
            tokio::time::sleep(Duration::from_millis(50)).await;
            agent.write_u8(1).await.unwrap();
            server.write_u8(2).await.unwrap();
            assert_eq!(received(&mut server).await, None, "{flow:?}");
            assert_eq!(received(&mut agent).await, None, "{flow:?}");
            relay.set_flow(AGENT, Flow::Open);
            assert_eq!(server.read_u8().await.unwrap(), 1, "{flow:?}");
            assert_eq!(agent.read_u8().await.unwrap(), 2, "{flow:?}");
        }
        relay.close(AGENT);
        assert!(server.read_u8().await.is_err());
    }
}
