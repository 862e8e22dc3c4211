use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use drover_access::grants::{Bound, Downstream, Scope, Subject as Person};
use drover_access::names::UserName;
use drover_api::group::ACCESS_LABEL;
use drover_api::ids::{ProjectUid, UserUid};
use drover_apply::inventory::Inventory;
use http::{Method, Request, Response};
use kube::client::Body;
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::access::wanted::in_cluster;
use crate::access::wanted::tests::reads_pods;

/// Objects by their path.
type There = BTreeMap<String, Value>;

/// A cluster's roles and bindings, and who could do what after each write.
#[derive(Clone, Default)]
struct Place(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    there: There,
    /// Nothing can be made whose path has this in it.
    refuses: Option<&'static str>,
    after_each: Vec<Able>,
}

/// Whom the cluster lets do each of the things that roles are given for here.
#[derive(Clone, Debug, Default, PartialEq)]
struct Able {
    come_in: BTreeSet<String>,
    everywhere: BTreeSet<String>,
    in_shop: BTreeSet<String>,
}

impl Able {
    fn each(&self) -> [&BTreeSet<String>; 3] {
        [&self.come_in, &self.everywhere, &self.in_shop]
    }
}

impl Place {
    fn client(&self) -> Client {
        let place = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let place = place.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect_bytes().await?;
                let body = serde_json::from_slice(&body).unwrap_or_default();
                let (code, said) = place.answer(&parts.method, parts.uri.path(), body);
                let mut response = Response::new(Body::from(said.to_string().into_bytes()));
                *response.status_mut() = http::StatusCode::from_u16(code)?;
                Ok::<_, tower::BoxError>(response)
            }
        });
        Client::new(service, "default")
    }

    fn answer(&self, method: &Method, path: &str, body: Value) -> (u16, Value) {
        let mut inner = self.0.lock();
        let no = |code: u16| {
            let said = json!({ "kind": "Status", "status": "Failure", "code": code,
                "reason": "Because", "message": "no" });
            (code, said)
        };
        let answer = match *method {
            Method::GET => {
                let kind = path.rsplit('/').next().unwrap_or_default();
                let of_kind = |path: &str| path.rsplit('/').nth(1) == Some(kind);
                let labelled =
                    |object: &Value| !object["metadata"]["labels"][ACCESS_LABEL].is_null();
                let items = inner.there.iter();
                let items = items.filter(|(path, object)| of_kind(path) && labelled(object));
                let items: Vec<_> = items.map(|(_, object)| object.clone()).collect();
                return (200, json!({ "metadata": {}, "items": items }));
            }
            Method::POST if inner.refuses.is_some_and(|part| path.contains(part)) => no(500),
            Method::POST => {
                let name = body["metadata"]["name"].as_str().unwrap_or_default();
                let path = format!("{path}/{name}");
                if inner.there.contains_key(&path) {
                    return no(409);
                }
                inner.there.insert(path, body.clone());
                (201, body)
            }
            // What a binding gives is said once and for all.
            Method::PUT
                if inner
                    .there
                    .get(path)
                    .is_some_and(|it| it["roleRef"] != body["roleRef"]) =>
            {
                no(422)
            }
            Method::PUT if inner.there.contains_key(path) => {
                inner.there.insert(path.to_owned(), body.clone());
                (200, body)
            }
            Method::DELETE => match inner.there.remove(path) {
                Some(_) => (200, json!({ "kind": "Status", "status": "Success" })),
                None => no(404),
            },
            _ => no(404),
        };
        let able = able(&inner.there);
        inner.after_each.push(able);
        answer
    }

    /// Who could do what after each write of this.
    async fn apply(&self, wanted: &Wanted) -> (Result<(), ApplyError>, Vec<Able>) {
        self.0.lock().after_each.clear();
        let applied = apply(&self.client(), ACCESS_LABEL, wanted).await;
        (applied, std::mem::take(&mut self.0.lock().after_each))
    }

    fn able(&self) -> Able {
        able(&self.0.lock().there)
    }
}

