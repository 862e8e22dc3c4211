use super::*;
use crate::problem::ProblemKind;

fn services(ports: &str) -> ServiceList {
    let text = format!(
        r#"{{"kind":"ServiceList","items":[
        {{"metadata":{{"name":"reloader","namespace":"monitoring"}},"spec":{{"ports":[{{"port":8080}}]}}}},
        {{"metadata":{{"name":"prometheus-k8s","namespace":"monitoring"}},"spec":{{"ports":[{ports}]}}}}]}}"#
    );
    serde_json::from_str(&text).unwrap()
}

fn named(kind: Kind, name: &str) -> KubectlObject {
    KubectlObject {
        cluster: "a".to_owned(),
        kind,
        namespace: kind.namespaced.then(|| "shop".to_owned()),
        name: name.to_owned(),
    }
}

#[test]
fn search_finds_the_service_with_a_known_port() {
    let search = PrometheusSearch::new("a");
    assert_eq!(
        search.urls()[1],
        "/k8s/clusters/a/api/v1/services?limit=20&labelSelector=operated-prometheus%3Dtrue"
    );
    let ports = r#"{"name":"reloader-web","port":8080},{"name":"web","port":9090}"#;
    let found = search.found(&services(ports)).unwrap();
    assert_eq!(found.service, "monitoring/prometheus-k8s");
    let now = Timestamp::from_second(10_000).unwrap();
    assert_eq!(
        found.url("sum(x)", Span::Hour, now),
        "/k8s/clusters/a/api/v1/namespaces/monitoring/services/prometheus-k8s:9090/proxy/api/v1/\
         query_range?query=sum%28x%29&start=6390&end=9990&step=30"
    );
    let tls = search.found(&services(r#"{"name":"https-web","port":9091}"#));
    let path = tls.unwrap().path;
    assert!(
        path.contains("/services/https:prometheus-k8s:9091/proxy/"),
        "{path}"
    );
    let unnamed = search.found(&services(r#"{"port":9090}"#));
    assert!(unnamed.is_some());
    assert_eq!(
        search.found(&services(r#"{"name":"grpc","port":10901}"#)),
        None
    );
}

#[test]
fn queries_select_the_pods_of_the_workload_and_no_other_pods() {
    let pod = queries(&named(Kind::PODS, "web-1")).unwrap();
    assert_eq!(
        pod.cpu,
        "sum(rate(container_cpu_usage_seconds_total{namespace=\"shop\",pod=\"web-1\",\
         container!=\"\",container!=\"POD\"}[WINDOW]))"
    );
    let deployment = queries(&named(Kind::DEPLOYMENTS, "web.v1")).unwrap();
    let random = "[bcdfghjklmnpqrstvwxz2456789]";
    let matcher = format!("pod=~\"web[.]v1-{random}{{1,10}}-{random}{{5}}\"");
    assert!(
        deployment.memory.contains(&matcher),
        "{}",
        deployment.memory
    );
    let prometheus = PrometheusSearch::new("a").found(&services(r#"{"name":"web","port":9090}"#));
    let (prometheus, now) = (prometheus.unwrap(), Timestamp::from_second(10_000).unwrap());
    let window = |span| {
        let url = prometheus.url("rate(x[WINDOW])", span, now);
        url.split_once("x%5B")
            .and_then(|(_, rest)| Some(rest.split_once("%5D")?.0.to_owned()))
    };
    assert_eq!(window(Span::Hour).as_deref(), Some("300s"));
    assert_eq!(window(Span::Week).as_deref(), Some("5040s"));
    let node = queries(&named(Kind::NODES, "n1")).unwrap();
    assert_eq!(
        node.memory,
        "sum(container_memory_working_set_bytes{id=\"/\",node=\"n1\"}) or \
         sum(container_memory_working_set_bytes{id=\"/\",instance=\"n1\"})"
    );
    assert_eq!(queries(&named(Kind::SERVICES, "web")), None);
    let hostile = queries(&named(Kind::PODS, "a\"} or vector(1) #\\")).unwrap();
    assert!(
        hostile.cpu.contains(r#"pod="a\"} or vector(1) #\\","#),
        "{}",
        hostile.cpu
    );
}

#[test]
fn responses_of_prometheus_are_parsed() {
    // Responses of Prometheus 2.42.
    let body = br#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[
        [1796001299,"0.25"],[1796001419.5,"0.1758333333333333"],[1796001539,"NaN"],[1796001659,"+Inf"]]}]}}"#;
    let points = points(body).unwrap();
    let values: Vec<_> = points.iter().map(|it| it.value).collect();
    assert_eq!(values, [0.25, 0.175_833_333_333_333_3]);
    assert_eq!(points[1].at.as_millisecond(), 1_796_001_419_500);
    let empty = br#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#;
    assert_eq!(super::points(empty).unwrap(), []);
    assert!(super::points(b"<html>").is_err());
}

#[test]
fn errors_of_prometheus_and_of_the_cluster_are_shown() {
    let body = br#"{"status":"error","errorType":"bad_data","error":"1:5: parse error"}"#;
    assert_eq!(
        query_problem(400, body).message,
        "Prometheus: 1:5: parse error"
    );
    let status = br#"{"kind":"Status","code":403,"message":"services \"x\" is forbidden"}"#;
    assert_eq!(query_problem(403, status).kind, ProblemKind::Forbidden);
}
