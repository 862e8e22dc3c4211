//! The Kubernetes APIs of the managed clusters.

mod api;
mod clusters;
mod discovery;
mod hub_objects;
mod label_selector;
mod lines;
mod objects;
mod pods;
mod row_pages;
mod tables;
mod watch;

pub(crate) use api::{ClusterApi, JSON};
pub(crate) use clusters::{CONCURRENCY, ClusterFailures, in_order, selected_clusters};
pub(crate) use discovery::{Discovery, Resource};
pub(crate) use hub_objects::HubObjects;
pub(crate) use label_selector::LabelSelector;
pub(crate) use lines::{Line, Lines};
pub(crate) use objects::{ObjectNames, Query, list_pages};
pub(crate) use pods::{PodTarget, default_container, pod_containers, pod_of, pods_of};
pub(crate) use row_pages::RowPages;
pub(crate) use tables::{Column, ObjectList, Row, TABLE, TablePage};
pub(crate) use watch::{Event, EventKind, Watch};
