//! The steps that configure the API servers of a cluster.

use drover_api::endpoint::Distribution;

use crate::messages::{Rich, t};

/// A step of the setup on each control-plane node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupStep {
    /// The action of the step.
    pub title: &'static str,
    /// Where the code belongs, and what happens then.
    pub help: Rich,
    /// A command, or the lines to add to a file.
    pub code: String,
}

/// Returns the steps for a distribution. `drover cluster endpoint setup` prints the same steps.
pub fn setup_steps(distribution: Distribution, webhook_config: &str) -> Vec<SetupStep> {
    let texts = &t().endpoint;
    let (file, flags_file) = (distribution.webhook_file(), distribution.flags_file());
    let webhook = SetupStep {
        title: texts.write_webhook(),
        help: texts.write_webhook_help(file),
        code: write_command(file, webhook_config),
    };
    let flags = match distribution {
        Distribution::Kubeadm => SetupStep {
            title: texts.add_flags(),
            help: texts.add_flags_help(flags_file),
            code: distribution.flags().trim_end().to_owned(),
        },
        Distribution::Rke2 | Distribution::K3s => SetupStep {
            title: texts.set_flags(),
            help: texts.set_flags_help(flags_file),
            code: format!(
                "mkdir -p $(dirname {flags_file})\n{}",
                write_command(flags_file, &distribution.flags())
            ),
        },
    };
    let restart = distribution.restart().map(|command| SetupStep {
        title: texts.restart(),
        help: texts.restart_help().into(),
        code: command.to_owned(),
    });
    [webhook, flags].into_iter().chain(restart).collect()
}

/// Returns the shell command that writes a file.
fn write_command(file: &str, content: &str) -> String {
    format!("cat > {file} <<'EOF'\n{}\nEOF", content.trim_end())
}
