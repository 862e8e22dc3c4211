//! The load generator: closed loops measure throughput, and a fixed request rate measures latency.

mod exchange;
mod length;
mod numbers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

pub(crate) use exchange::{Connection, ExchangeError, Sent, Target};
pub(crate) use numbers::{NUMBER, Numbers, REPEATING_NUMBER};

/// Time for which the generator still sends late requests after the end of a fixed-rate run.
const GRACE: Duration = Duration::from_secs(2);

/// The result of a closed loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throughput {
    /// Number of exchanges per second.
    pub(crate) rate: f64,
    /// Number of body bytes per second.
    pub(crate) bytes: f64,
    /// Number of exchanges, including the first exchange of each connection.
    pub(crate) exchanges: u64,
}

/// The result of a run at a fixed rate.
#[derive(Debug)]
pub(crate) struct Latencies {
    /// Sorted latencies, measured from the *due* time of each request. A latency includes the time
    /// that the request waits for a free connection.
    sorted: Vec<Duration>,
    /// Number of requests that were due, but that the generator did not send before the end.
    pub(crate) missed: u64,
}

impl Latencies {
    /// Returns a quantile (0 to 1) of the latencies, in milliseconds.
    pub(crate) fn quantile_ms(&self, share: f64) -> f64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index into a run's requests, of which there are far fewer than 2^52"
        )]
        let index = (self.sorted.len() as f64 * share) as usize;
        self.sorted
            .get(index.min(self.sorted.len().saturating_sub(1)))
            .map_or(f64::NAN, |latency| latency.as_secs_f64() * 1000.0)
    }
}

async fn open(target: &Target, connections: usize) -> Result<Vec<Connection>, ExchangeError> {
    let mut opened = Vec::with_capacity(connections);
    for _ in 0..connections {
        let mut connection = Connection::open(target).await?;
        // Exclude the first exchange of a connection, because it includes the connection setup.
        connection.exchange().await?;
        opened.push(connection);
    }
    Ok(opened)
}

/// Sends the next request on each connection after the response to the previous request.
///
/// The result excludes exchanges that are unfinished at the end. `duration` starts when all
/// connections are open.
pub(crate) async fn closed_loop(
    target: &Target,
    connections: usize,
    duration: Duration,
) -> Result<Throughput, ExchangeError> {
    let mut tasks = JoinSet::new();
    let opened = open(target, connections).await?;
    let start = Instant::now();
    for mut connection in opened {
        tasks.spawn(async move {
            let (mut exchanges, mut bytes) = (0_u64, 0_u64);
            while start.elapsed() < duration {
                bytes += connection.exchange().await?;
                exchanges += 1;
            }
            // Measure until the last response of each connection, so that long exchanges count
            // correctly.
            Ok::<_, ExchangeError>((exchanges, bytes, start.elapsed()))
        });
    }
    let mut total = Throughput {
        rate: 0.0,
        bytes: 0.0,
        exchanges: connections as u64,
    };
    while let Some(joined) = tasks.join_next().await {
        let (exchanges, bytes, elapsed) =
            joined.expect("a load task neither panics nor is aborted")?;
        total.exchanges += exchanges;
        #[expect(
            clippy::cast_precision_loss,
            reason = "counts of one run stay far below 2^52"
        )]
        let (exchanges, bytes) = (exchanges as f64, bytes as f64);
        total.rate += exchanges / elapsed.as_secs_f64();
        total.bytes += bytes / elapsed.as_secs_f64();
    }
    Ok(total)
}

/// Sends `total` requests over the connections. Each connection waits for the response before the
/// next request.
pub(crate) async fn repeat(
    target: &Target,
    connections: u32,
    total: u32,
) -> Result<(), ExchangeError> {
    let mut tasks = JoinSet::new();
    for number in 0..connections {
        let mut connection = Connection::open(target).await?;
        let own = total / connections + u32::from(number < total % connections);
        tasks.spawn(async move {
            for _ in 0..own {
                connection.exchange().await?;
            }
            Ok::<_, ExchangeError>(())
        });
    }
    while let Some(joined) = tasks.join_next().await {
        joined.expect("a load task neither panics nor is aborted")?;
    }
    Ok(())
}

