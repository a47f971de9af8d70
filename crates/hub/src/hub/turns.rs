//! Servers that were never reached, started one after the other.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::upstream::Upstream;

/// A server that is still being learnt after this long does not keep the next one waiting.
const LEARNING_TURN: Duration = Duration::from_secs(2);
/// Slow servers that go on without a turn at the same time; the next one keeps its turn.
const MOST_SLOW: usize = 8;

/// Starting a server keeps a core busy for seconds, and all of them at once would make each miss its
/// time limit. So each core has one turn to give; a slow server gives its turn back and goes on without, as long as few
/// others do.
pub(super) async fn learn_in_turn(fresh: Vec<Arc<Upstream>>) {
    let turns = Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(2, usize::from)));
    let slow = Arc::new(Semaphore::new(MOST_SLOW));
    let mut learning = JoinSet::new();
    for upstream in fresh {
        let turn = Arc::clone(&turns).acquire_owned().await;
        let slow = Arc::clone(&slow);
        learning.spawn(async move {
            let mut learnt = std::pin::pin!(upstream.learn());
            if tokio::time::timeout(LEARNING_TURN, &mut learnt).await.is_ok() {
                return;
            }
            tokio::select! {
                () = &mut learnt => {}
                _aside = slow.acquire() => {
                    drop(turn);
                    learnt.await;
                }
            }
        });
    }
    while learning.join_next().await.is_some() {}
}