fn able(there: &There) -> Able {
    let subjects = |object: &Value| -> Vec<String> {
        let found = object["subjects"].as_array().into_iter().flatten();
        let names = found.filter_map(|subject| subject["name"].as_str());
        names.map(str::to_owned).collect()
    };
    let role = |object: &Value| {
        let role = object["roleRef"]["name"].as_str().unwrap_or_default();
        let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}");
        there.get(&path)
    };
    let mut able = Able::default();
    for (path, binding) in there.iter().filter(|(path, _)| path.contains("bindings/")) {
        let Some(role) = role(binding) else { continue };
        if path.contains("/drover-user-") {
            let names = role["rules"][0]["resourceNames"].as_array();
            let names = names.into_iter().flatten().filter_map(Value::as_str);
            able.come_in.extend(names.map(str::to_owned));
        } else if path.contains("/namespaces/shop/") {
            able.in_shop.extend(subjects(binding));
        } else {
            able.everywhere.extend(subjects(binding));
        }
    }
    able
}

/// What makes these people able to do each of the three things.
fn wanted(people: Range<usize>) -> Wanted {
    let user = |n| UserName::of(&UserUid::new(format!("{n:05}")));
    let bound = |uid: &str, scope| Bound {
        role: uid.to_owned(),
        uid: uid.to_owned(),
        rights: reads_pods(),
        scope,
        subjects: people.clone().map(|n| Person::User(user(n))).collect(),
    };
    let shop = Scope::Project(ProjectUid::new("p"), vec!["shop".to_owned()]);
    in_cluster(&Downstream {
        bound: vec![bound("reader", Scope::Cluster), bound("seller", shop)],
        users: people.clone().map(user).collect(),
        groups: BTreeSet::new(),
    })
}

async fn with(people: Range<usize>) -> (Place, Able) {
    let place = Place::default();
    place.apply(&wanted(people)).await.0.unwrap();
    let able = place.able();
    (place, able)
}

/// Whoever keeps a right has it after every write, and whoever loses it has lost it before anybody
/// else gets it.
fn is_never_wrong(before: &Able, on_the_way: &[Able], after: &Able) {
    let of = |of: &Able, n: usize| of.each()[n].clone();
    for n in 0..3 {
        let (before, after) = (of(before, n), of(after, n));
        for now in on_the_way {
            let now = of(now, n);
            let missing = before
                .intersection(&after)
                .find(|name| !now.contains(*name));
            assert_eq!(missing, None, "is without a right that they keep");
            let left = before.difference(&after).find(|name| now.contains(*name));
            let came = after.difference(&before).find(|name| now.contains(*name));
            assert!(
                left.is_none() || came.is_none(),
                "{left:?} has still what {came:?} has already"
            );
        }
    }
}

#[tokio::test]
async fn nobody_is_without_a_right_that_they_keep_while_parts_become_more_or_fewer() {
    for (before, after) in [
        // Twice as many parts, and half of them.
        (0..900, 0..1800),
        (0..1800, 0..900),
        // Further, with people who leave and people who come.
        (0..900, 300..4300),
        (300..4300, 0..900),
        (0..2500, 1500..3000),
        // As many.
        (0..1500, 100..1600),
        (0..10, 0..0),
    ] {
        let (place, had) = with(before).await;
        let wanted = wanted(after.clone());
        let (applied, on_the_way) = place.apply(&wanted).await;
        applied.unwrap();
        let now = place.able();
        assert_eq!(now.each().map(BTreeSet::len), [after.len(); 3]);
        is_never_wrong(&had, &on_the_way, &now);
        let (applied, again) = place.apply(&wanted).await;
        applied.unwrap();
        assert_eq!(again, [], "what is as it is wanted is not written");
    }
}

