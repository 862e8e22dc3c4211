//! GitRepoRestriction and Policy: limits of the GitRepos, HelmOps and Bundles of one namespace.
//!
//! Several objects are merged in the order of their names: lists are united, the first default wins, and
//! one `requireServiceAccount` is sufficient. A list without entries permits all values.

mod list;

use drover_api::fleet::{
    Bundle, BundleSpec, GitRepo, GitRepoRestriction, HelmOp, LabelSelector, Policy, labels,
};
use thiserror::Error;

use self::list::{Anchors, List, Origins};
use crate::targeting::merge_selectors;

/// Value that resets an option in a target.
const RESET: &str = "-";

/// The reason why an object is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    /// The value is not in a list.
    #[error("{field}: {value:?} is not permitted by {list} of {origins}; permitted: {permitted}")]
    NotPermitted {
        /// Path of the field.
        field: String,
        /// Value of the field.
        value: String,
        /// Name of the list.
        list: &'static str,
        /// Kinds and names of the objects with the list.
        origins: String,
        /// The entries of the list.
        permitted: String,
    },
    /// The field is empty.
    #[error("{field}: set the field, because {rule} of {origins} requires a value")]
    Missing {
        /// Path of the field.
        field: String,
        /// Name of the field that requires a value.
        rule: &'static str,
        /// Kinds and names of the objects with the rule.
        origins: String,
    },
    /// A pattern is not a regular expression.
    #[error("{list} of {origins} contains an invalid regular expression: {pattern:?}")]
    Pattern {
        /// Name of the list.
        list: &'static str,
        /// Kinds and names of the objects with the list.
        origins: String,
        /// The pattern.
        pattern: String,
    },
}

impl Refusal {
    /// Reason of conditions and events for a refused object.
    pub const REASON: &'static str = "PolicyViolation";
}

/// The fields of a GitRepo or HelmOp after the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// Service account in the clusters.
    pub service_account: String,
    /// Name of the Secret: `clientSecretName` of a GitRepo, and `helmSecretName` of a HelmOp.
    pub secret_name: String,
}

/// Limits and defaults for one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct KindLimits {
    default_service_account: String,
    default_secret: String,
    secrets: List,
}

/// The merged limits of a namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policies {
    /// Origins of `requireServiceAccount`.
    requires_service_account: Origins,
    /// Service accounts that policies permit, for all kinds.
    service_accounts: List,
    /// Service accounts that policies and restrictions permit, for GitRepos.
    git_service_accounts: List,
    git: KindLimits,
    helm: KindLimits,
    /// Patterns of restrictions, which match a part of the URL.
    partial_repos: List,
    /// Patterns of policies, which match the complete URL.
    complete_repos: List,
    helm_repos: List,
    charts: List,
    namespaces: List,
    namespace_selector: Option<LabelSelector>,
    /// Origins of `namespace_selector`.
    selectors: Origins,
}

