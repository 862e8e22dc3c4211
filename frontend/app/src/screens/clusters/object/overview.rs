//! The overview tab of an object.

use drover_ui_core::kind::Kind;
use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::messages::t;
use drover_ui_core::object::{
    Condition, Container, FactValue, Object, ObjectState, Overview, crashes, listed_sections,
    related,
};
use drover_ui_kit::badge::{Badge, Tone};
use leptos::prelude::*;

use super::crash::Crashes;
use super::facts::{FactCards, FactTables, ListedFacts, LongText, Value, is_long};
use super::related::RelatedObjects;
use super::relations::Relations;
use super::secret::SecretKeys;
use super::words::{Age, AgeForm};
use crate::command::CliCommand;
use crate::screens::kinds::tone_of;
use crate::served_kinds::ServedKinds;

/// Shows the overview tab.
#[component]
pub(super) fn OverviewTab(
    named: KubectlObject,
    object: Signal<Object>,
    overview: Memo<Overview>,
) -> impl IntoView {
    let command = named.describe();
    let kind = named.kind;
    let cluster = StoredValue::new(named.cluster.clone());
    let sections = Memo::new(move |_| overview.with(|it| it.sections.clone()));
    let containers = Memo::new(move |_| overview.with(|it| it.containers.clone()));
    let conditions = Memo::new(move |_| overview.with(|it| it.conditions.clone()));
    let belongings = Memo::new(move |_| object.with(|object| related(kind, object)));
    // The crashes of related pods, after their list is loaded.
    let crashing = RwSignal::new(Vec::new());
    let crashes = Signal::derive(move || match kind {
        Kind::PODS => object.with(crashes),
        _ => crashing.get(),
    });
    let served = expect_context::<ServedKinds>();
    let lists = Memo::new(move |_| {
        let mut lists = object.with(|object| listed_sections(kind, object));
        lists.retain(|list| served.serves(list.kind) == Some(true));
        lists
    });
    let lists = move || {
        let lists = lists.get().into_iter();
        lists
            .map(|list| view! { <ListedFacts list=list cluster=cluster/> })
            .collect_view()
    };
    let secret =
        (kind == Kind::SECRETS).then(move || view! { <SecretKeys named=named secret=object/> });
    view! {
        <div class="stack">
            <Crashes crashes=crashes cluster=cluster of_pod=kind == Kind::PODS/>
            <div class="cards">
                <FactCards sections=sections cluster=cluster/>
                <Metadata object=object cluster=cluster/>
            </div>
            {secret}
            <FactTables sections=sections cluster=cluster/>
            {lists}
            {move || containers.with(|it| !it.is_empty()).then(|| view! { <Containers containers=containers/> })}
            {move || conditions.with(|it| !it.is_empty()).then(|| view! { <Conditions conditions=conditions/> })}
            {move || belongings.get().map(|target| view! { <RelatedObjects cluster=cluster target=target of=kind crashing=crashing/> })}
            <Relations cluster=cluster kind=kind object=object/>
            <footer class="page-foot"><CliCommand line=command/></footer>
        </div>
    }
}

/// Shows names, labels, annotations and owners.
#[component]
fn Metadata(object: Signal<Object>, cluster: StoredValue<String>) -> impl IntoView {
    let labels = Memo::new(move |_| object.with(Object::labels));
    let annotations = Memo::new(move |_| object.with(Object::annotations));
    let owners = Memo::new(move |_| object.with(Object::owners));
    let uid = Memo::new(move |_| object.with(|object| object.uid().to_owned()));
    let created = Memo::new(move |_| object.with(Object::created));
    let owners = move || {
        let owners = owners.get();
        (!owners.is_empty()).then(|| {
            let worth = FactValue::Links(owners);
            view! { <dt>{t().object.owners()}</dt><dd><Value worth=worth cluster=cluster/></dd> }
        })
    };
    let created_at = move || {
        created
            .get()
            .map(|at| view! { <dt>{t().labels.created()}</dt><dd><Age at=at/></dd> })
    };
    view! {
        <section class="card">
            <h3>{t().object.metadata()}</h3>
            <dl class="facts">
                {owners}
                {created_at}
                <dt>{t().labels.uid()}</dt><dd><code class="object-code">{uid}</code></dd>
                <dt>{t().labels.labels()}</dt><dd><Pairs pairs=labels/></dd>
                <dt>{t().object.annotations()}</dt><dd><Pairs pairs=annotations/></dd>
            </dl>
        </section>
    }
}

