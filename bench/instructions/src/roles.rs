//! The hot path of roles: resolution of the built-in roles and of a long chain of inherited roles.

use std::collections::HashMap;
use std::hint::black_box;

use drover_access::roles::{built_in_role_templates, resolve};
use drover_api::kinds::RoleTemplateSpec;

use crate::work::Work;

/// Number of roles in the chain. Each role inherits its predecessor.
const CHAIN: usize = 8;
const ROUNDS: usize = 5;

pub(crate) fn role_resolution() -> Work {
    let built_in = built_in_role_templates();
    let first = built_in.first().map(|role| role.spec.clone());
    let mut roles: Vec<(String, RoleTemplateSpec)> = built_in
        .into_iter()
        .map(|role| (role.name.to_owned(), role.spec))
        .collect();
    for n in 0..CHAIN {
        let inherits = roles.last().map(|(name, _)| name.clone());
        roles.extend(first.clone().map(|spec| {
            let inherits = inherits.filter(|_| n > 0).into_iter().collect();
            (format!("chain-{n}"), RoleTemplateSpec { inherits, ..spec })
        }));
    }
    Box::new(move || {
        let by_name: HashMap<&str, &RoleTemplateSpec> = roles
            .iter()
            .map(|(name, spec)| (name.as_str(), spec))
            .collect();
        for _ in 0..ROUNDS {
            for (name, _) in &roles {
                let _ = black_box(resolve(name, |name| by_name.get(name).copied()));
            }
        }
    })
}
