use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

const FAILURE: Outcome = Outcome::Failure { retry_after: None };

fn started(schedule: &mut Schedule<u8>, now: u64) -> Vec<u8> {
    schedule.start_due(seconds(now), usize::MAX)
}

#[test]
fn new_key_is_polled_at_once_and_then_at_its_interval() {
    let mut schedule = Schedule::default();
    schedule.insert(1, seconds(15), seconds(100));
    assert_eq!(started(&mut schedule, 100), [1]);
    assert_eq!(started(&mut schedule, 1000), [0_u8; 0]);
    schedule.finish(&1, Outcome::Success, seconds(101), 0.5);
    assert_eq!(schedule.next_due(), Some(seconds(116)));
    assert_eq!(started(&mut schedule, 115), [0_u8; 0]);
    assert_eq!(started(&mut schedule, 116), [1]);
}

#[test]
fn shorter_interval_takes_effect_at_once() {
    let mut schedule = Schedule::default();
    schedule.insert(1, seconds(3600), seconds(0));
    started(&mut schedule, 0);
    schedule.finish(&1, Outcome::Success, seconds(0), 0.5);
    schedule.insert(1, seconds(15), seconds(10));
    assert_eq!(schedule.due(&1), Some(seconds(25)));
}

#[test]
fn webhook_during_a_poll_causes_one_more_poll() {
    let mut schedule = Schedule::default();
    schedule.insert(1, seconds(60), seconds(0));
    started(&mut schedule, 0);
    for _ in 0..100 {
        schedule.poll_now(&1, seconds(1));
    }
    assert_eq!(started(&mut schedule, 1), [0_u8; 0]);
    schedule.finish(&1, Outcome::Success, seconds(2), 0.5);
    assert_eq!(started(&mut schedule, 2), [1]);
    schedule.finish(&1, Outcome::Success, seconds(3), 0.5);
    assert_eq!(started(&mut schedule, 3), [0_u8; 0]);
}

#[test]
fn webhook_does_not_shorten_the_wait_that_the_server_named() {
    let mut schedule = Schedule::default();
    schedule.insert(1, seconds(15), seconds(0));
    started(&mut schedule, 0);
    let retry_after = Some(seconds(600));
    schedule.poll_now(&1, seconds(0));
    schedule.finish(&1, Outcome::Failure { retry_after }, seconds(0), 0.0);
    schedule.poll_now(&1, seconds(10));
    assert_eq!(started(&mut schedule, 599), [0_u8; 0]);
    assert_eq!(started(&mut schedule, 600), [1]);
}

#[test]
fn delay_doubles_with_each_failure_up_to_15_minutes() {
    let delay = |failures| delay_after_failure(seconds(15), failures, None, 1.0);
    assert_eq!(
        [delay(1), delay(2), delay(3)],
        [seconds(30), seconds(60), seconds(120)]
    );
    assert_eq!([delay(10), delay(u32::MAX)], [MAX_BACKOFF, MAX_BACKOFF]);
    assert_eq!(
        delay_after_failure(seconds(3600), 9, None, 0.0),
        seconds(3600)
    );
}

#[test]
fn removed_key_is_not_polled() {
    let mut schedule = Schedule::default();
    schedule.insert(1, seconds(15), seconds(0));
    schedule.insert(2, seconds(15), seconds(0));
    started(&mut schedule, 0);
    schedule.finish(&2, FAILURE, seconds(0), 0.5);
    schedule.remove(&1);
    schedule.remove(&2);
    schedule.finish(&1, Outcome::Success, seconds(0), 0.5);
    assert!(schedule.is_empty());
    assert_eq!(schedule.next_due(), None);
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u8, u64),
    Remove(u8),
    PollNow(u8),
    Start(usize),
    Finish(u8, bool, Option<u64>),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0_u8..4;
    prop_oneof![
        (key.clone(), 0_u64..100).prop_map(|(key, interval)| Step::Insert(key, interval)),
        key.clone().prop_map(Step::Remove),
        key.clone().prop_map(Step::PollNow),
        (0_usize..3).prop_map(Step::Start),
        (key, any::<bool>(), proptest::option::of(0_u64..1000))
            .prop_map(|(key, good, retry)| Step::Finish(key, good, retry)),
        (0_u64..200).prop_map(Step::Wait),
    ]
}

proptest! {
    #[test]
    fn key_has_one_poll_at_a_time_and_no_key_is_lost(
        steps in proptest::collection::vec((step(), 0.0_f64..1.0), 0..200),
    ) {
        let mut schedule = Schedule::default();
        let mut now = seconds(0);
        let mut running: HashSet<u8> = HashSet::new();
        let mut present: HashSet<u8> = HashSet::new();
        let mut forbidden: HashMap<u8, Duration> = HashMap::new();
        for (step, random) in steps {
            match step {
                Step::Insert(key, interval) => {
                    schedule.insert(key, seconds(interval), now);
                    if present.insert(key) {
                        forbidden.remove(&key);
                    }
                }
                Step::Remove(key) => {
                    schedule.remove(&key);
                    present.remove(&key);
                    running.remove(&key);
                }
                Step::PollNow(key) => schedule.poll_now(&key, now),
                Step::Start(max) => {
                    let started = schedule.start_due(now, max);
                    prop_assert!(started.len() <= max);
                    for key in started {
                        prop_assert!(present.contains(&key));
                        prop_assert!(running.insert(key), "{} is polled twice", key);
                        prop_assert!(forbidden.get(&key).is_none_or(|until| *until <= now));
                    }
                }
                Step::Finish(key, good, retry) => {
                    let retry_after = retry.map(seconds);
                    let outcome = if good { Outcome::Success } else { Outcome::Failure { retry_after } };
                    schedule.finish(&key, outcome, now, random);
                    if running.remove(&key) {
                        let until = retry_after.filter(|_| !good).unwrap_or_default();
                        forbidden.insert(key, now + until);
                    }
                }
                Step::Wait(count) => now += seconds(count),
            }
            prop_assert_eq!(schedule.len(), present.len());
            for key in &present {
                prop_assert_eq!(schedule.due(key).is_none(), running.contains(key));
            }
        }
    }

    #[test]
    fn delays_are_never_shorter_than_permitted(
        interval in 0_u64..10_000,
        failures in 0_u32..100,
        retry in proptest::option::of(0_u64..100_000),
        random in any::<f64>(),
    ) {
        let interval = seconds(interval);
        let delay = delay_after_failure(interval, failures, retry.map(seconds), random);
        prop_assert!(delay >= interval);
        prop_assert!(delay >= retry.map(seconds).unwrap_or_default());
        let success = delay_after_success(interval, random);
        prop_assert!(success >= interval.mul_f64(0.89));
        prop_assert!(success <= interval.max(MIN_INTERVAL).mul_f64(1.11));
    }
}
