//! Tests of `drover exec`, `drover logs --follow` and `drover port-forward` with pods.

use std::time::Duration;

use drover_e2e::{CommandLine, Image, Output, World, eventually};
use serde_json::json;

const SOON: Duration = Duration::from_mins(1);

fn drover(world: &World) -> CommandLine {
    world.admin.drover().with_limit(SOON)
}

async fn exec(world: &World, words: &[&str], command: &[&str]) -> Output {
    let start = ["exec", "--cluster", "east"];
    let words = [&start, words, &["--"], command].concat();
    drover(world).output(words).await.unwrap()
}

pub(crate) async fn exec_returns_output_and_exit_code_of_the_command(world: &mut World) {
    world.run_pod("executed", "sleep 3600").await.unwrap();
    let script = ["sh", "-c", "echo out; echo err >&2; exit 7"];
    let output = exec(world, &["executed"], &script).await;
    assert_eq!(output.stdout, "out\n");
    assert!(output.stderr.starts_with("err\n"), "{output:?}");
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    // Without -i, the command has no input.
    let output = exec(world, &["pod/executed"], &["cat"]).await;
    assert_eq!(
        (output.stdout.as_str(), output.status.code()),
        ("", Some(0))
    );
    let bytes: Vec<u8> = (0..4_000_000_u32).map(|n| (n % 251) as u8).collect();
    let input = drover(world).with_stdin(bytes);
    let words = [
        "exec",
        "--cluster=east",
        "-i",
        "executed",
        "--",
        "sh",
        "-c",
        "wc -c; echo end",
    ];
    let output = input.run(words).await.unwrap();
    let parts: Vec<_> = output.stdout.split_whitespace().collect();
    assert_eq!(parts, ["4000000", "end"]);
    let large = exec(world, &["executed"], &["sh", "-c", "seq 1 400000"]).await;
    assert_eq!(large.stdout.lines().count(), 400_000);
    for (words, command, code) in [
        (&["missing"][..], "true", 5),
        (&["deploy/missing"], "true", 5),
        (&["executed", "-c", "missing"], "true", 1),
        (&["executed"], "missing-program", 127),
    ] {
        let output = exec(world, words, &[command]).await;
        let code = Some(code);
        let accepted =
            output.status.code() == code || (command != "true" && !output.status.success());
        assert!(accepted, "{words:?}: {output:?}");
        assert!(!output.stderr.is_empty(), "{words:?}");
    }
    let output = drover(world)
        .output(["exec", "--cluster", "east", "-t", "executed", "--", "true"])
        .await;
    assert_eq!(output.unwrap().status.code(), Some(2));
}

pub(crate) async fn exec_in_a_terminal_restores_the_mode_of_the_terminal(world: &mut World) {
    world.run_pod("typed", "sleep 3600").await.unwrap();
    // The search path of kubectl contains drover.
    let shell = world.admin.kubectl().with_limit(SOON);
    let shell = shell.with_program("/bin/sh".as_ref());
    // The size of the terminal can arrive after the start of the command.
    let line = "stty rows 30 cols 99; before=$(stty -g); \
        drover exec --cluster east -it typed -- sh -c 'read line; echo typed $line; \
        until stty size 2>/dev/null; do sleep 0.1; done; exit 5'; \
        echo code $?; test \"$before\" = \"$(stty -g)\" && echo restored";
    let typed = shell.clone().with_stdin("hello\n");
    let output = typed.in_terminal(["-c", line]).await.unwrap();
    for part in ["30 99", "typed hello", "code 5", "restored"] {
        assert!(output.stdout.contains(part), "no {part:?} in {output:?}");
    }
    // SIGTERM ends the program while the remote command runs.
    let line = "before=$(stty -g); (sleep 5; kill -TERM $(cat pid)) & \
        sh -c 'echo $$ >pid; exec drover exec --cluster east -it typed -- sleep 600'; \
        test \"$before\" = \"$(stty -g)\" && echo restored";
    let folder = world.scratch("terminal").unwrap();
    let line = format!("cd {}; {line}", folder.display());
    let output = shell.in_terminal(["-c", &line]).await.unwrap();
    assert!(output.stdout.contains("restored"), "{output:?}");
}

