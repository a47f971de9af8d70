//! Lines in a file that is put aside when it is full. Several hubs may write into the same folder.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::private;

/// The newest file of a folder.
const NAME: &str = "audit.jsonl";
/// Files of a folder that are read, whatever the configuration says now.
const MOST_FILES: usize = 1000;

/// A log that lines are added to.
pub(super) struct Log {
    folder: PathBuf,
    /// The file that is written to, and the number by which the system knows it.
    file: Option<(File, u64)>,
}

impl Log {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), file: None }
    }

    /// Adds a line; a file that would be larger than `bytes` is put aside first, and `files` are kept.
    pub(super) fn append(&mut self, line: &str, bytes: u64, files: usize) -> std::io::Result<()> {
        let line = format!("{line}\n");
        let length = line.len() as u64;
        let (mut file, written) = self.current()?;
        if written + length > bytes {
            self.rotate(bytes.saturating_sub(length), files)?;
            (file, _) = self.current()?;
        }
        // One write, so that lines of several hubs do not mix.
        let written = file.write_all(line.as_bytes());
        if written.is_err() {
            self.file = None;
        }
        written
    }

    /// Returns the newest file, opened again when another hub put it aside, and its length.
    fn current(&mut self) -> std::io::Result<(&mut File, u64)> {
        let path = self.folder.join(NAME);
        let there = std::fs::symlink_metadata(&path).ok();
        let own = self.file.take().filter(|(_, own)| there.as_ref().is_some_and(|there| there.ino() == *own));
        let (own, length) = match own.zip(there) {
            Some((own, there)) => (own, there.len()),
            None => {
                let file = self.open(&path)?;
                let metadata = file.metadata()?;
                ((file, metadata.ino()), metadata.len())
            }
        };
        Ok((&mut self.file.insert(own).0, length))
    }

    fn open(&self, path: &Path) -> std::io::Result<File> {
        private::folder(&self.folder)?;
        let mut file = private::append(path)?;
        // A hub that was killed may have left half a line, which must not spoil the next one.
        if file.metadata()?.len() > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        Ok(file)
    }

    fn rotate(&mut self, full: u64, files: usize) -> std::io::Result<()> {
        let lock = private::lockable(&self.folder.join("lock"))?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
        // Another hub may have been faster.
        if std::fs::metadata(self.folder.join(NAME)).map_or(0, |it| it.len()) > full {
            for number in (0..files.saturating_sub(1)).rev() {
                let from = place(&self.folder, number);
                if from.exists() {
                    std::fs::rename(from, place(&self.folder, number + 1))?;
                }
            }
            if files <= 1 {
                std::fs::remove_file(self.folder.join(NAME))?;
            }
            for number in
                (files.max(1)..MOST_FILES).take_while(|number| place(&self.folder, *number).exists())
            {
                std::fs::remove_file(place(&self.folder, number))?;
            }
        }
        self.file = None;
        Ok(())
    }
}

fn place(folder: &Path, number: usize) -> PathBuf {
    folder.join(if number == 0 { NAME.to_owned() } else { format!("audit.{number}.jsonl") })
}

/// Reads the last lines that `take` makes something of, oldest first. Others are passed over.
pub(super) fn read<T>(
    folder: &Path,
    limit: usize,
    take: impl Fn(&str) -> Option<T>,
) -> std::io::Result<Vec<T>> {
    let mut found = VecDeque::new();
    let there = (0..MOST_FILES).take_while(|number| *number == 0 || place(folder, *number).exists());
    for number in there.collect::<Vec<_>>().into_iter().rev() {
        let file = match private::reading(&place(folder, number)) {
            Ok(file) => file,
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => continue,
            Err(err) => return Err(err),
        };
        for line in BufReader::new(file).split(b'\n') {
            if let Some(taken) = std::str::from_utf8(&line?).ok().and_then(&take) {
                if found.len() == limit {
                    found.pop_front();
                }
                found.push_back(taken);
            }
        }
        found.truncate(limit);
    }
    Ok(found.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(folder: &Path) -> Vec<String> {
        read(folder, 1000, |line| (!line.is_empty()).then(|| line.to_owned())).unwrap()
    }

    #[test]
    fn c3_files_are_put_aside_when_they_are_full_and_old_ones_go() {
        let folder = tempfile::tempdir().unwrap();
        let (mut log, mut other) = (Log::new(folder.path()), Log::new(folder.path()));
        for number in 0..100 {
            let log = if number % 3 == 0 { &mut other } else { &mut log };
            log.append(&format!("line {number:04}"), 100, 3).unwrap();
        }
        let kept = all(folder.path());
        assert_eq!(kept.last().unwrap(), "line 0099");
        assert_eq!(kept, (100 - kept.len()..100).map(|at| format!("line {at:04}")).collect::<Vec<_>>());
        let names = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, 4, "three files and a lock");
        log.append("alone", 5, 1).unwrap();
        assert_eq!(all(folder.path()), ["alone"]);
    }

    #[test]
    fn t27_a_link_in_the_place_of_the_log_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, log) = (folder.path().join("victim"), folder.path().join("audit"));
        std::fs::write(&victim, "theirs").unwrap();
        std::fs::create_dir(&log).unwrap();
        std::os::unix::fs::symlink(&victim, log.join(NAME)).unwrap();
        let said = Log::new(&log).append("line", 1000, 2).unwrap_err().to_string();
        assert_eq!(said, "it is a link, which is not followed here");
        assert_eq!(std::fs::read_to_string(victim).unwrap(), "theirs");
    }

    #[test]
    fn c3_half_a_line_spoils_no_other() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(NAME), "whole\n{\"torn").unwrap();
        Log::new(folder.path()).append("next", 1000, 2).unwrap();
        assert_eq!(all(folder.path()), ["whole", "{\"torn", "next"]);
    }

    #[test]
    fn c3_what_cannot_be_written_is_an_error_and_later_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("audit");
        std::fs::write(&place, "a file where a folder should be").unwrap();
        let mut log = Log::new(&place);
        assert!(log.append("lost", 1000, 2).is_err());
        std::fs::remove_file(&place).unwrap();
        log.append("kept", 1000, 2).unwrap();
        assert_eq!(all(&place), ["kept"]);
    }
}
