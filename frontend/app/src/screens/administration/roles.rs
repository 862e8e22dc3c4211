//! Roles and global roles: list, page, create screen and global members.

mod columns;
mod conflict;
mod delete;
mod everywhere;
mod list;
mod load;
mod matrix;
mod new;
mod one;
mod text;
mod work;

pub(crate) use everywhere::GlobalMembers;
pub(crate) use list::Roles;
pub(crate) use new::{NewGlobalRole, NewRole};
pub(crate) use one::{GlobalRolePage, RolePage};
