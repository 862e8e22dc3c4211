//! Both charts on a real node, by real Helm, from the images: Drover as people install it.

#![expect(
    clippy::unwrap_used,
    reason = "steps of a test are functions of their own, and fail as the test does"
)]

mod going;
mod images;
mod rights;
mod stage;
mod staying;

use std::process::ExitCode;

use drover_e2e::{suite, test};
use stage::Installed;

fn main() -> ExitCode {
    suite::main(
        &[
            test!(staying::kubectl_works_through_what_the_charts_installed),
            test!(images::the_servers_image_holds_the_agents),
            test!(images::other_tools_read_the_images_in_either_form),
            test!(staying::an_upgrade_keeps_clusters_users_and_tokens),
            test!(rights::the_server_uses_every_right_that_it_has_and_asks_for_no_other),
            test!(going::what_is_uninstalled_leaves_what_was_said_and_a_new_one_goes_on),
        ],
        Installed::start,
    )
}
