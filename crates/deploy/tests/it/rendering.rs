//! The renderer as a process.

use std::time::Duration;

use drover_deploy::renderer::{NoLookup, RenderError, RenderRequest, Renderer, Settings};
use drover_deploy::source::{Files, PatchRequest, decode};
use serde_json::json;

use crate::cluster::{Bundle, renderer, renderer_program};

fn request() -> RenderRequest {
    RenderRequest {
        files: decode(&Bundle::chart().resources).unwrap(),
        chart: Some(".".to_owned()),
        release_name: "r".to_owned(),
        namespace: "web".to_owned(),
        revision: 1,
        kube_version: "v1.34.1".to_owned(),
        api_versions: vec!["v1".to_owned(), "monitoring.coreos.com/v1".to_owned()],
        ..RenderRequest::default()
    }
}

#[tokio::test]
async fn chart_is_rendered_by_helm() {
    let rendered = renderer().render(&request(), &NoLookup).await.unwrap();
    let kinds: Vec<_> = rendered
        .manifests
        .iter()
        .map(|one| one.object.kind())
        .collect();
    assert_eq!(kinds, ["ConfigMap", "PersistentVolumeClaim", "Deployment"]);
    let config = &rendered.manifests[0].object.0["data"];
    let expected = json!({
        "greeting": "hello r", "motd": "Welcome to web", "password": "none", "kubernetes": "v1.34.1",
        "monitoring": "true", "revision": "1", "upgrade": "false",
    });
    assert_eq!(*config, expected);
    assert_eq!(rendered.hooks[0].events, ["pre-install", "pre-upgrade"]);
    assert_eq!(rendered.hooks[0].weight, -5);
    assert_eq!(rendered.crds[0].object.name(), "things.example.com");
    assert_eq!(rendered.notes, "web 1.2.3 runs as r.\n");
    assert!(rendered.used_lookup);
}

#[tokio::test]
async fn kustomization_changes_the_objects_of_a_chart() {
    let mut request = request();
    request.kustomize = Some(".".to_owned());
    request.files.insert(
        "kustomization.yaml".to_owned(),
        b"namePrefix: pre-\n".to_vec(),
    );
    let rendered = renderer().render(&request, &NoLookup).await.unwrap();
    let names: Vec<_> = rendered
        .manifests
        .iter()
        .map(|one| one.object.name())
        .collect();
    assert_eq!(names, ["pre-r-config", "pre-r-store", "pre-r-web"]);
    assert_eq!(rendered.manifests[0].path, "web/templates/config.yaml");
    assert_eq!(rendered.hooks[0].object.name(), "pre-r-migrate");
}

#[tokio::test]
async fn kustomization_cannot_read_files_outside_of_the_bundle() {
    let files = Files::from([(
        "kustomization.yaml".to_owned(),
        b"resources: [/etc/passwd]\n".to_vec(),
    )]);
    let request = RenderRequest {
        files,
        kustomize: Some(".".to_owned()),
        ..RenderRequest::default()
    };
    let error = renderer().render(&request, &NoLookup).await.unwrap_err();
    assert!(matches!(error, RenderError::Rejected(_)), "{error}");
}

#[tokio::test]
async fn template_error_names_the_template() {
    let mut request = request();
    request.files.insert(
        "templates/bad.yaml".to_owned(),
        b"{{ fail \"no\" }}".to_vec(),
    );
    let error = renderer()
        .render(&request, &NoLookup)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("web/templates/bad.yaml"), "{error}");
}

#[tokio::test]
async fn endless_template_ends_with_a_timeout_and_the_renderer_starts_again() {
    let settings = Settings {
        timeout: Duration::from_secs(2),
        ..Settings::new(renderer_program())
    };
    let renderer = Renderer::new(settings);
    let mut endless = request();
    let template =
        b"{{ range until 100000 }}{{ range until 100000 }}{{ $_ := sha256sum \"a\" }}{{ end }}{{ end }}";
    endless
        .files
        .insert("templates/endless.yaml".to_owned(), template.to_vec());
    let error = renderer
        .render(&endless, &NoLookup)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("within 2"), "{error}");
    renderer.render(&request(), &NoLookup).await.unwrap();
}

#[tokio::test]
async fn idle_renderer_stops() {
    let settings = Settings {
        idle: Duration::from_millis(100),
        ..Settings::new(renderer_program())
    };
    let renderer = Renderer::new(settings);
    renderer.render(&request(), &NoLookup).await.unwrap();
    for _ in 0..100 {
        if renderer.process_id().await.is_none() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the renderer still runs");
}

#[tokio::test]
async fn strategic_merge_patch_merges_lists_of_built_in_kinds() {
    let deployment = |containers: serde_json::Value| json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": {"containers": containers}}}});
    let request = PatchRequest {
        target: String::new(),
        object: deployment(json!([{"name": "a", "image": "1"}, {"name": "b", "image": "2"}])),
        patch: json!({"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "3"}]}}}}),
    };
    let patched = renderer().patch(&request).await.unwrap();
    let containers = patched.pointer("/spec/template/spec/containers").unwrap();
    assert_eq!(containers.as_array().unwrap().len(), 2);
    assert!(containers.to_string().contains("\"3\""));
}

/// Renders a kustomization with this resource. Returns the error.
async fn error_of_resource(resource: &str) -> RenderError {
    let text = format!("resources: [\"{resource}\"]\n");
    let files = Files::from([("kustomization.yaml".to_owned(), text.into_bytes())]);
    let request = RenderRequest {
        files,
        kustomize: Some(".".to_owned()),
        ..RenderRequest::default()
    };
    // The search path contains git, as for an agent with an HTTP proxy in its environment.
    let settings = Settings {
        environment: vec![("PATH".to_owned(), std::env::var("PATH").unwrap())],
        ..Settings::new(renderer_program())
    };
    let rendered = Renderer::new(settings).render(&request, &NoLookup).await;
    rendered.unwrap_err()
}

#[tokio::test]
async fn kustomization_cannot_read_urls() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let router = axum::Router::new().fallback(move || async move { object });
    let (requests, mut received) = tokio::sync::mpsc::unbounded_channel();
    let router = router.layer(axum::middleware::from_fn(
        move |request: axum::extract::Request, next: axum::middleware::Next| {
            requests.send(request.uri().clone()).unwrap();
            next.run(request)
        },
    ));
    tokio::spawn(async move { axum::serve(listener, router).await });
    for resource in [
        format!("http://{address}/a.yaml"),
        format!("http://{address}/repository.git?ref=main"),
        format!("git::http://{address}/repository"),
    ] {
        let error = error_of_resource(&resource).await;
        assert!(matches!(error, RenderError::Rejected(_)), "{error}");
        assert!(received.try_recv().is_err(), "{resource}");
    }
}
