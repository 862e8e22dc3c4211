//! The check of every tunnelled request by the agent. The check protects the cluster if an attacker
//! controls the server.

use drover_api::agent::{
    ENDORSE_PATH, LANE_HEADER, Lane, NEXT_KEY_PATH, REPORT_PATH, USE_KEY_PATH,
};
use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, Method, Uri};
use thiserror::Error;

use crate::headers::{IMPERSONATE_EXTRA, IMPERSONATE_GROUP, IMPERSONATE_UID, IMPERSONATE_USER};
use crate::names::{AUTHENTICATED, GroupName, UserName};
use crate::path::check_api_path;

/// Reasons why an agent rejects a tunnelled request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// The request does not have exactly one lane header with a known lane.
    #[error("the lane header must contain exactly one lane that this agent supports")]
    UnknownLane,
    /// The target is ambiguous, or is not a path of the cluster's own API server.
    #[error(
        "the request path is ambiguous: a path must begin with one \"/\", and must not contain a \
         \".\" or \"..\" segment, a backslash, an encoded slash or a control character"
    )]
    ForeignTarget,
    /// The request has a credential. Only the agent may add credentials.
    #[error("the request contains a credential; only the agent can add credentials")]
    BringsCredential,
    /// A request on the user lane does not impersonate exactly one user.
    #[error("the user lane requires exactly one impersonated user")]
    NoUser,
    /// The name of the impersonated user is not the name of a Drover user.
    #[error("the impersonated user is not a Drover user")]
    ForeignUser,
    /// The name of an impersonated group is not the name of a Drover group.
    #[error("an impersonated group is not a Drover group")]
    ForeignGroup,
    /// The request has an impersonation header that the lane does not permit.
    #[error("the request has an impersonation header that this lane does not permit")]
    ForeignImpersonation,
    /// The report lane permits only `GET /report`, `POST /endorse` and the paths of key rotation.
    #[error(
        "the report lane permits only GET /report, POST /endorse, POST /key/next and POST /key/use"
    )]
    NotAReport,
}

impl Refused {
    /// Returns the `PascalCase` reason for reports and for the response header.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::UnknownLane => "UnknownLane",
            Self::ForeignTarget => "ForeignTarget",
            Self::BringsCredential => "BringsCredential",
            Self::NoUser => "NoUser",
            Self::ForeignUser => "ForeignUser",
            Self::ForeignGroup => "ForeignGroup",
            Self::ForeignImpersonation => "ForeignImpersonation",
            Self::NotAReport => "NotAReport",
        }
    }
}

