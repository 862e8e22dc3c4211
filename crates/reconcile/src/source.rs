//! Streams of keys from [`watch`] channels.

use futures::stream::{self, BoxStream, StreamExt as _};
use tokio::sync::watch;

/// Yields `key` after each change of the channel. Ends when the channel is closed.
///
/// Several changes between two polls yield one item.
pub fn on_change<K: Clone + Send + 'static>(
    receiver: watch::Receiver<u64>,
    key: K,
) -> BoxStream<'static, K> {
    stream::unfold((receiver, key), |(mut receiver, key)| async {
        receiver.changed().await.ok()?;
        Some((key.clone(), (receiver, key)))
    })
    .boxed()
}

/// Yields the keys that `changed` returns after each change of the channel. Ends when the channel
/// is closed.
pub fn on_change_of<K, I>(
    receiver: watch::Receiver<u64>,
    mut changed: impl FnMut() -> I + Send + 'static,
) -> BoxStream<'static, K>
where
    K: Send + 'static,
    I: IntoIterator<Item = K, IntoIter: Send + 'static> + 'static,
{
    on_change(receiver, ())
        .flat_map(move |()| stream::iter(changed()))
        .boxed()
}
