//! Implements `drover role`.

use std::path::Path;

use drover_api::kinds::{GlobalRoleSpec, RoleContext, RoleTemplateSpec};
use drover_api::rest::{
    Allowed, GlobalRoleDetail, GlobalRoleView, RoleCreate, RoleDetail, RoleUpdate, RoleView,
};
use jiff::Timestamp;
use k8s_openapi::api::rbac::v1::PolicyRule;
use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args::{self, Output, RoleArgs, RoleCommand, RoleName, RoleTyped};
use crate::client::Client;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::{Listed, Page, list, one};
use crate::table::{DASH, age, describe, or_dash, printable};
use crate::terminal::{confirm, notice, print};

/// Runs a subcommand of `drover role`.
pub(crate) async fn run(args: &RoleArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    match &args.command {
        RoleCommand::List { global, output } => {
            let (none, now) = ("No roles.", Timestamp::now());
            let path = ["v1", kind(*global)];
            let text = if *global {
                let roles: Vec<GlobalRoleView> = client.list(&path).await?;
                list(roles, output.format, now, none)?
            } else {
                let roles: Vec<RoleView> = client.list(&path).await?;
                list(roles, output.format, now, none)?
            };
            Ok(print(&text)?)
        }
        RoleCommand::Get { role, output } => get(&client, role, *output).await,
        RoleCommand::Create(wanted) => create(&client, wanted).await,
        RoleCommand::Set(wanted) => set(&client, wanted).await,
        RoleCommand::Delete(wanted) => delete(&client, wanted).await,
    }
}

const fn kind(global: bool) -> &'static str {
    if global { "global-roles" } else { "roles" }
}

/// Returns the REST API path of a role.
fn path(role: &RoleName) -> [&str; 3] {
    ["v1", kind(role.global), &role.name]
}

async fn get(client: &Client, role: &RoleName, output: Output) -> Result<(), Failure> {
    let (path, now) = (path(role), Timestamp::now());
    let text = if role.global {
        let found: GlobalRoleDetail = client.get(&path).await?;
        one(&found, output.format, now)?
    } else {
        let found: RoleDetail = client.get(&path).await?;
        one(&found, output.format, now)?
    };
    Ok(print(&text)?)
}

async fn create(client: &Client, args: &args::RoleCreate) -> Result<(), Failure> {
    let spec = match &args.file {
        Some(file) => read(file)?.spec,
        None => typed(&args.typed, args.role.global)?,
    };
    let name = args.role.name.clone();
    let request = RoleCreate { name, spec };
    let path = ["v1", kind(args.role.global)];
    let _: Value = client.post(&path, &request).await?;
    let name = printable(&args.role.name);
    let scope = match (args.role.global, request.spec["context"].as_str()) {
        (true, _) => "--global",
        (false, Some("Project")) => "--project NAME",
        (false, _) => "--cluster NAME",
    };
    notice(&format!(
        "Created the role {name:?}. Grant it with: drover access grant {} {scope} --user NAME",
        drover_api::shell::word(&name)
    ));
    Ok(())
}

/// Creates the spec of a role from the options of the command line.
fn typed(arguments: &RoleTyped, global: bool) -> Result<Value, Failure> {
    let rules = rules(arguments);
    let spec = if global {
        serde_json::to_value(GlobalRoleSpec {
            display_name: arguments.display_name.clone(),
            description: arguments.description.clone(),
            rules,
            in_every_cluster: arguments.in_every_cluster.clone(),
            ..GlobalRoleSpec::default()
        })
    } else {
        let context = arguments.given_in.ok_or_else(|| {
            let missing = "set the scope of the role with --in cluster or --in project, or set a file with -f";
            Failure::Usage(missing.to_owned())
        })?;
        serde_json::to_value(RoleTemplateSpec {
            context,
            display_name: arguments.display_name.clone(),
            description: arguments.description.clone(),
            rules,
            inherits: arguments.inherits.clone(),
            ..RoleTemplateSpec::default()
        })
    };
    spec.map_err(|error| Failure::Other(format!("cannot encode the role: {error}")))
}