impl Policies {
    /// Merges the objects of one namespace.
    pub fn merge<'a>(
        restrictions: impl IntoIterator<Item = &'a GitRepoRestriction>,
        policies: impl IntoIterator<Item = &'a Policy>,
    ) -> Self {
        let mut merged = Self::default();
        let mut restrictions: Vec<_> = restrictions.into_iter().collect();
        restrictions.sort_by_key(|it| &it.metadata.name);
        for restriction in &restrictions {
            merged.add_restriction(restriction);
        }
        let selectors = restrictions
            .iter()
            .filter_map(|it| it.allowed_target_namespace_selector.as_ref());
        merged.namespace_selector = merge_selectors(selectors);
        let mut policies: Vec<_> = policies.into_iter().collect();
        policies.sort_by_key(|it| &it.metadata.name);
        for policy in policies {
            merged.add_policy(policy);
        }
        merged
    }

    fn add_restriction(&mut self, restriction: &GitRepoRestriction) {
        let name = restriction.metadata.name.as_deref().unwrap_or_default();
        let origin = format!("GitRepoRestriction {name}");
        let git = &mut self.git;
        set_first(
            &mut git.default_service_account,
            &restriction.default_service_account,
        );
        set_first(
            &mut git.default_secret,
            &restriction.default_client_secret_name,
        );
        git.secrets
            .add(&restriction.allowed_client_secret_names, &origin);
        self.git_service_accounts
            .add(&restriction.allowed_service_accounts, &origin);
        self.partial_repos
            .add(&restriction.allowed_repo_patterns, &origin);
        self.namespaces
            .add(&restriction.allowed_target_namespaces, &origin);
        if restriction.allowed_target_namespace_selector.is_some() {
            self.selectors.add(&origin);
        }
    }

    fn add_policy(&mut self, policy: &Policy) {
        let name = policy.metadata.name.as_deref().unwrap_or_default();
        let origin = format!("Policy {name}");
        if policy.require_service_account {
            self.requires_service_account.add(&origin);
        }
        let accounts = &policy.allowed_service_accounts;
        self.service_accounts.add(accounts, &origin);
        self.git_service_accounts.add(accounts, &origin);
        if let Some(spec) = &policy.git_repo {
            let git = &mut self.git;
            set_first(
                &mut git.default_service_account,
                &spec.default_service_account,
            );
            set_first(&mut git.default_secret, &spec.default_client_secret_name);
            git.secrets.add(&spec.allowed_client_secret_names, &origin);
            self.complete_repos
                .add(&spec.allowed_repo_patterns, &origin);
        }
        if let Some(spec) = &policy.helm_op {
            let helm = &mut self.helm;
            set_first(
                &mut helm.default_service_account,
                &spec.default_service_account,
            );
            set_first(&mut helm.default_secret, &spec.default_helm_secret_name);
            helm.secrets.add(&spec.allowed_helm_secret_names, &origin);
            self.helm_repos
                .add(&spec.allowed_helm_repo_patterns, &origin);
            self.charts.add(&spec.allowed_chart_patterns, &origin);
        }
    }

    /// Returns the labels that target namespaces of GitRepos must have.
    #[must_use]
    pub fn namespace_selector(&self) -> Option<&LabelSelector> {
        self.namespace_selector.as_ref()
    }

    /// Decides about a GitRepo, and returns its fields after the defaults.
    ///
    /// # Errors
    ///
    /// The limits refuse the GitRepo.
    pub fn git_repo(&self, repo: &GitRepo) -> Result<Resolved, Refusal> {
        let spec = &repo.spec;
        self.namespace("spec.targetNamespace", &spec.target_namespace)?;
        self.git_service_accounts.check(
            "spec.serviceAccount",
            &spec.service_account,
            "allowedServiceAccounts",
        )?;
        self.check_repo("spec.repo", &spec.repo)?;
        self.git.secrets.check(
            "spec.clientSecretName",
            &spec.client_secret_name,
            "allowedClientSecretNames",
        )?;
        let resolved = Resolved {
            service_account: or(&spec.service_account, &self.git.default_service_account),
            secret_name: or(&spec.client_secret_name, &self.git.default_secret),
        };
        self.require_service_account(&resolved.service_account)?;
        Ok(resolved)
    }

    /// Decides about the git repository of a chart. `notations` are the notations of its address.
    ///
    /// # Errors
    ///
    /// The limits permit no notation.
    pub fn git_chart(&self, notations: &[String]) -> Result<(), Refusal> {
        let mut refusal = None;
        for notation in notations {
            match self.check_repo("helm.chart", notation) {
                Ok(()) => return Ok(()),
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        refusal.map_or(Ok(()), Err)
    }

    /// Decides about a HelmOp, and returns its fields after the defaults. Restrictions do not apply.
    ///
    /// # Errors
    ///
    /// The policies refuse the HelmOp.
    pub fn helm_op(&self, helm_op: &HelmOp) -> Result<Resolved, Refusal> {
        let spec = &helm_op.spec;
        let service_account = &spec.bundle.options.service_account;
        let resolved = Resolved {
            service_account: or(service_account, &self.helm.default_service_account),
            secret_name: or(&spec.helm_secret_name, &self.helm.default_secret),
        };
        self.require_service_account(&resolved.service_account)?;
        self.service_accounts.check(
            "spec.serviceAccount",
            &resolved.service_account,
            "allowedServiceAccounts",
        )?;
        self.helm.secrets.check(
            "spec.helmSecretName",
            &resolved.secret_name,
            "allowedHelmSecretNames",
        )?;
        self.charts(&spec.bundle)?;
        Ok(resolved)
    }

    /// Decides about the charts that agents pull.
    fn charts(&self, spec: &BundleSpec) -> Result<(), Refusal> {
        let targets = spec.targets.iter().enumerate();
        let targets = targets.map(|(index, target)| {
            (
                format!("spec.targets[{index}]"),
                target.options.helm.as_ref(),
            )
        });
        let all = [("spec".to_owned(), spec.options.helm.as_ref())];
        for (path, helm) in all.into_iter().chain(targets) {
            let Some(helm) = helm else { continue };
            let list = "allowedHelmRepoPatterns";
            let field = format!("{path}.helm.repo");
            self.helm_repos
                .check_pattern(&field, &helm.repo, list, Anchors::Complete)?;
            let field = format!("{path}.helm.chart");
            let list = "allowedChartPatterns";
            self.charts
                .check_pattern(&field, &helm.chart, list, Anchors::Complete)?;
        }
        Ok(())
    }

    /// Decides about a Bundle. Users can create Bundles without a GitRepo, with `fleet apply`, so policies
    /// apply to all Bundles. Restrictions apply to Bundles of GitRepos, because files in the repository
    /// contain options of targets.
    ///
    /// # Errors
    ///
    /// The limits refuse the Bundle.
    pub fn bundle(&self, bundle: &Bundle) -> Result<(), Refusal> {
        if let Some(access) = &bundle.spec.helm_op_options {
            let (field, list) = (
                "spec.helmOpOptions.helmOpSecretName",
                "allowedHelmSecretNames",
            );
            self.helm.secrets.check(field, &access.secret_name, list)?;
            self.charts(&bundle.spec)?;
        }
        let options = &bundle.spec.options;
        let account = &options.service_account;
        self.require_service_account(account.strip_prefix(RESET).unwrap_or(account))?;
        let targets = bundle.spec.targets.iter().enumerate();
        let targets =
            targets.map(|(index, target)| (format!("spec.targets[{index}]"), &target.options));
        let is_of_git_repo = is_of_git_repo(bundle);
        if is_of_git_repo {
            self.namespace("spec.namespace", &options.target_namespace)?;
        }
        for (path, options) in [("spec".to_owned(), options)].into_iter().chain(targets) {
            let (field, account) = (format!("{path}.serviceAccount"), &options.service_account);
            if account == RESET {
                self.require_service_account_in(&field, "")?;
            }
            let list = "allowedServiceAccounts";
            self.service_accounts.check(&field, account, list)?;
            if !is_of_git_repo {
                continue;
            }
            if *account != self.git.default_service_account {
                self.git_service_accounts.check(&field, account, list)?;
            }
            if !options.target_namespace.is_empty() {
                let field = format!("{path}.namespace");
                self.namespace(&field, &options.target_namespace)?;
            }
        }
        Ok(())
    }

    fn require_service_account(&self, value: &str) -> Result<(), Refusal> {
        self.require_service_account_in("spec.serviceAccount", value)
    }

    fn require_service_account_in(&self, field: &str, value: &str) -> Result<(), Refusal> {
        require(
            field,
            value,
            "requireServiceAccount",
            &self.requires_service_account,
        )
    }

    fn namespace(&self, field: &str, value: &str) -> Result<(), Refusal> {
        let list = "allowedTargetNamespaces";
        require(field, value, list, self.namespaces.origins())?;
        let value_or_reset = value.strip_prefix(RESET).unwrap_or(value);
        let selector = "allowedTargetNamespaceSelector";
        require(field, value_or_reset, selector, &self.selectors)?;
        self.namespaces.check(field, value, list)
    }

    /// A URL needs a match in one of the two lists.
    fn check_repo(&self, field: &str, url: &str) -> Result<(), Refusal> {
        let list = "allowedRepoPatterns";
        let (first, second) = (&self.partial_repos, &self.complete_repos);
        let by_restrictions = || first.check_pattern(field, url, list, Anchors::None);
        let by_policies = || second.check_pattern(field, url, list, Anchors::Complete);
        match (first.is_empty(), second.is_empty()) {
            (_, true) => by_restrictions(),
            (true, false) => by_policies(),
            (false, false) => {
                by_restrictions().or_else(|refusal| by_policies().map_err(|_| refusal))
            }
        }
    }
}

fn require(field: &str, value: &str, rule: &'static str, origins: &Origins) -> Result<(), Refusal> {
    if origins.is_empty() || !value.is_empty() {
        return Ok(());
    }
    Err(Refusal::Missing {
        field: field.to_owned(),
        rule,
        origins: origins.to_string(),
    })
}

fn set_first(target: &mut String, value: &str) {
    if target.is_empty() {
        value.clone_into(target);
    }
}

fn or(value: &str, default: &str) -> String {
    if value.is_empty() { default } else { value }.to_owned()
}

fn is_of_git_repo(bundle: &Bundle) -> bool {
    let labels = bundle.metadata.labels.as_ref();
    let name = labels.and_then(|labels| labels.get(labels::REPO_NAME));
    name.is_some_and(|name| !name.is_empty())
}

#[cfg(test)]
mod tests;