#[tokio::test]
async fn who_leaves_is_out_and_nobody_else_is_while_their_new_part_cannot_be_made() {
    let wanted = wanted(100..1800);
    for refuses in ["/clusterroles", "/clusterrolebindings", "/rolebindings"] {
        let (place, had) = with(0..900).await;
        place.0.lock().refuses = Some(refuses);
        let (applied, on_the_way) = place.apply(&wanted).await;
        applied.unwrap_err();
        let now = place.able();
        is_never_wrong(&had, &on_the_way, &now);
        for (had, has) in had.each().into_iter().zip(now.each()) {
            let (left, stayed): (Vec<_>, Vec<_>) = (
                had.iter().take(100).collect(),
                had.iter().skip(100).collect(),
            );
            assert!(left.iter().all(|name| !has.contains(*name)), "{refuses}");
            assert!(stayed.iter().all(|name| has.contains(*name)), "{refuses}");
        }
        place.0.lock().refuses = None;
        place.apply(&wanted).await.0.unwrap();
        assert_eq!(place.able().each().map(BTreeSet::len), [1700; 3]);
    }
}

#[tokio::test]
async fn a_part_that_somebody_made_something_else_of_goes_before_anything_is_written() {
    let (place, _) = with(0..1800).await;
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/drover-user-1";
    {
        let there = &mut place.0.lock().there;
        there.get_mut(path).unwrap()["roleRef"]["name"] = json!("cluster-admin");
    }
    // Whatever cannot be written.
    place.0.lock().refuses = Some("/");
    place.apply(&wanted(0..3000)).await.0.unwrap_err();
    assert!(!place.0.lock().there.contains_key(path));
}

#[tokio::test]
async fn what_fails_in_one_namespace_keeps_nothing_elsewhere_from_being_as_it_must() {
    let (place, _) = with(0..900).await;
    place.0.lock().refuses = Some("/namespaces/shop/");
    place.apply(&wanted(100..1800)).await.0.unwrap_err();
    let (other, _) = with(100..1800).await;
    let in_the_cluster = |place: &Place| -> There {
        let mut there = place.0.lock().there.clone();
        there.retain(|path, _| !path.contains("/namespaces/"));
        there
    };
    assert_eq!(in_the_cluster(&place), in_the_cluster(&other));
}

#[tokio::test]
async fn who_takes_a_bindings_name_keeps_nobody_from_their_right() {
    let (place, had) = with(0..10).await;
    let bindings = || {
        let there = place.0.lock().there.clone();
        let bindings = there
            .into_iter()
            .filter(|(path, _)| path.contains("bindings/"));
        bindings.collect::<There>()
    };
    let before = bindings();
    for path in before.keys() {
        let there = &mut place.0.lock().there;
        let binding = there.get_mut(path).unwrap();
        binding["roleRef"]["name"] = json!("nothing");
        binding["metadata"]["labels"] = json!({});
    }
    assert_ne!(place.able(), had);
    place.apply(&wanted(0..10)).await.0.unwrap();
    assert_eq!(bindings(), before);
}

#[tokio::test]
async fn what_nobody_wants_goes_first_where_not_all_could_be_looked_at() {
    let wanted = wanted(0..10).bindings;
    let mut surplus = wanted[0].clone();
    surplus.metadata.name = Some("one-of-many".to_owned());
    let objects = || vec![surplus.clone(), wanted[0].clone()];
    let goes_first = |complete| {
        let present = Inventory {
            objects: objects(),
            complete,
        };
        let gone = steps::of_bindings(&present, &wanted)[0].prune.clone();
        gone.into_iter()
            .map(|binding| binding.metadata.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(goes_first(false), [surplus.metadata.name.clone()]);
    assert!(
        goes_first(true).is_empty(),
        "who is due may be nowhere else yet"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn whoever_comes_and_goes_nobody_is_without_a_right_that_they_keep(
        (from, to) in (0..3000_usize, 0..2500_usize),
        (since, until) in (0..3000_usize, 0..2500_usize),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (place, had) = with(from..from + to).await;
            let (applied, on_the_way) = place.apply(&wanted(since..since + until)).await;
            applied.unwrap();
            is_never_wrong(&had, &on_the_way, &place.able());
        });
    }
}
