//! Tests that run unmodified commands from the documentation.

use std::collections::BTreeSet;

use drover_api::kinds::definitions;

use crate::place::{TestHub, on_both_hubs};
use crate::server::Server;

on_both_hubs!(backup_page_exports_every_kind);

async fn backup_page_exports_every_kind(hub: TestHub) {
    let server = Server::start(&hub).await;
    let page = include_str!("../../../docs/install/backup.md");
    let (_, command) = page.split_once("for kind in $(kubectl ").unwrap();
    let (command, _) = command.split_once(')').unwrap();
    let listed = hub.kubectl(command.split_whitespace()).await.unwrap();
    let exported: BTreeSet<String> = listed.stdout.lines().map(str::to_owned).collect();
    let kinds: BTreeSet<String> = definitions()
        .into_iter()
        .filter_map(|definition| definition.metadata.name)
        .collect();
    assert_eq!(exported, kinds);
    server.stop().await;
}
