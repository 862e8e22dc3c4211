//! Table cells of workloads.

use jiff::Timestamp;
use serde_json::Value;

use super::{View, age, count, or};
use crate::json::{at, field, flag, list, object, text, texts};

pub(super) fn deployment(view: &View<'_>) -> Vec<Value> {
    let status = view.status();
    let (names, images) = containers(at(view.spec(), "template.spec"));
    vec![
        view.name(),
        format!(
            "{}/{}",
            count(status, "readyReplicas"),
            count(view.spec(), "replicas")
        )
        .into(),
        count(status, "updatedReplicas").into(),
        count(status, "availableReplicas").into(),
        view.age(),
        names,
        images,
        selector(field(view.spec(), "selector"), "").into(),
    ]
}

pub(super) fn replica_set(view: &View<'_>) -> Vec<Value> {
    let (names, images) = containers(at(view.spec(), "template.spec"));
    vec![
        view.name(),
        count(view.spec(), "replicas").into(),
        count(view.status(), "replicas").into(),
        count(view.status(), "readyReplicas").into(),
        view.age(),
        names,
        images,
        selector(field(view.spec(), "selector"), "<none>").into(),
    ]
}

pub(super) fn stateful_set(view: &View<'_>) -> Vec<Value> {
    let (names, images) = containers(at(view.spec(), "template.spec"));
    let (ready, desired) = (
        count(view.status(), "readyReplicas"),
        count(view.spec(), "replicas"),
    );
    vec![
        view.name(),
        format!("{ready}/{desired}").into(),
        view.age(),
        names,
        images,
    ]
}

pub(super) fn daemon_set(view: &View<'_>) -> Vec<Value> {
    let status = view.status();
    let template = at(view.spec(), "template.spec");
    let (names, images) = containers(template);
    let mut cells = vec![view.name()];
    cells.extend(
        [
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "numberReady",
            "updatedNumberScheduled",
            "numberAvailable",
        ]
        .map(|name| Value::from(count(status, name))),
    );
    cells.extend([
        labels(field(template, "nodeSelector")).into(),
        view.age(),
        names,
        images,
        selector(field(view.spec(), "selector"), "<none>").into(),
    ]);
    cells
}

pub(super) fn job(view: &View<'_>) -> Vec<Value> {
    let (spec, status) = (view.spec(), view.status());
    let done = count(status, "succeeded");
    let completions = match (
        field(spec, "completions").as_i64(),
        count(spec, "parallelism"),
    ) {
        (Some(desired), _) => format!("{done}/{desired}"),
        (None, many) if many > 1 => format!("{done}/1 of {many}"),
        (None, _) => format!("{done}/1"),
    };
    let time = |name: &str| text(status, name).parse::<Timestamp>().ok();
    let took = match (time("startTime"), time("completionTime")) {
        (None, _) => String::new(),
        (Some(start), end) => age::human_duration(age::seconds(start, end.unwrap_or(view.now))),
    };
    let (names, images) = containers(at(spec, "template.spec"));
    vec![
        view.name(),
        job_state(view).into(),
        completions.into(),
        took.into(),
        view.age(),
        names,
        images,
        selector(field(spec, "selector"), "<none>").into(),
    ]
}

fn job_state(view: &View<'_>) -> &'static str {
    let has = |kind: &str| {
        list(view.status(), "conditions")
            .iter()
            .find(|condition| text(condition, "type") == kind)
            .is_some_and(|condition| text(condition, "status") == "True")
    };
    match () {
        () if has("Complete") => "Complete",
        () if has("Failed") => "Failed",
        () if view.is_deleting() => "Terminating",
        () if has("Suspended") => "Suspended",
        () if has("FailureTarget") => "FailureTarget",
        () if has("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

pub(super) fn cron_job(view: &View<'_>) -> Vec<Value> {
    let (spec, status) = (view.spec(), view.status());
    let last = match text(status, "lastScheduleTime") {
        "" => "<none>".to_owned(),
        time => view.since(time),
    };
    let suspend = match field(spec, "suspend") {
        Value::Null => "<unset>",
        _ if flag(spec, "suspend") => "True",
        _ => "False",
    };
    let job = at(spec, "jobTemplate.spec");
    let (names, images) = containers(at(job, "template.spec"));
    vec![
        view.name(),
        text(spec, "schedule").into(),
        or(text(spec, "timeZone"), "<none>").into(),
        suspend.into(),
        list(status, "active").len().into(),
        last.into(),
        view.age(),
        names,
        images,
        selector(field(job, "selector"), "<none>").into(),
    ]
}

pub(super) fn controller_revision(view: &View<'_>) -> Vec<Value> {
    let owner = list(field(view.object, "metadata"), "ownerReferences")
        .iter()
        .find(|owner| flag(owner, "controller"));
    let controller = owner.map_or_else(
        || "<none>".to_owned(),
        |owner| {
            let group = text(owner, "apiVersion")
                .split_once('/')
                .map_or("", |(group, _)| group);
            let kind = text(owner, "kind").to_lowercase();
            let name = text(owner, "name");
            match group {
                "" => format!("{kind}/{name}"),
                group => format!("{kind}.{group}/{name}"),
            }
        },
    );
    vec![
        view.name(),
        controller.into(),
        count(view.object, "revision").into(),
        view.age(),
    ]
}

fn containers(pod: &Value) -> (Value, Value) {
    let all = |name: &str| -> Value {
        let all: Vec<&str> = list(pod, "containers")
            .iter()
            .map(|one| text(one, name))
            .collect();
        all.join(",").into()
    };
    (all("name"), all("image"))
}

/// Formats labels as `key=value`, or `<none>`.
pub(super) fn labels(labels: &Value) -> String {
    let pairs: Vec<String> = labels
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    or(&pairs.join(","), "<none>").to_owned()
}

/// Formats a selector as text; the result is `none` if the selector is empty.
pub(super) fn selector(selector: &Value, none: &str) -> String {
    let mut parts: Vec<(String, String)> = object(selector, "matchLabels")
        .into_iter()
        .flatten()
        .map(|(key, value)| {
            let text = format!("{key}={}", value.as_str().unwrap_or_default());
            (key.clone(), text)
        })
        .collect();
    for expression in list(selector, "matchExpressions") {
        let key = text(expression, "key");
        let mut values: Vec<&str> = texts(expression, "values").collect();
        values.sort_unstable();
        let values = values.join(",");
        let message = match text(expression, "operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        parts.push((key.to_owned(), message));
    }
    parts.sort();
    let message: Vec<String> = parts.into_iter().map(|(_, message)| message).collect();
    or(&message.join(","), none).to_owned()
}
