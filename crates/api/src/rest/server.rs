//! The server's version, and what administrators should know about how clients reach it.

use serde::{Deserialize, Serialize};

wire! {
    /// What the server is.
    Version {
        /// Version of the program.
        version: String,
        /// Commit it was built from, `unknown` when built outside of a checkout.
        commit: String,
        /// Protocol versions it speaks with agents.
        protocols: Vec<u32>,
        /// The address that most users share; only administrators get it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shared_address: Option<SharedAddress>,
    }
}
wire! {
    /// An address from which at least five users, and more than half of all users who signed in,
    /// signed in within the last 24 hours.
    SharedAddress {
        /// An IPv4 address, or the first address of an IPv6 /64.
        address: String,
        /// Users who signed in from there.
        users: usize,
    }
}

impl SharedAddress {
    /// Says what the server saw, what follows for limits, and which setting to use.
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
