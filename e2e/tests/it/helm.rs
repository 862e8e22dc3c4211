//! Tests of Helm with a real API server.

use drover_e2e::SharedControlPlane;

#[tokio::test]
async fn helm_installs_a_chart() {
    let cluster = SharedControlPlane::lease("cluster").await.unwrap();
    let chart = cluster.folder().join("greeting");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    let files = [
        (
            "Chart.yaml",
            "apiVersion: v2\nname: greeting\nversion: 0.1.0\n",
        ),
        ("values.yaml", "word: hello\n"),
        (
            "templates/greeting.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  \
             word: {{ .Values.word | quote }}\n",
        ),
    ];
    for (name, text) in files {
        std::fs::write(chart.join(name), text).unwrap();
    }
    let helm = cluster.helm().await.unwrap();
    let chart = chart.to_str().unwrap();
    helm.run(["install", "first", chart, "--set", "word=goodbye"])
        .await
        .unwrap();
    let word = cluster
        .kubectl(["get", "configmap", "first", "-o", "jsonpath={.data.word}"])
        .await
        .unwrap();
    assert_eq!(word.stdout, "goodbye");
    helm.run(["uninstall", "first"]).await.unwrap();
    cluster
        .kubectl(["get", "configmap", "first"])
        .await
        .unwrap_err();
}
