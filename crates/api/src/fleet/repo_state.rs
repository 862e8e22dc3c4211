//! The state of a GitRepo in one word, for lists.

use super::{FleetCondition, GitRepo, condition};

/// The state of a GitRepo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepoState {
    /// A word for the state: a state of bundle deployments, or `Deleting`, `Refused`, `Stalled`,
    /// `PollFailed`, `Reading`, `Pending` or `Paused`.
    pub word: String,
    /// The cause, or an empty text.
    pub cause: String,
    /// Time since which the state has its cause, in RFC 3339, or an empty text.
    pub since: String,
}

impl GitRepo {
    /// Returns the condition of a type.
    pub fn condition(&self, type_: &str) -> Option<&FleetCondition> {
        condition(&self.status.as_ref()?.base.conditions, type_)
    }

    /// Returns the most important state.
    pub fn state(&self) -> RepoState {
        let with = |word: &str, condition: Option<&FleetCondition>| RepoState {
            word: word.to_owned(),
            cause: condition.map_or_else(String::new, |it| it.message.clone()),
            since: condition.map_or_else(String::new, |it| it.last_transition_time.clone()),
        };
        let has = |type_: &str, status: &str| {
            let condition = self.condition(type_);
            condition.filter(|condition| condition.status == status)
        };
        if self.metadata.deletion_timestamp.is_some() {
            return with("Deleting", None);
        }
        for (word, type_, status) in [
            ("Refused", "Accepted", "False"),
            ("Stalled", "Stalled", "True"),
            ("PollFailed", "GitPolling", "False"),
        ] {
            if let Some(condition) = has(type_, status) {
                return with(word, Some(condition));
            }
        }
        let status = self.status.as_ref();
        if let Some(reading) = has("Reconciling", "True") {
            return with("Reading", Some(reading));
        }
        if status.is_none_or(|status| status.commit.is_empty()) {
            return with("Pending", None);
        }
        if let Some(ready) = has("Ready", "True") {
            let word = if self.spec.paused { "Paused" } else { "Ready" };
            return with(word, Some(ready));
        }
        let worst = status.map_or("", |status| &status.base.display.state);
        let word = match worst {
            _ if self.spec.paused => "Paused",
            "" => "NotReady",
            worst => worst,
        };
        with(word, self.condition("Ready"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn repo(paused: bool, conditions: &[(&str, &str)], extra: &Value) -> GitRepo {
        let conditions = conditions.iter().map(|(type_, status)| {
            json!({ "type": type_, "status": status, "message": format!("{type_} is {status}") })
        });
        let mut status = json!({
            "conditions": conditions.collect::<Vec<_>>(),
            "commit": "c1",
            "display": { "state": "ErrApplied" },
        });
        let fields = status.as_object_mut().unwrap();
        fields.extend(extra.as_object().unwrap().clone());
        from_value(json!({
            "metadata": { "name": "shop" }, "spec": { "paused": paused }, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn state_is_the_first_problem_in_the_order_of_the_steps() {
        let none = json!({});
        for (repo, word, cause) in [
            (
                repo(false, &[("Accepted", "False"), ("Stalled", "True")], &none),
                "Refused",
                "Accepted is False",
            ),
            (
                repo(
                    false,
                    &[("GitPolling", "False"), ("Stalled", "True")],
                    &none,
                ),
                "Stalled",
                "Stalled is True",
            ),
            (
                repo(false, &[("GitPolling", "False"), ("Ready", "True")], &none),
                "PollFailed",
                "GitPolling is False",
            ),
            (
                repo(false, &[("Reconciling", "True"), ("Ready", "True")], &none),
                "Reading",
                "Reconciling is True",
            ),
            (
                repo(false, &[("Ready", "True")], &json!({ "commit": "" })),
                "Pending",
                "",
            ),
            (
                repo(false, &[("Ready", "False")], &none),
                "ErrApplied",
                "Ready is False",
            ),
            (
                repo(true, &[("Ready", "False")], &none),
                "Paused",
                "Ready is False",
            ),
            (
                repo(false, &[("Ready", "True")], &none),
                "Ready",
                "Ready is True",
            ),
            (GitRepo::default(), "Pending", ""),
        ] {
            let state = repo.state();
            assert_eq!((&*state.word, &*state.cause), (word, cause));
        }
    }
}
