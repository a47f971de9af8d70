//! The right to drive a run, held by one process at a time.
//!
//! It is a lock of the operating system on a file, so it is free again the moment its holder ends, however
//! that happens, and no clock decides anything.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::Error;
use crate::private;

/// The right to drive one run; dropping it gives it back.
#[derive(Debug)]
pub struct Lease {
    path: PathBuf,
    _locked: File,
}

impl Lease {
    pub(super) fn take(folder: &Path, id: &str) -> Result<Option<Self>, Error> {
        let path = folder.join(format!("{id}.lock"));
        let failed = |source: io::Error| Error::File { path: path.clone(), source };
        private::folder(folder).map_err(failed)?;
        loop {
            let file = private::lockable(&path).map_err(failed)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
                Err(err) => return Err(failed(err.into())),
            }
            // The holder before may have removed the file after we opened it; then others cannot see our lock.
            let is_there = match (file.metadata(), std::fs::metadata(&path)) {
                (Ok(ours), Ok(there)) => ours.ino() == there.ino() && ours.dev() == there.dev(),
                (Ok(_) | Err(_), _) => false,
            };
            if is_there {
                return Ok(Some(Self { path, _locked: file }));
            }
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Removed while it is still locked, so that no file is left behind for each run there ever was.
        let _ = std::fs::remove_file(&self.path);
    }
}
