//! The configuration files of containerd, kubelet, kube-proxy and the network plug-ins.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{CONTAINERD, JoinError, make_folder};
use crate::control_plane::ControlPlane;
use crate::image::Image;
use crate::network::{NodeNetwork, plugin_folder};
use crate::pki::write;

/// The paths of the configuration files of a node.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) folder: PathBuf,
    pub(super) node: String,
    pub(super) containerd: PathBuf,
    pub(super) kubelet: PathBuf,
    pub(super) kubelet_kubeconfig: PathBuf,
    pub(super) kube_proxy: PathBuf,
}

impl Settings {
    /// Writes the configuration files of a node into `folder`.
    pub(super) fn write(
        cluster: &ControlPlane,
        network: &NodeNetwork,
        node: &str,
        folder: &Path,
    ) -> Result<Self, JoinError> {
        make_folder(&folder.join("cni"))?;
        let put = |name: &str, text: &str| {
            let path = folder.join(name);
            write(&path, text).map(|()| path)
        };
        let address = network.node_address().to_string();
        put("hosts", &format!("127.0.0.1 localhost\n{address} {node}\n"))?;
        put("resolv.conf", "")?;
        put(
            "cni/10-pods.conflist",
            &plug_ins(&network.pod_range()).to_string(),
        )?;
        let serving = cluster
            .server_certificate(node, &[node.to_owned(), address.clone()])?
            .write(folder, "kubelet")?;
        let user = format!("system:node:{node}");
        let kubelet_identity = cluster.identity(&user, Some("system:nodes"))?;
        let proxy_identity = cluster.identity("system:kube-proxy", None)?;
        let proxy_kubeconfig = put("kube-proxy.kubeconfig", &proxy_identity.kubeconfig)?;
        let kubelet = kubelet(cluster, folder, network, &serving.certificate, &serving.key);
        Ok(Self {
            folder: folder.to_owned(),
            node: node.to_owned(),
            containerd: put("containerd.toml", &containerd(folder))?,
            kubelet: put("kubelet.json", &kubelet.to_string())?,
            kubelet_kubeconfig: put("kubelet.kubeconfig", &kubelet_identity.kubeconfig)?,
            kube_proxy: put(
                "kube-proxy.json",
                &kube_proxy(node, &proxy_kubeconfig, &network.pod_range()).to_string(),
            )?,
        })
    }
}

fn containerd(folder: &Path) -> String {
    let root = folder.join("containerd");
    let cni = folder.join("cni");
    let plug_ins = plugin_folder().unwrap_or("/usr/lib/cni");
    let cri = r#"[plugins."io.containerd.grpc.v1.cri"#;
    // Without this setting containerd would lower OOM scores, which needs CAP_SYS_RESOURCE. In an
    // environment without this capability every sandbox would fail.
    format!(
        r#"version = 2
root = "{root}"
state = "/run/containerd"
[grpc]
  address = "{CONTAINERD}"
{cri}"]
  sandbox_image = "docker.io/{image}"
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
{cri}".containerd]
  snapshotter = "native"
  disable_snapshot_annotations = true
  default_runtime_name = "runc"
{cri}".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
{cri}".cni]
  bin_dir = "{plug_ins}"
  conf_dir = "{cni}"
"#,
        root = root.display(),
        cni = cni.display(),
        image = Image::TOOLS,
    )
}

fn plug_ins(pod_range: &str) -> Value {
    json!({
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "cni0",
                "isGateway": true,
                "hairpinMode": true,
                // The host has a route to the pods, so address translation is not needed.
                "ipMasq": false,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": pod_range}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    })
}

fn kubelet(
    cluster: &ControlPlane,
    folder: &Path,
    network: &NodeNetwork,
    certificate: &Path,
    key: &Path,
) -> Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": network.node_address(),
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": cluster.ca_file()},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": certificate,
        "tlsPrivateKeyFile": key,
        "containerRuntimeEndpoint": format!("unix://{CONTAINERD}"),
        "resolvConf": folder.join("resolv.conf"),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{}", network.name()),
        "failCgroupV1": false,
        "failSwapOn": false,
        "enforceNodeAllocatable": [],
        "localStorageCapacityIsolation": false,
        // The disk belongs to the machine, so its free space must not evict pods.
        "evictionHard": {"nodefs.available": "0%", "imagefs.available": "0%"},
        "imageGCHighThresholdPercent": 100,
        "nodeStatusUpdateFrequency": "4s",
    })
}

fn kube_proxy(node: &str, kubeconfig: &Path, pod_range: &str) -> Value {
    json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "hostnameOverride": node,
        "clientConnection": {"kubeconfig": kubeconfig},
        "clusterCIDR": pod_range,
        "conntrack": {"maxPerCore": 0, "min": 0},
        // Without this setting responses between pods of one bridge would bypass the address
        // translation.
        "nftables": {"masqueradeAll": true},
    })
}
