//! The keys of a Secret. The page reads a value only when the user reveals the value, and removes
//! the value after a minute.

use std::time::Duration;

use drover_ui_core::action::{Access, explain_problem};
use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::messages::t;
use drover_ui_core::object::Object;
use drover_ui_core::object::secret::{SecretKey, SecretValue, keys};
use drover_ui_kit::button::Button;
use drover_ui_kit::code::Code;
use drover_ui_kit::icon::Icon;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde_json::Value;

use super::permission::missing_right;
use crate::clock::sleep;
use crate::fetch::Request;
use crate::session::Session;

/// The time after which the page removes a revealed value.
pub(super) const REVEAL_TIME: Duration = Duration::from_mins(1);

/// The state of a key on the page.
#[derive(Clone, PartialEq)]
enum Revealed {
    Hidden,
    Loading,
    Value(SecretValue),
    Failed(String),
}

/// Shows the keys of a Secret with buttons that reveal their values.
#[component]
pub(super) fn SecretKeys(named: KubectlObject, secret: Signal<Object>) -> impl IntoView {
    let session = expect_context::<Session>();
    let missing = missing_right(session, &named, Access::to_read(&named));
    let named = StoredValue::new(named);
    let known = Memo::new(move |_| secret.with(keys));
    let version = Memo::new(move |_| secret.with(|secret| secret.version().to_owned()));
    let rows = move || {
        view! {
            <For each=move || known.get() key=|key| (key.name.clone(), key.bytes) let:key>
                <OneKey named=named key=key version=version missing=missing/>
            </For>
        }
    };
    let table = move || {
        if known.with(Vec::is_empty) {
            return view! { <p class="muted">{t().secrets.no_keys()}</p> }.into_any();
        }
        view! {
            <p class="muted">{t().secrets.help()}</p>
            <table class="pairs">
                <thead>
                    <tr>
                        <th scope="col">{t().facts.key()}</th>
                        <th scope="col">{t().facts.size()}</th>
                        <th scope="col">{t().facts.value()}</th>
                    </tr>
                </thead>
                <tbody>{rows()}</tbody>
            </table>
        }
        .into_any()
    };
    view! { <section class="card"><h3>{t().facts.data()}</h3>{table}</section> }
}

#[component]
fn OneKey(
    named: StoredValue<KubectlObject>,
    key: SecretKey,
    version: Memo<String>,
    missing: RwSignal<Option<String>>,
) -> impl IntoView {
    let SecretKey { name, bytes } = key;
    let session = expect_context::<Session>();
    let revealed = RwSignal::new(Revealed::Hidden);
    // The number of the last press, so that a timer hides only the value of its own press.
    let press = StoredValue::new(0_u64);
    let next_press = move || {
        press.update_value(|press| *press += 1);
        press.get_value()
    };
    let hide = move |()| {
        next_press();
        revealed.set(Revealed::Hidden);
    };
    // A changed Secret can have another value.
    Effect::new(move |before: Option<String>| {
        let version = version.get();
        if before.is_some_and(|before| before != version) {
            hide(());
        }
        version
    });
    let name = StoredValue::new(name);
    let reveal = move |()| {
        let this_press = next_press();
        let is_current = move || press.try_get_value() == Some(this_press);
        revealed.set(Revealed::Loading);
        let (named, name) = (named.get_value(), name.get_value());
        spawn_local(async move {
            let state = read_value(session, &named, &name).await;
            if is_current() {
                let _ = revealed.try_set(state);
            }
            sleep(REVEAL_TIME).await;
            if is_current() {
                let _ = revealed.try_set(Revealed::Hidden);
            }
        });
    };
    let size = t()
        .facts
        .bytes(usize::try_from(bytes).unwrap_or(usize::MAX));
    let value = move || {
        let label = name.with_value(|name| t().secrets.value_of(name));
        match revealed.get() {
            Revealed::Value(value) => {
                let note = matches!(value, SecretValue::Binary(_))
                    .then(|| view! { <p class="muted">{t().secrets.binary()}</p> });
                let text = value.text().to_owned();
                let words = name.with_value(|name| t().secrets.hide_key(name));
                view! {
                    {note}
                    <Code label=label text=text wraps=true/>
                    <Button on_press=hide>{words}</Button>
                }
                .into_any()
            }
            state => {
                let busy = state == Revealed::Loading;
                let problem = match state {
                    Revealed::Failed(words) => Some(words),
                    _ => None,
                };
                let problem =
                    problem.map(|words| view! { <p class="error" role="alert">{words}</p> });
                let words = name.with_value(|name| t().secrets.reveal_key(name));
                view! {
                    {problem}
                    <Button icon=Icon::Lock busy=busy missing=missing on_press=reveal>{words}</Button>
                }
                .into_any()
            }
        }
    };
    view! {
        <tr>
            <td><code class="object-code">{name.get_value()}</code></td>
            <td>{size}</td>
            <td>{value}</td>
        </tr>
    }
}

/// Reads the value of a key of a Secret.
async fn read_value(session: Session, named: &KubectlObject, key: &str) -> Revealed {
    match Request::get(named.api_path()).answer::<Value>().await {
        Ok(secret) => match SecretValue::of(&secret, key) {
            Some(value) => Revealed::Value(value),
            None => Revealed::Failed(t().secrets.missing_key().to_owned()),
        },
        Err(problem) => {
            session.handle(&problem);
            Revealed::Failed(explain_problem(&problem, &Access::to_read(named)))
        }
    }
}
