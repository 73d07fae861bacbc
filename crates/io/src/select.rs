//! Which driver a run gets: io_uring where the kernel really offers it, epoll otherwise.
//!
//! What a kernel offers cannot be told from its version (seccomp filters, sysctls, limits), so
//! [`open`] tries: it sets the ring up and sends bytes through it. That takes about a millisecond
//! at most. Call it on the thread that will use the driver.

use std::io;

use crate::driver::{DriverKind, DriverOptions};
use crate::epoll::EpollDriver;
#[cfg(target_os = "linux")]
use crate::uring::UringDriver;

/// Which driver the user wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DriverChoice {
    /// io_uring if it works here, else epoll.
    #[default]
    Auto,
    /// io_uring or nothing.
    Uring,
    /// epoll (kqueue on BSD and macOS).
    Epoll,
}

/// A driver, ready for use.
#[expect(clippy::large_enum_variant, reason = "there is one a thread, moved once")]
pub enum Opened {
    /// io_uring.
    #[cfg(target_os = "linux")]
    Uring(UringDriver),
    /// epoll or kqueue.
    Epoll(EpollDriver),
}

/// Which driver was opened, and why that one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Which it is.
    pub kind: DriverKind,
    /// Why, in a few words.
    pub reason: String,
}

/// Opens the driver that was chosen, or the best there is.
///
/// # Errors
/// When no driver that may be used can be opened. The text names the call that was refused.
pub fn open(choice: DriverChoice, options: &DriverOptions) -> io::Result<(Opened, Selection)> {
    match choice {
        DriverChoice::Epoll => open_epoll(options, "chosen".to_owned()),
        DriverChoice::Uring => open_uring(options, "chosen".to_owned()),
        DriverChoice::Auto => open_uring(options, "the kernel offers it".to_owned())
            .or_else(|error| open_epoll(options, error.to_string())),
    }
}

fn open_epoll(options: &DriverOptions, reason: String) -> io::Result<(Opened, Selection)> {
    let driver = EpollDriver::new(options)?;
    Ok((Opened::Epoll(driver), Selection { kind: DriverKind::Epoll, reason }))
}

#[cfg(target_os = "linux")]
fn open_uring(options: &DriverOptions, reason: String) -> io::Result<(Opened, Selection)> {
    let driver = UringDriver::new(options)?;
    Ok((Opened::Uring(driver), Selection { kind: DriverKind::Uring, reason }))
}

#[cfg(not(target_os = "linux"))]
fn open_uring(_: &DriverOptions, _: String) -> io::Result<(Opened, Selection)> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "io_uring is Linux's alone"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Driver, SocketOptions, Spin};

    const OPTIONS: DriverOptions = DriverOptions {
        sockets: 4,
        reserved: 4,
        receivers: 4,
        receive_buffer_bytes: 4096,
        long_lived: true,
        spin: Spin::Off,
        receive_timestamps: false,
        socket: SocketOptions { reuse_port: false, listen_backlog: 0 },
    };

    fn kind(opened: &Opened) -> DriverKind {
        match opened {
            #[cfg(target_os = "linux")]
            Opened::Uring(driver) => driver.kind(),
            Opened::Epoll(driver) => driver.kind(),
        }
    }

    #[test]
    fn what_is_opened_is_what_is_told() {
        let (epoll, selection) = open(DriverChoice::Epoll, &OPTIONS).expect("epoll is everywhere");
        assert_eq!((kind(&epoll), selection.kind), (DriverKind::Epoll, DriverKind::Epoll));
        assert_eq!(selection.reason, "chosen");

        let (auto, selection) = open(DriverChoice::Auto, &OPTIONS).expect("there is always one");
        assert_eq!(kind(&auto), selection.kind);
        assert!(!selection.reason.is_empty());

        match open(DriverChoice::Uring, &OPTIONS) {
            Ok((uring, chosen)) => {
                assert_eq!((kind(&uring), chosen.kind), (DriverKind::Uring, selection.kind));
            }
            Err(error) => {
                assert_eq!(selection.kind, DriverKind::Epoll);
                assert_eq!(selection.reason, error.to_string());
            }
        }
    }
}
