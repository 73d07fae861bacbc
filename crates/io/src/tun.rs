//! A network interface whose wire is a file: packets that the kernel sends on it are read, packets
//! written to it the kernel receives. For experiments that need a network with properties of their
//! own.
//!
//! Absent on purpose: addresses, routes and namespaces, which `ip` gives it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;

/// Makes an interface of this name that carries IP packets; it is there until the file is closed.
/// Each read is one packet, each write too. Neither waits.
///
/// # Errors
/// `InvalidInput` for a name that no interface can have; else what the kernel says, such as `EPERM`
/// without the privilege.
pub fn open_tun(name: &str) -> io::Result<File> {
    let mut request = libc::ifreq {
        ifr_name: [0; libc::IFNAMSIZ],
        ifr_ifru: libc::__c_anonymous_ifr_ifru {
            ifru_flags: (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short,
        },
    };
    if name.is_empty() || name.len() >= libc::IFNAMSIZ || !name.is_ascii() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = byte as libc::c_char;
    }
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")?;
    // SAFETY: the descriptor is open, TUNSETIFF takes an `ifreq`, and `request` is one, with its
    // name ended by a zero, that outlives the call.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(file) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_none_are_refused() {
        for name in ["", "sixteen-letters-", "ünbekannt"] {
            let error = open_tun(name).expect_err("no such name");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name:?}");
        }
    }
}
