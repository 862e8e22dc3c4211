//! Comparison rows that need pods: logs, exec, attach, cp, port-forward, top, debug and drain. Each
//! row runs directly and through Drover.

use std::time::Duration;

use drover_e2e::{CommandLine, Image, Running, eventually};
use serde_json::json;

use crate::table::{Row, Seen, Side, Step};

const SOON: Duration = Duration::from_mins(1);
const COPIED_BYTES: usize = 100 * 1024 * 1024;

/// Returns the comparison rows of this file. The first row creates the pods.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = vec![Row::of("run pods", |side| Box::pin(run_pods(side)))];
    rows.extend(logs());
    rows.extend(exec());
    rows.extend([
        Row::of("attach", |side| Box::pin(attach(side))),
        Row::of("cp of 100 MiB both ways", |side| Box::pin(copy(side))),
        Row::of("port-forward over WebSocket", |side| {
            Box::pin(forward(side, "pod/web", "true"))
        }),
        Row::of("port-forward over SPDY", |side| {
            Box::pin(forward(side, "pod/web", "false"))
        }),
        Row::of("port-forward to a Service", |side| {
            Box::pin(forward(side, "service/headless", "true"))
        }),
        Row::of("port-forward to a closed port", |side| {
            Box::pin(forward_to_closed_port(side))
        }),
    ]);
    rows.extend(nodes());
    rows
}

/// Creates four pods: a web server, a pod with a finite log, a pod that reads a line, and a pod to
/// drain.
async fn run_pods(side: &Side<'_>) -> Seen {
    let pod = |name: &str, script: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": name, "side": side.namespace}},
            "spec": {
                "terminationGracePeriodSeconds": 0, "restartPolicy": "Never",
                "containers": [{
                    "name": "main", "image": Image::TOOLS, "imagePullPolicy": "Never",
                    "command": ["sh", "-c", script], "stdin": name == "reader", "stdinOnce": true,
                }],
            },
        })
    };
    let pods = json!({"apiVersion": "v1", "kind": "List", "items": [
        pod("web", "echo a page >/www/index.html; echo to stderr >&2; exec httpd -f -v -p 8080 -h /www"),
        pod("counter", "for i in 1 2 3 4 5; do echo line $i; sleep 1; done"),
        pod("reader", "echo ready; read line; echo got $line; exit 3"),
        pod("drained", "sleep 3600"),
    ]});
    let mut seen = Step::new("apply -f -")
        .stdin(pods.to_string())
        .run(side)
        .await;
    for wait in [
        "wait pod/web pod/drained --for=condition=Ready --timeout=120s",
        "wait pod/counter --for=jsonpath={.status.phase}=Succeeded --timeout=120s",
    ] {
        seen.add(&Step::new(wait).run(side).await);
    }
    seen
}

fn logs() -> Vec<Row> {
    vec![
        Row::kubectl("logs", "logs counter"),
        Row::kubectl("logs of the last lines", "logs counter --tail=2"),
        Row::kubectl("logs by label", "logs -l app=counter --prefix"),
        Row::kubectl(
            "logs of a previous container that did not run",
            "logs counter --previous",
        ),
        Row::kubectl("logs of a missing container", "logs counter -c nothing"),
        Row::kubectl("logs -f of an ended program", "logs -f counter"),
        Row::of("logs -f while the program runs", |side| {
            Box::pin(follow(side))
        }),
    ]
}

/// Runs `kubectl logs -f` of a pod that writes three lines and exits, and deletes the pod. Returns
/// the output of all commands.
async fn follow(side: &Side<'_>) -> Seen {
    let script = "for i in 1 2 3; do echo tick $i; sleep 1; done";
    let image = format!("--image={}", Image::TOOLS);
    let run = Step::new(&format!(
        "run ticker {image} --restart=Never --command -- sh -c"
    ));
    let mut seen = run.word(script).run(side).await;
    let wait = "wait pod/ticker --for=jsonpath={.status.containerStatuses[0].started}=true";
    Step::new(wait).run(side).await;
    seen.add(&Step::new("logs -f ticker").run(side).await);
    seen.add(&Step::new("delete pod ticker --now").run(side).await);
    seen
}

