//! The arguments of `drover view`.

use clap::{Args, Subcommand};

use super::{Connection, Output};

/// Arguments of `drover view`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover view list
  drover view save 'Failed pods' '/objects/pods?state=failed'
  drover view save 'Failed pods' '/objects/pods?state=failed' --project shop
  drover view delete 'Failed pods'

A view is the path and the query of a page of the web UI. Only the owner can change and delete a view.")]
pub struct ViewArgs {
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: ViewCommand,
}

/// Subcommands of `drover view`.
#[derive(Debug, Subcommand)]
pub enum ViewCommand {
    /// List your saved views and the views that other users share with you
    List(Output),
    /// Save a view, or change your view with this name
    Save(ViewSave),
    /// Delete one of your views
    Delete(ViewName),
}

/// Arguments of `drover view save`.
#[derive(Debug, Args)]
pub struct ViewSave {
    /// Name of the view
    pub name: String,
    /// Path and query of a page of the web UI, for example /objects/pods?state=failed
    pub path: String,
    /// Share the view with the members of this project
    #[arg(long, value_name = "NAME", conflicts_with = "everyone")]
    pub project: Option<String>,
    /// Share the view with all users (for administrators)
    #[arg(long)]
    pub everyone: bool,
}

/// Arguments of `drover view delete`.
#[derive(Debug, Args)]
pub struct ViewName {
    /// Name or ID of the view
    #[arg(value_name = "NAME")]
    pub view: String,
}
