//! `drover setting`.

use drover_api::rest::{SettingUpdate, SettingView};
use jiff::Timestamp;
use reqwest::Method;

use crate::args::{SettingArgs, SettingCommand, SettingSet};
use crate::client::{CallError, Client, Refusal};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::{Listed, Page, list, one};
use crate::table::{describe, or_nothing};
use crate::terminal::{notice, print};

/// Does what was asked with settings.
pub(crate) async fn run(args: &SettingArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    match &args.command {
        SettingCommand::List(output) => {
            let all: Vec<SettingView> = client.list(&["v1", "settings"]).await?;
            let text = list(
                all,
                output.format,
                Timestamp::now(),
                "There are no settings.",
            )?;
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

/// The API lists settings and has no call for one.
async fn find(client: &Client, name: &str) -> Result<SettingView, CallError> {
    let all: Vec<SettingView> = client.list(&["v1", "settings"]).await?;
    all.into_iter()
        .find(|setting| setting.name == name)
        .ok_or_else(|| {
            CallError::Refused(Refusal {
                code: 404,
                reason: "NotFound".to_owned(),
                message: format!("there is no setting {name:?}"),
                advice: Some("`drover setting list` shows those there are.".to_owned()),
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
            "{} is set, but {:?} stays in effect: {problem}",
            setting.name, setting.in_effect
        )),
        None => notice(&format!("{} is now {:?}.", setting.name, setting.in_effect)),
    }
    Ok(())
}

impl Listed for SettingView {
    const HEADINGS: &'static [&'static str] = &["NAME", "IN EFFECT", "SET", "PROBLEM"];

    fn cells(&self, _now: Timestamp) -> Vec<String> {
        vec![
            self.name.clone(),
            or_nothing(Some(&self.in_effect)),
            if self.value.is_empty() {
                "default"
            } else {
                "by an administrator"
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
            ("What it does", self.description.clone()),
            ("In effect", or_nothing(Some(&self.in_effect))),
            ("Set to", or_nothing(Some(&self.value))),
            ("Default", or_nothing(Some(&self.default))),
            ("Problem", or_nothing(self.problem.as_deref())),
            ("Read-only", or_nothing(self.read_only.as_deref())),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Format;

    #[test]
    fn settings_are_listed_with_what_is_in_effect_and_why_not_what_was_set() {
        let plain = SettingView {
            name: "token-max-ttl".to_owned(),
            description: "The longest life of a token".to_owned(),
            value: String::new(),
            in_effect: "90d".to_owned(),
            default: "90d".to_owned(),
            problem: None,
            read_only: None,
        };
        let wrong = SettingView {
            value: "forever".to_owned(),
            problem: Some("write a length of time, for example 30d".to_owned()),
            read_only: Some("only those who administer Drover change it".to_owned()),
            ..plain.clone()
        };
        let now = Timestamp::UNIX_EPOCH;
        let page = one(&wrong, Format::Table, now).unwrap();
        let text = list(vec![plain, wrong], Format::Table, now, "").unwrap();
        insta::assert_snapshot!(format!("{text}\n{page}"));
    }
}
