//! The dialogs that link and unlink identities.

use drover_api::rest::{HeldRole, IdentityView, UserLink, UserLinked, UserView};
use drover_ui_core::messages::t;
use drover_ui_core::shell;
use drover_ui_core::url::segment;
use drover_ui_core::user::{distinguishing_name, held, movable};
use drover_ui_kit::button::Button;
use drover_ui_kit::code::Code;
use drover_ui_kit::confirm::Confirm;
use drover_ui_kit::field::Select;
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::picker::{Choice, Picker};
use drover_ui_kit::rich::rich;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos_router::components::A;

use super::PATH;
use crate::clock::now;
use crate::live::listing::Listing;
use crate::screens::form::{FormDialog, FormFoot, Refusal, Sending};
use crate::session::Session;

fn path(user: &str) -> String {
    format!("/v1/users/{}/identities", segment(user))
}

/// Shows the form that links an identity. After the request, shows the result.
#[component]
pub(super) fn LinkIdentity(
    /// The name of the user who gets the identity.
    name: String,
    open: RwSignal<bool>,
    listing: Listing<UserView>,
) -> impl IntoView {
    let linked = RwSignal::new(None::<UserLinked>);
    Effect::new(move || {
        if !open.get() {
            linked.set(None);
        }
    });
    let title = t().users.link_title(&name);
    let name = StoredValue::new(name);
    view! {
        <FormDialog open=open title=title let:sending>
            {move || match linked.get() {
                None => view! {
                    <Form name=name open=open sending=sending listing=listing linked=linked/>
                }
                .into_any(),
                Some(linked) => view! { <Linked linked=linked open=open/> }.into_any(),
            }}
        </FormDialog>
    }
}

fn told(user: &UserView) -> String {
    let identities = user.identities.iter();
    let logins = identities.map(|it| (it.provider.as_str(), it.login.as_str()));
    distinguishing_name(user.display_name.as_deref(), logins)
}

/// The names of the form fields that show the server's errors next to their inputs.
const FIELDS: &[&str] = &["from"];

#[component]
fn Form(
    name: StoredValue<String>,
    open: RwSignal<bool>,
    sending: Sending,
    listing: Listing<UserView>,
    linked: RwSignal<Option<UserLinked>>,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let (from, provider) = (RwSignal::new(None::<String>), RwSignal::new(String::new()));
    let users = Listing::<UserView>::follow(PATH);
    let others = Memo::new(move |_| {
        let me = session.view().map(|view| view.me.username);
        let items = users.items().unwrap_or_default();
        let own = |user: &&UserView| name.with_value(|name| user.name == *name);
        let Some(to) = items.iter().find(own) else {
            return Vec::new();
        };
        let others = items.iter().filter(|user| {
            // Users cannot move their own identity.
            user.name != to.name && Some(&user.name) != me.as_ref()
        });
        let others = others.map(|user| (user.clone(), movable(user, to, now())));
        others
            .filter(|(_, providers)| !providers.is_empty())
            .collect::<Vec<_>>()
    });
    let choices = Signal::derive(move || {
        let others = others.get().into_iter();
        let choices = others.map(|(user, _)| Choice {
            note: told(&user),
            words: user.name.clone(),
            key: user.name,
        });
        choices.collect::<Vec<_>>()
    });
    let providers = Memo::new(move |_| {
        let from = from.get();
        let others = others.get();
        let of = |(user, _): &&(UserView, _)| Some(&user.name) == from.as_ref();
        let found = others.iter().find(of);
        found
            .map(|(_, providers)| providers.clone())
            .unwrap_or_default()
    });
    // The effect preselects the first identity.
    Effect::new(move || provider.set(providers.get().first().cloned().unwrap_or_default()));
    let request = move || UserLink {
        from: from.get().unwrap_or_default(),
        provider: Some(provider.get()).filter(|name| !name.is_empty()),
    };
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let request = untrack(request);
        if request.from.is_empty() {
            return;
        }
        let path = name.with_value(|name| path(name));
        let request = async move { session.send("POST", &path, &request).await };
        sending.send(request, move |answer: UserLinked| {
            listing.again();
            toasts.say(t().users.linked(&answer.user.name));
            // The dialog can be closed before the response arrives.
            let _ = linked.try_set(Some(answer));
        });
    };
    let command = move || {
        let UserLink { from, provider } = request();
        let from = if from.is_empty() {
            "NAME".to_owned()
        } else {
            shell::word(&from)
        };
        let provider = provider.map(|it| format!(" --provider={}", shell::word(&it)));
        let name = name.with_value(|name| shell::word(name));
        format!(
            "drover user link {name} --from={from}{}",
            provider.unwrap_or_default()
        )
    };
    let several = move || {
        let providers = providers.get();
        let options = providers
            .iter()
            .map(|it| (it.clone(), it.clone()))
            .collect();
        (providers.len() > 1).then(|| {
            view! {
                <Select label=t().users.identity() options=options value=provider/>
            }
        })
    };
    view! {
        <form class="dialog-body" on:submit=submit>
            <Refusal sending=sending fields=FIELDS/>
            <p>
                {rich(t().users.link_effect(&name.get_value()))}
            </p>
            <Picker wraps=true label=t().users.link_from() choices=choices value=from none=t().labels.choose_user()
                help=t().users.link_from_help().to_owned()
                error=sending.of("from")/>
            {several}
            <Banner mood=BannerKind::Warning>
                {t().users.link_warning()}
            </Banner>
            <Code label=t().labels.command() text=Signal::derive(command)/>
            <FormFoot open=open verb=t().users.link() sending=sending
                disabled=Signal::derive(move || from.with(Option::is_none))/>
        </form>
    }
}

