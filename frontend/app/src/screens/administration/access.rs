//! The access check: shows which users can send a request in a cluster, with roles and bindings.

mod answer;

use drover_api::rest::Explanation;
use drover_ui_core::explain::{EVERYBODY, Question};
use drover_ui_core::messages::t;
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::field::TextField;
use drover_ui_kit::picker::Picker;
use leptos::prelude::*;

use crate::command::CliCommand;
use crate::live::Clusters;
use crate::screens::address;
use crate::screens::form::{Refusal, Sending};
use crate::screens::head::{Crumb, PageHead};
use crate::screens::title::title;
use crate::session::Session;
use answer::Answer;

const SCREEN: &str = "/access";

/// The fields of the access check, the submitted values and the result.
#[derive(Clone, Copy)]
struct AccessCheck {
    session: Session,
    cluster: RwSignal<Option<String>>,
    verb: RwSignal<String>,
    resource: RwSignal<String>,
    object: RwSignal<String>,
    namespace: RwSignal<String>,
    user: RwSignal<String>,
    /// The values of the most recent submission. The URL contains these values.
    asked: RwSignal<Question>,
    answer: RwSignal<Option<Explanation>>,
    sending: Sending,
}

impl AccessCheck {
    /// Reads the fields from the URL. Sends the access check if all required fields are set.
    fn of_url() -> Self {
        let text = || RwSignal::new(String::new());
        let asking = Self {
            session: expect_context(),
            cluster: RwSignal::new(None),
            verb: text(),
            resource: text(),
            object: text(),
            namespace: text(),
            user: text(),
            asked: RwSignal::new(Question::default()),
            answer: RwSignal::new(None),
            sending: Sending::new(),
        };
        address::read(SCREEN, move |of| {
            let cluster = Some(of("cluster")).filter(|name| !name.is_empty());
            asking.cluster.set(cluster);
            asking.verb.set(of("verb"));
            asking.resource.set(of("resource"));
            asking.object.set(of("object"));
            asking.namespace.set(of("namespace"));
            asking.user.set(of("user"));
            asking.asked.set(untrack(move || asking.typed()));
            asking.ask();
        });
        address::keep(move || path(&asking.asked.get()));
        asking
    }

    fn typed(self) -> Question {
        let text = |text: RwSignal<String>| text.with(|text| text.trim().to_owned());
        Question {
            cluster: self.cluster.get().unwrap_or_default(),
            verb: text(self.verb),
            resource: text(self.resource),
            object: text(self.object),
            namespace: text(self.namespace),
            user: text(self.user),
        }
    }

    /// Sends the access check if all required fields are set.
    fn ask(self) {
        let question = untrack(move || self.typed());
        if !question.is_complete() {
            return;
        }
        let path = question.path();
        self.asked.set(question);
        self.answer.set(None);
        let request = async move { self.session.get(&path).await };
        // The screen can be disposed before the response arrives.
        self.sending.send(request, move |answer| {
            drop(self.answer.try_set(Some(answer)));
        });
    }
}

/// Returns the URL path of an access check.
pub(crate) fn path(question: &Question) -> String {
    let parts = [
        ("cluster", &question.cluster),
        ("verb", &question.verb),
        ("resource", &question.resource),
        ("object", &question.object),
        ("namespace", &question.namespace),
        ("user", &question.user),
    ];
    address::path(SCREEN, &parts.map(|(name, value)| (name, value.clone())))
}

/// Returns the URL path of the access check for a cluster.
pub(crate) fn path_of(cluster: &str) -> String {
    let question = Question {
        cluster: cluster.to_owned(),
        ..Question::default()
    };
    path(&question)
}

/// Returns the URL path of the access check for a user.
pub(crate) fn path_for(user: &str) -> String {
    let question = Question {
        user: user.to_owned(),
        ..Question::default()
    };
    path(&question)
}

/// Shows the access check.
#[component]
pub(crate) fn Access() -> impl IntoView {
    title(t().access.title());
    let asking = AccessCheck::of_url();
    let command = Signal::derive(move || asking.typed().command());
    view! {
        <div class="page">
            <PageHead crumbs=vec![Crumb::roles()] title=t().access.title()/>
            <div class="card"><Form asking=asking/></div>
            {move || asking.answer.get().map(|answer| view! { <Answer answer=answer/> })}
            <footer class="page-foot"><CliCommand line=command/></footer>
        </div>
    }
}

#[component]
fn Form(asking: AccessCheck) -> impl IntoView {
    let sending = asking.sending;
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        asking.ask();
    };
    let ready = move || asking.typed().is_complete();
    view! {
        <form class="stack" on:submit=submit>
            <Refusal sending=sending/>
            <div class="cards">
                <ClusterPicker value=asking.cluster/>
                <TextField label=t().access.verb() value=asking.verb help=t().access.verb_help()/>
                <TextField label=t().labels.resource() value=asking.resource
                    help=t().access.resource_help()/>
                <TextField label=t().access.object() value=asking.object
                    help=t().access.object_help()/>
                <TextField label=t().labels.namespace() value=asking.namespace
                    help=t().access.namespace_help()/>
                <TextField label=t().labels.user() value=asking.user
                    help=t().access.user_help(EVERYBODY)/>
            </div>
            <div class="row">
                <Button weight=Weight::Primary role=Role::Submit busy=sending.busy()
                    disabled=Signal::derive(move || !ready())>
                    {t().access.check()}
                </Button>
            </div>
        </form>
    }
}

#[component]
fn ClusterPicker(value: RwSignal<Option<String>>) -> impl IntoView {
    let choices = expect_context::<Clusters>().choices();
    view! { <Picker label=t().labels.cluster() choices=choices value=value none=t().labels.choose_cluster()/> }
}
