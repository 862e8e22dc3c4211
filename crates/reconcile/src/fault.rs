//! Ends a debug build with SIGKILL after a number of writes, so that a test can interrupt the program after
//! each step. Release builds contain no fault points.
//!
//! The environment variable `DROVER_FAULT_FILE` names a file with the number of writes. The program reads
//! the file and counts down after each write. After the last write, the program deletes the file and ends.

#[cfg(feature = "kube")]
use kube::Client;

/// Counts a write to a Kubernetes API.
pub fn written() {
    #[cfg(debug_assertions)]
    debug::count();
}

/// Returns a client that counts its writes.
#[cfg(feature = "kube")]
#[must_use]
pub fn counting(client: Client) -> Client {
    #[cfg(not(debug_assertions))]
    return client;
    #[cfg(debug_assertions)]
    debug::counting(client)
}

#[cfg(debug_assertions)]
mod debug {
    use std::env::var_os;
    use std::path::Path;

    use parking_lot::Mutex;
    use rustix::process::{Signal, getpid, kill_process};

    /// Serializes the changes of the file.
    static FILE: Mutex<()> = Mutex::new(());

    pub(super) fn count() {
        if let Some(path) = var_os("DROVER_FAULT_FILE") {
            let _lock = FILE.lock();
            count_in(Path::new(&path));
        }
    }

    fn count_in(path: &Path) {
        // Without a file, the test expects no end.
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let Ok(left) = text.trim().parse::<u32>() else {
            return;
        };
        if left > 1 {
            std::fs::write(path, (left - 1).to_string()).expect("the test's folder is writable");
        } else {
            // A concurrent write can remove the file first. It also ends the process.
            let _ = std::fs::remove_file(path);
            kill_process(getpid(), Signal::KILL).expect("a process may end itself");
        }
    }

    #[cfg(feature = "kube")]
    pub(super) fn counting(client: kube::Client) -> kube::Client {
        let namespace = client.default_namespace().to_owned();
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let client = client.clone();
            async move {
                let is_write = request.method() != http::Method::GET;
                let response = client.send(request).await;
                if is_write {
                    count();
                }
                response
            }
        });
        kube::Client::new(service, namespace)
    }
}
