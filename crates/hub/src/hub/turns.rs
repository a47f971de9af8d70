//! Servers that were never reached, started one after the other.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::upstream::Upstream;

/// A server that is still being learnt after this long does not keep the next one waiting.
const LEARNING_TURN: Duration = Duration::from_secs(2);

/// Starting a server keeps a core busy for seconds, and all of them at once would make each miss its
/// time limit. So each core has one turn to give; a slow server gives its turn back and goes on without.
pub(super) async fn learn_in_turn(fresh: Vec<Arc<Upstream>>) {
    let turns = Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(2, usize::from)));
    let mut learning = JoinSet::new();
    for upstream in fresh {
        let turn = Arc::clone(&turns).acquire_owned().await;
        learning.spawn(async move {
            let mut learnt = std::pin::pin!(upstream.learn());
            let is_slow = tokio::time::timeout(LEARNING_TURN, &mut learnt).await.is_err();
            drop(turn);
            if is_slow {
                learnt.await;
            }
        });
    }
    while learning.join_next().await.is_some() {}
}