fn rules(arguments: &RoleTyped) -> Vec<PolicyRule> {
    if arguments.verbs.is_empty() {
        return Vec::new();
    }
    let core = vec![String::new()];
    let groups = Some(arguments.api_groups.clone()).filter(|groups| !groups.is_empty());
    vec![PolicyRule {
        verbs: arguments.verbs.clone(),
        api_groups: Some(groups.unwrap_or(core)),
        resources: Some(arguments.resources.clone()),
        resource_names: Some(arguments.resource_names.clone()).filter(|names| !names.is_empty()),
        non_resource_urls: None,
    }]
}

/// The content of a role file.
struct RoleFile {
    spec: Value,
    /// The resource version, if the file is the output of `drover role get`.
    version: Option<String>,
}

/// Reads the output of `drover role get`, a custom resource, or a spec.
fn read(file: &Path) -> Result<RoleFile, Failure> {
    let failed = |problem: String| {
        Failure::Usage(format!(
            "cannot read {path}: {problem}",
            path = file.display()
        ))
    };
    let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    let whole: Value = parse(&text).map_err(failed)?;
    let Some(spec) = whole.get("spec") else {
        return Ok(RoleFile {
            spec: whole,
            version: None,
        });
    };
    let versions = ["/resourceVersion", "/metadata/resourceVersion"];
    let mut versions = versions.iter().filter_map(|place| whole.pointer(place));
    Ok(RoleFile {
        spec: spec.clone(),
        version: versions.find_map(Value::as_str).map(str::to_owned),
    })
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_saphyr::from_str(text).map_err(|error| error.to_string())
}

async fn set(client: &Client, args: &args::RoleSet) -> Result<(), Failure> {
    let RoleFile { spec, version } = read(&args.file)?;
    let update = RoleUpdate {
        spec,
        resource_version: version,
    };
    let _: Value = client.call(Method::PUT, &path(&args.role), &update).await?;
    notice(&format!(
        "Changed the role {:?}. The change applies to all its subjects within seconds.",
        printable(&args.role.name)
    ));
    Ok(())
}

async fn delete(client: &Client, args: &args::RoleDelete) -> Result<(), Failure> {
    let (path, name) = (path(&args.role), printable(&args.role.name));
    if !args.yes {
        let found: Value = client.get(&path).await?;
        let bound = found.get("bound").and_then(Value::as_u64);
        confirm(
            &format!("Delete the role {name:?}? {}", affected(bound)),
            "confirmation of the deletion",
            "use --yes",
        )?;
    }
    client.command(Method::DELETE, &path, None::<&()>).await?;
    notice(&format!("Deleted the role {name:?}."));
    Ok(())
}

fn affected(bound: Option<u64>) -> String {
    match bound {
        None => "All subjects lose it within seconds.".to_owned(),
        Some(0) => "It has no bindings.".to_owned(),
        Some(1) => "1 binding grants it and becomes ineffective.".to_owned(),
        Some(bound) => format!("{bound} bindings grant it and become ineffective."),
    }
}

fn origin(built_in: bool) -> &'static str {
    if built_in { "built-in" } else { "custom" }
}

fn number(bound: Option<u32>) -> String {
    bound.map_or_else(|| DASH.to_owned(), |bound| bound.to_string())
}

fn names(names: &[String]) -> String {
    if names.is_empty() {
        return DASH.to_owned();
    }
    names.join(", ")
}

/// Formats each rule and each ClusterRole name as a line under `title`.
fn allowed(title: &str, allowed: &Allowed) -> String {
    if allowed.rules.is_empty() && allowed.external.is_empty() {
        return String::new();
    }
    let rules = allowed.rules.iter().map(describe_rule);
    let rules = rules.map(|rule| printable(&rule));
    let external = allowed.external.iter().map(|name| {
        let name = printable(name);
        format!("all rules of the ClusterRole {name:?}")
    });
    let lines: Vec<String> = rules.chain(external).collect();
    format!("\n{title}:\n  {}\n", lines.join("\n  "))
}

