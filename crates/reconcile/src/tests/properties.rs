//! Property tests with random sequences of triggers and call results.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Trigger(u8),
    Wait(u64),
    Lead(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..5_u8).prop_map(Step::Trigger),
        3 => (1..2000_u64).prop_map(Step::Wait),
        1 => any::<bool>().prop_map(Step::Lead),
    ];
    prop::collection::vec(step, 1..60)
}

fn scripts() -> impl Strategy<Value = Vec<Vec<Behavior>>> {
    let behavior = prop_oneof![
        4 => Just(Behavior::Succeed),
        1 => (1..3000_u64).prop_map(|ms| Behavior::Requeue(Duration::from_millis(ms))),
        2 => Just(Behavior::Fail),
    ];
    prop::collection::vec(prop::collection::vec(behavior, 0..6), 5)
}

/// Generates random options for a controller.
fn options() -> impl Strategy<Value = Options> {
    let times = (0..3_u64, 0..3_u64, 1..4_usize);
    times.prop_map(|(debounce, cooldown, concurrency)| {
        let mut options = Options::new("test");
        options.debounce = Duration::from_millis(debounce * 100);
        options.cooldown = Duration::from_millis(cooldown * 100);
        options.concurrency = concurrency;
        options
    })
}

/// Runs a controller with these steps. Returns the key and the sequence number of each trigger.
async fn play(options: Options, reconciler: &Scripted, steps: &[Step]) -> Vec<(u8, usize)> {
    let leads = watch::Sender::new(true);
    let gate = LeaderGate::watching(leads.subscribe(), |leads| *leads);
    let (trigger, _, _guard) = run(options, reconciler, gate);
    let mut triggers = Vec::new();
    for step in steps {
        match step {
            Step::Trigger(key) => {
                let event = {
                    let mut record = reconciler.0.lock();
                    record.events += 1;
                    record.events
                };
                triggers.push((*key, event));
                trigger.enqueue(*key);
            }
            Step::Wait(ms) => sleep(Duration::from_millis(*ms)).await,
            Step::Lead(now) => {
                leads.send_replace(*now);
                // Wait until the controller has processed the step.
                sleep(Duration::from_millis(1)).await;
                let running = reconciler.0.lock().running;
                assert!(
                    *now || running == 0,
                    "{running} calls run without leadership"
                );
            }
        }
    }
    leads.send_replace(true);
    sleep(SECOND * 3600).await;
    assert_eq!(trigger.queue.len(), 0, "all keys are idle in the end");
    triggers
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn key_has_at_most_one_running_call_and_no_trigger_is_lost(
        steps in steps(), scripts in scripts(), options in options(), millis in 0..1500_u64,
    ) {
        let mut reconciler = Scripted::default().taking(Duration::from_millis(millis));
        for (key, script) in (0..).zip(&scripts) {
            reconciler = reconciler.then(key, script);
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let triggers = runtime.block_on(play(options, &reconciler, &steps));
        let record = reconciler.0.lock();
        prop_assert!(record.most_running <= options.concurrency);
        for (key, event) in triggers {
            let followed = record.calls.iter().any(|call| call.key == key && call.start > event);
            prop_assert!(followed, "trigger {event} of key {key} is lost");
        }
        for (index, call) in record.calls.iter().enumerate() {
            for other in record.calls[..index].iter().filter(|other| other.key == call.key) {
                prop_assert!(other.end.unwrap() < call.start, "key {} runs twice", call.key);
            }
        }
    }
}
