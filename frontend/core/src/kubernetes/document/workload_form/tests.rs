use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::document::documents;

fn form(kind: WorkloadKind, values: &[(FormField, &str)]) -> WorkloadForm {
    let values = values.to_vec();
    WorkloadForm::new(kind, move |field| {
        let value = values.iter().find(|(it, _)| *it == field);
        let otherwise = match field {
            FormField::Name => "web",
            FormField::Image => "nginx:1.27",
            FormField::Replicas => "2",
            FormField::Schedule => "0 3 * * *",
            _ => "",
        };
        value.map_or(otherwise, |(_, value)| value).to_owned()
    })
}

fn parsed(form: &WorkloadForm) -> Vec<Value> {
    let text = form.manifests();
    let documents = documents(&text).unwrap();
    let values = documents.iter().map(|it| serde_saphyr::from_str(&it.text));
    values.map(Result::unwrap).collect()
}

#[test]
fn deployment_with_a_port_has_a_service_that_selects_its_pods() {
    let form = form(
        WorkloadKind::Deployment,
        &[
            (FormField::Namespace, "shop"),
            (FormField::Port, "8080"),
            (FormField::Variables, "MODE=on\nPORT=8080"),
            (FormField::Cpu, "100m"),
            (FormField::Memory, "128Mi"),
        ],
    );
    assert_eq!(form.errors(), []);
    let text = form.manifests();
    let start =
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: shop\n";
    assert!(text.starts_with(start), "{text}");
    let objects = parsed(&form);
    let [deployment, service] = objects.as_slice() else {
        panic!("{objects:?}");
    };
    let labels = json!({"app.kubernetes.io/name": "web"});
    assert_eq!(deployment["spec"]["replicas"], 2);
    assert_eq!(deployment["spec"]["selector"]["matchLabels"], labels);
    assert_eq!(deployment["spec"]["template"]["metadata"]["labels"], labels);
    assert_eq!(
        deployment["spec"]["template"]["spec"]["containers"],
        json!([{
            "name": "web", "image": "nginx:1.27",
            "ports": [{"name": "main", "containerPort": 8080}],
            "env": [{"name": "MODE", "value": "on"}, {"name": "PORT", "value": "8080"}],
            "resources": {
                "requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "128Mi"},
            },
        }])
    );
    assert_eq!(service["kind"], "Service");
    assert_eq!(service["spec"]["selector"], labels);
    assert_eq!(service["spec"]["ports"][0]["port"], 8080);
}

#[test]
fn each_kind_has_its_own_fields() {
    let job = parsed(&form(
        WorkloadKind::CronJob,
        &[(FormField::Command, "echo \"a: b\"")],
    ));
    assert_eq!(job.len(), 1);
    assert_eq!(job[0]["apiVersion"], "batch/v1");
    assert_eq!(job[0]["spec"]["schedule"], "0 3 * * *");
    let pod = &job[0]["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    assert_eq!(pod["restartPolicy"], "OnFailure");
    assert_eq!(
        pod["containers"][0]["command"],
        json!(["/bin/sh", "-c", "echo \"a: b\""])
    );
    let set = parsed(&form(WorkloadKind::StatefulSet, &[(FormField::Port, "80")]));
    assert_eq!(set[0]["spec"]["serviceName"], "web");
    assert_eq!(set[1]["spec"]["clusterIP"], "None");
    let daemon = parsed(&form(WorkloadKind::DaemonSet, &[]));
    assert_eq!(daemon[0]["spec"]["replicas"], Value::Null);
}

#[test]
fn environment_variables_keep_the_order_of_the_form() {
    // A variable can use only variables before it: $(NAME).
    let variables = [(FormField::Variables, "ZONE=a\nHOST=$(ZONE).example\nA=1")];
    let objects = parsed(&form(WorkloadKind::Deployment, &variables));
    let env = &objects[0]["spec"]["template"]["spec"]["containers"][0]["env"];
    let names: Vec<_> = env
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["name"])
        .collect();
    assert_eq!(names, ["ZONE", "HOST", "A"]);
}

#[test]
fn name_of_a_service_starts_with_a_letter() {
    let errors = |kind, port| {
        let values = [(FormField::Name, "1web"), (FormField::Port, port)];
        let errors = form(kind, &values).errors().into_iter();
        errors.map(|(field, _)| field).collect::<Vec<_>>()
    };
    assert_eq!(errors(WorkloadKind::Deployment, "80"), [FormField::Name]);
    assert_eq!(errors(WorkloadKind::Deployment, ""), []);
    assert_eq!(errors(WorkloadKind::Job, "80"), [], "a Job has no Service");
}

#[test]
fn invalid_values_are_reported_at_their_fields() {
    let cases = [
        (FormField::Name, "Web"),
        (FormField::Name, ""),
        (FormField::Name, "-web"),
        (FormField::Name, "web.v1"),
        (FormField::Namespace, "a b"),
        (FormField::Image, ""),
        (FormField::Image, "a b"),
        (FormField::Replicas, "-1"),
        (FormField::Replicas, ""),
        (FormField::Port, "0"),
        (FormField::Port, "65536"),
        (FormField::Variables, "MODE"),
        (FormField::Cpu, "much"),
        (FormField::Memory, "-1Gi"),
    ];
    for (field, value) in cases {
        let errors = form(WorkloadKind::Deployment, &[(field, value)]).errors();
        let fields: Vec<_> = errors.iter().map(|(field, _)| *field).collect();
        assert_eq!(fields, [field], "{value}");
    }
    let schedule = [(FormField::Schedule, "daily")];
    assert_eq!(form(WorkloadKind::CronJob, &schedule).errors().len(), 1);
    let daily = [(FormField::Schedule, "@daily")];
    assert_eq!(form(WorkloadKind::CronJob, &daily).errors(), []);
    assert_eq!(
        form(WorkloadKind::Deployment, &schedule).errors(),
        [],
        "a Deployment has no schedule"
    );
}

proptest! {
    #[test]
    fn any_command_and_variable_keeps_its_value_in_yaml(
        command in "\\PC{1,40}", value in "[^\\s=]{1,20}",
    ) {
        let variables = format!("A={value}");
        let values = [
            (FormField::Command, command.as_str()),
            (FormField::Variables, variables.as_str()),
        ];
        let objects = parsed(&form(WorkloadKind::Deployment, &values));
        let container = &objects[0]["spec"]["template"]["spec"]["containers"][0];
        prop_assert_eq!(&container["env"][0]["value"], &json!(value));
        if !command.trim().is_empty() {
            prop_assert_eq!(&container["command"][2], &json!(command.trim()));
        }
    }
}
