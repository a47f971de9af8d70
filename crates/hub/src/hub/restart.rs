//! A server, started again because somebody asked for it.

use std::sync::Arc;

use super::Hub;
use crate::upstream::{Failure, Upstream};

impl Hub {
    /// Stops a server and starts it again; calls that are under way there fail. `None` when there is no such server.
    ///
    /// A pause after failures is over with it, because a person may have removed their cause.
    pub async fn restart(&self, name: &str) -> Option<Result<(), Failure>> {
        let (old, companion, fresh) = {
            let known = self.snapshot().listings.get(name).cloned();
            let mut settings = self.settings.write();
            let old = Arc::clone(settings.upstreams.get(name)?);
            let (name, config) = (Arc::clone(&old.name), old.config.clone());
            let fresh = Arc::new(Upstream::new(Arc::clone(&name), config, known, self.around.clone()));
            settings.upstreams.insert(Arc::clone(&name), Arc::clone(&fresh));
            (old, settings.companions.remove(&name), fresh)
        };
        // Two processes of one server may be in each other's way, so the old one is gone first.
        old.stop().await;
        if let Some(companion) = companion {
            companion.stop().await;
        }
        Some(fresh.link().await.map(drop))
    }
}
