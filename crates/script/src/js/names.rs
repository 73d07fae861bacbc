//! Names that the virtual users of a thread share: those of properties, variables and modules,
//! which QuickJS otherwise keeps once in each runtime.
//!
//! A program remembers the names that its first virtual user had once the script was evaluated.
//! Each worker makes them once for its thread. `names.c` says why that is right.

use std::cell::OnceCell;
use std::ffi::c_void;
use std::ptr;

use super::ffi;

/// The most names. Others are each runtime's own.
const NAMES_MAX: usize = 16_384;

/// The longest name, bytes.
const NAME_BYTES_MAX: usize = 256;

/// Names as data, in the order in which they are numbered.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<Box<[u8]>>);

impl Names {
    /// The names that a runtime has.
    ///
    /// # Safety
    /// The runtime is open, and does not run.
    pub(super) unsafe fn of(runtime: *mut ffi::Runtime) -> Self {
        unsafe extern "C" fn note(all: *mut c_void, bytes: *const u8, len: usize) {
            // SAFETY: it is called with what is passed below, and with bytes of this length.
            let (all, bytes) =
                unsafe { (&mut *all.cast::<Names>(), std::slice::from_raw_parts(bytes, len)) };
            if all.0.len() < NAMES_MAX && len <= NAME_BYTES_MAX {
                all.0.push(bytes.into());
            }
        }
        let mut all = Self::default();
        // SAFETY: as the caller says; `note` is called before the function returns.
        unsafe { ffi::plimsoll_visit_names(runtime, note, ptr::from_mut(&mut all).cast()) };
        all
    }
}

/// The names of a thread, made when a runtime first asks for them.
#[derive(Debug, Default)]
pub(super) struct Shared(OnceCell<*mut ffi::Names>);

impl Shared {
    /// What `names.c` shares; null if there is no memory for it. The first names that are asked for
    /// stay those of the thread.
    pub(super) fn of(&self, names: &Names) -> *mut ffi::Names {
        *self.0.get_or_init(|| {
            // SAFETY: each name is as long as QuickJS is told; nobody shares them yet.
            unsafe {
                let shared = ffi::plimsoll_new_names();
                if !shared.is_null() {
                    let add =
                        |name: &[u8]| ffi::plimsoll_add_name(shared, name.as_ptr(), name.len());
                    // One that there is no memory for is a runtime's own, as are those behind it.
                    let _ = names.0.iter().all(|name| add(name));
                }
                shared
            }
        })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(shared) = self.0.get().filter(|shared| !shared.is_null()) {
            // SAFETY: virtual users keep their worker, which this belongs to, until they are
            // closed.
            unsafe { ffi::plimsoll_free_names(*shared) };
        }
    }
}
