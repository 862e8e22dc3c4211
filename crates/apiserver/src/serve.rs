//! The HTTP edge: from a request to an answer.

pub mod answer;
pub mod body;
pub mod fair;
pub mod metrics;
pub mod negotiate;
pub mod options;
pub mod page;
pub mod query;
pub mod request;