pub(crate) async fn followed_logs_contain_new_pods_and_restarted_containers(world: &mut World) {
    let script = "echo start of $HOSTNAME; sleep 2; echo end of $HOSTNAME; exit 1";
    let pod = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": "followed"}},
            "spec": {"terminationGracePeriodSeconds": 0, "containers": [{
                "name": "main", "image": Image::TOOLS, "imagePullPolicy": "Never",
                "command": ["sh", "-c", script]}]}})
        .to_string()
    };
    let direct = world.direct();
    direct
        .clone()
        .with_stdin(pod("old"))
        .run(["create", "-f", "-"])
        .await
        .unwrap();
    let logs = world.scratch("followed").unwrap();
    let words = ["logs", "-l", "app=followed", "-f", "--cluster", "east"];
    let follow = world
        .admin
        .drover()
        .start("followed", words, &logs)
        .unwrap();
    let contains = async |line: &str, times: usize| {
        let wanted = format!("{line} {times} times");
        eventually(&wanted, Duration::from_mins(2), async || {
            let log = follow.log();
            let found = log.lines().filter(|found| *found == line).count();
            if found >= times { Ok(()) } else { Err(log) }
        })
        .await
        .unwrap();
    };
    contains("[east/old/main] end of old", 1).await;
    direct
        .clone()
        .with_stdin(pod("new"))
        .run(["create", "-f", "-"])
        .await
        .unwrap();
    contains("[east/new/main] end of new", 1).await;
    contains("[east/old/main] start of old", 2).await;
    let previous = [
        "logs",
        "old",
        "--previous",
        "--tail",
        "1",
        "--cluster",
        "east",
    ];
    // The kubelet removes the log of a container while it starts the next one.
    eventually("the previous log", SOON, async || {
        let output = drover(world).run(previous).await.unwrap();
        if output.stdout == "end of old\n" {
            Ok(())
        } else {
            Err(output.stdout)
        }
    })
    .await
    .unwrap();
    direct
        .run(["delete", "pods", "-l", "app=followed", "--now"])
        .await
        .unwrap();
    // The log of a named pod ends with its container.
    world
        .run_pod("ended", "echo one; sleep 3; echo two")
        .await
        .unwrap();
    let output = drover(world)
        .run(["logs", "ended", "-f", "--cluster", "east"])
        .await
        .unwrap();
    assert_eq!(output.stdout, "one\ntwo\n");
}

pub(crate) async fn ports_of_pods_services_and_deployments_are_forwarded(world: &mut World) {
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "forwarded"},
         "spec": {"selector": {"matchLabels": {"app": "forwarded"}}, "template": {
            "metadata": {"labels": {"app": "forwarded"}},
            "spec": {"terminationGracePeriodSeconds": 0, "containers": [{
                "name": "main", "image": Image::TOOLS, "imagePullPolicy": "Never",
                "ports": [{"name": "web", "containerPort": 8080}],
                "command": ["sh", "-c", "echo a page >/www/index.html; exec httpd -f -p 8080 -h /www"]}]}}}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "forwarded"},
         "spec": {"selector": {"app": "forwarded"},
            "ports": [{"name": "http", "port": 80, "targetPort": "web"}]}}]});
    let direct = world.direct();
    direct
        .clone()
        .with_stdin(objects.to_string())
        .run(["apply", "-f", "-"])
        .await
        .unwrap();
    direct
        .run(["rollout", "status", "deployment/forwarded", "--timeout=60s"])
        .await
        .unwrap();
    let logs = world.scratch("forwarded").unwrap();
    let curl = drover(world).with_program("curl".as_ref());
    for (name, target, remote) in [
        ("service", "svc/forwarded", ":80"),
        ("service-name", "service/forwarded", ":http"),
        ("deployment", "deploy/forwarded", ":8080"),
        ("deployment-name", "deployment.apps/forwarded", ":web"),
    ] {
        let words = ["port-forward", "--cluster", "east", target, remote];
        let mut forward = world.admin.drover().start(name, words, &logs).unwrap();
        let line = forward
            .wait_for_log("Forwarding from 127.0.0.1:", SOON)
            .await
            .unwrap();
        let address = line
            .split_once("from ")
            .unwrap()
            .1
            .split(' ')
            .next()
            .unwrap();
        let url = format!("http://{address}/");
        let get = ["--silent", "--show-error", "--max-time", "20", &url];
        for _ in 0..3 {
            assert_eq!(curl.run(get).await.unwrap().stdout, "a page\n", "{target}");
        }
        if name == "deployment" {
            // The next connection uses the new pod.
            direct
                .run(["delete", "pods", "-l", "app=forwarded", "--now"])
                .await
                .unwrap();
            direct
                .run(["rollout", "status", "deployment/forwarded", "--timeout=60s"])
                .await
                .unwrap();
            let reached = eventually("the new pod", SOON, async || curl.run(get).await);
            assert_eq!(reached.await.unwrap().stdout, "a page\n");
        }
    }
    let words = ["port-forward", "--cluster", "east", "svc/forwarded", ":81"];
    let output = drover(world).output(words).await.unwrap();
    assert!(
        output.stderr.contains("the Service has no port 81"),
        "{output:?}"
    );
    direct
        .run(["delete", "deployment/forwarded", "service/forwarded"])
        .await
        .unwrap();
}
