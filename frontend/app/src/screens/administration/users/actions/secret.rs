//! The dialog that sets the password of a user.

use drover_api::rest::{PasswordReset, UserView};
use drover_ui_core::messages::t;
use drover_ui_core::shell;
use drover_ui_core::url::segment;
use drover_ui_kit::code::Code;
use drover_ui_kit::field::Checkbox;
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::rich::rich;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use super::super::columns::UserRow;
use super::super::password::{NewPassword, PasswordFields};
use super::{FirstPassword, GeneratedPassword};
use crate::live::listing::Listing;
use crate::screens::form::{FormDialog, FormFoot, Refusal, Sending};
use crate::session::Session;

/// Shows the form. After the request, shows the generated password.
#[component]
pub(super) fn SetPassword(
    row: UserRow,
    open: RwSignal<bool>,
    listing: Listing<UserView>,
) -> impl IntoView {
    let generated = RwSignal::new(None::<GeneratedPassword>);
    let is_shown = Signal::derive(move || generated.with(Option::is_some));
    let title = t().users.set_password_title(&row.user.name);
    let row = StoredValue::new(row);
    view! {
        <FormDialog open=open title=title is_locked=is_shown let:sending>
            {move || match generated.get() {
                None => view! { <Form row=row.get_value() generated=generated open=open sending=sending listing=listing/> }.into_any(),
                Some(generated) => view! { <FirstPassword generated=generated open=open/> }.into_any(),
            }}
        </FormDialog>
    }
}

#[component]
fn Form(
    row: UserRow,
    generated: RwSignal<Option<GeneratedPassword>>,
    open: RwSignal<bool>,
    sending: Sending,
    listing: Listing<UserView>,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let (password, revoke) = (NewPassword::new(), RwSignal::new(true));
    let UserRow { user, oneself } = row;
    let name = StoredValue::new(user.name);
    let ready = move || password.is_ready();
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let Some((secret, show)) = untrack(ready).then(|| password.take(toasts)).flatten() else {
            return;
        };
        let name = name.get_value();
        let path = format!("/v1/users/{}/password", segment(&name));
        let request = PasswordReset {
            new: secret.clone(),
            revoke_tokens: revoke.get_untracked(),
        };
        let request = async move { session.send_only("POST", &path, &request).await };
        sending.send(request, move |()| {
            listing.again();
            toasts.say(t().users.password_set(&name));
            GeneratedPassword::tell(show, name, secret, generated, open);
        });
    };
    let command = move || {
        let name = name.with_value(|name| shell::word(name));
        let keep = if revoke.get() { "" } else { " --keep-tokens" };
        format!("drover user passwd {name}{}{keep}", password.option())
    };
    view! {
        <form class="dialog-body" on:submit=submit>
            <Consequences oneself=oneself revoke=revoke/>
            <Refusal sending=sending fields=&["new"]/>
            <PasswordFields password=password error=sending.of("new")/>
            <Checkbox label=t().users.revoke_with_password() checked=revoke/>
            <Code label=t().labels.command() text=Signal::derive(command)/>
            <FormFoot open=open verb=t().users.set_password() sending=sending
                disabled=Signal::derive(move || !ready())/>
        </form>
    }
}

#[component]
fn Consequences(oneself: bool, revoke: RwSignal<bool>) -> impl IntoView {
    let tokens = move || {
        if revoke.get() {
            t().users.tokens_revoked()
        } else {
            t().users.tokens_stay()
        }
    };
    view! {
        <p>
            {t().users.set_password_effect()}" "
            {tokens}
        </p>
        {oneself.then(|| view! {
            <Banner mood=BannerKind::Warning>
                {rich(t().users.set_own_password())}
            </Banner>
        })}
    }
}
