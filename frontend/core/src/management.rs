//! The objects that Drover manages: users, roles, projects, providers, tokens, settings, kubeconfigs,
//! authorized endpoints and saved views.

pub mod audit;
pub mod endpoint;
pub mod explain;
pub mod hub;
pub mod kubeconfig;
pub mod label;
pub mod lifetime;
pub mod member;
pub mod password;
pub mod project;
pub mod provider;
pub mod readiness;
pub mod rights;
pub mod role;
pub mod setting;
pub mod sign_in;
pub mod subject;
pub mod token;
pub mod user;
pub mod view;