/// Sends `rate` requests per second over the connections. Does not wait for responses before the
/// next request is due.
pub(crate) async fn at_rate(
    target: &Target,
    connections: usize,
    rate: f64,
    duration: Duration,
) -> Result<Latencies, ExchangeError> {
    let opened = open(target, connections).await?;
    spread(opened, rate, duration).await
}

/// A client that sends requests, one after the other.
pub(crate) trait Exchange: Send + 'static {
    /// Sends the next request, and reads the response.
    fn exchange(&mut self) -> impl Future<Output = Result<(), ExchangeError>> + Send;
}

impl Exchange for Connection {
    async fn exchange(&mut self) -> Result<(), ExchangeError> {
        Self::exchange(self).await.map(drop)
    }
}

/// Sends `rate` requests per second with the clients. Does not wait for responses before the next
/// request is due.
pub(crate) async fn spread<C: Exchange>(
    clients: Vec<C>,
    rate: f64,
    duration: Duration,
) -> Result<Latencies, ExchangeError> {
    let schedule = Arc::new(Schedule::new(rate, duration));
    let mut tasks = JoinSet::new();
    let start = Instant::now();
    for mut client in clients {
        let schedule = Arc::clone(&schedule);
        tasks.spawn(async move {
            let mut latencies = Vec::new();
            while let Some(due) = schedule.next(start).await {
                client.exchange().await?;
                latencies.push(due.elapsed());
            }
            Ok::<_, ExchangeError>(latencies)
        });
    }
    let pacer = schedule.release(start);
    let mut sorted = Vec::new();
    let mut failed = None;
    while let Some(joined) = tasks.join_next().await {
        match joined.expect("a load task neither panics nor is aborted") {
            Ok(latencies) => sorted.extend(latencies),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    schedule.over.store(true, Ordering::Relaxed);
    // The thread sleeps for less than a millisecond, so the join is short.
    let _ = pacer.join();
    if let Some(error) = failed {
        return Err(error);
    }
    sorted.sort_unstable();
    let missed = schedule.total - sorted.len() as u64;
    Ok(Latencies { sorted, missed })
}

/// The due times of requests.
///
/// A separate thread releases the requests, because the resolution of the runtime's timer is one
/// millisecond. Most measured latencies are shorter.
struct Schedule {
    interval: Duration,
    total: u64,
    limit: Duration,
    due: Semaphore,
    taken: AtomicU64,
    over: AtomicBool,
}

impl Schedule {
    fn new(rate: f64, duration: Duration) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive count of requests"
        )]
        let total = (rate * duration.as_secs_f64()) as u64;
        Self {
            interval: Duration::from_secs_f64(1.0 / rate),
            total,
            limit: duration + GRACE,
            due: Semaphore::new(0),
            taken: AtomicU64::new(0),
            over: AtomicBool::new(false),
        }
    }

    /// Waits for the next due request and returns its due time. Returns `None` at the end.
    async fn next(&self, start: Instant) -> Option<Instant> {
        let permit = self.due.acquire().await.ok()?;
        permit.forget();
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        (start.elapsed() < self.limit).then(|| start + self.interval.mul_f64(number_of(number)))
    }

    fn release(self: &Arc<Self>, start: Instant) -> std::thread::JoinHandle<()> {
        let schedule = Arc::clone(self);
        std::thread::spawn(move || {
            let mut released = 0;
            while released < schedule.total && !schedule.over.load(Ordering::Relaxed) {
                let now = start.elapsed().as_secs_f64() / schedule.interval.as_secs_f64();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a positive count of requests"
                )]
                let due = (now as u64 + 1).min(schedule.total);
                let fresh = usize::try_from(due - released).unwrap_or(usize::MAX);
                schedule.due.add_permits(fresh);
                released = due;
                std::thread::sleep(schedule.interval.max(Duration::from_micros(50)));
            }
            // The semaphore is closed for waiting tasks. Tasks can take released requests until the
            // limit.
            while !schedule.over.load(Ordering::Relaxed)
                && schedule.due.available_permits() > 0
                && start.elapsed() < schedule.limit
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            schedule.due.close();
        })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of one run stay far below 2^52"
)]
const fn number_of(count: u64) -> f64 {
    count as f64
}
