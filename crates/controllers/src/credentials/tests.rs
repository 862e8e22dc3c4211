use drover_api::kinds::Token;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::decide::tests::{at, credential};
use super::*;
use crate::changes::changed_conditions;

#[test]
fn token_condition_is_written_only_when_its_status_or_reason_changes() {
    let mut token = credential(false);
    let judge = |token: &Token, now| {
        let condition_value = decide::token(token, None, None, None, at(now));
        let owned = conditions_of(token.status.as_ref().map(|status| &status.conditions)).to_vec();
        changed_conditions(token, &owned, VALID, &condition_value, at(now))
    };
    let first = judge(&token, 1).expect("the object has no condition yet");
    assert_eq!(first[0].reason, "UserGone");
    token.status.get_or_insert_default().conditions = first;
    assert_eq!(
        judge(&token, 2),
        None,
        "the condition has the same meaning at a later time"
    );
    let second = judge(&token, 100).expect("the token has expired");
    assert_eq!(second.len(), 1);
    assert_eq!(second[0].reason, "Expired");
    assert_eq!(second[0].last_transition_time, Time(at(1)), "still False");
    token.metadata.deletion_timestamp = Some(Time(at(100)));
    assert_eq!(judge(&token, 100), None, "the object is being deleted");
}

#[test]
fn next_reconciliation_is_at_next_token_expiry() {
    let stores = Stores::new();
    let wait = |now| next_due(&stores, at(now));
    assert_eq!(wait(0), INTERVAL);
    stores.tokens.replace(vec![credential(false)]);
    assert_eq!(wait(70), Duration::from_secs(30));
    assert_eq!(wait(-1000), INTERVAL);
    assert_eq!(
        wait(100),
        INTERVAL,
        "an expired token causes no reconciliation"
    );
}
