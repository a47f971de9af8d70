//! What is written about tools, and who writes it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::raw::{RawEnrich, RawMetadata};
use super::super::server::resolve_path;
use super::super::{Enrich, LanguageModel, METADATA, beside};
use super::Resolving;

/// Letters of the name of a language.
const LANGUAGE_CHARS: usize = 40;

impl Resolving<'_, '_, '_> {
    /// Returns the files about tools, and how a language model writes more of them.
    pub(super) fn metadata(&mut self) -> (Vec<PathBuf>, Enrich) {
        let written = self.root.member(METADATA).and_then(|member| self.read::<RawMetadata>(&member.node));
        let (files, raw) = match written {
            None => (None, RawEnrich::default()),
            Some(RawMetadata::Files(files)) => (Some(files), RawEnrich::default()),
            Some(RawMetadata::Settings(settings)) => (settings.files, settings.enrich.unwrap_or_default()),
        };
        let own = self.folder.join(METADATA);
        let (paths, folder) = match files {
            None => (beside(self.folder, METADATA), Some(own)),
            Some(files) => {
                let path = |path: &String| resolve_path(path, self.folder, &self.folders.home);
                let paths: Vec<PathBuf> = files.iter().map(path).collect();
                let folder = paths.iter().find(|path| is_folder(path)).cloned();
                (paths, folder)
            }
        };
        let model = self.writer(&raw);
        let background = raw.background.unwrap_or_default();
        if background && raw.model.is_none() {
            let at = self.at(&[METADATA, "enrich", "background"]);
            let hint = "name a `model` beside it".to_owned();
            self.report.add(at, "`metadata.enrich.background` has no model to ask", Some(hint));
        }
        let languages = self.languages(raw.languages);
        (
            paths,
            Enrich {
                model,
                background,
                languages: languages.unwrap_or_else(|| Enrich::new(PathBuf::new()).languages),
                folder,
            },
        )
    }

    fn writer(&mut self, raw: &RawEnrich) -> Option<LanguageModel> {
        let timeout = raw.timeout_ms.map_or(Enrich::PATIENCE, Duration::from_millis);
        let at = self.at(&[METADATA, "enrich", "model"]);
        let how = (raw.api_key.clone(), timeout);
        LanguageModel::read(raw.model.as_deref()?, how, ("metadata.enrich.model", at), self.report)
    }

    /// Checks names of languages, which become a part of what a model is told.
    fn languages(&mut self, written: Option<Vec<String>>) -> Option<Vec<String>> {
        let written = written?;
        let is_name = |it: &String| {
            let fits = |c: char| c.is_alphabetic() || matches!(c, ' ' | '-' | '(' | ')');
            !it.trim().is_empty() && it.chars().count() <= LANGUAGE_CHARS && it.chars().all(fits)
        };
        if written.is_empty() || !written.iter().all(is_name) {
            let at = self.at(&[METADATA, "enrich", "languages"]);
            let hint = "write names of languages, such as [\"English\", \"German\"]".to_owned();
            self.report.add(at, "`languages` in `metadata.enrich` names no language", Some(hint));
        }
        Some(written)
    }
}

/// Whether files can be put there: a folder that is there, or one that is not yet.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || !path.exists() && path.extension().is_none_or(|end| end != "json")
}
