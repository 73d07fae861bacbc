//! Files that documents go to. A document takes the place of an earlier one when it is whole: it is
//! written beside it and renamed. So a disk that is full, a limit of the file's size or the end of
//! the program leave the earlier document, or none, and never half of one.
//!
//! A path is looked at before the load, so that one that cannot be written costs a second and not a
//! whole run. Pipes and devices are opened then, and written to as they are.
//!
//! Absent on purpose: what is written while a run goes on, and files that several programs add to.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// Where a document goes.
#[derive(Debug)]
pub(crate) struct Destination(Kind);

#[derive(Debug)]
enum Kind {
    /// A file, or none yet.
    Replaced(PathBuf),
    /// A file whose folder takes no other one beside it.
    Rewritten(File),
    /// A pipe or a device.
    Stream(File),
}

impl Destination {
    /// Looks whether a path can be written; what an earlier run left there stays.
    ///
    /// # Errors
    /// Why it cannot be.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(found) if found.is_file() => {
                let file = OpenOptions::new().write(true).open(path)?;
                let real = fs::canonicalize(path)?;
                let has_room = try_beside(&real).is_ok();
                Ok(Self(if has_room { Kind::Replaced(real) } else { Kind::Rewritten(file) }))
            }
            Ok(found) if found.file_type().is_fifo() => Ok(Self(Kind::Stream(open_pipe(path)?))),
            Ok(_) => Ok(Self(Kind::Stream(OpenOptions::new().write(true).open(path)?))),
            // A link to a file that is not there yet stays a link.
            Err(_) if path.is_symlink() => {
                let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
                Ok(Self(Kind::Rewritten(file?)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                try_beside(path)?;
                Ok(Self(Kind::Replaced(path.to_owned())))
            }
            Err(error) => Err(error),
        }
    }

    /// Writes a document.
    ///
    /// # Errors
    /// What keeps it from being written whole. An earlier file is then as it was, unless its folder
    /// takes no other file: then it is written in place.
    pub(crate) fn write(
        self,
        document: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        self.write_out(document).map_err(explained)
    }

    fn write_out(self, document: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        match self.0 {
            Kind::Replaced(path) => replace(&path, document),
            Kind::Rewritten(mut file) => {
                let mut bytes = Vec::new();
                document(&mut bytes)?;
                file.set_len(0)?;
                file.write_all(&bytes)
            }
            Kind::Stream(file) => {
                let mut out = BufWriter::new(file);
                document(&mut out)?;
                out.flush()
            }
        }
    }
}

/// Writes bytes to a path that was not looked at before.
///
/// # Errors
/// What keeps them from being written whole.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Destination::open(path)?.write(|out| out.write_all(bytes))
}

/// A name of our own in the same folder.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.part", std::process::id()));
    Ok(path.with_file_name(hidden))
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Whether the folder takes a file beside this one.
fn try_beside(path: &Path) -> io::Result<()> {
    let part = beside(path)?;
    create(&part)?;
    fs::remove_file(part)
}

fn replace(path: &Path, document: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let part = beside(path)?;
    let file = create(&part)?;
    let written = (|| {
        let mut out = BufWriter::new(file);
        document(&mut out)?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        // Who may read an earlier document may read the next one.
        if let Ok(earlier) = fs::metadata(path) {
            file.set_permissions(earlier.permissions())?;
        }
        // Some file systems tell here that the disk is full.
        file.sync_all()?;
        fs::rename(&part, path)
    })();
    if written.is_err() {
        // The caller reports why the document was not written, so this error adds nothing.
        let _ = fs::remove_file(&part);
    }
    written
}

/// Opens a pipe that another program reads. Without a reader, opening it would wait for one.
fn open_pipe(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = match OpenOptions::new().write(true).custom_flags(flags).open(path) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            let text = "nobody reads this pipe: start its reader first";
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, text));
        }
        opened => opened?,
    };
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// The same with what to do, where that is known.
fn explained(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::FileTooLarge => io::Error::new(
            error.kind(),
            "the file would be larger than this process may write (ulimit -f)",
        ),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn a_document_is_whole_or_the_earlier_one_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.json");
        Destination::open(&path).expect("it can be written");
        assert_eq!(names(folder.path()), [""; 0], "nothing is left of the look");
        write(&path, b"first").expect("written");
        let half = |out: &mut dyn Write| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        };
        Destination::open(&path).expect("open").write(half).expect_err("it failed");
        assert_eq!(fs::read(&path).expect("read"), b"first");
        let link = folder.path().join("link");
        symlink(&path, &link).expect("a link");
        write(&link, b"second").expect("written");
        assert_eq!(fs::read(&path).expect("read"), b"second");
        let dangling = folder.path().join("dangling");
        symlink(folder.path().join("b.json"), &dangling).expect("a link");
        write(&dangling, b"third").expect("written");
        assert_eq!(fs::read(folder.path().join("b.json")).expect("read"), b"third");
        assert!(link.is_symlink() && dangling.is_symlink());
        assert_eq!(names(folder.path()), ["a.json", "b.json", "dangling", "link"]);
    }

    #[test]
    fn what_cannot_be_written_is_said_before_the_load() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .expect("a pipe");
        let error = Destination::open(&pipe).expect_err("without a reader");
        assert!(error.to_string().contains("nobody reads this pipe"), "{error}");
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let reader = OpenOptions::new().read(true).custom_flags(flags).open(&pipe).expect("open");
        write(&pipe, b"read").expect("written");
        assert_eq!(io::read_to_string(reader).expect("text"), "read");
        Destination::open(folder.path()).expect_err("a folder");
        Destination::open(&folder.path().join("no/where")).expect_err("no folder");
        write(Path::new("/dev/null"), b"gone").expect("a device");
        write(Path::new("/dev/full"), b"lost").expect_err("no room");
    }
}
