use std::path::Path;
use std::process::Command;

use super::program::Drover;

/// Returns a file that starts with the ELF header of a static program.
fn static_program() -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    bytes[18] = 62;
    bytes.extend(b"not to be run".repeat(1000));
    bytes
}

fn buildah(root: &Path, args: &[&str]) -> String {
    let state = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let output = Command::new("buildah")
        .args([
            "--storage-driver",
            "vfs",
            "--root",
            &state("root"),
            "--runroot",
            &state("run"),
        ])
        .args(args)
        .output()
        .expect(".ci/install has installed buildah");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "buildah {args:?}: {err}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn docker_and_oci_tools_load_the_image_archive() {
    let drover = Drover::new();
    let home = drover.home.path();
    let (program, tar) = (home.join("drover-agent"), home.join("image.tar"));
    for name in ["drover-agent", "drover-node-agent"] {
        std::fs::write(home.join(name), static_program()).unwrap();
    }
    let name = "registry.example.com/drover-agent:0.0.1";
    let args = [
        "agent",
        "image",
        "--output",
        "tar",
        "--name",
        name,
        "--agent-binary",
        program.to_str().unwrap(),
    ];
    let ended = drover
        .run(&[&args[..], &["--file", tar.to_str().unwrap()]].concat())
        .await
        .ok();
    assert!(
        ended.err.contains("linux/amd64") && ended.err.contains("sha256:"),
        "{ended:?}"
    );

    for form in ["docker-archive", "oci-archive"] {
        let root = home.join(form);
        let id = buildah(
            &root,
            &["pull", "--quiet", &format!("{form}:{}", tar.display())],
        );
        let seen = buildah(&root, &["inspect", "--type", "image", id.trim()]);
        let seen: serde_json::Value = serde_json::from_str(&seen).unwrap();
        let config = &seen["OCIv1"]["config"];
        assert_eq!(config["User"], "65532:65532", "{form}");
        assert_eq!(
            config["Entrypoint"],
            serde_json::json!(["/drover-agent"]),
            "{form}"
        );
    }
    let docker = buildah(
        &home.join("docker-archive"),
        &["images", "--format", "{{.Name}}:{{.Tag}}"],
    );
    assert_eq!(docker.trim(), name);
}

#[tokio::test(flavor = "multi_thread")]
async fn dynamically_linked_program_is_rejected_with_advice() {
    let drover = Drover::new();
    let this = std::env::current_exe().unwrap();
    let args = ["agent", "image", "--file", "/dev/null", "--agent-binary"];
    let dynamic = drover
        .run(&[&args[..], &[this.to_str().unwrap()]].concat())
        .await;
    dynamic.failed(1, "x86_64-unknown-linux-musl");
    let missing = drover
        .run(&[&args[..], &["/nowhere/drover-agent"]].concat())
        .await;
    missing.failed(1, "--agent-binary");
    // The tested program is dynamically linked, so that it cannot be in an image.
    let server = ["server", "image", "--file", "/dev/null"];
    drover
        .run(&server)
        .await
        .failed(1, "x86_64-unknown-linux-musl");
}
