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
mod fetch;
mod file;
mod frame;
mod freshness;
mod live;
mod network;
mod pages;
mod palette;
mod reflector;
mod screens;
mod session;
mod stream;
mod unsaved;

fn main() {
    app::mount();
}
