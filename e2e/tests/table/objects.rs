//! Comparison rows for objects, discovery and permissions. The rows need no pods. Each row runs
//! directly and through Drover.

use serde_json::{Value, json};

use super::{Row, Seen, Side, Step};

/// The objects that exist in the namespace of each connection when the rows run.
const OBJECTS: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: first, labels: {kind-of: thing}}
data: {word: one, long: "a line\nanother line\n"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: second, labels: {kind-of: other}}
data: {word: two}
---
apiVersion: v1
kind: Service
metadata: {name: headless}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: idle}
spec:
  replicas: 0
  selector: {matchLabels: {app: idle}}
  template:
    metadata: {labels: {app: idle}}
    spec: {containers: [{name: main, image: "nothing:1"}]}
"#;

/// Creates the namespace of the connection and the objects in the namespace.
pub(crate) async fn prepare(side: &Side<'_>) {
    let cluster = &side.world.east.cluster;
    let create = ["create", "namespace", side.namespace];
    cluster.kubectl(create).await.unwrap();
    let apply = cluster.command_line().with_stdin(OBJECTS);
    let words = ["--namespace", side.namespace, "apply", "-f", "-"];
    apply.run(words).await.unwrap();
    // Wait until the controllers have reconciled the new namespace and the Deployment.
    for wait in [
        "--for=create serviceaccount/default",
        "--for=create configmap/kube-root-ca.crt",
        "--for=jsonpath={.status.observedGeneration}=1 deployment/idle",
        "--for=condition=Available deployment/idle",
    ] {
        let words = ["--namespace", side.namespace, "wait", "--timeout=60s"];
        let words = words.into_iter().chain(wait.split_whitespace());
        cluster.kubectl(words).await.unwrap();
    }
}

/// Returns the comparison rows of this file.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = reading();
    rows.extend(refusals());
    // These rows run before the rows that add kinds, because the discovery documents change some
    // seconds later.
    rows.extend(discovery());
    rows.extend(raw());
    rows.extend(writing());
    rows.extend(server_side());
    rows.extend(changing());
    rows.extend(waiting());
    rows.extend(rights());
    rows.extend(large());
    rows
}

fn reading() -> Vec<Row> {
    let get = |name, format: &str| {
        let line = format!("get configmap/first configmap/second service/headless {format}");
        Row::kubectl(name, &line)
    };
    vec![
        Row::kubectl(
            "get -A",
            "get all,configmaps,serviceaccounts,endpointslices,namespaces -A",
        ),
        get("get", ""),
        get("get -o wide", "-o wide"),
        get("get -o json", "-o json"),
        get("get -o yaml", "-o yaml --show-managed-fields"),
        get("get -o name", "-o name"),
        get("get -o jsonpath", "-o jsonpath={.items[*].metadata.name}"),
        get(
            "get -o custom-columns",
            "-o custom-columns=N:.metadata.name,V:.data.word",
        ),
        get("get -o go-template", "-o go-template={{len(.items)}}"),
        Row::kubectl(
            "get by label",
            "get configmaps -l kind-of=thing --show-labels",
        ),
        Row::kubectl(
            "get by field",
            "get configmaps --field-selector metadata.name=second",
        ),
        Row::kubectl("get in chunks", "get clusterroles --chunk-size=20 -o name"),
        Row::kubectl("get, sorted", "get configmaps --sort-by=.metadata.name"),
        Row::steps(
            "get over HTTP/1.1",
            vec![Step::new("get configmaps").env("DISABLE_HTTP2", "true")],
        ),
        Row::steps(
            "get in a terminal",
            vec![Step::new("get configmaps").in_terminal()],
        ),
        Row::steps(
            "get objects that change constantly",
            vec![Step::new("get leases -A --no-headers").only_first_column()],
        ),
        Row::kubectl(
            "get, not compressed",
            "get clusterroles --disable-compression -o yaml",
        ),
        Row::kubectl(
            "describe",
            "describe configmap/first service/headless deployment/idle",
        ),
        Row::kubectl("describe namespace", "describe namespace default"),
    ]
}

