use super::*;

fn secret(entries: &[(&str, &str)]) -> Secret {
    let entries = entries.iter();
    let data = entries.map(|(key, text)| ((*key).to_owned(), ByteString(text.as_bytes().to_vec())));
    Secret {
        data: Some(data.collect()),
        ..Secret::default()
    }
}

const VALUES: [(&str, &str); 4] = [
    ("apiServerURL", "https://hub.example/k8s/clusters/local"),
    ("token", "secret-token\n"),
    ("tokenName", "edge"),
    ("clusterNamespace", "fleet-default"),
];

#[test]
fn registration_token_is_read_from_fleets_secret() {
    let bootstrap = Bootstrap::read(&secret(&VALUES)).unwrap();
    let url = bootstrap.login.url.to_string();
    assert_eq!(url, "https://hub.example:443/k8s/clusters/local");
    assert_eq!(bootstrap.login.token.expose_secret(), "secret-token");
    assert_eq!(bootstrap.system_namespace, "cattle-fleet-clusters-system");
    assert!(!format!("{bootstrap:?}").contains("secret-token"));
}

#[test]
fn error_of_a_registration_token_names_the_entry() {
    for (entry, value) in [
        ("apiServerURL", ""),
        ("apiServerURL", "http://hub.example"),
        ("token", ""),
        ("clusterNamespace", " "),
    ] {
        let mut values = VALUES.to_vec();
        values.push((entry, value));
        let error = Bootstrap::read(&secret(&values)).unwrap_err().to_string();
        assert!(error.contains(entry), "{error}");
    }
}

#[test]
fn stored_credential_is_read_again_and_fleets_kubeconfig_is_accepted() {
    let certificate = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----";
    let credential = Credential {
        login: HubLogin {
            url: HttpsUrl::parse("https://hub.example/k8s/clusters/local").unwrap(),
            authorities: certificate.to_owned(),
            token: SecretString::from("secret-token"),
        },
        deployment_namespace: "cluster-fleet-default-edge".to_owned(),
        cluster_namespace: "fleet-default".to_owned(),
        cluster_name: "edge".to_owned(),
    };
    let read = Credential::read(&credential.secret()).unwrap();
    assert_eq!(read.login.url, credential.login.url);
    assert_eq!(read.login.authorities, certificate);
    assert_eq!(read.login.token.expose_secret(), "secret-token");
    assert_eq!(read.cluster_name, "edge");

    let fleets = "apiVersion: v1\nclusters:\n- cluster:\n    server: https://hub.example\n  name: default\n\
                  contexts:\n- context:\n    cluster: default\n    namespace: n\n    user: default\n  \
                  name: default\ncurrent-context: default\nkind: Config\npreferences: {}\nusers:\n- name: \
                  default\n  user:\n    token: t\n";
    let entries = [
        ("kubeconfig", fleets),
        ("deploymentNamespace", "n"),
        ("clusterNamespace", "fleet-default"),
        ("clusterName", "edge"),
    ];
    let read = Credential::read(&secret(&entries)).unwrap();
    assert_eq!(read.deployment_namespace, "n");
    assert!(read.login.authorities.is_empty());
}

#[test]
fn credential_that_starts_a_program_is_refused() {
    let kubeconfig = "current-context: c\ncontexts: [{name: c, context: {cluster: c, user: c}}]\n\
                      clusters: [{name: c, cluster: {server: 'https://hub.example'}}]\n\
                      users: [{name: c, user: {exec: {command: sh}}}]\n";
    let error = Credential::read(&secret(&[("kubeconfig", kubeconfig)])).unwrap_err();
    assert!(error.to_string().contains("exec"), "{error}");
}

#[test]
fn credential_is_replaced_for_another_hub_or_namespace_and_trusts_the_new_authority() {
    let credential = || Credential {
        login: HubLogin {
            url: HttpsUrl::parse(VALUES[0].1).unwrap(),
            authorities: "old".to_owned(),
            token: SecretString::from("secret-token"),
        },
        deployment_namespace: "cluster-fleet-default-edge".to_owned(),
        cluster_namespace: "fleet-default".to_owned(),
        cluster_name: "edge".to_owned(),
    };
    let bootstrap = |entry: &str, value: &str| {
        let mut values = VALUES.to_vec();
        values.extend([("apiServerCA", "old"), (entry, value)]);
        Bootstrap::read(&secret(&values)).unwrap()
    };
    let current = |entry, value| {
        let current = credential().current(Some(&bootstrap(entry, value)));
        current.map(|(stored, is_changed)| (stored.login.authorities, is_changed))
    };
    assert_eq!(current("tokenName", "new"), Some(("old".to_owned(), false)));
    assert_eq!(
        current("apiServerCA", "new"),
        Some(("new".to_owned(), true))
    );
    assert_eq!(current("apiServerURL", "https://other.example"), None);
    assert_eq!(current("clusterNamespace", "other"), None);
    assert!(
        credential()
            .current(None)
            .is_some_and(|(_, is_changed)| !is_changed)
    );
}