/// Returns the lane of an admitted request. The agent forwards only admitted requests.
pub fn admit(method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Lane, Refused> {
    let lane = lane(headers)?;
    target(uri)?;
    if headers.contains_key(AUTHORIZATION) || headers.contains_key(COOKIE) {
        return Err(Refused::BringsCredential);
    }
    match lane {
        Lane::User => user_lane(headers)?,
        Lane::Controller => no_impersonation(headers)?,
        Lane::Report => {
            no_impersonation(headers)?;
            let ours = match uri.path() {
                REPORT_PATH => method == Method::GET,
                ENDORSE_PATH | NEXT_KEY_PATH | USE_KEY_PATH => method == Method::POST,
                _ => false,
            };
            if !ours || uri.query().is_some() {
                return Err(Refused::NotAReport);
            }
        }
    }
    Ok(lane)
}

fn lane(headers: &HeaderMap) -> Result<Lane, Refused> {
    let mut values = headers.get_all(LANE_HEADER).iter();
    match (values.next(), values.next()) {
        (Some(only), None) => only
            .to_str()
            .ok()
            .and_then(Lane::parse)
            .ok_or(Refused::UnknownLane),
        _ => Err(Refused::UnknownLane),
    }
}

/// Checks the target of a request. The agent sends all requests to the API server of its cluster,
/// so the target contains only a path. The agent rejects every path that the server rejects.
fn target(uri: &Uri) -> Result<(), Refused> {
    check_api_path(uri.path()).map_err(|_| Refused::ForeignTarget)
}

fn user_lane(headers: &HeaderMap) -> Result<(), Refused> {
    let mut users = headers.get_all(IMPERSONATE_USER).iter();
    let (Some(user), None) = (users.next(), users.next()) else {
        return Err(Refused::NoUser);
    };
    if !user
        .to_str()
        .is_ok_and(|name| UserName::parse(name).is_some())
    {
        return Err(Refused::ForeignUser);
    }
    let ours = |group: &str| group == AUTHENTICATED || GroupName::parse(group).is_some();
    if !headers
        .get_all(IMPERSONATE_GROUP)
        .iter()
        .all(|g| g.to_str().is_ok_and(ours))
    {
        return Err(Refused::ForeignGroup);
    }
    let allowed = |name: &str| {
        name == IMPERSONATE_USER.as_str()
            || name == IMPERSONATE_GROUP.as_str()
            || name.starts_with(OUR_EXTRAS)
    };
    if headers.contains_key(IMPERSONATE_UID)
        || headers
            .keys()
            .any(|n| is_impersonation(n.as_str()) && !allowed(n.as_str()))
    {
        return Err(Refused::ForeignImpersonation);
    }
    Ok(())
}

/// Prefix of the header names that `headers::impersonate` creates for extras of Drover.
const OUR_EXTRAS: &str = "impersonate-extra-management.drover.dev%2f";

fn no_impersonation(headers: &HeaderMap) -> Result<(), Refused> {
    if headers.keys().any(|name| is_impersonation(name.as_str())) {
        return Err(Refused::ForeignImpersonation);
    }
    Ok(())
}

fn is_impersonation(name: &str) -> bool {
    debug_assert!(IMPERSONATE_EXTRA.starts_with("impersonate"));
    name.starts_with("impersonate")
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;
    use crate::path::{CLUSTER_PATH_PREFIX, ClusterPath};

    fn check(method: &Method, target: &str, pairs: &[(&str, &str)]) -> Result<Lane, Refused> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        admit(method, &target.parse().unwrap(), &headers)
    }

    #[test]
    fn user_lane_accepts_only_user_and_group_names_of_drover() {
        let (lane, user, group) = (
            ("drover-lane", "user"),
            "impersonate-user",
            "impersonate-group",
        );
        let ours = (user, "drover:user:1");
        let extra = "impersonate-extra-management.drover.dev%2ftoken-id";
        let cases: [(&[(&str, &str)], _); 16] = [
            (&[lane, ours], Ok(Lane::User)),
            (
                &[
                    lane,
                    ours,
                    (group, AUTHENTICATED),
                    (group, "drover:github:2"),
                ],
                Ok(Lane::User),
            ),
            (&[lane, ours, (extra, "t")], Ok(Lane::User)),
            (&[lane], Err(Refused::NoUser)),
            (&[lane, ours, ours], Err(Refused::NoUser)),
            (&[lane, (user, "")], Err(Refused::ForeignUser)),
            (&[lane, (user, "system:admin")], Err(Refused::ForeignUser)),
            (
                &[lane, (user, "drover:github:1")],
                Err(Refused::ForeignUser),
            ),
            (
                &[lane, ours, (group, "system:masters")],
                Err(Refused::ForeignGroup),
            ),
            (
                &[lane, ours, (group, "system:unauthenticated")],
                Err(Refused::ForeignGroup),
            ),
            (&[lane, ours, (group, "")], Err(Refused::ForeignGroup)),
            (
                &[lane, ours, ("impersonate-uid", "1")],
                Err(Refused::ForeignImpersonation),
            ),
            (
                &[lane, ours, ("impersonate-extra-scopes", "x")],
                Err(Refused::ForeignImpersonation),
            ),
            (
                &[lane, ours, ("impersonate_user", "root")],
                Err(Refused::ForeignImpersonation),
            ),
            (
                &[lane, ours, ("authorization", "Bearer x")],
                Err(Refused::BringsCredential),
            ),
            (&[lane, lane, ours], Err(Refused::UnknownLane)),
        ];
        for (value, expected) in cases {
            assert_eq!(
                check(&Method::GET, "/api/v1/pods", value),
                expected,
                "{value:?}"
            );
        }
    }

    #[test]
    fn controller_lane_forbids_impersonation_and_report_lane_is_read_only() {
        let controller = ("drover-lane", "controller");
        let report = ("drover-lane", "report");
        for (method, target, value, expected) in [
            (
                Method::PATCH,
                "/apis/apps/v1/x?force=true",
                vec![controller],
                Ok(Lane::Controller),
            ),
            (
                Method::GET,
                "/api",
                vec![controller, ("impersonate-user", "drover:user:1")],
                Err(Refused::ForeignImpersonation),
            ),
            (Method::GET, "/report", vec![report], Ok(Lane::Report)),
            (
                Method::GET,
                "/report?x",
                vec![report],
                Err(Refused::NotAReport),
            ),
            (
                Method::POST,
                "/report",
                vec![report],
                Err(Refused::NotAReport),
            ),
            (Method::GET, "/api", vec![report], Err(Refused::NotAReport)),
            (
                Method::GET,
                "/api",
                vec![("drover-lane", "User")],
                Err(Refused::UnknownLane),
            ),
            (
                Method::GET,
                "/api",
                vec![("drover-lane", "root")],
                Err(Refused::UnknownLane),
            ),
            (Method::GET, "/api", vec![], Err(Refused::UnknownLane)),
        ] {
            assert_eq!(
                check(&method, target, &value),
                expected,
                "{target} {value:?}"
            );
        }
    }

    #[test]
    fn agent_rejects_each_path_that_the_server_rejects() {
        for lane in ["controller", "user", "report"] {
            let value = [("drover-lane", lane), ("impersonate-user", "drover:user:1")];
            let value = &value[..if lane == "user" { 2 } else { 1 }];
            for target in [
                "/api/../x",
                "/api/%2E%2e/x",
                "/api/.",
                "/api/..;x/y",
                "/api/.%2e;/y",
                "/api/..%2fx",
                "/api/x%2F..%2Fy",
                "/api/x%5c..",
                "/api/x%00",
                "/api/x%0d%0a",
                "/api/x%zz",
                "/api/x%2",
                "//evil.example/x",
                "https://api//evil.example/x",
            ] {
                let answer = check(&Method::GET, target, value);
                assert_eq!(answer, Err(Refused::ForeignTarget), "{lane} {target}");
                let path = target.trim_start_matches("https://api");
                let uri: Uri = format!("{CLUSTER_PATH_PREFIX}a{path}").parse().unwrap();
                assert!(ClusterPath::parse(&uri).is_err(), "{target}");
            }
            let answer = check(&Method::OPTIONS, "*", value);
            assert_eq!(answer, Err(Refused::ForeignTarget), "{lane}");
        }
    }

    #[test]
    fn agent_accepts_each_path_that_the_server_forwards() {
        let lane = [("drover-lane", "controller")];
        for target in [
            "/k8s/clusters/a/api/v1/pods?limit=5&x=%2F..",
            "/k8s/clusters/a",
            "/k8s/clusters/a?x=1",
            "/k8s/clusters/a/api/v1/x/proxy//y/",
            "/k8s/clusters/a/apis/x/system%3Anode;v=1",
        ] {
            let path = ClusterPath::parse(&target.parse().unwrap()).unwrap();
            let answer = check(&Method::GET, path.rest.as_str(), &lane);
            assert_eq!(answer, Ok(Lane::Controller), "{target}");
        }
    }
}
