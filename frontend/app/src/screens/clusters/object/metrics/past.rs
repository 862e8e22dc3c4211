//! The past usage from the Prometheus of the cluster.

use std::time::Duration;

use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::messages::t;
use drover_ui_core::metrics::{
    History, Prometheus, PrometheusSearch, Queries, ServiceList, Span, points, queries,
    query_problem,
};
use drover_ui_core::problem::{Problem, ProblemKind};
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::clock::{now, sleep};
use crate::fetch::Request;
use crate::latest::LatestRequest;
use crate::session::Session;

/// The interval of the queries. Prometheus usually measures every 30 s or 60 s.
const INTERVAL: Duration = Duration::from_mins(1);

/// The state of the past usage.
#[derive(Clone, PartialEq)]
pub(super) enum PastState {
    /// No response has arrived.
    Searching,
    /// The cluster has no Prometheus that the page can find.
    Absent,
    /// The search or a query failed.
    Failed(Problem),
    /// The usage of the period.
    Known(History),
}

/// The past usage of an object.
#[derive(Clone, Copy)]
pub(super) struct Past {
    state: RwSignal<PastState>,
    found: RwSignal<Option<Prometheus>>,
    /// The error of the last query.
    problem: RwSignal<Option<Problem>>,
}

impl Past {
    /// Searches for the Prometheus of the cluster, and requests the usage of the period every minute
    /// until the tab closes.
    pub(super) fn follow(named: &KubectlObject, span: Memo<Span>) -> Self {
        let session = expect_context::<Session>();
        let past = Self {
            state: RwSignal::new(PastState::Searching),
            found: RwSignal::new(None),
            problem: RwSignal::new(None),
        };
        let Some(queries) = queries(named) else {
            past.state.set(PastState::Absent);
            return past;
        };
        let (queries, latest) = (StoredValue::new(queries), LatestRequest::new());
        let ask = move || {
            let Some(prometheus) = past.found.get_untracked() else {
                return;
            };
            let (number, span, queries) =
                (latest.begin(), span.get_untracked(), queries.get_value());
            spawn_local(async move {
                let answer = usage(&prometheus, &queries, span).await;
                if !latest.is_latest(number) {
                    return;
                }
                if let Err(problem) = &answer {
                    session.handle(problem);
                }
                past.update(answer);
            });
        };
        let search = PrometheusSearch::new(&named.cluster);
        spawn_local(async move {
            match find(&search).await {
                Ok(Some(prometheus)) => {
                    past.found.try_set(Some(prometheus));
                }
                Ok(None) => {
                    past.state.try_set(PastState::Absent);
                    return;
                }
                Err(problem) => {
                    session.handle(&problem);
                    past.state.try_set(PastState::Failed(problem));
                    return;
                }
            }
            while latest.is_open() {
                ask();
                sleep(INTERVAL).await;
            }
        });
        Effect::new(move |first: Option<()>| {
            span.track();
            if first.is_some() {
                ask();
            }
        });
        past
    }

    /// Shows the response to the last query. After an error, the last values remain.
    fn update(self, answer: Result<History, Problem>) {
        self.problem.set(answer.as_ref().err().cloned());
        let is_known = self
            .state
            .with_untracked(|it| matches!(it, PastState::Known(_)));
        match answer {
            Ok(history) => self.state.set(PastState::Known(history)),
            Err(problem) if !is_known => self.state.set(PastState::Failed(problem)),
            Err(_) => {}
        }
    }

    /// Returns the state.
    pub(super) fn state(self) -> PastState {
        self.state.get()
    }

    /// Returns the source of the charts, or the reason why the charts have only samples.
    pub(super) fn note(self) -> String {
        let service = self
            .found
            .with(|it| it.as_ref().map(|it| it.service.clone()));
        match (self.state.get(), service) {
            (PastState::Searching, _) => String::new(),
            (PastState::Absent, _) | (PastState::Known(_), None) => {
                t().metrics.no_prometheus().to_owned()
            }
            (PastState::Known(history), Some(service)) if history.is_empty() => {
                t().metrics.no_series(&service)
            }
            (PastState::Known(_), Some(service)) => match self.problem.get() {
                Some(problem) => t().metrics.not_updated(&service, &problem.message),
                None => t().metrics.of_prometheus(&service),
            },
            (PastState::Failed(problem), None) if problem.kind == ProblemKind::Forbidden => {
                t().metrics.search_forbidden().to_owned()
            }
            (PastState::Failed(problem), Some(service))
                if problem.kind == ProblemKind::Forbidden =>
            {
                t().metrics.query_forbidden(&service)
            }
            (PastState::Failed(problem), _) => t().metrics.only_samples(&problem.message),
        }
    }
}

/// Searches for the Prometheus of a cluster.
async fn find(search: &PrometheusSearch) -> Result<Option<Prometheus>, Problem> {
    for url in search.urls() {
        let list = Request::get(url).answer::<ServiceList>().await?;
        if let Some(found) = search.found(&list) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Requests the usage of a period.
async fn usage(prometheus: &Prometheus, queries: &Queries, span: Span) -> Result<History, Problem> {
    let now = now();
    let ask = async |query: &str| {
        let request = Request::get(prometheus.url(query, span, now));
        points(&request.parsing_problems_with(query_problem).bytes().await?)
    };
    let (cpu, memory) = futures::join!(ask(&queries.cpu), ask(&queries.memory));
    Ok(History {
        cpu: cpu?,
        memory: memory?,
    })
}
