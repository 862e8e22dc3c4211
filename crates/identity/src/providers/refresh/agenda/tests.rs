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

fn whom() -> Whom {
    Whom {
        user: "u1".to_owned(),
        provider: ProviderUid::new("p1"),
    }
}

fn used(hub: &Hub) {
    let token: Token = token("bcdfghjkmnpq", "u1");
    hub.stores().tokens.apply(token);
}

#[tokio::test]
async fn whoever_uses_something_is_asked_about_every_hour_and_by_one_at_a_time() {
    let (hub, mut agenda) = (hub(), Agenda::default());
    assert_eq!(agenda.due(&hub, 8, at(4000)), [], "nothing is in use");
    used(&hub);
    assert_eq!(agenda.due(&hub, 8, at(3599)), []);
    assert_eq!(agenda.due(&hub, 0, at(3600)), []);
    assert_eq!(agenda.due(&hub, 8, at(3600)), [whom()]);
    assert_eq!(agenda.due(&hub, 8, at(3600)), [], "it is being asked");
    agenda.heard(&whom(), Some(Outcome::Confirmed), at(3600));
    assert_eq!(agenda.due(&hub, 8, at(3601)), [whom()], "as memory has it");
}

#[tokio::test]
async fn a_provider_that_does_not_answer_is_left_alone_ever_longer() {
    let (hub, mut agenda) = (hub(), Agenda::default());
    used(&hub);
    let mut now = 3600;
    for _ in 0..20 {
        assert_eq!(agenda.due(&hub, 8, at(now)), [whom()]);
        agenda.heard(&whom(), Some(Outcome::Unreachable), at(now));
        assert_eq!(agenda.due(&hub, 8, at(now + 9)), [], "it rests");
        let rests = agenda.resting[&whom().provider].not_before;
        assert!(rests <= at(now + 10 + 300));
        now += 2 * 60 + 30 * 60 + 1;
    }
}

#[tokio::test]
async fn whoever_a_provider_bears_no_more_waits_alone() {
    let (hub, mut agenda) = (hub(), Agenda::default());
    used(&hub);
    assert_eq!(agenda.due(&hub, 8, at(3600)), [whom()]);
    let until = at(3600 + 3600);
    agenda.heard(&whom(), Some(Outcome::NotYet(until)), at(3600));
    assert!(agenda.resting.is_empty(), "the provider answers others");
    assert_eq!(agenda.due(&hub, 8, at(7199)), []);
    assert_eq!(agenda.due(&hub, 8, until), [whom()]);
}
