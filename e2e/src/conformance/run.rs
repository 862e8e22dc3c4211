//! Runs a script on both servers and compares the responses.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

use super::answer;
use super::client::Side;
use super::difference::{Difference, compare};
use super::normal::{Normal, newest};
use super::place;
use super::script::{Action, Body, Caller, Request, Script, Step, Until};
use super::streams::Stream;
use super::substitute::Variables;
use crate::error::with_causes;

/// Timeout of requests that are repeated because their result depends on controllers.
const CONDITION_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum number of parallel requests in one step.
const CONCURRENCY: usize = 16;
/// Interval between two attempts of a repeated request.
const POLL_INTERVAL: Duration = Duration::from_millis(60);

/// The response of the reference server does not match the expectation of a script.
#[derive(Debug, thiserror::Error)]
#[error("script {script} expects other responses than those of Kubernetes:\n{}", whys.join("\n"))]
pub struct RunError {
    script: String,
    whys: Vec<String>,
}

/// The result of comparing the servers with one script.
#[derive(Debug)]
pub struct Outcome {
    /// Name of the script.
    pub script: String,
    /// Number of compared steps.
    pub steps: usize,
    /// The differences in the responses, by name of the step.
    pub differences: Vec<(String, Vec<Difference>)>,
}

/// The two servers whose responses are compared.
#[derive(Debug)]
pub struct Pair {
    /// The server under test: the embedded API.
    pub ours: Side,
    /// The reference server: kube-apiserver.
    pub real: Side,
}

/// The state of a script that runs on one server.
struct Walk<'a> {
    side: &'a Side,
    variables: Variables,
    streams: HashMap<String, Stream>,
    answers: Vec<Value>,
}

impl Pair {
    /// Runs a script on both servers, in a new namespace.
    pub async fn run(&self, script: &Script, namespace: &str) -> Result<Outcome, RunError> {
        let failed = |whys| RunError {
            script: script.name.clone(),
            whys,
        };
        let mut ours = Walk::new(&self.ours, namespace);
        let mut real = Walk::new(&self.real, namespace);
        let (remaining, right) = tokio::join!(ours.prepare(), real.prepare());
        right
            .and(remaining)
            .map_err(|reason| failed(vec![reason]))?;
        let mut broken = None;
        let mut wrong = Vec::new();
        for step in &script.steps {
            let (remaining, right) = tokio::join!(ours.take(step), real.take(step));
            let fine = right.is_ok();
            if let Err(reason) = right.and_then(|()| real.check(step)) {
                wrong.push(format!("  step {:?}: {reason}", step.name));
            }
            if !fine {
                break;
            }
            if let Err(reason) = remaining {
                broken = Some((step.name.clone(), reason));
                break;
            }
        }
        if !wrong.is_empty() {
            return Err(failed(wrong));
        }
        let steps = ours.answers.len();
        let mut differences = compare_all(script, &ours, &real);
        if let Some((step, reason)) = broken {
            let difference = Difference {
                path: "step".to_owned(),
                ours: Some(reason.into()),
                real: Some("done".into()),
            };
            match differences.iter_mut().find(|(name, _)| *name == step) {
                Some((_, found)) => found.push(difference),
                None => differences.push((step, vec![difference])),
            }
        }
        Ok(Outcome {
            script: script.name.clone(),
            steps,
            differences,
        })
    }
}

fn compare_all(
    script: &Script,
    ours: &Walk<'_>,
    real: &Walk<'_>,
) -> Vec<(String, Vec<Difference>)> {
    let ours = ours.normal_answers();
    let real = real.normal_answers();
    script
        .steps
        .iter()
        .zip(ours.iter().zip(&real))
        .map(|(step, (ours, real))| {
            let found = compare(&chosen(step, ours), &chosen(step, real));
            (step.name.clone(), found)
        })
        .filter(|(_, found)| !found.is_empty())
        .collect()
}

