//! Identities of providers that move from one user to another, or are taken away: who is one person.

use drover_api::rest::{HeldRole, IdentityView, UserLink, UserLinked, UserView};
use drover_ui_core::shell;
use drover_ui_core::url::segment;
use drover_ui_core::user::{held, movable, told_apart};
use drover_ui_kit::button::Button;
use drover_ui_kit::code::Code;
use drover_ui_kit::confirm::Confirm;
use drover_ui_kit::field::Select;
use drover_ui_kit::notice::{Banner, Mood};
use drover_ui_kit::picker::{Choice, Picker};
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

/// The dialog that makes another user's identity this one's: the form first, then what came of it.
#[component]
pub(super) fn LinkIdentity(
    /// Who gets it.
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
    let title = format!("Link an identity to {name}");
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
    told_apart(user.display_name.as_deref(), logins)
}

/// Fields at which the server's complaints are shown.
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
            // Nobody takes an identity from themselves.
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
    // Of several identities the first one is chosen; the person sees which.
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
            toasts.say(format!("{} has the identity.", answer.user.name));
            // The dialog may be closed by now.
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
                <Select label="Identity of the provider" options=options value=provider/>
            }
        })
    };
    view! {
        <form class="dialog-body" on:submit=submit>
            <Refusal sending=sending fields=FIELDS/>
            <p>
                "Two users are one person: the identity of the other one moves here. Whoever signs in with it then is "
                <b>{name.get_value()}</b>", with all that they may do."
            </p>
            <Picker wraps=true label="From" choices=choices value=from none="Choose the other user"
                help="Only users whose identity provider has confirmed them within a day, and is not one of this user's already. Others sign in with it first.".to_owned()
                error=sending.of("from")/>
            {several}
            <Banner mood=Mood::Warning>
                "Make sure that it is one person: names and addresses can be alike. What stood on the identity, sessions and tokens, ends at once."
            </Banner>
            <Code label="Command" text=Signal::derive(command)/>
            <FormFoot open=open verb="Link" sending=sending
                disabled=Signal::derive(move || from.with(Option::is_none))/>
        </form>
    }
}

/// What stays with the former user.
#[component]
fn Linked(linked: UserLinked, open: RwSignal<bool>) -> impl IntoView {
    let UserLinked {
        user,
        former,
        roles_left,
    } = linked;
    let disabled = (!former.enabled).then(|| {
        let words = format!(
            "Nobody can sign in as {} any more, so it is disabled. Delete it when you have looked.",
            former.name
        );
        view! { <Banner mood=Mood::Info>{words}</Banner> }
    });
    let roles = roles_left
        .iter()
        .map(|role: &HeldRole| view! { <li>{held(role)}</li> });
    let roles = roles.collect_view();
    let left = (!roles_left.is_empty()).then(|| view! {
        <p>"These roles stay with "<b>{former.name.clone()}</b>"; give them anew where they are needed:"</p>
        <ul class="failures" tabindex="0" aria-label="Roles that stay">{roles}</ul>
    });
    let screen = format!("/users/{}", segment(&former.name));
    view! {
        <div class="dialog-body">
            <p role="status"><b>{user.name}</b>" and "<b>{former.name.clone()}</b>" are one person now."</p>
            {disabled}
            {left}
            <p><A href=screen>{format!("The page of {}", former.name)}</A></p>
            <div class="dialog-foot">
                <Button on_press=move |()| open.set(false)>"Done"</Button>
            </div>
        </div>
    }
}

/// The dialog that takes an identity away.
#[component]
pub(super) fn UnlinkIdentity(
    /// Whose it is.
    name: String,
    identity: IdentityView,
    /// Whether they have no other.
    last: bool,
    open: RwSignal<bool>,
    listing: Listing<UserView>,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let sending = Sending::new();
    let IdentityView { id, provider, .. } = identity;
    let title = format!("Unlink {provider} from {name}?");
    let command = StoredValue::new(format!(
        "drover user unlink {} --provider={}",
        shell::word(&name),
        shell::word(&provider)
    ));
    let left = StoredValue::new(last.then(|| {
        format!(
            "{name} has no other identity: nobody can sign in as them any more, unless they have a \
             password of Drover's own."
        )
    }));
    let (name, provider) = (StoredValue::new(name), StoredValue::new(provider));
    let go = move |()| {
        let of_user = name.with_value(|name| path(name));
        let (path, provider) = (format!("{of_user}/{}", segment(&id)), provider.get_value());
        let request = async move { session.delete(&path).await };
        sending.send(request, move |()| {
            listing.again();
            toasts.say(format!("The identity of {provider} is taken away."));
            // The dialog may be closed by now.
            let _ = open.try_set(false);
        });
    };
    view! {
        <Confirm open=open title=title verb="Unlink" busy=sending.busy() refused=sending.elsewhere(&[])
            on_confirm=go>
            <p>
                "What stands on the identity, sessions and tokens, ends at once. Whoever signs in with it then is a new user. To keep somebody out, disable the user."
            </p>
            {left.get_value().map(|words| view! { <Banner mood=Mood::Warning>{words}</Banner> })}
            <Code label="Command" text=command.get_value()/>
        </Confirm>
    }
}
