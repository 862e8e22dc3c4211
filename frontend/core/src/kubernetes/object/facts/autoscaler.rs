//! HorizontalPodAutoscalers.

use serde_json::Value;

use super::{KindFacts, cell, condition, scalar};
use crate::messages::t;
use crate::object::overview::{FactTable, FactValue, Facts, ObjectState};
use crate::object::{Object, Reference, read};
use drover_rows::Severity;

/// Returns the facts of a HorizontalPodAutoscaler.
pub(super) fn autoscaler(autoscaler: &Object) -> KindFacts {
    let value = autoscaler.value();
    let target = scale_target(autoscaler);
    let facts = Facts::default()
        .links(t().facts.scale_target(), target.into_iter().collect())
        .text(
            t().facts.current(),
            scalar(value, "/status/currentReplicas"),
        )
        .text(
            t().workloads.desired(),
            scalar(value, "/status/desiredReplicas"),
        )
        .text(
            t().facts.minimum(),
            // The API server sets the default 1.
            scalar(value, "/spec/minReplicas").or_else(|| Some("1".to_owned())),
        )
        .text(t().facts.maximum(), scalar(value, "/spec/maxReplicas"))
        .at(
            t().facts.last_scaling(),
            read::time(value, "/status/lastScaleTime"),
        );
    let currents = read::list(value, "/status/currentMetrics");
    let rows = read::list(value, "/spec/metrics").iter().map(|metric| {
        let name = metric_name(metric);
        let current = currents.iter().find(|current| metric_name(current) == name);
        let current = current.and_then(|current| amount(source(current), "current"));
        [
            FactValue::Text(name),
            cell(Some(
                current.unwrap_or_else(|| t().states.unknown().to_owned()),
            )),
            cell(amount(source(metric), "target")),
        ]
    });
    let columns = [t().facts.metric(), t().facts.current(), t().facts.target()];
    let metrics = FactTable::of(columns, rows).under(t().facts.metrics());
    let sections = [facts.under(t().facts.replicas()), metrics];
    KindFacts::new(object_state(value), sections)
}

fn object_state(autoscaler: &Value) -> Option<ObjectState> {
    let conditions = read::list(autoscaler, "/status/conditions");
    let of = |name: &str, status: &str| {
        condition(conditions, name).filter(|one| read::text(one, "/status") == Some(status))
    };
    let message = |one: &Value| read::owned(one, "/message").unwrap_or_default();
    if let Some(one) = of("AbleToScale", "False").or_else(|| of("ScalingActive", "False")) {
        let state = ObjectState::of(Severity::Failing, t().facts.cannot_scale());
        return Some(state.because(message(one)));
    }
    if let Some(one) = of("ScalingLimited", "True") {
        let state = ObjectState::of(Severity::Degraded, t().facts.scaling_limited());
        return Some(state.because(message(one)));
    }
    of("ScalingActive", "True").map(|_| ObjectState::of(Severity::Healthy, t().facts.scales()))
}

/// Returns the part of a metric that has the name and the values. The type of the metric names the
/// part: `Resource` is in `resource`.
fn source(metric: &Value) -> &Value {
    let kind = read::text(metric, "/type").unwrap_or_default();
    let mut letters = kind.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    let key: String = first.into_iter().chain(letters).collect();
    metric.get(key).unwrap_or(&Value::Null)
}

fn metric_name(metric: &Value) -> String {
    let source = source(metric);
    let name = read::text(source, "/name")
        .or_else(|| read::text(source, "/metric/name"))
        .unwrap_or("?");
    let object = read::text(source, "/describedObject/name");
    match read::text(source, "/container").or(object) {
        Some(of) => t().facts.metric_of(name, of),
        None => name.to_owned(),
    }
}

/// Formats the current value or the target of a metric.
fn amount(source: &Value, part: &str) -> Option<String> {
    let values = source.get(part)?;
    let average = || scalar(values, "/averageValue").map(|it| t().facts.average(&it));
    scalar(values, "/averageUtilization")
        .map(|percent| format!("{percent} %"))
        .or_else(average)
        .or_else(|| scalar(values, "/value"))
}

/// Returns the reference to the scaled object.
pub(in super::super) fn scale_target(autoscaler: &Object) -> Option<Reference> {
    let target = read::at(autoscaler.value(), "/spec/scaleTargetRef");
    let of = |pointer| read::text(target, pointer);
    let api_version = of("/apiVersion").unwrap_or_default();
    let (kind, name) = (of("/kind")?, of("/name")?);
    Some(Reference::to(
        api_version,
        kind,
        autoscaler.namespace(),
        name,
    ))
}
