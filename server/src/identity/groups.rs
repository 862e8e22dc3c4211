//! Which groups somebody is in.

use drover_access::names::GroupName;
use drover_api::kinds::User;
use jiff::Timestamp;

use crate::hub::Stores;

/// The groups that count now: people who are known by a password only are in none.
pub fn groups_of(_user: &User, _stores: &Stores, _now: Timestamp) -> Vec<GroupName> {
    Vec::new()
}
