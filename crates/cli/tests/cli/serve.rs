//! `plimsoll serve`: where it listens, what it answers, and how it ends.

use rustix::process::Signal;

use crate::load::exchange;
use crate::support::{Server, measure, plimsoll, run};

const GET: &str = "GET /any/thing HTTP/1.1\r\nHost: a\r\n\r\n";
const POST: &str = "POST /any/thing HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody";

fn body(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer);
    text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
}

#[test]
fn three_ports_for_hello_echo_and_address() {
    for driver in ["auto", "epoll"] {
        let any = "127.0.0.1:0";
        let flags = ["--hello", any, "--echo", any, "--address", any, "--driver", driver];
        let server = Server::listen(&flags, 3);
        let [hello, echo, address] = *server.addresses() else { panic!("three addresses") };
        assert_eq!(body(&exchange(hello, GET)), "hello world");
        assert_eq!(body(&exchange(hello, POST)), "hello world");
        assert_eq!(body(&exchange(echo, POST)), "body");
        let seen = body(&exchange(address, GET));
        assert!(seen.starts_with("127.0.0.1"), "{seen}");
        for at in [hello, echo, address] {
            let url = format!("http://{at}/any/thing");
            let report = measure(&[&url, "-n", "500", "-c", "5", "-b", "body"]);
            assert_eq!(report.ledger(["ok"]), [500], "{at}");
        }
    }
}

#[test]
fn it_ends_with_0_when_told_to() {
    for signal in [Signal::INT, Signal::TERM] {
        let server = Server::start(&["--threads", "2"]);
        measure(&[&server.url("/"), "-n", "50", "-c", "4"]);
        let finished = server.finish_by(signal);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{signal:?}");
        assert_eq!(finished.stdout.lines().count(), 1, "{}", finished.stdout);
    }
}

#[test]
fn tls_that_cannot_be_set_up_is_said_in_one_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("text").to_owned();
    let (empty, missing, nowhere) = (path("empty"), path("missing"), path("no/where"));
    std::fs::write(&empty, "").expect("written");
    for (flags, line) in [
        (
            &["--cert", &empty, "--key", &empty][..],
            "TLS: the certificate file holds no certificate: \
             a PEM block BEGIN CERTIFICATE is needed"
                .to_owned(),
        ),
        (
            &["--cert", &missing, "--key", &empty],
            format!("--cert {missing}: No such file or directory"),
        ),
        (
            &["--client-ca", &empty],
            "TLS: the client CA file holds no certificate: \
             a PEM block BEGIN CERTIFICATE is needed"
                .to_owned(),
        ),
        (&["--tls-save", &nowhere], format!("--tls-save {nowhere}: No such file or directory")),
    ] {
        let finished = run(plimsoll(&["serve", "--listen", "127.0.0.1:0"]).args(flags));
        assert_eq!(finished.code, Some(1), "{finished:?}");
        assert_eq!(finished.stderr, format!("plimsoll: {line}\n"));
    }
    for flags in [
        &["--cert", &empty][..],
        &["--key", &empty],
        &["--cert", &empty, "--key", &empty, "--tls-save", &missing],
    ] {
        let finished = run(plimsoll(&["serve"]).args(flags));
        assert_eq!(finished.code, Some(2), "{flags:?} {finished:?}");
    }
}
