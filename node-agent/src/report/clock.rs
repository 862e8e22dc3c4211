//! Requests to the cluster's other API servers: whether the node can connect, and the difference between
//! the clocks.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use http::header::DATE;
use http::{Request, Uri};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use kube::Client;
use kube::client::Body;
use kube::config::AuthInfo;

use super::API_SERVER_NAME;

/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of API servers that the node agent checks.
const MAX_API_SERVERS: usize = 9;
/// Differences between clocks are rounded to a multiple of this number of seconds, so that the report does
/// not change with each measurement. The header `Date` has an accuracy of one second.
const STEP_SECONDS: i64 = 5;

/// Clients for the cluster's API servers, by address.
pub(super) struct ApiServers {
    config: kube::Config,
    own: Option<IpAddr>,
    clients: BTreeMap<SocketAddr, Client>,
}

impl ApiServers {
    pub(super) const fn new(config: kube::Config, own: Option<IpAddr>) -> Self {
        Self {
            config,
            own,
            clients: BTreeMap::new(),
        }
    }

    /// Returns the largest difference to the clocks of these API servers in seconds, and the addresses
    /// of API servers that do not respond.
    pub(super) async fn check(&mut self, addresses: &[String]) -> (Option<i64>, Vec<String>) {
        let parsed = addresses.iter().filter_map(|text| text.parse().ok());
        let others = parsed.filter(|address: &SocketAddr| self.own != Some(address.ip()));
        let chosen: Vec<SocketAddr> = others.take(MAX_API_SERVERS).collect();
        self.clients.retain(|address, _| chosen.contains(address));
        let (mut largest, mut unreachable) = (0, Vec::new());
        for address in chosen {
            match self.offset(address).await {
                Some(offset) if i64::abs(offset) > i64::abs(largest) => largest = offset,
                Some(_) => {}
                None => unreachable.push(address.to_string()),
            }
        }
        (rounded(largest), unreachable)
    }

    /// Returns the difference between the node's clock and the clock of an API server in seconds.
    async fn offset(&mut self, address: SocketAddr) -> Option<i64> {
        let client = self.client(address)?;
        let request = Request::get("/version").body(Body::empty()).ok()?;
        let response = tokio::time::timeout(TIMEOUT, client.send(request)).await;
        let response = response.ok()?.ok()?;
        let date = response.headers().get(DATE)?.to_str().ok()?;
        seconds_ahead(date, Timestamp::now())
    }

    fn client(&mut self, address: SocketAddr) -> Option<Client> {
        if let Some(client) = self.clients.get(&address) {
            return Some(client.clone());
        }
        let mut config = self.config.clone();
        // The address comes from another node agent. An API server also sends `Date` without a
        // credential.
        config.auth_info = AuthInfo::default();
        config.cluster_url = Uri::try_from(format!("https://{address}/")).ok()?;
        config.tls_server_name = Some(API_SERVER_NAME.to_owned());
        let client = Client::try_from(config).ok()?;
        self.clients.insert(address, client.clone());
        Some(client)
    }
}

/// Returns the rounded difference, or `None` if the clocks are equal within the accuracy.
const fn rounded(seconds: i64) -> Option<i64> {
    let rounded = seconds / STEP_SECONDS * STEP_SECONDS;
    if rounded == 0 { None } else { Some(rounded) }
}

/// Returns the number of seconds by which `now` is ahead of the header `Date`.
fn seconds_ahead(date: &str, now: Timestamp) -> Option<i64> {
    let date = rfc2822::DateTimeParser::new().parse_timestamp(date).ok()?;
    Some(now.duration_since(date).as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_clock_offsets_are_not_reported_and_others_are_rounded() {
        for (seconds, expected) in [
            (0, None),
            (4, None),
            (-4, None),
            (5, Some(5)),
            (-63, Some(-60)),
        ] {
            assert_eq!(rounded(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn clock_offset_is_the_difference_to_the_date_header() {
        let now: Timestamp = "2026-11-28T10:00:05Z".parse().unwrap();
        for (date, expected) in [
            ("Sat, 28 Nov 2026 10:00:00 GMT", Some(5)),
            ("Sat, 28 Nov 2026 10:01:05 GMT", Some(-60)),
            ("Sat, 28 Nov 2026", None),
            ("", None),
        ] {
            assert_eq!(seconds_ahead(date, now), expected, "{date}");
        }
    }
}
