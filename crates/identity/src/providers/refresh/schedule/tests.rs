use drover_api::kinds::Token;

use super::*;
use drover_hub::{Keys, Stores};
use drover_testkit::kinds::person;
use drover_testkit::kinds::token;

fn hub() -> Hub {
    let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Err::<http::Response<kube::client::Body>, tower::BoxError>("no hub".into())
    });
    let stores = Stores::synced_empty();
    stores.users.apply(person());
    let client = kube::Client::new(service, "default");
    Hub::new(client, stores, Keys::generate().unwrap())
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn key() -> IdentityKey {
    IdentityKey {
        user: "u1".to_owned(),
        provider: ProviderUid::new("p1"),
    }
}

fn used(hub: &Hub) {
    let token: Token = token("bcdfghjkmnpq", "u1");
    hub.stores().tokens.apply(token);
}

#[tokio::test]
async fn identity_of_user_with_token_is_refreshed_hourly_without_concurrent_refreshes() {
    let (hub, mut schedule) = (hub(), RefreshSchedule::default());
    assert_eq!(schedule.due(&hub, 8, at(4000)), [], "the user has no token");
    used(&hub);
    assert_eq!(schedule.due(&hub, 8, at(3599)), []);
    assert_eq!(schedule.due(&hub, 0, at(3600)), []);
    assert_eq!(schedule.due(&hub, 8, at(3600)), [key()]);
    assert_eq!(
        schedule.due(&hub, 8, at(3600)),
        [],
        "the refresh is running"
    );
    schedule.record_outcome(&key(), Some(Outcome::Confirmed), at(3600));
    assert_eq!(
        schedule.due(&hub, 8, at(3601)),
        [key()],
        "the stores still have the old time"
    );
}

#[tokio::test]
async fn refresh_backoff_for_unreachable_provider_is_bounded() {
    let (hub, mut schedule) = (hub(), RefreshSchedule::default());
    used(&hub);
    let mut now = 3600;
    for _ in 0..20 {
        assert_eq!(schedule.due(&hub, 8, at(now)), [key()]);
        schedule.record_outcome(&key(), Some(Outcome::Unreachable), at(now));
        assert_eq!(
            schedule.due(&hub, 8, at(now + 9)),
            [],
            "the provider is in backoff"
        );
        let rests = schedule.unreachable[&key().provider].not_before;
        assert!(rests <= at(now + 10 + 300));
        now += 2 * 60 + 30 * 60 + 1;
    }
}

#[tokio::test]
async fn rate_limit_for_one_user_does_not_delay_other_refreshes_of_the_provider() {
    let (hub, mut schedule) = (hub(), RefreshSchedule::default());
    used(&hub);
    assert_eq!(schedule.due(&hub, 8, at(3600)), [key()]);
    let until = at(3600 + 3600);
    schedule.record_outcome(&key(), Some(Outcome::Postponed(until)), at(3600));
    assert!(
        schedule.unreachable.is_empty(),
        "the provider is reachable for others"
    );
    assert_eq!(schedule.due(&hub, 8, at(7199)), []);
    assert_eq!(schedule.due(&hub, 8, until), [key()]);
}
