//! What all virtual users of a program share: its modules as bytecode, the files that it has
//! opened, its shared arrays and its metrics.
//!
//! All of it is found while the first virtual user evaluates the script. After that the store is
//! sealed: what was not named by then is not there.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_core::metric::{Kind, MetricId, Registry};

use super::grpc::Methods;

/// Reads a file by its absolute path, or what was kept of a URL, which begins with `https://`. What
/// it says when it cannot is part of a message.
pub type Read = dyn Fn(&str) -> Result<Vec<u8>, String> + Send + Sync;

/// The most bytes of all files of a program.
const FILES_BYTES_MAX: usize = 1 << 30;

/// A file as the engine takes it.
#[derive(Debug)]
pub(super) enum Module {
    /// An ES module.
    Es {
        /// Its bytecode.
        bytecode: Vec<u8>,
        /// Whether its text may have `import.meta` in it.
        may_have_meta: bool,
    },
    /// Bytecode of a function of `module`, `exports` and `require`.
    CommonJs(Vec<u8>),
    /// JSON, the value of which is the default export.
    Json(Vec<u8>),
}

/// The elements of a `SharedArray`, as JSON.
pub(super) type Rows = Arc<[Box<[u8]>]>;

/// What is shared.
pub(super) struct Store {
    found: Mutex<Found>,
    is_sealed: AtomicBool,
    read: Box<Read>,
}

#[derive(Default)]
struct Found {
    modules: HashMap<String, Arc<Module>>,
    files: HashMap<String, Arc<[u8]>>,
    files_bytes: usize,
    arrays: HashMap<String, Rows>,
    /// Schemas of gRPC, by what the script has asked for.
    schemas: HashMap<String, Methods>,
    registry: Registry,
    /// The metrics whose values are times.
    times: HashSet<String>,
}

impl Store {
    pub(super) fn new(registry: Registry, read: Box<Read>) -> Self {
        let found = Found { registry, ..Found::default() };
        Self { found: Mutex::new(found), is_sealed: AtomicBool::new(false), read }
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends what the first virtual user does.
    pub(super) fn seal(&self) {
        self.is_sealed.store(true, Ordering::Relaxed);
    }

    pub(super) fn module(&self, path: &str) -> Option<Arc<Module>> {
        self.found().modules.get(path).cloned()
    }

    pub(super) fn add_module(&self, path: &str, module: Module) {
        self.found().modules.insert(path.to_owned(), Arc::new(module));
    }

    /// The text of a file, or of what has a URL.
    ///
    /// # Errors
    /// What is wrong, one line.
    pub(super) fn file(&self, path: &str) -> Result<Arc<[u8]>, String> {
        if let Some(bytes) = self.found().files.get(path) {
            return Ok(Arc::clone(bytes));
        }
        if self.is_sealed.load(Ordering::Relaxed) {
            return Err(format!(
                "'{path}' was not opened when the script was first evaluated, with __VU as 0: \
                 open the same files for every VU"
            ));
        }
        let bytes: Arc<[u8]> = (self.read)(path).map_err(|why| cannot_read(path, &why))?.into();
        let mut found = self.found();
        found.files_bytes += bytes.len();
        if found.files_bytes > FILES_BYTES_MAX {
            let most = FILES_BYTES_MAX >> 20;
            return Err(format!("cannot read '{path}': the script's files exceed {most} MiB"));
        }
        found.files.insert(path.to_owned(), Arc::clone(&bytes));
        Ok(bytes)
    }

    /// A schema of gRPC, which `make` makes when it is asked for the first time.
    ///
    /// # Errors
    /// What is wrong, one line.
    pub(super) fn schema(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<Methods, String>,
    ) -> Result<Methods, String> {
        let known = self.found().schemas.get(key).map(Methods::clone);
        if let Some(methods) = known {
            return Ok(methods);
        }
        // Not under the lock: it reads files, which are in the store.
        let methods = make()?;
        self.found().schemas.insert(key.to_owned(), Methods::clone(&methods));
        Ok(methods)
    }

    pub(super) fn rows(&self, name: &str) -> Option<Rows> {
        self.found().arrays.get(name).cloned()
    }

    /// Keeps the elements of a shared array. If another virtual user was faster, its elements stay.
    pub(super) fn add_rows(&self, name: &str, rows: Vec<Box<[u8]>>) -> Rows {
        let mut found = self.found();
        Arc::clone(found.arrays.entry(name.to_owned()).or_insert_with(|| rows.into()))
    }

    /// The number of a metric, whose values are times or not.
    ///
    /// # Errors
    /// What is wrong, one line.
    pub(super) fn metric(&self, name: &str, kind: Kind, is_time: bool) -> Result<MetricId, String> {
        let mut found = self.found();
        if self.is_sealed.load(Ordering::Relaxed)
            && !matches!(found.registry.find(name), Some((_, known)) if known == kind)
        {
            return Err(format!(
                "metric '{name}' was not created when the script was first evaluated, with __VU \
                 as 0: create the same metrics for every VU"
            ));
        }
        let is_known = found.registry.find(name).is_some();
        let id = found.registry.declare(name, kind).map_err(|error| error.to_string())?;
        if is_known && found.times.contains(name) != is_time {
            return Err(format!("metric '{name}' cannot be of times and of other values"));
        }
        if is_time {
            found.times.insert(name.to_owned());
        }
        Ok(id)
    }

    pub(super) fn is_time(&self, metric: &str) -> bool {
        self.found().times.contains(metric)
    }

    pub(super) fn registry(&self) -> Registry {
        self.found().registry.clone()
    }
}

fn cannot_read(path: &str, why: &str) -> String {
    if path.starts_with(super::resolve::REMOTE) {
        return format!(
            "cannot import '{path}': {why}; nothing is downloaded: save it there, or beside the \
             script and import it by its path"
        );
    }
    format!("cannot read '{path}': {why}")
}
