//! `-P "port host:port"`: a proxy of bytes, a pair of threads for each connection. It carries no
//! load that is measured here.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use plimsoll_dialect::fortio::{Level, LogLevel, version};

use super::super::{Refused, log};
use super::address;

/// Connections of a proxy at a time; further ones are closed at once.
const CONNECTIONS_MAX: usize = 1000;

/// Starts a proxy that runs until the program ends.
pub(super) fn start(text: &str) -> Result<(), Refused> {
    let wrong = || Refused(format!("fortio: -P '{text}' is not a proxy: give \"port host:port\""));
    let (from, to) = text.trim().split_once(char::is_whitespace).ok_or_else(wrong)?;
    let from = address("-P", from)?.ok_or_else(wrong)?;
    let to = to.trim().to_owned();
    let listener = TcpListener::bind(from)
        .map_err(|error| format!("fortio: cannot listen on {from}: {error}"))?;
    let at = listener.local_addr().unwrap_or(from);
    let text = format!("Fortio {} proxy for {to} server listening on tcp {at}", version());
    log(LogLevel::Info, Level::Info, &text, &[]);
    let open = Arc::new(AtomicUsize::new(0));
    let accept = move || {
        for client in listener.incoming().flatten() {
            let (to, open) = (to.clone(), Arc::clone(&open));
            if open.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            thread::spawn(move || {
                // What goes wrong on either side ends both.
                let _ = carry(&client, &to);
                open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    };
    thread::Builder::new()
        .name("proxy".to_owned())
        .spawn(accept)
        .map(drop)
        .map_err(|error| format!("fortio: cannot start a thread: {error}").into())
}

fn carry(client: &TcpStream, to: &str) -> io::Result<()> {
    let server = TcpStream::connect(to)?;
    let (mut back_from, mut back_to) = (server.try_clone()?, client.try_clone()?);
    let back = thread::spawn(move || {
        let _ = io::copy(&mut back_from, &mut back_to);
        let _ = back_to.shutdown(Shutdown::Write);
    });
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    let _ = io::copy(&mut from, &mut to);
    let _ = server.shutdown(Shutdown::Write);
    let _ = back.join();
    Ok(())
}
