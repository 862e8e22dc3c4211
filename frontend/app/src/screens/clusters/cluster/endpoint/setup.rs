//! The dialog with the steps that configure the API servers of a cluster.

use drover_api::endpoint::Distribution;
use drover_ui_core::endpoint::{SetupStep, setup_steps};
use drover_ui_core::messages::t;
use drover_ui_kit::code::Code;
use drover_ui_kit::dialog::Dialog;
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::rich::rich;
use drover_ui_kit::tabs::{Tab, Tabs};
use leptos::prelude::*;

use super::{ApiServers, PolledEndpoint, State};

/// Shows the dialog with the steps for each distribution, and with the state of the API servers.
#[component]
pub(super) fn SetUp(endpoint: PolledEndpoint, open: RwSignal<bool>) -> impl IntoView {
    view! {
        <Dialog open=open title=t().endpoint.set_up_title()>
            <div class="dialog-body">
                <Banner mood=BannerKind::Info>{t().endpoint.managed_services()}</Banner>
                <Steps endpoint=endpoint/>
                <h3>{t().import.status()}</h3>
                <State endpoint=endpoint/>
                <ApiServers endpoint=endpoint/>
                <p class="muted">{t().endpoint.checks()}</p>
            </div>
        </Dialog>
    }
}

/// Shows the steps after the server has written the tokens into the cluster.
#[component]
fn Steps(endpoint: PolledEndpoint) -> impl IntoView {
    let config = Memo::new(move |_| endpoint.with(|it| it.webhook_config.clone()));
    let chosen = RwSignal::new(Distribution::ALL[0]);
    let tabs = move || {
        let tabs = Distribution::ALL.map(|it| Tab {
            key: it.name().to_owned(),
            words: it.name().to_owned(),
        });
        tabs.to_vec()
    };
    let choose = move |key: String| {
        let found = Distribution::ALL.into_iter().find(|it| it.name() == key);
        if let Some(distribution) = found {
            chosen.set(distribution);
        }
    };
    move || {
        let Some(config) = config.get() else {
            return view! { <p>{t().endpoint.no_webhook_config()}</p> }.into_any();
        };
        let steps = move || {
            let steps = setup_steps(chosen.get(), &config).into_iter();
            steps.map(|step| view! { <Step step=step/> }).collect_view()
        };
        view! {
            <p>{t().endpoint.set_up_help()}</p>
            <Tabs label=t().endpoint.distribution() tabs=tabs()
                chosen=Signal::derive(move || chosen.get().name().to_owned()) on_choose=choose>
                <ol class="steps">{steps}</ol>
            </Tabs>
        }
        .into_any()
    }
}

#[component]
fn Step(step: SetupStep) -> impl IntoView {
    view! {
        <li>
            <h3>{step.title}</h3>
            <p>{rich(step.help)}</p>
            <Code label=step.title text=step.code/>
        </li>
    }
}
