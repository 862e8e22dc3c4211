//! The watches that scripts open in one step and read in later steps.

use std::time::Duration;

use serde_json::Value;

use super::script::Events;
use crate::error::with_causes;

/// Timeout of the next event of a watch.
const LIMIT: Duration = Duration::from_secs(20);

/// An open watch of a script.
#[derive(Debug)]
pub(super) struct Stream {
    answer: reqwest::Response,
    /// Received bytes of an incomplete line.
    begun: Vec<u8>,
}

/// Returns true if both events are bookmarks that differ only in their revision. Concurrent scripts
/// change the revision.
fn repeats_bookmark(last: Option<&Value>, event: &Value) -> bool {
    event["type"] == "BOOKMARK" && last.map(without_revision) == Some(without_revision(event))
}

fn without_revision(event: &Value) -> Value {
    let mut event = event.clone();
    if let Some(revision) = event.pointer_mut("/object/metadata/resourceVersion") {
        revision.take();
    }
    event
}

impl Stream {
    pub(super) fn new(answer: reqwest::Response) -> Self {
        Self {
            answer,
            begun: Vec::new(),
        }
    }

    /// Returns the next events of a watch as a list. The list is shorter if the events do not
    /// arrive before the timeout.
    pub(super) async fn read(&mut self, expected: Events) -> Result<Value, String> {
        let mut events = Vec::new();
        let end = tokio::time::Instant::now() + LIMIT;
        loop {
            if expected == Events::Count(events.len()) {
                break;
            }
            match tokio::time::timeout_at(end, self.line()).await {
                // kube-apiserver sends one or two bookmarks before the end, depending on the phase
                // of its timer.
                Ok(Ok(Some(event))) if repeats_bookmark(events.last(), &event) => {
                    events.pop();
                    events.push(event);
                }
                Ok(Ok(Some(event))) => events.push(event),
                Ok(Ok(None)) => {
                    events.push("(the stream has ended)".into());
                    break;
                }
                Ok(Err(reason)) => return Err(reason),
                Err(_) => {
                    events.push("(no further event came)".into());
                    break;
                }
            }
        }
        Ok(serde_json::json!({"code": 200, "events": events}))
    }

    async fn line(&mut self) -> Result<Option<Value>, String> {
        loop {
            if let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.begun.drain(..=end).collect();
                return serde_json::from_slice(&line)
                    .map(Some)
                    .map_err(|error| format!("cannot parse an event as JSON: {error}"));
            }
            let chunk = self.answer.chunk().await;
            match chunk.map_err(|error| with_causes(&error))? {
                Some(bytes) => self.begun.extend_from_slice(&bytes),
                None => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bookmark_repeats_a_bookmark_of_another_revision_only_with_equal_annotations() {
        let bookmark = |revision: &str, annotations: Value| {
            let metadata = json!({"resourceVersion": revision, "annotations": annotations});
            json!({"type": "BOOKMARK", "object": {"metadata": metadata}})
        };
        let first = bookmark("1", Value::Null);
        assert!(repeats_bookmark(Some(&first), &bookmark("2", Value::Null)));
        let end = json!({"k8s.io/initial-events-end": "true"});
        assert!(!repeats_bookmark(
            Some(&bookmark("1", end)),
            &bookmark("1", Value::Null)
        ));
        assert!(!repeats_bookmark(None, &first));
        let mut modified = first.clone();
        modified["type"] = "MODIFIED".into();
        assert!(!repeats_bookmark(Some(&modified), &modified));
    }
}
