//! Simulated container logs.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::Query;
use axum::response::Response;
use drover_apiserver::serve::answer;
use drover_apiserver::serve::request::ResourcePath;
use drover_apiserver::status::ApiError;
use futures::stream;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode, Uri};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use serde::Deserialize;

use super::Answers;
use crate::hash::fnv1a;

/// Interval between log lines.
const INTERVAL: SignedDuration = SignedDuration::from_secs(10);
/// Maximum number of lines in a response. A longer log is cut at its beginning.
const MAX_LINES: i64 = 1000;

/// The supported query parameters of a log request, from `PodLogOptions`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Options {
    container: String,
    follow: String,
    previous: String,
    timestamps: String,
    since_seconds: Option<i64>,
    since_time: Option<Timestamp>,
    tail_lines: Option<i64>,
    limit_bytes: Option<usize>,
}

fn is_set(text: &str) -> bool {
    matches!(text, "true" | "True" | "1")
}

/// One run of a container. The log lines are a pure function of the run.
#[derive(Clone, Debug)]
struct Run {
    container: String,
    image: String,
    seed: u32,
    began: Timestamp,
    /// Time and exit code of the end of the run. `None` while the container runs.
    ended: Option<(Timestamp, i32)>,
}

pub(super) fn answer(
    answers: &Answers,
    path: &ResourcePath,
    uri: &Uri,
) -> Result<Response, ApiError> {
    let options = Query::<Options>::try_from_uri(uri)
        .map_err(|error| ApiError::bad_request(format!("cannot parse the query: {error}")))?
        .0;
    let run = {
        let world = answers.world.lock();
        let pod = world.pods.get(&path.namespace, &path.name);
        let pod = pod.ok_or_else(|| ApiError::not_found("", "pods", &path.name))?;
        run(pod, &path.name, &options)?
    };
    let now = answers.clock.now();
    let text = past(&run, &options, now);
    let follows = is_set(&options.follow) && run.ended.is_none();
    if !follows {
        return Ok(answer::text(StatusCode::OK, text));
    }
    let mut response = Response::new(Body::from_stream(follow(answers, path, run, options, text)));
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    Ok(response)
}

fn container_names(pod: &Pod) -> Vec<&str> {
    let spec = pod.spec.as_ref();
    let containers = spec.map_or(&[][..], |spec| spec.containers.as_slice());
    containers
        .iter()
        .map(|container| container.name.as_str())
        .collect()
}

fn run(pod: &Pod, name: &str, options: &Options) -> Result<Run, ApiError> {
    let names = container_names(pod);
    let expected = match (options.container.as_str(), names.as_slice()) {
        ("", [only]) => *only,
        ("", names) => {
            return Err(ApiError::bad_request(format!(
                "a container name must be specified for pod {name}, choose one of: [{}]",
                names.join(" ")
            )));
        }
        (expected, names) if names.contains(&expected) => expected,
        (expected, _) => {
            let message = format!("container {expected} is not valid for pod {name}");
            return Err(ApiError::bad_request(message));
        }
    };
    let statuses = pod
        .status
        .as_ref()
        .and_then(|status| status.container_statuses.as_ref());
    let status = statuses
        .into_iter()
        .flatten()
        .find(|status| status.name == expected);
    let previous = is_set(&options.previous);
    let found = status.and_then(|status| life(status, previous).map(|life| (status, life)));
    let Some((status, (began, ended))) = found else {
        return Err(ApiError::bad_request(nothing_yet(
            status, expected, name, previous,
        )));
    };
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    Ok(Run {
        container: expected.to_owned(),
        image: status.image.clone(),
        seed: fnv1a(&format!("{uid}/{expected}")),
        began,
        ended,
    })
}

fn nothing_yet(
    status: Option<&ContainerStatus>,
    container: &str,
    pod: &str,
    previous: bool,
) -> String {
    if previous {
        return format!("previous terminated container {container:?} in pod {pod:?} not found");
    }
    let waiting = status
        .and_then(|status| status.state.as_ref()?.waiting.as_ref()?.reason.clone())
        .unwrap_or_else(|| "ContainerCreating".to_owned());
    format!("container {container:?} in pod {pod:?} is waiting to start: {waiting}")
}

/// Returns the start and end of the most recent run of a container. If `previous` is true, returns
/// the preceding run.
fn life(status: &ContainerStatus, previous: bool) -> Option<(Timestamp, Option<(Timestamp, i32)>)> {
    let ended = |state: Option<&k8s_openapi::api::core::v1::ContainerState>| {
        let ended = state?.terminated.as_ref()?;
        let (began, end) = (ended.started_at.as_ref()?.0, ended.finished_at.as_ref()?.0);
        Some((began, Some((end, ended.exit_code))))
    };
    let (now, last) = (status.state.as_ref(), status.last_state.as_ref());
    if previous {
        return ended(last);
    }
    let running = now.and_then(|state| state.running.as_ref());
    let running = running.and_then(|running| running.started_at.as_ref());
    // Between two runs, the response is the log of the last run.
    running
        .map(|began| (began.0, None))
        .or_else(|| ended(now))
        .or_else(|| ended(last))
}

impl Run {
    /// Returns the line number of the newest log line at the time `now`.
    fn last(&self, now: Timestamp) -> i64 {
        let end = self.ended.map_or(now, |(end, _)| end.min(now));
        end.duration_since(self.began).as_secs().max(0) / INTERVAL.as_secs()
    }

