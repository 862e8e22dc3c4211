//! Sign-in.

use drover_api::rest::Secret;
use drover_ui_core::problem::Problem;
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::field::{Content, TextField};
use drover_ui_kit::notice::{Banner, Mood};
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::command::{SameCommand, origin};
use crate::frame::Brand;
use crate::gate::Gate;
use crate::screens::title::title;

/// Asks for name and password; the URL stays, so that the person comes to what they asked for.
#[component]
pub(crate) fn SignIn(
    /// Why the door is closed, if it was open.
    why: Option<String>,
) -> impl IntoView {
    title("Sign in");
    let gate = expect_context::<Gate>();
    let (username, password) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let (busy, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if busy.get_untracked() {
            return;
        }
        busy.set(true);
        problem.set(None);
        spawn_local(async move {
            let typed = Secret::new(password.get_untracked());
            let name = username.get_untracked().trim().to_owned();
            if let Err(refused) = gate.sign_in(name, typed).await {
                // On success this screen is gone, and its signals with it.
                problem.set(Some(refused));
                busy.set(false);
            }
        });
    };
    let incomplete = move || username.with(String::is_empty) || password.with(String::is_empty);
    view! {
        <main class="door">
            <div class="door-card">
                <div class="brand"><Brand/></div>
                <h1>"Sign in"</h1>
                {why.map(|why| view! { <Banner mood=Mood::Info>{why}</Banner> })}
                {move || problem.get().map(|it| view! { <Banner mood=Mood::Error>{it.message}</Banner> })}
                <form on:submit=submit>
                    <TextField label="Name" name="username" content=Content::Username value=username focused=true/>
                    <TextField label="Password" name="password" content=Content::Password value=password/>
                    <Button
                        weight=Weight::Primary
                        role=Role::Submit
                        busy=busy
                        disabled=Signal::derive(incomplete)
                    >
                        "Sign in"
                    </Button>
                </form>
                <div class="door-foot">
                    <SameCommand line=format!("drover login {}", origin())/>
                </div>
            </div>
        </main>
    }
}
