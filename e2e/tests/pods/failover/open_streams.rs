//! Streams of kubectl that stay open during a fault.

use drover_e2e::{Running, World, eventually};

use super::SOON;

/// `kubectl exec`, `logs -f` and `get --watch` with one pod.
pub(super) struct OpenStreams {
    pod: String,
    streams: Vec<Running>,
}

impl OpenStreams {
    /// The shell script of the pod.
    pub(super) const SCRIPT: &str = "while :; do echo tick; sleep 1; done";

    /// Starts the streams through Drover. Waits for the first output of each stream. `through` is the
    /// agent that receives the requests.
    pub(super) async fn start(world: &World, pod: &str, through: &str) -> Self {
        let logs = world.scratch(&format!("failover-{pod}-{through}")).unwrap();
        let mut streams: Vec<_> = [
            &["exec", pod, "--", "sh", "-c", Self::SCRIPT][..],
            &["logs", "-f", pod],
            &["get", "pod", pod, "--watch"],
        ]
        .into_iter()
        .map(|words| {
            let name = format!("{}-{through}", words[0]);
            world.through().start(&name, words, &logs).unwrap()
        })
        .collect();
        for (stream, sign) in streams.iter_mut().zip(["tick", "tick", pod]) {
            stream.wait_for_log(sign, SOON).await.unwrap();
        }
        let pod = pod.to_owned();
        Self { pod, streams }
    }

    /// Waits until each stream has new output. If `or_end` is true, a stream can also end.
    pub(super) async fn continue_streams(&mut self, world: &World, or_end: bool) {
        let lengths: Vec<_> = self.streams.iter().map(|it| it.log().len()).collect();
        // Changes the pod, so that the watch has new output.
        let name = self.streams[0].name();
        let annotation = format!("{name}-continues=true");
        let words = ["annotate", "pod", &self.pod, &annotation];
        world.direct().run(words).await.unwrap();
        for (stream, length) in self.streams.iter_mut().zip(lengths) {
            let what = format!("{} to continue", stream.name());
            eventually(&what, SOON, async || match stream.exited() {
                Some(_) if or_end => Ok(()),
                Some(status) => Err(format!("ended: {status}")),
                None if stream.log().len() > length => Ok(()),
                None => Err("no new output".to_owned()),
            })
            .await
            .unwrap();
        }
    }
}
