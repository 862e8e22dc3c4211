//! A stand-alone Kubernetes API server with all kinds.
//!
//! ```sh
//! cargo run -p drover-apiserver --example serve -- --listen 127.0.0.1:6443 --data /tmp/hub
//! export KUBECONFIG=/tmp/hub/kubeconfig
//! kubectl get namespaces
//! ```
//!
//! Options: `--listen ADDRESS`, `--data FOLDER`, `--token TOKEN` (random by default), `--plain` (no
//! TLS). The kubeconfig in the data folder contains the server's address, certificate and token.
//! kubectl sends the token only over TLS, so `--plain` is for other clients.

mod listener;

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use drover_apiserver::builtin::Kinds;
use drover_apiserver::server::{ApiServer, Options};
use listener::{AdminToken, Failure, accept, certificate, write_kubeconfig};
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

struct Args {
    listen: SocketAddr,
    data: PathBuf,
    token: SecretString,
    plain: bool,
}

impl Args {
    fn read() -> Result<Self, Failure> {
        let mut args = Self {
            listen: ([127, 0, 0, 1], 6443).into(),
            data: PathBuf::from("hub"),
            token: uuid::Uuid::new_v4().to_string().into(),
            plain: false,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--listen" => args.listen = value()?.parse()?,
                "--data" => args.data = value()?.into(),
                "--token" => args.token = value()?.into(),
                "--plain" => args.plain = true,
                _ => return Err(format!("unknown option {word}").into()),
            }
        }
        Ok(args)
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args = Args::read()?;
    std::fs::create_dir_all(&args.data)?;
    let mut options = Options::new(args.data.join("hub.db"));
    options.kinds = Kinds::Cluster;
    options
        .authenticators
        .push(Box::new(AdminToken(args.token.clone())));
    let tls = if args.plain {
        None
    } else {
        Some(certificate()?)
    };
    options.lifecycle.root_ca = tls.as_ref().map(|(_, pem)| pem.clone());
    let server = ApiServer::open(options).await?;
    let listener = TcpListener::bind(args.listen).await?;
    let address = listener.local_addr()?;
    let pem = tls.as_ref().map(|(_, pem)| pem.as_str());
    write_kubeconfig(&args.data.join("kubeconfig"), address, pem, &args.token)?;
    let end = CancellationToken::new();
    let controllers = tokio::spawn({
        let (server, end) = (server.clone(), end.clone());
        async move { server.run(end).await }
    });
    writeln!(std::io::stdout(), "serving on {address}")?;
    let acceptor = tls.map(|(config, _)| TlsAcceptor::from(Arc::new(config)));
    tokio::select! {
        () = accept(listener, acceptor, server.router()) => {}
        signal = tokio::signal::ctrl_c() => signal?,
    }
    end.cancel();
    controllers.await?;
    Ok(())
}
