//! Servers inside the hub: which one, where it keeps what it has, and what it may use.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use toolyard_packs::{Abilities, BadNetwork, Entity, Kind, Network, Outside};

use super::{Resolving, Way};
use crate::config::raw::{RawBuiltin, RawServer, RawServices};
use crate::config::services::PATIENCE;
use crate::config::{ImageModel, LanguageModel, StudioServices};

impl Resolving<'_, '_, '_> {
    /// Says which keys do not belong to a server of this kind.
    pub(super) fn check_builtin(&mut self, way: &Way, raw: &RawServer) {
        let is = |wanted: &[RawBuiltin]| matches!(way, Way::Builtin(it) if wanted.contains(it));
        let keeps =
            [RawBuiltin::Notes, RawBuiltin::Desk, RawBuiltin::Studio, RawBuiltin::Home, RawBuiltin::Entities];
        let keys = [
            ("folder", raw.folder.is_some(), &keeps[..], "built-in servers that keep something"),
            ("entities", raw.entities.is_some(), &[RawBuiltin::Entities], "the built-in `entities`"),
            ("network", raw.network.is_some(), &[RawBuiltin::Home], "the built-in `home`"),
            ("services", raw.services.is_some(), &[RawBuiltin::Studio], "the built-in `studio`"),
        ];
        for (key, is_written, kinds, whose) in keys {
            if is_written && !is(kinds) {
                self.wrong(&[key], format!("`{key}` is only for {whose}"), None);
            }
        }
    }

    /// Resolves a server inside the hub.
    pub(super) fn builtin(
        &mut self,
        builtin: RawBuiltin,
        raw: &RawServer,
        services: &StudioServices,
    ) -> Option<Kind> {
        let data = &self.around.folders.data;
        let folder = |otherwise: PathBuf| match &raw.folder {
            Some(folder) => self.path(folder),
            None => otherwise,
        };
        Some(match builtin {
            RawBuiltin::Time => Kind::Time,
            RawBuiltin::Notes => Kind::Notes { folder: folder(self.around.folders.vault()) },
            RawBuiltin::Desk => Kind::Desk { folder: folder(data.join("desk")) },
            RawBuiltin::Studio => {
                let offered = services.abilities().map(|offered| Outside::new(Arc::new(offered)));
                Kind::Studio { folder: folder(data.join("studio")), outside: offered }
            }
            RawBuiltin::Home => {
                let folder = folder(data.join("home"));
                Kind::Home { folder, network: self.network(raw.network.as_deref())? }
            }
            RawBuiltin::Entities => {
                let folder = folder(data.join("entities").join(self.name));
                Kind::Entities { folder, entities: self.entities(raw.entities.as_ref())? }
            }
        })
    }

    /// Resolves the services of the built-in `studio`.
    pub(super) fn services(&mut self, raw: &RawServices) -> StudioServices {
        let key = || raw.api_key.clone();
        let images = raw.images.as_deref().and_then(|written| {
            let parsed = ImageModel::parse(written, key());
            if parsed.is_none() {
                let message = "`services.images` does not name a model".to_owned();
                self.wrong(&["services", "images"], message, Some(ImageModel::HINT.to_owned()));
            }
            parsed
        });
        let model = raw.model.as_deref().and_then(|written| {
            let parsed = LanguageModel::parse(written, key(), PATIENCE);
            if parsed.is_none() {
                let message = "`services.model` does not name a model".to_owned();
                self.wrong(&["services", "model"], message, Some(LanguageModel::HINT.to_owned()));
            }
            parsed
        });
        let search = raw.search.clone().filter(|written| {
            let url = url::Url::parse(written).ok();
            let is_usable = url.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
            if !is_usable {
                let hint = "write it like \"http://localhost:8080/search\"".to_owned();
                let message = "`services.search` is not the address of a web search".to_owned();
                self.wrong(&["services", "search"], message, Some(hint));
            }
            is_usable
        });
        StudioServices { images, model, search }
    }

    fn network(&mut self, written: Option<&str>) -> Option<Network> {
        let Some(written) = written else { return Some(Network::Simulated) };
        match written.parse() {
            Ok(network) => Some(network),
            Err(error) => {
                let error: BadNetwork = error;
                self.wrong(&["network"], error.to_string(), None);
                None
            }
        }
    }

    fn declared_in(&mut self, file: &str) -> Option<Value> {
        let path = self.path(file);
        let read = crate::config::read_text(&path).map_err(|err| err.to_string());
        match read.and_then(|text| serde_json::from_str(&text).map_err(|err| err.to_string())) {
            Ok(declared) => Some(declared),
            Err(error) => {
                let message = format!("`entities` of server `{}` cannot be read: {error}", self.name);
                self.wrong(&["entities"], message, Some(format!("it is looked for at {}", path.display())));
                None
            }
        }
    }

    /// Reads declarations of entities: written here, or in a file.
    fn entities(&mut self, written: Option<&Value>) -> Option<Vec<Entity>> {
        let Some(written) = written else {
            let message = format!("server `{}` has no `entities`", self.name);
            let hint = "declare them here, or name a file in which they are declared".to_owned();
            self.wrong(&["builtin"], message, Some(hint));
            return None;
        };
        let declared = match written.as_str() {
            Some(file) => self.declared_in(file)?,
            None => written.clone(),
        };
        match Entity::read_all(&declared) {
            Ok(entities) => Some(entities),
            Err(error) => {
                self.wrong(&["entities"], error.to_string(), None);
                None
            }
        }
    }
}

impl StudioServices {
    /// Says which abilities there are; `None` where there is none.
    pub(crate) fn abilities(&self) -> Option<Abilities> {
        let abilities = Abilities {
            pictures: self.images.is_some(),
            search: self.search.is_some(),
            answers: self.model.is_some(),
            vision: false,
        };
        (abilities != Abilities::default()).then_some(abilities)
    }
}
