//! The folder of a study: one file a run, written when it ends, so that nothing measured is lost
//! and a lab that was stopped goes on where it was.
//!
//! ```text
//! suite.toml                       as it was carried out, secrets masked
//! study.json                       all of it
//! runs/SERVER/LOAD-REPEAT.json     a run, with the tester's figures
//! runs/SERVER/LOAD-REPEAT/         its files: logs, plan, output, Plimsoll's result
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_core::study::{CaseRun, Study};

use crate::order::PlannedRun;
use crate::suite::kept;

/// A study's folder.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is a study in it.
    #[error("'{0}' holds a study: go on with it (--continue) or give another folder (-o)")]
    Taken(PathBuf),
    /// It holds no study to continue.
    #[error("'{0}' holds no study to go on with: leave --continue away")]
    Nothing(PathBuf),
    /// It was made with another suite.
    #[error("'{0}' was measured with another suite than this: give another folder (-o)")]
    Changed(PathBuf),
    /// The system says no.
    #[error("'{path}': {source}")]
    Io {
        /// Of what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

const SUITE: &str = "suite.toml";

impl Store {
    /// That a folder holds no study.
    ///
    /// # Errors
    /// It does.
    pub fn vacant(folder: &Path) -> Result<(), StoreError> {
        match folder.join(SUITE).exists() {
            true => Err(StoreError::Taken(folder.to_path_buf())),
            false => Ok(()),
        }
    }

    /// Takes a folder for a new study of this suite.
    ///
    /// # Errors
    /// It holds one, or cannot be written.
    pub fn create(folder: &Path, suite: &str) -> Result<Self, StoreError> {
        Self::vacant(folder)?;
        let store = Self { folder: folder.to_path_buf() };
        store.make(folder)?;
        store.write(&store.path(SUITE), &kept(suite))?;
        Ok(store)
    }

    /// Goes on with a study of this suite.
    ///
    /// # Errors
    /// The folder holds no study, or one of another suite.
    pub fn resume(folder: &Path, suite: &str) -> Result<Self, StoreError> {
        let store = Self { folder: folder.to_path_buf() };
        match fs::read_to_string(store.path(SUITE)) {
            Ok(text) if text == kept(suite) => Ok(store),
            Ok(_) => Err(StoreError::Changed(store.folder)),
            Err(_) => Err(StoreError::Nothing(store.folder)),
        }
    }

    /// The file of a name in it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn file(&self, slot: &PlannedRun<'_>) -> PathBuf {
        let folder = self.folder.join("runs").join(&slot.server.name);
        folder.join(format!("{}-{}.json", slot.load.name, slot.repeat))
    }

    /// The folder for the files of a run.
    #[must_use]
    pub fn scratch(&self, slot: &PlannedRun<'_>) -> PathBuf {
        self.file(slot).with_extension("")
    }

    /// The study as it was kept last; `None` before that.
    #[must_use]
    pub fn study(&self) -> Option<Study> {
        serde_json::from_str(&fs::read_to_string(self.path("study.json")).ok()?).ok()
    }

    /// The earlier runs of a case, by repeat, failed runs included. A run counts only if its file
    /// is named after its repeat, so a copy of a file counts once.
    #[must_use]
    pub fn load(&self, server: &str, load: &str) -> Vec<CaseRun> {
        let folder = self.folder.join("runs").join(server);
        let files = fs::read_dir(&folder).into_iter().flatten().flatten();
        let repeat_of = |name: &str| {
            let (name, repeat) = name.strip_suffix(".json")?.rsplit_once('-')?;
            repeat.parse::<u32>().ok().filter(|_| name == load)
        };
        let ours = files.filter_map(|file| {
            let repeat = repeat_of(file.file_name().to_str()?)?;
            let run: CaseRun = serde_json::from_str(&fs::read_to_string(file.path()).ok()?).ok()?;
            (run.repeat == repeat).then_some(run)
        });
        let mut runs: Vec<CaseRun> = ours.collect();
        runs.sort_by_key(|run| run.repeat);
        runs
    }

    /// Keeps a run. Paths of its files are told from the study's folder.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, slot: &PlannedRun<'_>, run: &mut CaseRun) -> Result<(), StoreError> {
        if let Some(result) = &mut run.result {
            let path = Path::new(result.as_str());
            let relative = path.strip_prefix(&self.folder).unwrap_or(path);
            *result = relative.display().to_string();
        }
        let file = self.file(slot);
        self.make(file.parent().unwrap_or(&self.folder))?;
        self.write(&file, &serde_json::to_string(run).unwrap_or_default())
    }

    /// Keeps the whole study.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save_study(&self, study: &Study) -> Result<(), StoreError> {
        self.write(&self.path("study.json"), &serde_json::to_string(study).unwrap_or_default())
    }

    fn make(&self, folder: &Path) -> Result<(), StoreError> {
        let at = |source| StoreError::Io { path: folder.to_path_buf(), source };
        fs::create_dir_all(folder).map_err(at)
    }

    /// Whole or not at all: what is stopped in the middle leaves no half a file.
    fn write(&self, path: &Path, text: &str) -> Result<(), StoreError> {
        let at = |source| StoreError::Io { path: path.to_path_buf(), source };
        let draft = path.with_extension("draft");
        fs::write(&draft, text).map_err(at)?;
        fs::rename(&draft, path).map_err(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::order;

    const SUITE_TEXT: &str = "name = \"s\"\n[[servers]]\nname = \"a.b\"\ncommand = \"x\"\n\
                              [[loads]]\nname = \"l.1\"\n";

    #[test]
    fn what_was_measured_is_there_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().join("deep/study");
        assert!(matches!(Store::resume(&at, SUITE_TEXT), Err(StoreError::Nothing(_))));
        let store = Store::create(&at, SUITE_TEXT).expect("a new one");
        let suite = crate::suite::read(Path::new("s.toml"), Path::new("."), SUITE_TEXT);
        let suite = suite.expect("a suite");
        let slots = order(&suite);
        let mut run = CaseRun { repeat: 1, ..CaseRun::default() };
        run.result = Some(store.scratch(&slots[0]).join("result.json").display().to_string());
        store.save(&slots[0], &mut run).expect("saved");
        assert_eq!(run.result.as_deref(), Some("runs/a.b/l.1-1/result.json"));
        let mut failed =
            CaseRun { repeat: 2, failure: Some("no".to_owned()), ..CaseRun::default() };
        store.save(&slots[1], &mut failed).expect("saved");
        let again = Store::resume(&at, SUITE_TEXT).expect("the same");
        fs::copy(at.join("runs/a.b/l.1-1.json"), at.join("runs/a.b/l.1-3.json")).expect("a copy");
        assert_eq!(again.load("a.b", "l.1"), [run, failed]);
        assert_eq!(again.study(), None);
        let study = Study::empty("s");
        again.save_study(&study).expect("saved");
        assert_eq!(again.study(), Some(study));
        assert_eq!(again.load("a.b", "l"), []);
        assert!(matches!(Store::create(&at, SUITE_TEXT), Err(StoreError::Taken(_))));
        assert!(matches!(Store::resume(&at, "x"), Err(StoreError::Changed(_))));
    }
}
