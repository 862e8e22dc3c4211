//! Starts the programs of a control plane with their flags, in the required order.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{Api, Client};

use super::credentials::Credentials;
use super::error::StartError;
use super::folder::{Folder, Ports, prepare};
use super::{ControlPlane, Options, READY, SERVICE_RANGE, audit};
use crate::pki::CertificateFiles;
use crate::program::{Program, ProgramError, Running};
use crate::tools::Tool;

/// The advertised address of an API server without nodes. The address is reserved for documentation
/// (RFC 5737), and no program connects to the address. kube-apiserver rejects a loopback address.
const UNREACHABLE: &str = "203.0.113.1";

pub(super) async fn start(options: Options) -> Result<ControlPlane, StartError> {
    let folder = Folder::open(&options)?;
    let ports = Ports::take(&folder, options.address)?;
    let credentials = Credentials::open(&folder, &options)?;
    let url = format!(
        "https://{}",
        std::net::SocketAddr::new(options.address, ports.api_server.port())
    );
    let identify = |file: &str, user: &str, group: Option<&str>| {
        let identity = credentials.identity(&url, &options.name, user, group)?;
        folder.write(file, &identity.kubeconfig)
    };
    let admin = identify("admin.kubeconfig", "admin", Some("system:masters"))?;
    let client = client(&admin).await?;
    let kubectl = Tool::Kubectl.locate().await?;

    let etcd = etcd(&folder, &ports, &options).await?.start()?;
    let api_server = api_server(&folder, &ports, &credentials, &options).await?;
    let mut api_server = api_server.start()?;
    wait_for_api(&mut api_server, &client).await?;
    // These two programs exit if the API is unavailable, so they start after the API server.
    let user = "system:kube-controller-manager";
    let kubeconfig = identify("controller-manager.kubeconfig", user, None)?;
    let program = controller_manager(&folder, &credentials, &kubeconfig).await?;
    let program = program.args(&options.controller_manager_flags);
    let mut controller_manager = program.start()?;
    let mut scheduler_process = None;
    if options.scheduler {
        let kubeconfig = identify("scheduler.kubeconfig", "system:kube-scheduler", None)?;
        scheduler_process = Some(scheduler(&folder, &kubeconfig).await?.start()?);
    }
    wait_for_controllers(&mut controller_manager, &client).await?;
    Ok(ControlPlane {
        scheduler: scheduler_process,
        controller_manager,
        api_server,
        etcd,
        client,
        kubectl,
        credentials,
        options,
        ports,
        folder,
    })
}

async fn etcd(folder: &Folder, ports: &Ports, options: &Options) -> Result<Program, StartError> {
    let clients = format!("http://127.0.0.1:{}", ports.etcd.port());
    let peers = format!("http://127.0.0.1:{}", ports.etcd_peer.port());
    let program = Program::new("etcd", Tool::Etcd.locate().await?, &folder.logs())
        .arg("--data-dir")
        .arg(folder.etcd())
        .arg(format!("--listen-client-urls={clients}"))
        .arg(format!("--advertise-client-urls={clients}"))
        .arg(format!("--listen-peer-urls={peers}"))
        .arg(format!("--initial-advertise-peer-urls={peers}"))
        .arg(format!("--initial-cluster=default={peers}"))
        .arg("--log-level=warn");
    Ok(if options.durable {
        program
    } else {
        program.arg("--unsafe-no-fsync")
    })
}

async fn api_server(
    folder: &Folder,
    ports: &Ports,
    credentials: &Credentials,
    options: &Options,
) -> Result<Program, StartError> {
    let advertised = if options.address.is_loopback() {
        UNREACHABLE.to_owned()
    } else {
        options.address.to_string()
    };
    let path = Tool::KubeApiserver.locate().await?;
    let mut program = Program::new("kube-apiserver", path, &folder.logs())
        .arg(format!(
            "--etcd-servers=http://127.0.0.1:{}",
            ports.etcd.port()
        ))
        .arg(format!("--bind-address={}", options.address))
        .arg(format!("--secure-port={}", ports.api_server.port()))
        .arg(format!("--advertise-address={advertised}"))
        .arg(format!("--service-cluster-ip-range={SERVICE_RANGE}"))
        .arg("--service-account-issuer=https://kubernetes.default.svc.cluster.local")
        .arg("--authorization-mode=Node,RBAC")
        .arg("--enable-admission-plugins=NodeRestriction")
        .arg("--allow-privileged=true")
        .arg("--kubelet-preferred-address-types=InternalIP")
        // Connects to aggregated APIs and webhooks at their endpoints, because this host has no
        // kube-proxy.
        .arg("--enable-aggregator-routing=true")
        .arg("--requestheader-allowed-names=front-proxy-client")
        .arg("--requestheader-username-headers=X-Remote-User")
        .arg("--requestheader-group-headers=X-Remote-Group")
        .arg("--requestheader-extra-headers-prefix=X-Remote-Extra-");
    for (flag, file) in api_server_files(credentials) {
        program = program.arg(flag).arg(file);
    }
    if options.audit {
        program = with_audit(program, folder)?;
    }
    Ok(program.args(&options.api_server_flags))
}

