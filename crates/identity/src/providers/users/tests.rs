use super::*;
use crate::silent_hub::silent_hub;
use drover_testkit::kinds::person;

#[tokio::test]
async fn user_is_found_only_by_provider_uid_and_identity_id() {
    let hub = silent_hub();
    hub.stores().users.apply(person());
    let found = |provider: &str, id: &str| {
        let user = find_in_store(&hub, &ProviderUid::new(provider), id);
        user.map(|user| user.name_any())
    };
    assert_eq!(found("p1", "583231").as_deref(), Some("ann"));
    assert_eq!(found("p2", "583231"), None);
    assert_eq!(found("p1", "ann"), None);
    assert_eq!(found("p1", "58323"), None);
}