/// Returns the values of a response that the step compares, by path.
fn chosen(step: &Step, answer: &Value) -> Value {
    if step.only.is_empty() {
        return answer.clone();
    }
    let mut chosen = json!({"code": answer["code"]});
    for expected in &step.only {
        let found = place::find(answer, expected).ok().flatten();
        chosen[expected] = found.unwrap_or(Value::Null);
    }
    chosen
}

impl<'a> Walk<'a> {
    fn new(side: &'a Side, namespace: &str) -> Self {
        Self {
            side,
            variables: first_variables(namespace),
            streams: HashMap::new(),
            answers: Vec::new(),
        }
    }

    /// Creates the namespace of the script and waits for its default objects.
    async fn prepare(&self) -> Result<(), String> {
        let make = Request {
            method: "POST".to_owned(),
            path: "/api/v1/namespaces".to_owned(),
            headers: BTreeMap::from([("Content-Type".to_owned(), "application/json".to_owned())]),
            caller: Caller::Admin,
            body: Body::Document(json!({"metadata": {"name": "${ns}"}})),
        };
        let answer = self.ask(&make).await?;
        if answer["code"] != 201 {
            return Err(format!("{}: {answer}", self.side.name));
        }
        let look = Request {
            method: "GET".to_owned(),
            path: "/api/v1/namespaces/${ns}/serviceaccounts/default".to_owned(),
            headers: BTreeMap::new(),
            caller: Caller::Admin,
            body: Body::None,
        };
        let until = Until {
            code: Some(200),
            at: None,
            is: None,
            without: None,
        };
        let answer = self.ask_until(&look, &until, 200).await?;
        if answer["code"] == 200 {
            return Ok(());
        }
        Err(format!("{}: no default account: {answer}", self.side.name))
    }

    /// Executes a step of a script and stores its response.
    async fn take(&mut self, step: &Step) -> Result<(), String> {
        let answer = match &step.action {
            Action::Ask {
                request,
                until: None,
                ..
            } => self.ask(request).await?,
            Action::Ask {
                request,
                until: Some(until),
                expect,
            } => self.ask_until(request, until, *expect).await?,
            Action::Together { request, count, .. } => self.ask_together(request, *count).await?,
            Action::Watch { request, id } => self.open(request, id).await?,
            Action::Read { id, events } => {
                let stream = self.streams.get_mut(id);
                let stream = stream.ok_or_else(|| format!("no watch {id} is open"))?;
                stream.read(*events).await?
            }
        };
        let captured = self.capture(step, &answer);
        self.answers.push(answer);
        captured
    }

    async fn ask(&self, request: &Request) -> Result<Value, String> {
        let answer = self.side.send(request, &self.variables).await?;
        whole(answer).await
    }

