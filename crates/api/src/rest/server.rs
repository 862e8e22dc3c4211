//! The server's version, and a warning about client addresses that are probably addresses of a
//! proxy.

use serde::{Deserialize, Serialize};

wire! {
    /// The version of the server, and the supported versions of the tunnel protocol.
    Version {
        /// Version of the program.
        version: String,
        /// Git commit of the build. `unknown` if the build had no Git checkout.
        commit: String,
        /// Versions of the tunnel protocol that the server supports.
        protocols: Vec<u32>,
        /// Warning about a client address that most users share. Only administrators receive this
        /// field.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shared_address: Option<SharedAddress>,
    }
}
wire! {
    /// A client address that is probably the address of a proxy. Within the last 24 hours, at least
    /// five users signed in from the address. These users are more than half of all users who
    /// signed in.
    SharedAddress {
        /// An IPv4 address, or the first address of an IPv6 /64.
        address: String,
        /// Number of users who signed in from the address.
        users: usize,
    }
}

impl SharedAddress {
    /// Returns the text of the warning: the observation, the consequences for rate limits, and the
    /// setting to change.
    pub fn warning(&self) -> String {
        let Self { address, users } = self;
        format!(
            "In the last 24 hours, {users} users signed in from {address}, more than half of all \
             users who signed in. If this is the address of a proxy or load balancer, Drover does \
             not see the addresses of its clients. All users then share the limits of one address, \
             and the audit log shows the proxy. Set --trusted-proxy for an HTTP proxy, or \
             --proxy-protocol-from for a load balancer that sends the PROXY protocol (both are \
             under clientAddresses in the Helm chart). If the users share an office network or a \
             VPN, no setting is needed. See “Where a request comes from” in docs/security.md."
        )
    }
}
