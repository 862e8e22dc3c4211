//! The hot path of permits: decisions for users with many groups among many bindings.

#[path = "../../src/access/company.rs"]
#[expect(dead_code, reason = "the bench `access` uses the other functions")]
mod company;

use std::hint::black_box;
use std::sync::Arc;

use company::Company;
use drover_access::grants::Grants;
use drover_access::identity::{Identity, Principal, TokenLimits};
use drover_access::permit::{Target, decide};
use drover_api::kinds::TokenPurpose;
use jiff::Timestamp;

use crate::work::Work;

const USERS: usize = 200;
const BINDINGS: usize = 2_000;
const DECISIONS: usize = 200;

pub(crate) fn permit_decision() -> Work {
    let company = Company::new(USERS, BINDINGS);
    let grants = Grants::gather(&company.facts());
    let requests: Vec<(Principal, Target)> = (0..DECISIONS)
        .map(|n| {
            let (user, target) = company.request(n);
            let identity = Identity {
                user_uid: user.user.uid(),
                user_name: format!("user-{n}"),
                display_name: Some(format!("User {n}")),
                administrator: false,
                groups: user.groups.to_vec(),
                token: TokenLimits {
                    id: format!("token-{n}"),
                    purpose: TokenPurpose::Api,
                    cluster: None,
                    provider: None,
                    expires_at: Timestamp::MAX,
                },
            };
            (Principal::User(Arc::new(identity)), target.clone())
        })
        .collect();
    Box::new(move || {
        for (principal, target) in &requests {
            let _ = black_box(decide(principal, target, &grants, Timestamp::UNIX_EPOCH));
        }
    })
}
