//! Conditions of Fleet's objects.

use drover_api::fleet::FleetCondition;

/// Sets the condition `Ready` to the message of a roll-up. An empty message means ready.
///
/// `now` is a time in RFC 3339. Reports whether the condition changed.
pub fn ready_condition(conditions: &mut Vec<FleetCondition>, message: &str, now: &str) -> bool {
    let status = if message.is_empty() { "True" } else { "False" };
    set_condition(conditions, "Ready", status, "", message, now)
}

/// Sets a condition. An equal condition keeps its times, so that no write is necessary.
///
/// `now` is a time in RFC 3339. Reports whether the condition changed.
pub fn set_condition(
    conditions: &mut Vec<FleetCondition>,
    name: &str,
    status: &str,
    reason: &str,
    message: &str,
    now: &str,
) -> bool {
    let index = conditions
        .iter()
        .position(|condition| condition.type_ == name);
    let old = index.map(|index| &conditions[index]);
    if old.is_some_and(|it| it.status == status && it.reason == reason && it.message == message) {
        return false;
    }
    let since = old.filter(|old| old.status == status && !old.last_transition_time.is_empty());
    let condition = FleetCondition {
        type_: name.to_owned(),
        status: status.to_owned(),
        last_update_time: now.to_owned(),
        last_transition_time: since
            .map_or(now, |old| &old.last_transition_time)
            .to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
    };
    match index {
        Some(index) => conditions[index] = condition,
        None => conditions.push(condition),
    }
    true
}