fn describe_rule(rule: &PolicyRule) -> String {
    let list = |part: &Option<Vec<String>>| part.clone().unwrap_or_default();
    let verbs = rule.verbs.join(", ");
    if let Some(urls) = &rule.non_resource_urls {
        return format!("{verbs}: {}", urls.join(", "));
    }
    let groups = list(&rule.api_groups);
    let groups = groups.iter().map(|group| match group.as_str() {
        "" => "core",
        group => group,
    });
    let groups = groups.collect::<Vec<_>>().join(", ");
    let named = list(&rule.resource_names);
    let named = if named.is_empty() {
        String::new()
    } else {
        format!(" named {}", named.join(", "))
    };
    format!(
        "{verbs}: {} ({groups}){named}",
        list(&rule.resources).join(", ")
    )
}

impl Listed for RoleView {
    const HEADINGS: &'static [&'static str] = &["NAME", "SCOPE", "TYPE", "BINDINGS", "DESCRIPTION"];

    fn cells(&self, _now: Timestamp) -> Vec<String> {
        let kind = if self.locked {
            "locked"
        } else {
            origin(self.built_in)
        };
        vec![
            self.name.clone(),
            scope(self.context).to_owned(),
            kind.to_owned(),
            number(self.bound),
            or_dash(self.description.as_deref()),
        ]
    }
}

const fn scope(context: RoleContext) -> &'static str {
    match context {
        RoleContext::Cluster => "cluster",
        RoleContext::Project => "project",
    }
}

impl Listed for GlobalRoleView {
    const HEADINGS: &'static [&'static str] = &["NAME", "TYPE", "BINDINGS", "DESCRIPTION"];

    fn cells(&self, _now: Timestamp) -> Vec<String> {
        vec![
            self.name.clone(),
            origin(self.built_in).to_owned(),
            number(self.bound),
            or_dash(self.description.as_deref()),
        ]
    }
}

impl Page for RoleDetail {
    fn page(&self, now: Timestamp) -> String {
        let role = &self.role;
        let locked = if role.locked { "yes" } else { "no" };
        let mut text = describe(&[
            ("Name", role.name.clone()),
            ("Display name", or_dash(role.display_name.as_deref())),
            ("Description", or_dash(role.description.as_deref())),
            ("Scope", scope(role.context).to_owned()),
            ("Type", origin(role.built_in).to_owned()),
            ("Locked", locked.to_owned()),
            ("Bindings", number(role.bound)),
            ("Inherits", names(&self.spec.inherits)),
            ("Created", format!("{} ago", age(self.created_at, now))),
            ("Problem", or_dash(self.problem.as_deref())),
        ]);
        text.push_str(&allowed("In the cluster", &self.cluster));
        text.push_str(&allowed("In the project's namespaces", &self.project));
        text
    }
}

impl Page for GlobalRoleDetail {
    fn page(&self, now: Timestamp) -> String {
        let (role, spec) = (&self.role, &self.spec);
        let new_users = if spec.new_user_default { "yes" } else { "no" };
        let mut text = describe(&[
            ("Name", role.name.clone()),
            ("Display name", or_dash(role.display_name.as_deref())),
            ("Description", or_dash(role.description.as_deref())),
            ("Type", origin(role.built_in).to_owned()),
            ("Default of new users", new_users.to_owned()),
            ("Bindings", number(role.bound)),
            ("In all clusters", names(&spec.in_every_cluster)),
            ("Created", format!("{} ago", age(self.created_at, now))),
            ("Problem", or_dash(self.problem.as_deref())),
        ]);
        let on_hub = |rules: &[PolicyRule]| Allowed {
            rules: rules.to_vec(),
            external: Vec::new(),
        };
        text.push_str(&allowed("On the hub", &on_hub(&spec.rules)));
        for (namespace, rules) in &spec.namespaced_rules {
            let title = format!("In the hub's namespace {}", printable(namespace));
            text.push_str(&allowed(&title, &on_hub(rules)));
        }
        text.push_str(&allowed("In all clusters", &self.every_cluster));
        text
    }
}

#[cfg(test)]
mod tests;
