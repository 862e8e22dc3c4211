//! Real Kubernetes for tests, demonstrations and benchmarks.
//!
//! [`ControlPlane::start`] starts a real API server with its store and controllers in a temporary
//! folder on free ports. Control planes run in parallel and need no root. Dropping a handle stops
//! its programs and removes its files. `e2e/README.md` contains examples.

mod browser;
pub mod conformance;
mod control_plane;
mod drover;
mod error;
mod image;
mod kubectl;
mod monitoring;
mod network;
mod node;
mod pki;
mod ports;
mod program;
pub mod rights;
mod scratch;
pub mod suite;
mod tools;
mod wait;
pub mod world;

pub use browser::{BrowserError, Playwright};
pub use control_plane::audit::{AuditEvent, AuditObject, AuditStatus, AuditUser};
pub use control_plane::{
    Component, ControlPlane, Identity, Options, SharedControlPlane, StartError,
};
pub use drover::{
    Agent, AgentOptions, DemoOptions, DemoServer, DroverError, MissingProgram, Programs, Server,
    ServerOptions,
};
pub use error::with_causes;
pub use image::{Image, ImageError, inspect_image};
pub use kubectl::{CommandError, CommandLine, Output};
pub use monitoring::{MetricsError, MetricsServer, Prometheus, PrometheusError};
pub use network::{NetworkError, NodeNetwork};
pub use node::{DroppedPackets, JoinError, Node, NodeOptions, PausedProcesses, cluster_with_node};
pub use pki::{KeyedCertificate, PkiError};
pub use ports::{NoFreePort, PortLease};
pub use program::{Program, ProgramError, Running};
pub use scratch::ScratchError;
pub use tools::{BuildError, Tool};
pub use wait::{TimedOut, eventually};
pub use world::{
    BuiltImage, EmbeddedHub, FleetAgent, FleetHub, FleetHubOptions, FleetPrograms, Hub, Member,
    MissingFleet, MissingImage, RegistrationValues, TestUser, World, WorldError, WorldOptions,
    fault_file,
};