/// Shows the result, with the roles that the previous user of the identity still has.
#[component]
fn Linked(linked: UserLinked, open: RwSignal<bool>) -> impl IntoView {
    let UserLinked {
        user,
        former,
        roles_left,
    } = linked;
    let disabled = (!former.enabled).then(|| {
        let words = t().users.former_disabled(&former.name);
        view! { <Banner mood=BannerKind::Info>{words}</Banner> }
    });
    let roles = roles_left
        .iter()
        .map(|role: &HeldRole| view! { <li>{held(role)}</li> });
    let roles = roles.collect_view();
    let remaining_roles = (!roles_left.is_empty()).then(|| {
        view! {
            <p>{rich(t().users.roles_stay(&former.name))}</p>
            <ul class="failures" tabindex="0" aria-label=t().users.remaining_roles()>{roles}</ul>
        }
    });
    let screen = format!("/users/{}", segment(&former.name));
    view! {
        <div class="dialog-body">
            <p role="status">{rich(t().users.merged(&user.name, &former.name))}</p>
            {disabled}
            {remaining_roles}
            <p><A href=screen>{t().users.page_of(&former.name)}</A></p>
            <div class="dialog-foot">
                <Button on_press=move |()| open.set(false)>{t().buttons.done()}</Button>
            </div>
        </div>
    }
}

/// Shows the dialog that unlinks an identity.
#[component]
pub(super) fn UnlinkIdentity(
    /// The name of the user.
    name: String,
    identity: IdentityView,
    /// True if the identity is the user's last identity.
    last: bool,
    open: RwSignal<bool>,
    listing: Listing<UserView>,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let sending = Sending::new();
    let IdentityView { id, provider, .. } = identity;
    let title = t().users.unlink_title(&provider, &name);
    let command = StoredValue::new(format!(
        "drover user unlink {} --provider={}",
        shell::word(&name),
        shell::word(&provider)
    ));
    let remaining_roles = StoredValue::new(last.then(|| t().users.unlink_last(&name)));
    let (name, provider) = (StoredValue::new(name), StoredValue::new(provider));
    let go = move |()| {
        let of_user = name.with_value(|name| path(name));
        let (path, provider) = (format!("{of_user}/{}", segment(&id)), provider.get_value());
        let request = async move { session.delete(&path).await };
        sending.send(request, move |()| {
            listing.again();
            toasts.say(t().users.unlinked(&provider));
            // The dialog can be closed before the response arrives.
            let _ = open.try_set(false);
        });
    };
    view! {
        <Confirm open=open title=title verb=t().users.unlink() busy=sending.busy() refused=sending.elsewhere(&[])
            on_confirm=go>
            <p>
                {t().users.unlink_effect()}
            </p>
            {remaining_roles.get_value().map(|words| view! { <Banner mood=BannerKind::Warning>{words}</Banner> })}
            <Code label=t().labels.command() text=command.get_value()/>
        </Confirm>
    }
}