fn refusals() -> Vec<Row> {
    vec![
        Row::kubectl("get a missing object", "get configmap nothing"),
        Row::kubectl("get an unknown kind", "get nonsense"),
        Row::kubectl("get in a missing namespace", "get pods --namespace=no-such"),
        Row::kubectl("create an existing object", "create configmap first"),
        Row::kubectl("create with an invalid name", "create configmap Bad_Name"),
        Row::kubectl("delete a missing object", "delete configmap nothing"),
        Row::kubectl("get with an invalid label selector", "get configmaps -l =="),
        Row::kubectl("get a missing raw path", "get --raw /no/such/path"),
    ]
}

fn config_map(name: &str, word: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  word: {word}\n")
}

fn writing() -> Vec<Row> {
    let apply = |word: &str| Step::new("apply -f -").stdin(config_map("applied", word));
    vec![
        Row::steps(
            "apply",
            vec![
                apply("one"),
                apply("one"),
                apply("two"),
                Step::new("get configmap applied -o yaml"),
            ],
        ),
        Row::steps(
            "diff",
            vec![
                Step::new("diff -f -")
                    .stdin(config_map("applied", "three"))
                    // Lines with names of temporary files are not compared.
                    .lines(|line| !["diff -", "--- ", "+++ "].iter().any(|p| line.starts_with(p))),
                Step::new("diff -f -").stdin(config_map("applied", "two")),
            ],
        ),
        Row::steps(
            "apply an invalid object",
            vec![Step::new("apply -f -").stdin(
                "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 99999}]}\n",
            )],
        ),
        Row::steps(
            "create and replace",
            vec![
                Step::new("create configmap made --from-literal=a=b"),
                Step::new("replace -f -").stdin(config_map("made", "replaced")),
                Step::new("get configmap made -o jsonpath={.data}"),
            ],
        ),
        Row::steps(
            "create --dry-run=server",
            vec![
                Step::new("create configmap dry --dry-run=server -o yaml"),
                Step::new("get configmap dry"),
            ],
        ),
        Row::steps(
            "custom resource definition",
            vec![
                Step::new("apply -f -").stdin(DEFINITION),
                Step::new("wait --for=condition=Established crd/gadgets.test.drover.dev"),
                Step::new("apply -f -").stdin(
                    "apiVersion: test.drover.dev/v1\nkind: Gadget\nmetadata: {name: g}\nspec: {size: 3}\n",
                ),
                Step::new("get gadgets"),
                Step::new("delete crd gadgets.test.drover.dev"),
            ],
        ),
    ]
}

const DEFINITION: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.test.drover.dev}
spec:
  group: test.drover.dev
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer}}}}
";

fn server_side() -> Vec<Row> {
    let apply = |manager: &str, word: &str, force: &str| {
        let line = format!("apply --server-side --field-manager={manager} {force} -f -");
        Step::new(&line).stdin(config_map("shared", word))
    };
    vec![Row::steps(
        "apply --server-side",
        vec![
            apply("mary", "one", ""),
            apply("john", "one", ""),
            apply("john", "two", ""),
            apply("john", "two", "--force-conflicts"),
            Step::new("get configmap shared -o yaml --show-managed-fields"),
            Step::new("diff --server-side --field-manager=mary -f -")
                .stdin(config_map("shared", "three"))
                .lines(|line| {
                    !["diff -", "--- ", "+++ "]
                        .iter()
                        .any(|p| line.starts_with(p))
                }),
        ],
    )]
}

