//! Requests of scripts through the proxies of the environment.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::World;
use crate::support::{Server, run};

/// A proxy that takes all tunnels to one server and all requests to another, and tells the heads
/// that it was sent.
struct Proxy {
    address: SocketAddr,
    heads: Receiver<String>,
}

impl Proxy {
    fn start(plain: SocketAddr, secure: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (sender, heads) = channel();
        // It ends with the process of the tests.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let sender = sender.clone();
                thread::spawn(move || serve(client, plain, secure, &sender));
            }
        });
        Self { address, heads }
    }

    /// The heads so far.
    fn heads(&self) -> Vec<String> {
        self.heads.try_iter().collect()
    }
}

fn serve(mut client: TcpStream, plain: SocketAddr, secure: SocketAddr, heads: &Sender<String>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if client.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let is_tunnel = text.starts_with("CONNECT ");
    let is_refused = text.contains("refused.test");
    // A test that has failed does not listen any more.
    let _ = heads.send(text);
    if is_refused {
        let _ = client.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
        return;
    }
    let Ok(mut server) = TcpStream::connect(if is_tunnel { secure } else { plain }) else { return };
    if is_tunnel {
        let _ = client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n");
    } else {
        let _ = server.write_all(&head);
    }
    let (mut from, mut to) =
        (client.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
    let up = thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let _ = std::io::copy(&mut server, &mut client);
    let _ = client.shutdown(Shutdown::Both);
    let _ = up.join();
}

#[test]
fn requests_go_through_the_proxies_of_the_environment() {
    let world = World::new(
        "import http from 'k6/http';
         export const options = { insecureSkipTLSVerify: true,
             hosts: { 'direct.test': __ENV.DIRECT } };
         export default function () {
             for (const url of ['http://app.test/bytes/3', 'https://app.test/bytes/4',
                     'https://app.test:8443/bytes/5', 'http://direct.test/bytes/6',
                     'https://refused.test/']) {
                 const r = http.get(url);
                 console.log(`${url} ${r.status} ${r.body && r.body.length} ${r.error_code}`);
             } }",
    );
    let secure = Server::start(&["--tls"]);
    let proxy = Proxy::start(world.server.addresses()[0], secure.addresses()[0]);
    let url = format!("http://user:pass@{}", proxy.address);
    let mut command = world.k6(&["run", "-q", "--log-format", "raw"]);
    command.env("HTTP_PROXY", &url).env("HTTPS_PROXY", &url).env("NO_PROXY", "direct.test");
    let direct = format!("DIRECT={}", world.server.addresses()[0]);
    let finished = run(command.args(["-e", &direct, "script.js"]));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for line in [
        "http://app.test/bytes/3 200 3 0\n",
        "https://app.test/bytes/4 200 4 0\n",
        "https://app.test:8443/bytes/5 200 5 0\n",
        "http://direct.test/bytes/6 200 6 0\n",
    ] {
        assert!(finished.stderr.contains(line), "{line} {finished:?}");
    }
    assert!(finished.stderr.contains("https://refused.test/ 0 null "), "{finished:?}");
    let heads = proxy.heads();
    let first: Vec<&str> = heads.iter().filter_map(|head| head.lines().next()).collect();
    let want = [
        "GET http://app.test/bytes/3 HTTP/1.1",
        "CONNECT app.test:443 HTTP/1.1",
        "CONNECT app.test:8443 HTTP/1.1",
        "CONNECT refused.test:443 HTTP/1.1",
    ];
    assert_eq!(first, want);
    for head in &heads {
        assert!(head.contains("Proxy-Authorization: Basic dXNlcjpwYXNz\r\n"), "{head}");
    }
}
