use drover_access::identity::TokenLimits;
use drover_access::names::GroupName;
use drover_api::ids::{ClusterUid, UserUid};
use drover_api::kinds::{TokenPurpose, User, UserSpec};
use drover_hub::Stores;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Returns the grants for a user, who can be an administrator.
fn grants(administrator: bool) -> Arc<Grants> {
    let stores = Stores::synced_empty();
    let spec = UserSpec {
        display_name: None,
        enabled: true,
        administrator,
        must_change_password: false,
    };
    let mut user = User::new("ann", spec);
    user.metadata.uid = Some("u1".to_owned());
    stores.users.apply(user);
    stores.grants.fresh(&stores)
}

fn principal(token: &str, cluster: Option<&str>) -> Principal {
    with_groups(token, cluster, 0)
}

fn with_groups(token: &str, cluster: Option<&str>, groups: usize) -> Principal {
    let group = |number| GroupName::of("corp", &format!("g{number}")).unwrap();
    Principal::User(Arc::new(Identity {
        user_uid: UserUid::new("u1"),
        user_name: "ann".to_owned(),
        display_name: None,
        administrator: true,
        groups: (0..groups).map(group).collect(),
        token: TokenLimits {
            id: token.to_owned(),
            purpose: TokenPurpose::Api,
            cluster: cluster.map(ClusterUid::new),
            provider: None,
            expires_at: at(100),
        },
    }))
}

fn cluster(uid: &str) -> Target {
    Target::Cluster(ClusterUid::new(uid))
}

#[test]
fn permit_is_decided_again_after_a_change_of_each_input() {
    let (permits, ann, all) = (RecentPermits::default(), principal("t", None), grants(true));
    let decide = |principal: &Principal, target: &Target, grants: &Arc<Grants>, second| {
        permits.decide(principal, target, grants, at(second))
    };
    let (a, b) = (cluster("a"), cluster("b"));
    let first = decide(&ann, &a, &all, 1).unwrap();
    assert_eq!(*first.permit.target(), a);
    assert!(Arc::ptr_eq(&first, &decide(&ann, &a, &all, 99).unwrap()));
    let other = decide(&ann, &b, &all, 1).unwrap();
    assert_eq!(*other.permit.target(), b);
    assert!(Arc::ptr_eq(&first, &decide(&ann, &a, &all, 1).unwrap()));
    assert_eq!(decide(&ann, &a, &all, 100).err(), Some(Denied::Expired));
    // A new identity of the same token, which is now limited to a cluster.
    let limited = principal("t", Some("b"));
    let error = decide(&limited, &a, &all, 1).err();
    assert_eq!(error, Some(Denied::OtherCluster));
    assert!(decide(&limited, &b, &all, 1).is_ok());
    let error = decide(&ann, &a, &grants(false), 1).err();
    assert_eq!(error, Some(Denied::NoBinding));
    let error = decide(&limited, &b, &grants(false), 1).err();
    assert_eq!(error, Some(Denied::NoBinding));
}

#[test]
fn number_of_recent_permits_is_limited() {
    let (permits, all) = (RecentPermits::default(), grants(true));
    let ann = principal("t", None);
    for number in 0..=MAX_PERMITS {
        let target = cluster(&number.to_string());
        assert!(permits.decide(&ann, &target, &all, at(1)).is_ok());
    }
    assert_eq!(permits.0.read().by_token["t"].permits.len(), MAX_PERMITS);
    for number in 0..MAX_TOKENS {
        let user = principal(&format!("t{number}"), None);
        assert!(permits.decide(&user, &cluster("a"), &all, at(1)).is_ok());
    }
    assert_eq!(permits.0.read().by_token.len(), 1);
}

#[test]
fn number_of_groups_of_recent_permits_is_limited() {
    let (permits, all) = (RecentPermits::default(), grants(true));
    let decide = |user: &Principal, target: &str| {
        let access = permits.decide(user, &cluster(target), &all, at(1));
        assert!(access.is_ok());
        permits.0.read().groups
    };
    let groups = MAX_GROUPS / 3;
    let (ann, bob) = (
        with_groups("t", None, groups),
        with_groups("u", None, groups),
    );
    assert_eq!(decide(&ann, "a"), groups);
    assert_eq!(decide(&bob, "a"), 2 * groups);
    assert_eq!(decide(&ann, "b"), 3 * groups);
    assert_eq!(decide(&ann, "b"), 3 * groups);
    assert_eq!(decide(&bob, "b"), 2 * groups);
    assert!(!permits.0.read().by_token.contains_key("t"));
}