    fn at(&self, number: i64) -> Timestamp {
        let after = INTERVAL.saturating_mul(i32::try_from(number).unwrap_or(i32::MAX));
        self.began.saturating_add(after).unwrap_or(Timestamp::MAX)
    }

    fn line(&self, number: i64, timestamps: bool) -> String {
        let mut line = String::new();
        if timestamps {
            // Writing to a String cannot fail.
            let _ = write!(line, "{:.9} ", self.at(number));
        }
        let (container, image) = (&self.container, &self.image);
        let _ = match number {
            0 => writeln!(
                line,
                "[simulated] container {container} ({image}) has started; no process runs here, and these lines are generated"
            ),
            _ => writeln!(
                line,
                "[simulated] {container}: handled {} requests in {} s",
                1 + (fnv1a(&format!("{}/{number}", self.seed)) % 97),
                INTERVAL.as_secs()
            ),
        };
        line
    }

    fn end_line(&self, timestamps: bool) -> Option<String> {
        let (end, code) = self.ended?;
        let time = if timestamps {
            format!("{end:.9} ")
        } else {
            String::new()
        };
        let container = &self.container;
        Some(format!(
            "{time}[simulated] {container} ends with code {code}\n"
        ))
    }
}

/// Returns the requested log lines that the container has written.
fn past(run: &Run, options: &Options, now: Timestamp) -> String {
    let last = run.last(now);
    let since = options
        .since_seconds
        .map(|seconds| {
            now.saturating_sub(SignedDuration::from_secs(seconds))
                .unwrap_or(Timestamp::MIN)
        })
        .or(options.since_time)
        .unwrap_or(Timestamp::MIN);
    let timestamps = is_set(&options.timestamps);
    let numbers = (last + 1 - MAX_LINES).max(0)..=last;
    let mut lines: Vec<String> = numbers
        .filter(|number| run.at(*number) >= since)
        .map(|number| run.line(number, timestamps))
        .chain(run.end_line(timestamps))
        .collect();
    if let Some(tail) = options
        .tail_lines
        .and_then(|tail| usize::try_from(tail).ok())
    {
        lines.drain(..lines.len().saturating_sub(tail));
    }
    let mut text = lines.concat();
    if let Some(most) = options.limit_bytes {
        text.truncate(text.floor_char_boundary(most));
    }
    text
}

/// Streams the existing log lines. Then streams new lines until the container ends.
fn follow(
    answers: &Answers,
    path: &ResourcePath,
    run: Run,
    options: Options,
    first: String,
) -> impl futures::Stream<Item = Result<Bytes, std::convert::Infallible>> + Send + use<> {
    let world = Arc::clone(&answers.world);
    let (clock, stop) = (answers.clock.clone(), answers.stop.clone());
    let (namespace, name) = (path.namespace.clone(), path.name.clone());
    let next = run.last(clock.now()) + 1;
    let first = (!first.is_empty()).then(|| Bytes::from(first));
    stream::unfold((first, next), move |(first, number)| {
        let (world, clock, stop) = (Arc::clone(&world), clock.clone(), stop.clone());
        let (namespace, name) = (namespace.clone(), name.clone());
        let (run, timestamps) = (run.clone(), is_set(&options.timestamps));
        async move {
            if let Some(first) = first {
                return Some((Ok(first), (None, number)));
            }
            stop.run_until_cancelled(clock.until(run.at(number)))
                .await?;
            let goes_on = world.lock().pods.get(&namespace, &name).is_some_and(|pod| {
                let statuses = pod
                    .status
                    .as_ref()
                    .and_then(|one| one.container_statuses.as_ref());
                let mut statuses = statuses.into_iter().flatten();
                statuses.any(|status| {
                    status.name == run.container
                        && life(status, false).is_some_and(|life| life == (run.began, None))
                })
            });
            goes_on.then(|| (Ok(run.line(number, timestamps).into()), (None, number + 1)))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(ended: Option<(Timestamp, i32)>) -> Run {
        Run {
            container: "web".to_owned(),
            image: "shop/web:1".to_owned(),
            seed: 7,
            began: Timestamp::UNIX_EPOCH,
            ended,
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn simulated_log_lines_are_deterministic_and_have_prefix_simulated() {
        let early = past(&run(None), &Options::default(), at(25));
        let late = past(&run(None), &Options::default(), at(45));
        assert_eq!(early.lines().count(), 3);
        assert!(
            early.lines().all(|line| line.starts_with("[simulated] ")),
            "{early}"
        );
        assert!(late.starts_with(&early), "{late}");
    }

    #[test]
    fn simulated_log_lines_are_selected_by_log_options() {
        let count = |options: Options| past(&run(None), &options, at(100)).lines().count();
        let tail = |tail| Options {
            tail_lines: Some(tail),
            ..Options::default()
        };
        assert_eq!(count(Options::default()), 11);
        assert_eq!(count(tail(2)), 2);
        assert_eq!(count(tail(0)), 0);
        assert_eq!(
            count(Options {
                since_seconds: Some(25),
                ..Options::default()
            }),
            3
        );
        let short = Options {
            limit_bytes: Some(11),
            ..Options::default()
        };
        assert_eq!(past(&run(None), &short, at(100)), "[simulated]");
    }

    #[test]
    fn simulated_log_ends_with_its_container_and_has_at_most_1000_lines() {
        let text = past(&run(Some((at(15), 3))), &Options::default(), at(1000));
        assert_eq!(text.lines().count(), 3);
        assert!(text.ends_with("web ends with code 3\n"), "{text}");
        let long = past(&run(None), &Options::default(), at(10_000_000));
        assert_eq!(long.lines().count(), 1000);
    }
}
