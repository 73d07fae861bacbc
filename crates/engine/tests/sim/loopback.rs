//! Workers on real sockets, with both drivers: where the time goes when the kernel, and not the
//! simulation, has the say. The tests compare the order of times, and a delay that the server is
//! known to make.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use plimsoll_conn::{Http1, Http1Settings, Setup, TlsSetup};
use plimsoll_core::plan::{Draft, Endpoint, Timestamps};
use plimsoll_core::recorder::Recorder;
use plimsoll_core::{Histogram, Phase};
use plimsoll_engine::Signals;
use plimsoll_engine::worker::{Assignment, CpuUse, Worker};
use plimsoll_io::{Driver, DriverKind, DriverOptions, EpollDriver, Spin, clock};
use plimsoll_proto::http1::Limits;
use plimsoll_proto::tls;
use rcgen::{CertificateParams, KeyPair};

use crate::world::{MS, S};

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const THINKS_NS: u64 = 2 * MS;
const CONNECTIONS: u32 = 8;

/// A server on a free port, and what connections to it need.
fn server(is_secure: bool) -> (SocketAddr, Setup) {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate");
    let (chain, key) = (certificate.pem().into_bytes(), key.serialize_pem().into_bytes());
    let identity = tls::Identity { chain: chain.clone(), key };
    let versions = tls::Versions::Both;
    let alpn = Vec::new();
    let options = tls::ServerOptions { identity, client_roots: None, alpn, versions, resume: true };
    let served = tls::ServerConfig::new(&options).expect("usable options");
    let options = tls::ClientOptions {
        verify: tls::Verify::Roots(chain.into()),
        ..tls::ClientOptions::default()
    };
    let config = tls::ClientConfig::new(&options).expect("usable options");
    let name = tls::ServerName::parse("localhost").expect("a name");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let served = is_secure.then(|| served.clone());
            thread::spawn(move || answer(stream, served.as_ref()));
        }
    });
    let tls = is_secure.then_some(TlsSetup { config, name });
    (address, Setup { tls, ..Setup::default() })
}

/// Answers each request on a connection, after a while. `None` when the client is gone.
fn answer(mut stream: TcpStream, config: Option<&tls::ServerConfig>) -> Option<()> {
    let mut tls = config.map(|config| tls::Tls::server(config).expect("a session"));
    let (mut buffer, mut plain, mut out) = ([0; 16_384], vec![], vec![]);
    loop {
        let len = stream.read(&mut buffer).ok().filter(|bytes| *bytes > 0)?;
        match &mut tls {
            None => plain.extend_from_slice(&buffer[..len]),
            Some(tls) => {
                tls.receive(&buffer[..len], &mut plain, &mut out).ok()?;
            }
        }
        while let Some(end) = plain.windows(4).position(|four| four == b"\r\n\r\n") {
            plain.drain(..end + 4);
            let until_ns = clock::now_ns() + THINKS_NS;
            while clock::now_ns() < until_ns {
                thread::yield_now();
            }
            match &mut tls {
                None => out.extend_from_slice(RESPONSE),
                Some(tls) => tls.send(RESPONSE, &mut out).ok()?,
            }
        }
        stream.write_all(&out).ok()?;
        out.clear();
    }
}

/// Sends 40 requests over 8 connections.
fn run<D: Driver>(
    make: &impl Fn(&DriverOptions) -> D,
    is_secure: bool,
    timestamps: Timestamps,
) -> Recorder {
    let (address, setup) = server(is_secure);
    let plan = Draft {
        connections: CONNECTIONS,
        workers: 1,
        requests: Some(40),
        timestamps,
        ..Draft::new(Endpoint::http("127.0.0.1", address.port(), "/"))
    };
    let plan = Arc::new(plan.check().expect("a plan"));
    let first = Assignment::new(plan, [address.into()].into(), false, Spin::Off).expect("sound");
    let assignment = first.for_worker(0, setup);
    let settings = Http1Settings { pipeline: 1, limits: Limits::default(), outlives_close: false };
    let driver = make(&assignment.driver_options());
    let source = assignment.source();
    let signals = Signals::default();
    let mut worker =
        Worker::<_, Http1, _>::new(driver, &assignment, &settings, CpuUse::default, source);
    worker.open(clock::now_ns() + 10 * S, &signals).expect("the driver works");
    worker.run(clock::now_ns(), &signals, &mut |_| None).expect("the driver works");
    worker.into_record().0.measured
}

fn range(histogram: &Histogram) -> (u64, u64) {
    (histogram.min_ns().expect("not empty"), histogram.max_ns().expect("not empty"))
}

fn check<D: Driver>(kind: DriverKind, make: impl Fn(&DriverOptions) -> D) {
    let stamps = [Timestamps::User, Timestamps::Kernel];
    for (is_secure, timestamps) in
        [false, true].into_iter().flat_map(|it| stamps.map(|by| (it, by)))
    {
        let sum = run(&make, is_secure, timestamps);
        let context = format!("{}, TLS {is_secure}, stamps {timestamps:?}", kind.name());
        assert_eq!(sum.ledger.ok, 40, "{context}: {:?}", sum.errors);
        let opened = if is_secure { &[Phase::Connect, Phase::Tls][..] } else { &[Phase::Connect] };
        for phase in opened {
            let took = &sum.phases[*phase];
            let (least_ns, most_ns) = range(took);
            assert_eq!(took.count(), u64::from(CONNECTIONS), "{context}: {phase:?}");
            assert!(0 < least_ns && least_ns < most_ns, "{context}: {phase:?} {least_ns}");
        }
        let (sending, waiting) = (&sum.phases[Phase::Sending], &sum.phases[Phase::Waiting]);
        // The server may have the request before the call that sends it comes back.
        assert!(range(waiting).0 >= THINKS_NS - 100_000, "{context}: {:?}", range(waiting));
        assert!(sending.quantile_ns(0.5) < waiting.quantile_ns(0.5), "{context}");
    }
}

#[test]
fn connections_differ_and_a_server_that_thinks_is_waited_for() {
    check(DriverKind::Epoll, |options| EpollDriver::new(options).expect("epoll can be opened"));
}

#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::print_stderr, reason = "a test that did not run has to say so")]
fn the_same_with_io_uring() {
    if let Err(error) = plimsoll_io::UringDriver::new(&small()) {
        eprintln!("skipped: io_uring cannot be opened here: {error}");
        return;
    }
    check(DriverKind::Uring, |options| {
        plimsoll_io::UringDriver::new(options).expect("io_uring was offered a moment ago")
    });
}

/// Options of a driver for one socket.
#[cfg(target_os = "linux")]
fn small() -> DriverOptions {
    DriverOptions {
        sockets: 1,
        reserved: 1,
        receivers: 1,
        receive_buffer_bytes: 4096,
        long_lived: true,
        spin: Spin::Off,
        receive_timestamps: false,
        socket: plimsoll_io::SocketOptions::default(),
    }
}
