//! Implements `drover port-forward`.

mod ports;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::exec::failure;
use crate::args::PortForwardArgs;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::kubernetes::{ClusterApi, PodTarget, pod_of};
use crate::table::printable;
use crate::terminal::{notice, print};
use ports::{ForwardedPort, pod_port};

/// Maximum number of open connections of all ports.
const MAX_CONNECTIONS: usize = 256;
/// Time for the last bytes of a connection after one side has closed it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Delay after a failed `accept`, such as when the process has too many open files.
const ACCEPT_DELAY: Duration = Duration::from_millis(200);

/// The destination of all connections.
struct Destination {
    api: ClusterApi,
    pods: Api<Pod>,
    namespace: String,
    target: PodTarget,
    /// The pod and the workload that selected it.
    current: Mutex<(Value, Option<Value>)>,
}

/// Runs `drover port-forward`.
pub(crate) async fn run(args: &PortForwardArgs, environment: &Environment) -> Result<(), Failure> {
    let target = PodTarget::parse(&args.target)?;
    let parsed = args.ports.iter().map(|text| ForwardedPort::parse(text));
    let ports: Vec<ForwardedPort> = parsed.collect::<Result<_, _>>().map_err(Failure::Usage)?;
    let client = environment.client(&args.connection)?;
    let api = ClusterApi::new(&client, &args.cluster);
    let found = pod_of(&api, &args.namespace, &target).await?;
    let pods = Api::namespaced(api.kube_client(&args.namespace), &args.namespace);
    let destination = Arc::new(Destination {
        api,
        pods,
        namespace: args.namespace.clone(),
        target,
        current: Mutex::new(found),
    });
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut listeners = JoinSet::new();
    for port in ports {
        let number = destination.port(&port)?;
        let address = SocketAddr::new(args.address, port.local);
        let listener = TcpListener::bind(address).await.map_err(|source| {
            Failure::Other(format!(
                "cannot listen at {address}: {source}; use another local port"
            ))
        })?;
        let bound = listener.local_addr().unwrap_or(address);
        print(&format!("Forwarding from {bound} -> {number}\n"))?;
        let accept = accept(
            listener,
            Arc::clone(&destination),
            port,
            Arc::clone(&permits),
        );
        listeners.spawn(accept);
    }
    crate::platform::termination().await;
    Ok(())
}

/// Forwards the connections of a listener.
async fn accept(
    listener: TcpListener,
    destination: Arc<Destination>,
    port: ForwardedPort,
    permits: Arc<Semaphore>,
) {
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        while connections.try_join_next().is_some() {}
        let Ok((socket, _)) = listener.accept().await else {
            sleep(ACCEPT_DELAY).await;
            continue;
        };
        let (destination, port) = (Arc::clone(&destination), port.clone());
        connections.spawn(async move {
            if let Err(failure) = destination.forward(socket, &port).await {
                notice(&printable(&format!("drover: {}", failure.text())));
            }
            drop(permit);
        });
    }
}

impl Destination {
    /// Returns the number of a port of the current pod.
    fn port(&self, port: &ForwardedPort) -> Result<u16, Failure> {
        let current = self.current.lock();
        pod_port(&port.remote, &current.0, current.1.as_ref()).map_err(Failure::Other)
    }

    async fn forward(&self, mut socket: TcpStream, port: &ForwardedPort) -> Result<(), Failure> {
        let (mut forwarder, number) = match self.open(port).await {
            Err(_) if matches!(self.target, PodTarget::Workload { .. }) => {
                // The pod may no longer exist: select another pod of the workload.
                let found = pod_of(&self.api, &self.namespace, &self.target).await?;
                *self.current.lock() = found;
                self.open(port).await?
            }
            opened => opened?,
        };
        let error = forwarder.take_error(number);
        if let Some(mut stream) = forwarder.take_stream(number) {
            // An error closes the connection. The message of the pod has the reason.
            let _closed = tokio::io::copy_bidirectional(&mut socket, &mut stream).await;
        }
        let message = match error {
            Some(error) => timeout(CLOSE_TIMEOUT, error).await.ok().flatten(),
            None => None,
        };
        forwarder.abort();
        match message {
            Some(message) => Err(Failure::Other(format!("port {number}: {message}"))),
            None => Ok(()),
        }
    }

    async fn open(&self, port: &ForwardedPort) -> Result<(kube::api::Portforwarder, u16), Failure> {
        let number = self.port(port)?;
        let name = self.current.lock().0["metadata"]["name"].clone();
        let name = name.as_str().unwrap_or_default();
        let opened = self.pods.portforward(name, &[number]).await;
        Ok((opened.map_err(failure)?, number))
    }
}
