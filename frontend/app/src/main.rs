//! The entry point of the web UI. Mounts the page.

#![expect(
    unreachable_pub,
    reason = "leptos generates public properties for each component"
)]

mod app;
mod brand;
mod chunk;
mod clock;
mod command;
mod editor;
mod file;
mod frame;
mod freshness;
mod keys;
mod live;
mod namespace;
mod pages;
mod palette;
mod screens;
mod session;
mod terminals;
mod transport;
mod unsaved;

use live::{reflector, rows, saved_views, served_kinds};
use transport::{exec, fetch, latest, network, stream};

fn main() {
    app::mount();
}
