//! Implements `drover setting`.

use drover_api::rest::{SettingUpdate, SettingView};
use jiff::Timestamp;
use reqwest::Method;

use crate::args::{SettingArgs, SettingCommand, SettingSet};
use crate::client::{CallError, Client, Refusal};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::{Listed, Page, list, one};
use crate::table::{describe, or_dash};
use crate::terminal::{notice, print};

/// Runs a subcommand of `drover setting`.
pub(crate) async fn run(args: &SettingArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    match &args.command {
        SettingCommand::List(output) => {
            let all: Vec<SettingView> = client.list(&["v1", "settings"]).await?;
            let text = list(all, output.format, Timestamp::now(), "No settings.")?;
            Ok(print(&text)?)
        }
        SettingCommand::Get(wanted) => {
            let setting = find(&client, &wanted.name).await?;
            Ok(print(&one(
                &setting,
                wanted.output.format,
                Timestamp::now(),
            )?)?)
        }
        SettingCommand::Set(wanted) => set(&client, wanted).await,
    }
}

/// Finds a setting in the list, because the REST API has no route for one setting.
async fn find(client: &Client, name: &str) -> Result<SettingView, CallError> {
    let all: Vec<SettingView> = client.list(&["v1", "settings"]).await?;
    all.into_iter()
        .find(|setting| setting.name == name)
        .ok_or_else(|| {
            CallError::Refused(Refusal {
                code: 404,
                reason: "NotFound".to_owned(),
                message: format!("setting {name:?} not found"),
                advice: Some("Run `drover setting list` for all settings.".to_owned()),
            })
        })
}

async fn set(client: &Client, args: &SettingSet) -> Result<(), Failure> {
    let update = SettingUpdate {
        value: args.value.clone().unwrap_or_default(),
    };
    let path = ["v1", "settings", args.name.as_str()];
    let setting: SettingView = client.call(Method::PUT, &path, &update).await?;
    match &setting.problem {
        Some(problem) => notice(&format!(
            "Set {}, but the effective value is still {:?}: {problem}",
            setting.name, setting.in_effect
        )),
        None => notice(&format!("Set {} to {:?}.", setting.name, setting.in_effect)),
    }
    Ok(())
}

impl Listed for SettingView {
    const HEADINGS: &'static [&'static str] = &["NAME", "EFFECTIVE VALUE", "SOURCE", "PROBLEM"];

    fn cells(&self, _now: Timestamp) -> Vec<String> {
        vec![
            self.name.clone(),
            or_dash(Some(&self.in_effect)),
            if self.value.is_empty() {
                "default"
            } else {
                "administrator"
            }
            .to_owned(),
            self.problem.clone().unwrap_or_default(),
        ]
    }
}

impl Page for SettingView {
    fn page(&self, _now: Timestamp) -> String {
        describe(&[
            ("Name", self.name.clone()),
            ("Description", self.description.clone()),
            ("Effective value", or_dash(Some(&self.in_effect))),
            ("Value", or_dash(Some(&self.value))),
            ("Default", or_dash(Some(&self.default))),
            ("Problem", or_dash(self.problem.as_deref())),
            ("Read-only", or_dash(self.read_only.as_deref())),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Format;

    #[test]
    fn settings_command_prints_effective_value_and_problem() {
        let plain = SettingView {
            name: "token-max-ttl".to_owned(),
            description: "Maximum lifetime of a token".to_owned(),
            value: String::new(),
            in_effect: "90d".to_owned(),
            default: "90d".to_owned(),
            problem: None,
            read_only: None,
        };
        let wrong = SettingView {
            value: "forever".to_owned(),
            problem: Some("write a duration, for example 30d".to_owned()),
            read_only: Some("only administrators can change it".to_owned()),
            ..plain.clone()
        };
        let now = Timestamp::UNIX_EPOCH;
        let page = one(&wrong, Format::Table, now).unwrap();
        let text = list(vec![plain, wrong], Format::Table, now, "").unwrap();
        insta::assert_snapshot!(format!("{text}\n{page}"));
    }
}
