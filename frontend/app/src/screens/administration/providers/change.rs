//! The form that edits an identity provider.

use drover_api::rest::{AuthProviderUpdate, AuthProviderView, Secret};
use drover_ui_core::messages::t;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_core::provider::{Draft, is_enabled, path};
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use serde_json::Value;

use super::form::{Common, FIELDS, SecretField, Settings};
use crate::live::listing::Listing;
use crate::screens::form::{FormDialog, FormFoot, Refusal, Sending};
use crate::session::Session;

/// The maximum number of attempts for an update. The server's status updates cause conflicts.
const MAX_ATTEMPTS: usize = 5;

/// Shows the dialog that edits an identity provider.
#[component]
pub(super) fn ChangeProvider(
    provider: Signal<Option<AuthProviderView>>,
    open: RwSignal<bool>,
    listing: Listing<AuthProviderView>,
    /// The callback that runs after the page changes the provider's secret.
    #[prop(into)]
    on_secret: Callback<()>,
) -> impl IntoView {
    view! {
        <FormDialog open=open title=t().providers.edit_title() let:sending>
            // The form starts with the current values. Later changes of the provider do not
            // overwrite the form.
            {provider.get_untracked().map(|it| view! {
                <ChangeForm provider=it open=open sending=sending listing=listing on_secret=on_secret/>
            })}
        </FormDialog>
    }
}

#[component]
fn ChangeForm(
    provider: AuthProviderView,
    open: RwSignal<bool>,
    sending: Sending,
    listing: Listing<AuthProviderView>,
    on_secret: Callback<()>,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let Some(begun) = Draft::of(&provider.spec) else {
        return view! {
            <div class="dialog-body"><Banner mood=BannerKind::Error>
                {t().providers.unknown_protocol()}
            </Banner></div>
        }
        .into_any();
    };
    let (protocol, kept) = (begun.protocol, provider.has_secret);
    let (draft, secret) = (RwSignal::new(begun), RwSignal::new(String::new()));
    // The user is warned before changes of the provider of the current session.
    let own = session.provider().as_ref() == Some(&provider.name);
    let enabled = is_enabled(&provider.spec);
    let provider = StoredValue::new(provider);
    let nobody = Signal::derive(move || {
        let nobody = enabled && draft.with(Draft::allows_no_user);
        nobody.then(|| t().providers.no_user_allowed().to_owned())
    });
    let ready = move || draft.with(Draft::is_complete) && nobody.with(Option::is_none);
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if !untrack(ready) {
            return;
        }
        let (name, base) = provider.with_value(|it| (it.name.clone(), it.spec.clone()));
        let spec = draft.with_untracked(|draft| draft.spec(&base));
        let secret = secret.get_untracked();
        let secret = (!secret.is_empty()).then(|| Secret::new(secret));
        let another_secret = secret.is_some();
        let request =
            async move { change(session, &name, Some(&base), |_| spec.clone(), secret).await };
        sending.send(request, move |provider: AuthProviderView| {
            listing.again();
            if another_secret {
                // The screen can be disposed before the response arrives.
                let _ = on_secret.try_run(());
            }
            toasts.say(t().providers.saved(&provider.name));
            // The dialog can be closed before the response arrives.
            let _ = open.try_set(false);
        });
    };
    view! {
        <form class="dialog-body" on:submit=submit>
            <Refusal sending=sending fields=FIELDS/>
            <Settings protocol=protocol draft=draft sending=sending changes=true/>
            <SecretField protocol=protocol secret=secret sending=sending kept=kept/>
            <Common draft=draft sending=sending wrong=nobody/>
            <p class="muted">{t().providers.edit_effect()}</p>
            {own.then(|| view! {
                <Banner mood=BannerKind::Warning>
                    {t().providers.own_provider()}
                </Banner>
            })}
            <FormFoot open=open verb=t().buttons.save() sending=sending disabled=Signal::derive(move || !ready())/>
        </form>
    }
    .into_any()
}

/// Updates the spec of a provider. With `base`, the update fails if the stored spec differs from
/// `base`. Conflicts with status updates are retried.
pub(super) async fn change(
    session: Session,
    name: &str,
    base: Option<&Value>,
    spec: impl Fn(&Value) -> Value,
    secret: Option<Secret>,
) -> Result<AuthProviderView, Problem> {
    let path = path(name);
    let mut tries = 1;
    loop {
        let now: AuthProviderView = session.get(&path).await?;
        if base.is_some_and(|base| *base != now.spec) {
            let reason = t().providers.conflict();
            return Err(Problem::new(ProblemKind::Conflict, reason));
        }
        let update = AuthProviderUpdate {
            spec: spec(&now.spec),
            secret: secret.clone(),
            resource_version: Some(now.resource_version),
        };
        match session.send("PUT", &path, &update).await {
            Err(problem) if problem.kind == ProblemKind::Conflict && tries < MAX_ATTEMPTS => {
                tries += 1;
            }
            answer => return answer,
        }
    }
}