fn exec() -> Vec<Row> {
    let spdy = |step: Step| step.env("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false");
    let both = Step::new("exec web -- sh -c").word("echo out; echo err >&2; exit 7");
    let echo = Step::new("exec -i web -- cat").stdin("through standard input");
    let bytes: Vec<u8> = (0..4_000_000_u32).map(|n| (n % 251) as u8).collect();
    let sum = Step::new("exec -i web -- md5sum").stdin(bytes);
    vec![
        Row::steps("exec: output, errors and code", vec![both.clone()]),
        Row::steps("exec -i", vec![echo.clone()]),
        Row::steps("exec -i of 4 MB", vec![sum.clone()]),
        Row::steps("exec over SPDY", vec![spdy(both), spdy(echo), spdy(sum)]),
        Row::steps(
            "exec -it in a terminal",
            vec![
                Step::new("exec -it web -- sh -c")
                    .word("tty | sed s/[0-9]*$//; stty size >/dev/null && echo sized; exit 5")
                    .in_terminal(),
            ],
        ),
        Row::steps(
            "exec -it, typed into",
            vec![
                Step::new("exec -it web -- sh -c")
                    .word("read line; echo you typed $line")
                    .stdin("hello\n")
                    .in_terminal()
                    // kubectl logs this error if the program ends while kubectl copies its input.
                    .lines(|line| !line.contains("Copying stdin failed")),
            ],
        ),
        Row::kubectl("exec of a missing program", "exec web -- nothing"),
        Row::kubectl("exec in a missing container", "exec web -c nothing -- true"),
        Row::kubectl("exec in a missing pod", "exec nothing -- true"),
        Row::steps(
            "exec with large output",
            vec![
                Step::new("exec web -- sh -c")
                    .word("seq 1 400000 | md5sum; seq 1 400000 | tail -c 6000000"),
            ],
        ),
    ]
}

async fn attach(side: &Side<'_>) -> Seen {
    let wait = "wait pod/reader --for=condition=Ready --timeout=60s";
    let mut seen = Step::new(wait).run(side).await;
    let attach = Step::new("attach -i reader").stdin("a line\n");
    // kubectl may or may not show the line before the attachment.
    let attach = attach.lines(|line| !line.starts_with("ready") && !line.starts_with("If you"));
    seen.add(&attach.run(side).await);
    let ended = "wait pod/reader --for=jsonpath={.status.phase}=Failed --timeout=60s";
    seen.add(&Step::new(ended).run(side).await);
    seen.add(&Step::new("logs reader").run(side).await);
    seen
}

async fn copy(side: &Side<'_>) -> Seen {
    let there = side.folder.join("there.bin");
    let back = side.folder.join("back.bin");
    let mut state = 1_u64;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        // The content is not compressible.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    })
    .take(COPIED_BYTES / 8)
    .flatten()
    .collect();
    std::fs::write(&there, &bytes).unwrap();
    let (from, to) = (there.display().to_string(), back.display().to_string());
    let mut seen = Step::new(&format!("cp {from} web:/tmp/copied.bin"))
        .run(side)
        .await;
    seen.add(
        &Step::new("exec web -- md5sum /tmp/copied.bin")
            .run(side)
            .await,
    );
    seen.add(
        &Step::new(&format!("cp web:/tmp/copied.bin {to}"))
            .run(side)
            .await,
    );
    seen.add(&Step::new("exec web -- rm /tmp/copied.bin").run(side).await);
    let same = std::fs::read(&back).unwrap() == bytes;
    seen.add(&Seen::text(
        side,
        &format!("the same bytes came back: {same}"),
    ));
    std::fs::remove_file(there).unwrap();
    std::fs::remove_file(back).unwrap();
    seen
}

