//! The notes of a new folder: small, true to life, enough to try everything.

use std::{fs, io, path::Path};

const NOTES: [(&str, &str); 7] = [
    ("Welcome to Toolyard.md", include_str!("sample/welcome.md")),
    ("Ideas/AI and local models.md", include_str!("sample/ai.md")),
    ("Ideas/Reading list.md", include_str!("sample/reading.md")),
    ("Home/Garden.md", include_str!("sample/garden.md")),
    ("Home/Recipes.md", include_str!("sample/recipes.md")),
    ("Work/Meeting notes.md", include_str!("sample/meeting.md")),
    ("Work/Trip to Lisbon.md", include_str!("sample/trip.md")),
];

/// Makes the folder with the sample notes in it, whole or not at all.
pub(super) fn plant(folder: &Path) -> io::Result<()> {
    let above = match folder.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    };
    fs::create_dir_all(above)?;
    let fresh = tempfile::Builder::new().prefix(".toolyard-").tempdir_in(above)?;
    for (path, text) in NOTES {
        let place = fresh.path().join(path);
        fs::create_dir_all(place.parent().unwrap_or(fresh.path()))?;
        fs::write(place, text)?;
    }
    match fs::rename(fresh.path(), folder) {
        Ok(()) => {
            // It has its own name now, so there is nothing left to clean up.
            let _ = fresh.keep();
            Ok(())
        }
        // Somebody else made it at the same time; theirs is as good.
        Err(_) if folder.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}