    async fn ask_until(
        &self,
        request: &Request,
        until: &Until,
        expect: u16,
    ) -> Result<Value, String> {
        let end = tokio::time::Instant::now() + CONDITION_TIMEOUT;
        loop {
            let answer = self.ask(request).await?;
            if holds(until, expect, &answer)? || tokio::time::Instant::now() > end {
                return Ok(answer);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Sends a request many times in parallel. The result contains the number of responses with
    /// each status and reason, and the number of distinct object names.
    async fn ask_together(&self, request: &Request, count: usize) -> Result<Value, String> {
        let asks = (0..count).map(|index| {
            let mut variables = self.variables.clone();
            variables.insert("i".to_owned(), format!("{index:03}"));
            async move { whole(self.side.send(request, &variables).await?).await }
        });
        let answers: Vec<Value> = stream::iter(asks)
            .buffer_unordered(CONCURRENCY)
            .try_collect()
            .await?;
        let mut alike: BTreeMap<String, usize> = BTreeMap::new();
        let mut names = BTreeSet::new();
        for answer in &answers {
            let body = &answer["body"];
            let reason = body["reason"].as_str().unwrap_or_default();
            let message = format!("{} {reason}", answer["code"]);
            *alike.entry(message.trim_end().to_owned()).or_default() += 1;
            names.extend(body["metadata"]["name"].as_str());
        }
        let codes: BTreeSet<u64> = answers
            .iter()
            .filter_map(|answer| answer["code"].as_u64())
            .collect();
        Ok(json!({
            "code": codes.first(), "codes": codes,
            "body": {"answers": alike, "names": names.len()},
        }))
    }

    async fn open(&mut self, request: &Request, id: &str) -> Result<Value, String> {
        let answer = self.side.send(request, &self.variables).await?;
        if !answer.status().is_success() {
            return whole(answer).await;
        }
        let opened = answer::document(answer.status().as_u16(), answer.headers(), &[]);
        self.streams.insert(id.to_owned(), Stream::new(answer));
        Ok(opened)
    }

    fn capture(&mut self, step: &Step, answer: &Value) -> Result<(), String> {
        for (name, expected) in &step.capture {
            let found = place::find(answer, expected)?
                .ok_or_else(|| format!("the response has no {expected}: {answer}"))?;
            let text = match found {
                Value::String(text) => text,
                other => other.to_string(),
            };
            self.variables.insert(name.clone(), text);
        }
        Ok(())
    }

    /// Checks the status of the most recent response and the condition of the script.
    fn check(&self, step: &Step) -> Result<(), String> {
        let Some(answer) = self.answers.last() else {
            return Ok(());
        };
        let (expect, until) = match &step.action {
            Action::Ask { expect, until, .. } => (expect, until.as_ref()),
            Action::Together { expect, .. } => {
                let codes = answer["codes"].as_array();
                if codes.is_some_and(|codes| codes.contains(&json!(expect))) {
                    return Ok(());
                }
                return Err(format!("no response has the code {expect}: {answer}"));
            }
            _ => return Ok(()),
        };
        if answer["code"] != *expect {
            let (name, code) = (self.side.name, &answer["code"]);
            return Err(format!(
                "{name} answers {code}, not {expect}: {}",
                answer["body"]
            ));
        }
        match until {
            Some(until) if !holds(until, *expect, answer)? => Err(format!(
                "{} never answered what the step waits for, but {}",
                self.side.name, answer["body"]
            )),
            _ => Ok(()),
        }
    }

    fn normal_answers(&self) -> Vec<Value> {
        let mut normal = Normal::new(self.side.host());
        self.answers.iter().for_each(|answer| normal.learn(answer));
        let mut seen = 0;
        let created = self.answers.iter().map(|answer| {
            seen = newest(answer).max(seen);
            normal.apply(answer, seen)
        });
        created.collect()
    }
}

/// Returns the predefined variables of scripts: the namespace, and paths of common API groups.
fn first_variables(namespace: &str) -> Variables {
    let groups = [
        ("core", "/api/v1"),
        ("apps", "/apis/apps/v1"),
        ("batch", "/apis/batch/v1"),
        ("rbac", "/apis/rbac.authorization.k8s.io/v1"),
    ];
    let mut variables = Variables::from([("ns".to_owned(), namespace.to_owned())]);
    for (name, path) in groups {
        variables.insert(name.to_owned(), format!("{path}/namespaces/{namespace}"));
    }
    variables
}

fn holds(until: &Until, expect: u16, answer: &Value) -> Result<bool, String> {
    if answer["code"] != until.code.unwrap_or(expect) {
        return Ok(false);
    }
    let body = &answer["body"];
    if let Some(absent) = &until.without
        && place::find(body, absent)?.is_some()
    {
        return Ok(false);
    }
    let Some(at) = &until.at else {
        return Ok(true);
    };
    let found = place::find(body, at)?;
    Ok(match (&until.is, found) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(expected), Some(found)) => *expected == found,
    })
}

async fn whole(answer: reqwest::Response) -> Result<Value, String> {
    let (code, headers) = (answer.status().as_u16(), answer.headers().clone());
    let body = answer.bytes().await.map_err(|error| with_causes(&error))?;
    Ok(answer::document(code, &headers, &body))
}
