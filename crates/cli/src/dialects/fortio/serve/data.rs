//! The folder of results: which there are, their list, and each of them.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use plimsoll_dialect::WallTime;
use plimsoll_dialect::fortio::rest::{INDEX_HEAD, index_line, is_result_name};

/// The most results that are listed.
const RESULTS_MAX: usize = 10_000;
/// The longest result that is read.
const RESULT_BYTES_MAX: u64 = 64 << 20;

/// The mode of results, from which the process's mask takes away: others may read them, as with
/// fortio.
const READABLE_MODE: u32 = 0o644;

/// The names of results without their ending, the newest name first.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| is_result_name(name))
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .take(RESULTS_MAX)
        .collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    names
}

/// How many bytes a saved result has, by the name of its file. `None` if no file has this name.
pub(super) fn length(folder: &Path, name: &str) -> Option<u64> {
    let found = is_result_name(name).then(|| fs::metadata(folder.join(name)).ok())?;
    found.filter(fs::Metadata::is_file).map(|it| it.len())
}

/// Reads a saved result by the name of its file. `None` if no file has this name, or a file that is
/// too long.
pub(super) fn read(folder: &Path, name: &str) -> Option<Vec<u8>> {
    let is_small = length(folder, name)? <= RESULT_BYTES_MAX;
    is_small.then(|| fs::read(folder.join(name)).ok())?
}

/// The list for transfer services, with what stands before the names.
pub(super) fn index(folder: &Path, base: &str) -> String {
    let mut text = INDEX_HEAD.to_owned();
    for name in names(folder) {
        let name = format!("{name}.json");
        if let Some(document) = read(folder, &name) {
            text.push_str(&index_line(&format!("{base}{name}"), &document));
        }
    }
    text
}

/// When the folder changed last, in UTC; the start of 1970 where that cannot be told.
pub(super) fn changed(folder: &Path) -> WallTime {
    let changed = fs::metadata(folder).and_then(|it| it.modified()).ok();
    let since = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let unix_ns = since.and_then(|since| i64::try_from(since.as_nanos()).ok());
    WallTime { unix_ns: unix_ns.unwrap_or(0), offset_s: 0 }
}

/// Writes a result, whole or not at all.
///
/// # Errors
/// Of the file system, and a name that is not a result's.
pub(super) fn write(folder: &Path, name: &str, document: &[u8]) -> io::Result<PathBuf> {
    if !is_result_name(name) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the name of a result"));
    }
    let path = folder.join(name);
    let mut file = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(READABLE_MODE))
        .tempfile_in(folder)?;
    io::Write::write_all(&mut file, document)?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_found_by_their_names_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["b.json", "c.json", "a.txt"] {
            fs::write(folder.path().join(name), name).expect("written");
        }
        let path = write(folder.path(), "a.json", b"hello").expect("written");
        // A file that is made in the usual way asks for more than a result does.
        let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode(&path), mode(&folder.path().join("b.json")) & READABLE_MODE);
        assert_eq!(names(folder.path()), ["c", "b", "a"]);
        assert_eq!(read(folder.path(), "a.json").as_deref(), Some(&b"hello"[..]));
        for name in ["a.txt", "../a.json", "d.json"] {
            assert_eq!(read(folder.path(), name), None, "{name}");
        }
        write(folder.path(), "../x.json", b"").expect_err("it leads out");
        let index = index(folder.path(), "http://h/data/");
        let last = index.lines().last().expect("a line");
        assert_eq!(last, "http://h/data/a.json\t5\tXUFAKrxLKna5cZ2REBfFkg==");
        assert_eq!(index.lines().count(), 4);
        assert_eq!(names(&folder.path().join("none")), [""; 0]);
    }
}
