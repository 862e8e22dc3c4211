//! The types of kubeconfigs that a user can download.

use drover_api::rest::{KubeconfigCredential, KubeconfigRequest};

use crate::messages::t;
use crate::shell;

/// The type of a kubeconfig for a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KubeconfigType {
    /// kubectl gets tokens from the command `drover credential`.
    #[default]
    Exec,
    /// The kubeconfig contains a token.
    Token,
    /// The kubeconfig contains a token, and contexts for direct access to the API servers.
    Direct,
}

impl KubeconfigType {
    /// Returns the types of kubeconfigs for a cluster. Direct access requires an enabled endpoint.
    pub fn available(endpoint_enabled: bool) -> Vec<Self> {
        let direct = endpoint_enabled.then_some(Self::Direct);
        [Self::Exec, Self::Token]
            .into_iter()
            .chain(direct)
            .collect()
    }

    /// Returns the type with this key. Returns the default for an unknown key.
    pub fn of_key(key: &str) -> Self {
        let mut all = Self::available(true).into_iter();
        all.find(|it| it.key() == key).unwrap_or_default()
    }

    /// Returns the key of the type in forms.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Exec => "exec",
            Self::Token => "token",
            Self::Direct => "direct",
        }
    }

    /// Returns the text of the type in forms.
    pub fn words(self) -> &'static str {
        match self {
            Self::Exec => t().cluster.credential_exec(),
            Self::Token => t().cluster.credential_token(),
            Self::Direct => t().cluster.credential_direct(),
        }
    }

    /// Returns the request for the kubeconfig of a cluster.
    pub fn request(self, cluster: &str) -> KubeconfigRequest {
        KubeconfigRequest {
            clusters: vec![cluster.to_owned()],
            credential: match self {
                Self::Exec => KubeconfigCredential::Exec,
                Self::Token | Self::Direct => KubeconfigCredential::Token,
            },
            direct: self == Self::Direct,
            ttl_seconds: None,
        }
    }

    /// Returns the equivalent command.
    pub fn command(self, cluster: &str) -> String {
        let option = match self {
            Self::Exec => "",
            Self::Token => " --credential token",
            Self::Direct => " --direct",
        };
        let cluster = shell::word(cluster);
        format!("drover cluster kubeconfig {cluster}{option} --merge")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direct_access_is_available_only_with_an_endpoint_and_requests_a_token() {
        assert!(!KubeconfigType::available(false).contains(&KubeconfigType::Direct));
        for kind in KubeconfigType::available(true) {
            assert_eq!(KubeconfigType::of_key(kind.key()), kind);
            let request = kind.request("shop");
            assert_eq!(request.direct, kind == KubeconfigType::Direct);
            assert_eq!(
                request.credential == KubeconfigCredential::Exec,
                kind == KubeconfigType::Exec
            );
        }
        assert_eq!(KubeconfigType::of_key(""), KubeconfigType::Exec);
    }

    #[test]
    fn kubeconfig_command_has_the_option_of_the_type() {
        let commands = KubeconfigType::available(true).into_iter();
        let commands: Vec<String> = commands.map(|kind| kind.command("shop")).collect();
        assert_eq!(
            commands,
            [
                "drover cluster kubeconfig shop --merge",
                "drover cluster kubeconfig shop --credential token --merge",
                "drover cluster kubeconfig shop --direct --merge",
            ]
        );
    }
}