fn changing() -> Vec<Row> {
    let word = || Step::new("get configmap second -o jsonpath={.data}{.metadata.labels}");
    let patch = |kind: &str, patch: &str| {
        Step::new(&format!("patch configmap second --type={kind} -p")).word(patch)
    };
    vec![
        Row::steps(
            "patch, strategic",
            vec![patch("strategic", r#"{"data":{"word":"three"}}"#), word()],
        ),
        Row::steps(
            "patch, merge",
            vec![
                patch("merge", r#"{"data":{"word":null,"new":"x"}}"#),
                word(),
            ],
        ),
        Row::steps(
            "patch, JSON",
            vec![
                patch(
                    "json",
                    r#"[{"op":"add","path":"/data/word","value":"four"}]"#,
                ),
                patch(
                    "json",
                    r#"[{"op":"test","path":"/data/word","value":"no"}]"#,
                ),
                word(),
            ],
        ),
        Row::steps(
            "edit",
            vec![
                Step::new("edit configmap second").env("KUBE_EDITOR", "sed -i s/four/five/"),
                Step::new("edit configmap second").env("KUBE_EDITOR", "true"),
                word(),
            ],
        ),
        Row::steps(
            "label and annotate",
            vec![
                Step::new("label configmap second a=b"),
                Step::new("label configmap second a=c"),
                Step::new("label configmap second a=c --overwrite"),
                Step::new("annotate configmap second note=x"),
                Step::new("label configmap second a-"),
                word(),
            ],
        ),
        Row::steps(
            "scale",
            vec![
                Step::new("scale deployment idle --current-replicas=5 --replicas=1"),
                Step::new("scale deployment idle --replicas=0"),
                Step::new("get deployment idle"),
            ],
        ),
        Row::steps(
            "rollout",
            vec![
                Step::new("set image deployment/idle main=nothing:2"),
                Step::new("rollout status deployment/idle --timeout=60s")
                    .lines(|line| !line.starts_with("Waiting")),
                Step::new("rollout history deployment/idle"),
                Step::new("rollout undo deployment/idle"),
                Step::new("get deployment idle -o jsonpath={..image}"),
            ],
        ),
    ]
}

fn waiting() -> Vec<Row> {
    vec![
        Row::kubectl(
            "wait for a condition that is met",
            "wait --for=jsonpath={.data.word}=one configmap/first",
        ),
        Row::kubectl(
            "wait for a condition that is never met",
            "wait --for=jsonpath={.data.word}=never --timeout=1s configmap/first",
        ),
        Row::steps(
            "delete and wait for the deletion",
            vec![
                Step::new("create configmap goes"),
                Step::new("delete configmap goes"),
                Step::new("wait --for=delete configmap/goes --timeout=10s"),
                Step::new("create configmap goes-too"),
                Step::new("label configmap goes-too going=yes"),
                Step::new("delete configmaps -l going=yes"),
            ],
        ),
    ]
}

fn rights() -> Vec<Row> {
    vec![
        Row::kubectl("auth can-i", "auth can-i delete nodes"),
        Row::kubectl("auth can-i --list", "auth can-i --list"),
        Row::of("auth whoami", |side| Box::pin(who_am_i(side))),
        Row::steps(
            "create token",
            vec![Step::new(
                "create token default --duration=10m -o jsonpath={.spec.audiences}{.kind}",
            )],
        ),
    ]
}

/// Runs `kubectl auth whoami`, and asserts the user name separately for each connection. The user
/// has a different name if the request passes through Drover.
async fn who_am_i(side: &Side<'_>) -> Seen {
    let words = ["auth", "whoami", "-o", "json"];
    let answer = side.kubectl.run(words).await.unwrap().stdout;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let user = &answer["status"]["userInfo"];
    let groups: Vec<_> = user["groups"].as_array().unwrap().iter().collect();
    assert!(groups.contains(&&json!("system:authenticated")), "{user}");
    if side.through {
        assert_eq!(user["username"], administrator(side).await, "{user}");
        let ours = |group: &&Value| group.as_str().unwrap().starts_with("drover:");
        let strange = groups
            .iter()
            .find(|group| !ours(group) && **group != "system:authenticated");
        assert_eq!(strange, None, "{user}");
    } else {
        assert_eq!(user["username"], "direct-user");
    }
    Seen::text(side, "a user with a name and groups")
}

/// Returns the administrator's user name in clusters.
async fn administrator(side: &Side<'_>) -> String {
    let words = "get users.management.drover.dev admin -o jsonpath={.metadata.uid}";
    let hub = &side.world.hub;
    let uid = hub.kubectl(words.split_whitespace()).await.unwrap().stdout;
    format!("drover:user:{uid}")
}

fn discovery() -> Vec<Row> {
    vec![
        Row::kubectl("api-resources", "api-resources -o wide"),
        Row::kubectl("api-versions", "api-versions"),
        Row::kubectl("explain", "explain deployment.spec.strategy --recursive"),
        Row::kubectl("version", "version -o yaml"),
        Row::kubectl("cluster-info", "cluster-info"),
    ]
}

fn raw() -> Vec<Row> {
    vec![
        Row::kubectl("get --raw /version", "get --raw /version"),
        Row::of("get --raw /openapi/v3", |side| {
            Box::pin(openapi_index(side))
        }),
        Row::kubectl(
            "get --raw /openapi/v3/apis/apps/v1",
            "get --raw /openapi/v3/apis/apps/v1",
        ),
        Row::kubectl("get --raw /openapi/v2", "get --raw /openapi/v2"),
        Row::kubectl("get --raw /readyz?verbose", "get --raw /readyz?verbose"),
        Row::steps(
            "get --raw /metrics",
            vec![
                Step::new("get --raw /metrics")
                    .lines(|line| line.starts_with("# TYPE apiserver_request_total")),
            ],
        ),
        Row::steps(
            "create --raw",
            vec![
                Step::new("create -f - --raw /api/v1/namespaces/default/configmaps?dryRun=All")
                    .stdin(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"raw"}}"#),
            ],
        ),
    ]
}

/// Returns the names of the OpenAPI documents without their hashes. The hashes change while an
/// aggregated API starts.
async fn openapi_index(side: &Side<'_>) -> Seen {
    let index = side.kubectl.run(["get", "--raw", "/openapi/v3"]).await;
    let index: Value = serde_json::from_str(&index.unwrap().stdout).unwrap();
    let paths = index["paths"].as_object().unwrap();
    let names: Vec<_> = paths.keys().map(String::as_str).collect();
    Seen::text(side, &names.join("\n"))
}

fn large() -> Vec<Row> {
    let text = |kib: usize| "0123456789abcde ".repeat(kib * 1024 / 16);
    let object = |head: &str, field: &str, kib: usize| {
        let metadata = json!({"name": "large"});
        let text = json!({"text": text(kib)});
        format!("{{{head}, \"metadata\": {metadata}, \"{field}\": {text}}}")
    };
    let config_map = |kib| object(r#""apiVersion": "v1", "kind": "ConfigMap""#, "data", kib);
    let gadget = |kib| {
        object(
            r#""apiVersion": "test.drover.dev/v1", "kind": "Gadget""#,
            "spec",
            kib,
        )
    };
    let definition = DEFINITION.replace("size: {type: integer}", "text: {type: string}");
    vec![
        Row::steps(
            "create and get an object near the size limit",
            vec![
                Step::new("apply -f -").stdin(definition),
                Step::new("wait --for=condition=Established crd/gadgets.test.drover.dev"),
                Step::new("create -f -").stdin(gadget(1400)),
                Step::new("get gadget large -o json"),
                Step::new("create -f -").stdin(gadget(2000)),
                Step::new("delete crd gadgets.test.drover.dev"),
            ],
        ),
        Row::steps(
            "create an object above the size limit of objects",
            vec![Step::new("create -f -").stdin(config_map(1500))],
        ),
        Row::steps(
            "send a request above the size limit of bodies",
            vec![Step::new("create -f -").stdin(config_map(3300))],
        ),
    ]
}
