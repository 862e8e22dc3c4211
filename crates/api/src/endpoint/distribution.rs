//! The configuration of API servers that call the webhook, by distribution.

/// A Kubernetes distribution whose API servers an administrator can configure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Clusters of kubeadm, whose API servers are static pods.
    Kubeadm,
    /// RKE2 of SUSE.
    Rke2,
    /// K3s of SUSE.
    K3s,
}

impl Distribution {
    /// All distributions, in the order of declaration.
    pub const ALL: [Self; 3] = [Self::Kubeadm, Self::Rke2, Self::K3s];

    /// Returns the distribution of an API server by its `gitVersion`, for example `v1.36.3+k3s1`. All
    /// versions without a known suffix count as kubeadm.
    pub fn of(git_version: &str) -> Self {
        let (_, suffix) = git_version.split_once('+').unwrap_or_default();
        if suffix.starts_with("k3s") {
            Self::K3s
        } else if suffix.starts_with("rke2") {
            Self::Rke2
        } else {
            Self::Kubeadm
        }
    }

    /// Returns the name of the distribution for display.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kubeadm => "kubeadm",
            Self::Rke2 => "RKE2",
            Self::K3s => "K3s",
        }
    }

    /// Returns the path of the webhook configuration on each control-plane node. The API servers of
    /// kubeadm mount the folder `/etc/kubernetes/pki`.
    pub const fn webhook_file(self) -> &'static str {
        match self {
            Self::Kubeadm => "/etc/kubernetes/pki/drover-webhook.yaml",
            Self::Rke2 => "/var/lib/rancher/rke2/drover-webhook.yaml",
            Self::K3s => "/var/lib/rancher/k3s/drover-webhook.yaml",
        }
    }

    /// Returns the path of the file with the flags of the API server.
    pub const fn flags_file(self) -> &'static str {
        match self {
            Self::Kubeadm => "/etc/kubernetes/manifests/kube-apiserver.yaml",
            Self::Rke2 => "/etc/rancher/rke2/config.yaml.d/drover.yaml",
            Self::K3s => "/etc/rancher/k3s/config.yaml.d/drover.yaml",
        }
    }

    /// Returns the lines to add to [`Self::flags_file`].
    pub fn flags(self) -> String {
        let flags = [
            format!(
                "authentication-token-webhook-config-file={}",
                self.webhook_file()
            ),
            "authentication-token-webhook-version=v1".to_owned(),
            // The default of two minutes delays the effect of a revoked token.
            "authentication-token-webhook-cache-ttl=10s".to_owned(),
        ];
        let (heading, prefix) = match self {
            Self::Kubeadm => ("", "    - --"),
            Self::Rke2 | Self::K3s => ("kube-apiserver-arg+:\n", "- "),
        };
        let lines = flags.map(|flag| format!("{prefix}{flag}\n"));
        format!("{heading}{}", lines.concat())
    }

    /// Returns the command that restarts the API server. The kubelet restarts the API servers of
    /// kubeadm without a command.
    pub const fn restart(self) -> Option<&'static str> {
        match self {
            Self::Kubeadm => None,
            Self::Rke2 => Some("systemctl restart rke2-server"),
            Self::K3s => Some("systemctl restart k3s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distribution_is_detected_by_the_version_of_the_api_server() {
        for (version, expected) in [
            ("v1.36.3", Distribution::Kubeadm),
            ("v1.36.3+k3s1", Distribution::K3s),
            ("v1.36.3+rke2r2", Distribution::Rke2),
            ("v1.36.3+k0s", Distribution::Kubeadm),
            ("", Distribution::Kubeadm),
        ] {
            assert_eq!(Distribution::of(version), expected, "{version}");
        }
    }

    #[test]
    fn flags_of_each_distribution_name_its_webhook_file() {
        for distribution in Distribution::ALL {
            let flags = distribution.flags();
            assert!(flags.contains(distribution.webhook_file()), "{flags}");
        }
        assert_eq!(
            Distribution::K3s.flags(),
            "kube-apiserver-arg+:\n\
             - authentication-token-webhook-config-file=/var/lib/rancher/k3s/drover-webhook.yaml\n\
             - authentication-token-webhook-version=v1\n\
             - authentication-token-webhook-cache-ttl=10s\n"
        );
    }
}