/// Shows keys and values. Long values are collapsed.
#[component]
fn Pairs(pairs: Memo<Vec<(String, String)>>) -> impl IntoView {
    let rows = move || {
        let pairs = pairs.get();
        if pairs.is_empty() {
            return view! { <span class="muted">{t().states.none()}</span> }.into_any();
        }
        let rows = pairs.into_iter().map(|(key, value)| {
            if !is_long(&value) {
                return view! { <li><code class="object-code">{format!("{key}={value}")}</code></li> }.into_any();
            }
            let summary = t().object.long_value(&key, value.len());
            view! { <li><LongText summary=summary text=value/></li> }.into_any()
        });
        view! { <ul class="stack-tight">{rows.collect_view()}</ul> }.into_any()
    };
    view! { {rows} }
}

#[component]
fn Containers(containers: Memo<Vec<Container>>) -> impl IntoView {
    let cards = move || {
        let containers = containers.get().into_iter();
        containers
            .map(|container| view! { <OneContainer container=container/> })
            .collect_view()
    };
    view! {
        <section class="stack"><h3>{t().object.containers()}</h3><div class="cards">{cards}</div></section>
    }
}

#[component]
fn OneContainer(container: Container) -> impl IntoView {
    let row = |name: &'static str, value: Option<String>| {
        value.map(|value| view! { <dt>{name}</dt><dd>{value}</dd> })
    };
    let last = container.last.map(|(last, at)| {
        view! {
            <dt>{t().object.previous_run()}</dt>
            <dd><State object_state=last/>{at.map(|at| view! { <span class="muted"><Age at=at/></span> })}</dd>
        }
    });
    let since = container
        .since
        .map(|at| view! { <span class="muted"><Age at=at form=AgeForm::Lasting/></span> });
    let ports = (!container.ports.is_empty()).then(|| container.ports.join(", "));
    let probes = container.probes.into_iter();
    let probes =
        probes.map(|probe| view! { <dt>{t().object.probe(probe.name)}</dt><dd>{probe.words}</dd> });
    let role = container.role.word();
    let role =
        (!role.is_empty()).then(|| view! { <Badge tone=Tone::Neutral words=role.to_owned()/> });
    let label = t().pods.container(&container.name);
    view! {
        <section class="card" aria-label=label>
            <h4 class="row">{container.name}{role}</h4>
            <dl class="facts">
                <dt>{t().labels.state()}</dt><dd><State object_state=container.state/>{since}</dd>
                {last}
                <dt>{t().pods.restarts()}</dt><dd>{container.restarts}</dd>
                <dt>{t().object.image()}</dt><dd><code class="object-code">{container.image}</code></dd>
                {row(t().object.ports(), ports)}
                <dt>{t().object.requests()}</dt><dd>{container.requests.unwrap_or_else(|| t().states.none().to_owned())}</dd>
                <dt>{t().object.limits()}</dt><dd>{container.limits.unwrap_or_else(|| t().states.none().to_owned())}</dd>
                {probes.collect_view()}
            </dl>
        </section>
    }
}

#[component]
fn State(object_state: ObjectState) -> impl IntoView {
    view! {
        <Badge tone=tone_of(object_state.severity) words=object_state.words/>
        {object_state.why.map(|reason| view! { <p class="object-message">{reason}</p> })}
    }
}

#[component]
fn Conditions(conditions: Memo<Vec<Condition>>) -> impl IntoView {
    let rows = move || {
        let conditions = conditions.get().into_iter();
        conditions
            .map(|condition| view! { <OneCondition condition=condition/> })
            .collect_view()
    };
    view! { <section class="card"><h3>{t().cluster.conditions()}</h3><ul class="conditions">{rows}</ul></section> }
}

#[component]
fn OneCondition(condition: Condition) -> impl IntoView {
    let advice = condition
        .advice
        .map(|advice| view! { <p class="object-message">{advice}</p> });
    let since = condition
        .since
        .map(|at| view! { <Age at=at form=AgeForm::Lasting/> });
    view! {
        <li class="condition">
            <b>{condition.name}</b>
            <div>
                <span class="row">
                    <Badge tone=tone_of(condition.severity) words=condition.status.to_owned()/>
                    <span>{condition.told}</span>
                </span>
                {advice}
            </div>
            <span class="muted">{since}</span>
        </li>
    }
}