fn with_audit(program: Program, folder: &Folder) -> Result<Program, StartError> {
    let policy = folder.write("audit-policy.json", audit::POLICY)?;
    Ok(program
        .arg("--audit-policy-file")
        .arg(policy)
        .arg("--audit-log-path")
        .arg(folder.audit_log())
        // In blocking mode the log contains a request before its response.
        .arg("--audit-log-mode=blocking"))
}

fn api_server_files(credentials: &Credentials) -> [(&'static str, &Path); 12] {
    let Credentials {
        serving,
        kubelet_client,
        front_proxy_client,
        ..
    } = credentials;
    let CertificateFiles { certificate, key } = serving;
    [
        ("--tls-cert-file", certificate),
        ("--tls-private-key-file", key),
        ("--client-ca-file", &credentials.ca_file),
        ("--kubelet-certificate-authority", &credentials.ca_file),
        ("--kubelet-client-certificate", &kubelet_client.certificate),
        ("--kubelet-client-key", &kubelet_client.key),
        (
            "--requestheader-client-ca-file",
            &credentials.front_proxy_ca_file,
        ),
        ("--proxy-client-cert-file", &front_proxy_client.certificate),
        ("--proxy-client-key-file", &front_proxy_client.key),
        (
            "--service-account-key-file",
            &credentials.service_account_public_file,
        ),
        (
            "--service-account-signing-key-file",
            &credentials.service_account_key_file,
        ),
        ("--cert-dir", serving.folder()),
    ]
}

async fn controller_manager(
    folder: &Folder,
    credentials: &Credentials,
    kubeconfig: &Path,
) -> Result<Program, StartError> {
    let path = Tool::KubeControllerManager.locate().await?;
    Ok(
        Program::new("kube-controller-manager", path, &folder.logs())
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .arg("--service-account-private-key-file")
            .arg(&credentials.service_account_key_file)
            .arg("--root-ca-file")
            .arg(&credentials.ca_file)
            .arg("--cluster-signing-cert-file")
            .arg(&credentials.ca_file)
            .arg("--cluster-signing-key-file")
            .arg(&credentials.ca_key_file)
            .arg("--use-service-account-credentials=true")
            .arg("--leader-elect=false")
            .arg("--secure-port=0"),
    )
}

async fn scheduler(folder: &Folder, kubeconfig: &Path) -> Result<Program, StartError> {
    let path = Tool::KubeScheduler.locate().await?;
    Ok(Program::new("kube-scheduler", path, &folder.logs())
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .arg("--leader-elect=false")
        .arg("--secure-port=0"))
}

pub(super) async fn client(kubeconfig: &Path) -> Result<Client, StartError> {
    // The error is ignored: it means that a provider is already installed.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let text = std::fs::read_to_string(kubeconfig).map_err(prepare(kubeconfig))?;
    let kubeconfig = kube::config::Kubeconfig::from_yaml(&text).map_err(StartError::Kubeconfig)?;
    let mut config = kube::Config::from_custom_kubeconfig(
        kubeconfig,
        &kube::config::KubeConfigOptions::default(),
    )
    .await
    .map_err(StartError::Kubeconfig)?;
    config.connect_timeout = Some(Duration::from_secs(5));
    Client::try_from(config).map_err(StartError::Client)
}

/// Waits until the API server is ready.
pub(super) async fn wait_for_api(
    api_server: &mut Running,
    client: &Client,
) -> Result<(), ProgramError> {
    api_server
        .wait_until("its /readyz", READY, async |_| {
            let request = http::Request::get("/readyz")
                .body(Vec::new())
                .map_err(|error| error.to_string())?;
            let answer = tokio::time::timeout(Duration::from_secs(5), client.request_text(request));
            match answer.await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err("no response within 5 s".to_owned()),
            }
        })
        .await
}

/// Waits until the controllers have created the service account that pods require.
async fn wait_for_controllers(
    controller_manager: &mut Running,
    client: &Client,
) -> Result<(), ProgramError> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    controller_manager
        .wait_until("the service account `default`", READY, async |_| {
            accounts.get("default").await.map(drop)
        })
        .await
}