/// Requests a page many times in sequence through one forwarded port.
async fn forward(side: &Side<'_>, target: &str, web_sockets: &str) -> Seen {
    let mut forward = side
        .kubectl
        .clone()
        .env("KUBECTL_PORT_FORWARD_WEBSOCKETS", web_sockets)
        .start(
            &format!(
                "forward-{}-{}-{web_sockets}",
                side.namespace,
                target.replace('/', "-")
            ),
            [
                "--namespace",
                side.namespace,
                "port-forward",
                target,
                ":8080",
            ],
            &side.folder,
        )
        .unwrap();
    let port = forwarded_port(&mut forward).await;
    let curl = CommandLine::new("curl".as_ref(), &side.kubeconfig, &side.folder);
    let url = format!("http://127.0.0.1:{port}/");
    let mut seen = Seen::default();
    for _ in 0..5 {
        let words = ["--silent", "--show-error", "--max-time", "20", &url];
        seen.add(&Seen::of(side, &curl.output(words).await.unwrap()));
    }
    seen
}

async fn forwarded_port(forward: &mut Running) -> u16 {
    let line = forward
        .wait_for_log("Forwarding from 127.0.0.1:", SOON)
        .await
        .unwrap();
    let rest = line.split_once("127.0.0.1:").unwrap().1;
    rest.split_once(' ').unwrap().0.parse().unwrap()
}

async fn forward_to_closed_port(side: &Side<'_>) -> Seen {
    let name = format!("forward-closed-{}", side.namespace);
    let words = ["--namespace", side.namespace, "port-forward", "web", ":9"];
    let mut forward = side.kubectl.start(&name, words, &side.folder).unwrap();
    let port = forwarded_port(&mut forward).await;
    let curl = CommandLine::new("curl".as_ref(), &side.kubeconfig, &side.folder);
    let url = format!("http://127.0.0.1:{port}/");
    let answer = curl
        .output(["--silent", "--max-time", "20", &url])
        .await
        .unwrap();
    // kubectl ends after an error.
    let reported = eventually("the error", SOON, async || {
        let log = forward.log();
        if log.contains("refused") {
            Ok(())
        } else {
            Err(log)
        }
    });
    let reported = reported.await.is_ok();
    // curl reports an empty response (52) or a reset connection (56): kubectl closes the connection before
    // or after it has read the request.
    let closed = matches!(answer.status.code(), Some(52 | 56));
    Seen::text(side, &format!("told: {reported}; closed: {closed}"))
}

async fn top_pods(side: &Side<'_>) -> Seen {
    let cluster = &side.world.east.cluster;
    let top = ["--namespace", side.namespace, "top", "pod", "web"];
    eventually("the metrics of the pod", SOON, async || {
        cluster.kubectl(top).await
    })
    .await
    .unwrap();
    Step::new("top pods -l app=web")
        .only_first_column()
        .run(side)
        .await
}

fn nodes() -> Vec<Row> {
    let image = format!("--image={}", Image::TOOLS);
    vec![
        Row::kubectl("get nodes", "get nodes -o wide"),
        Row::steps(
            "top nodes",
            vec![Step::new("top nodes").only_first_column()],
        ),
        Row::of("top pods", |side| Box::pin(top_pods(side))),
        Row::kubectl(
            "page of a pod through the API server",
            "get --raw /api/v1/namespaces/{namespace}/pods/web:8080/proxy/",
        ),
        Row::steps(
            "run --rm -i",
            vec![
                Step::new(&format!(
                    "run once {image} --rm -i --quiet --restart=Never --command -- cat"
                ))
                .stdin("said\n"),
            ],
        ),
        Row::steps(
            "debug",
            vec![
                Step::new(&format!(
                    "debug web {image} -c debugger -i --quiet -- sh -c"
                ))
                .word("sleep 1; echo here"),
            ],
        ),
        Row::steps(
            "cordon, drain, uncordon",
            vec![
                Step::new("cordon node-1"),
                Step::new(
                    "drain node-1 --pod-selector=app=drained,side={namespace} --force --timeout=60s",
                ),
                Step::new("get pod drained"),
                Step::new("uncordon node-1"),
            ],
        ),
    ]
}
