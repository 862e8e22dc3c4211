//! Tests of the state, the form and the setup of an authorized endpoint.

use drover_api::endpoint::Distribution;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::*;

fn endpoint() -> EndpointView {
    EndpointView {
        enabled: true,
        fqdn: Some("lb:6443".to_owned()),
        ca_bundle: Some("PEM\n".to_owned()),
        offline_seconds: 86_400,
        condition: None,
        api_servers: Vec::new(),
        webhook_config: None,
    }
}

fn condition(status: &str, reason: &str, message: &str) -> Condition {
    Condition {
        type_: "AuthorizedEndpointReady".to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
        observed_generation: None,
    }
}

#[test]
fn endpoint_state_contains_message_and_time_of_the_condition() {
    let mut view = endpoint();
    let pending = state(&view).unwrap();
    assert_eq!((pending.status, pending.since), (Status::Coming, None));
    let message = "the API server on cp-1 does not call the webhook";
    view.condition = Some(condition("False", "NotConfigured", message));
    let found = state(&view).unwrap();
    assert_eq!(found.status, Status::Failing);
    assert_eq!(found.words, "not configured");
    let message = "The API server on cp-1 does not call the webhook.";
    assert_eq!(found.message, message);
    assert_eq!(found.since, Some(Timestamp::UNIX_EPOCH));
    view.enabled = false;
    assert_eq!(state(&view), None);
}

#[test]
fn patch_and_command_contain_only_changed_values() {
    let before = endpoint();
    let mut draft = Draft::of(&before);
    assert_eq!(draft.offline, "1d");
    let unchanged = EndpointPatch {
        enabled: Some(true),
        ..disabling()
    };
    assert_eq!(draft.patch(&before), unchanged);
    let command = "drover cluster endpoint enable shop";
    assert_eq!(draft.command("shop", &before), command);
    draft.fqdn = " ".to_owned();
    draft.ca_bundle = "OTHER".to_owned();
    draft.offline = "240m".to_owned();
    let expected = EndpointPatch {
        enabled: Some(true),
        fqdn: Some(String::new()),
        ca_bundle: Some("OTHER".to_owned()),
        offline_seconds: Some(14_400),
    };
    assert_eq!(draft.patch(&before), expected);
    let options = "--fqdn '' --ca-file ca.pem --offline 4h";
    assert_eq!(
        draft.command("shop", &before),
        format!("{command} {options}")
    );
    draft.ca_bundle = String::new();
    assert!(
        draft
            .command("shop", &before)
            .contains("--ca-file /dev/null")
    );
}

#[test]
fn offline_limit_outside_the_limits_of_the_server_is_rejected() {
    let draft = |offline: &str| Draft {
        offline: offline.to_owned(),
        ..Draft::default()
    };
    for allowed in ["", " ", "5m", "30d", " 12h "] {
        assert_eq!(draft(allowed).offline_error(), None, "{allowed:?}");
    }
    for wrong in ["299s", "31d", "9999999999d", "soon", "300"] {
        assert!(draft(wrong).offline_error().is_some(), "{wrong:?}");
    }
    let default = draft("").patch(&EndpointView {
        offline_seconds: 300,
        ..endpoint()
    });
    assert_eq!(default.offline_seconds, Some(86_400));
}

#[test]
fn setup_steps_contain_webhook_configuration_flags_and_restart() {
    for distribution in Distribution::ALL {
        let steps = setup_steps(distribution, "kind: Config\n");
        let file = distribution.webhook_file();
        let expected = format!("cat > {file} <<'EOF'\nkind: Config\nEOF");
        assert_eq!(steps[0].code, expected);
        assert!(steps[1].code.contains(distribution.flags().trim_end()));
        let flags_file = distribution.flags_file();
        assert!(steps[1].help.to_string().contains(flags_file));
        let restart = steps.get(2).map(|step| step.code.as_str());
        assert_eq!(restart, distribution.restart());
    }
}
