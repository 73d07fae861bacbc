//! Our server under clients that mean harm.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::http2::{CLIENT_GREETING, frame};
use super::server::{Dice, finish, reset};
use crate::programs::share_with;
use crate::support::{Report, Server, plimsoll, run};

/// Clients that send noise, stop anywhere, reset, or never read, as many as they like at once.
#[test]
fn our_server_outlives_hostile_clients() {
    let Some(_share) = share_with(&[]) else { return };
    for flags in [&[][..], &["--driver", "epoll"], &["--tls"], &["--tls", "--driver", "epoll"]] {
        let server = Server::start(flags);
        let address = server.addresses()[0];
        let clients: Vec<_> = (0..300)
            .map(|number| thread::spawn(move || attack(address, &mut Dice::new(number))))
            .collect();
        clients.into_iter().for_each(|client| client.join().expect("a client"));
        let after =
            run(plimsoll(&[&server.url("/"), "-k", "-n", "100"]).args(["--format", "json"]));
        assert_eq!(Report::read(&after.stdout).ledger(["ok"]), [100], "{flags:?}: {after:?}");
        let ended = server.finish_by(Signal::TERM);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{flags:?}: {ended:?}");
    }
}

fn attack(address: SocketAddr, dice: &mut Dice) {
    let Ok(mut stream) = TcpStream::connect(address) else { return };
    let _ = stream.set_read_timeout(Some(Duration::from_millis(100)));
    let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
    let hello = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];
    let get = b"GET /bytes/1M HTTP/1.1\r\nHost: a\r\n\r\n";
    let post = b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n";
    if dice.below(2) == 0 && stream.write_all(CLIENT_GREETING).is_err() {
        return;
    }
    for _ in 0..=dice.below(6) {
        let noise = 1 + dice.below(2000);
        let bytes = match dice.below(9) {
            6 => {
                let (kind, flags) = (dice.below(12) as u8, dice.next() as u8);
                frame(kind, flags, dice.below(9) as u32, &dice.bytes(noise))
            }
            7 => rapid_resets(),
            // HEADERS whose block never ends.
            8 => [&[0, 0, 0, 1, 0, 0, 0, 0, 1][..], &[0, 0, 0, 9, 0, 0, 0, 0, 1].repeat(100)]
                .concat(),
            0 => dice.bytes(noise),
            1 => hello.to_vec(),
            2 => get.repeat(20),
            3 => post[..dice.below(post.len())].to_vec(),
            4 => [&hello[..], &dice.bytes(noise)].concat(),
            _ => vec![b'x'; 100_000],
        };
        if stream.write_all(&bytes).is_err() {
            return;
        }
    }
    match dice.below(3) {
        0 => reset(&stream),
        1 => {
            finish(&mut stream);
        }
        _ => {}
    }
}

/// Requests for a long body, each given up at once.
fn rapid_resets() -> Vec<u8> {
    let request = |stream: u32| {
        let [s0, s1, s2, s3] = stream.to_be_bytes();
        // `:method: GET`, `:scheme: http`, and `:path: /bytes/1M`.
        let head = [0, 0, 13, 1, 5, s0, s1, s2, s3, 0x82, 0x86, 0x04, 9];
        [&head[..], b"/bytes/1M", &[0, 0, 4, 3, 0, s0, s1, s2, s3, 0, 0, 0, 8]].concat()
    };
    (0..2000).flat_map(|number| request(2 * number + 1)).collect()
}
