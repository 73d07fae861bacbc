//! `prometheus=LISTEN`: figures for programs that ask. A thread answers scrapes, one after another,
//! and the thread of the output tells it what is new.
//!
//! At the end the figures stay until they have been scraped once more, or until a limit. Without
//! that, nobody would see what came after the last scrape of the run. If the run lasted longer than
//! that limit and nothing scraped it, nothing will come, and the figures do not stay.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::Receiver as Heard;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::delimited;
use crate::delivery::Delivery;
use crate::exposition::{self, Text};
use crate::figures::Figures;
use crate::labels::Label;
use crate::told::Told;

/// The longest head of a request, bytes.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// How long a client may take to send its request, and to take the answer.
const CLIENT_LIMIT: Duration = Duration::from_secs(2);

/// The pause after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What both threads know.
#[derive(Debug, Default)]
struct Shown {
    figures: Figures,
    /// Scrapes that were answered.
    scrapes: u64,
    /// Whether all has been told.
    is_final: bool,
    /// Whether that was scraped.
    is_seen: bool,
    /// Whether the last scrape is waited for.
    is_awaited: bool,
    /// Whether it shall not be waited for.
    is_given_up: bool,
    /// Whether no more scrapes are answered.
    is_over: bool,
}

type Board = Arc<(Mutex<Shown>, Condvar)>;

/// A wait for the last scrape, after the run.
#[derive(Debug, Clone)]
pub struct Wait {
    /// Where the figures are.
    pub address: SocketAddr,
    /// How long they stay.
    pub limit: Duration,
    board: Board,
}

impl Wait {
    /// Ends the wait, as a scrape would.
    pub fn give_up(&self) {
        lock(&self.board).is_given_up = true;
        self.board.1.notify_all();
    }

    /// Whether there is a wait. It is known once the thread has noted all that it was told, which
    /// takes no time unless the thread gets none.
    pub(crate) fn has_begun(&self) -> bool {
        let shown = lock(&self.board);
        let is_open = |shown: &mut Shown| !shown.is_awaited && !shown.is_over;
        let known = self.board.1.wait_timeout_while(shown, CLIENT_LIMIT, is_open);
        let (shown, _) = known.unwrap_or_else(PoisonError::into_inner);
        shown.is_awaited && !shown.is_over
    }
}

fn lock(board: &Board) -> MutexGuard<'_, Shown> {
    board.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An address that is listened on.
#[derive(Debug)]
pub(crate) struct Scrape {
    address: SocketAddr,
    board: Board,
    server: JoinHandle<()>,
    linger: Duration,
    began: Instant,
}

impl Scrape {
    /// Listens, and answers scrapes from now on.
    ///
    /// # Errors
    /// When the address cannot be listened on, or there is no thread.
    pub(crate) fn begin(
        listen: SocketAddr,
        linger: Duration,
        labels: &[Label],
        figures: Figures,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        let address = listener.local_addr()?;
        let board: Board =
            Arc::new((Mutex::new(Shown { figures, ..Shown::default() }), Condvar::new()));
        let (shared, labels) = (Arc::clone(&board), labels.to_vec());
        let serve = move || serve(&listener, &shared, &labels);
        let server = std::thread::Builder::new().name("scrapes".to_owned()).spawn(serve)?;
        Ok(Self { address, board, server, linger, began: Instant::now() })
    }

    /// The wait that there will be.
    pub(crate) fn wait(&self) -> Wait {
        Wait { address: self.address, limit: self.linger, board: Arc::clone(&self.board) }
    }

    /// Shows what is told until nobody can tell more, and then until that was scraped.
    pub(crate) fn serve(self, heard: &Heard<Told>, mut delivery: Delivery) -> Delivery {
        for told in heard {
            told.note(&mut lock(&self.board).figures);
        }
        let is_alone = self.began.elapsed() >= self.linger;
        let (has_begun, is_lonely) = {
            let mut shown = lock(&self.board);
            shown.is_final = true;
            let has_begun = shown.figures.began_ns > 0;
            let is_lonely = is_alone && shown.scrapes == 0;
            shown.is_awaited = has_begun && !is_lonely;
            (has_begun, is_lonely)
        };
        if has_begun && !is_lonely {
            self.board.1.notify_all();
            self.wait_for_last();
        }
        let mut shown = lock(&self.board);
        shown.is_over = true;
        self.board.1.notify_all();
        delivery.delivered = shown.scrapes;
        if has_begun && !shown.is_seen {
            delivery.is_unseen = true;
            let seconds = self.linger.as_secs_f64();
            delivery.reason = Some(if is_lonely {
                "nothing scraped the figures during the run".to_owned()
            } else if shown.is_given_up {
                "the last figures were not scraped, because the wait was ended".to_owned()
            } else {
                format!("nothing scraped the last figures within {seconds} s")
            });
        }
        drop(shown);
        // It waits for a connection, so it is given one.
        if TcpStream::connect_timeout(&reachable(self.address), CLIENT_LIMIT).is_ok() {
            let _ = self.server.join();
        }
        delivery
    }

    fn wait_for_last(&self) {
        let deadline = Instant::now() + self.linger;
        let mut shown = lock(&self.board);
        while !shown.is_seen && !shown.is_given_up {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.board.1.wait_timeout(shown, left);
            shown = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The address by which this host reaches a listener on all of them.
fn reachable(address: SocketAddr) -> SocketAddr {
    let mut address = address;
    if address.ip().is_unspecified() {
        let loopback = match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        };
        address.set_ip(loopback);
    }
    address
}

fn serve(listener: &TcpListener, board: &Board, labels: &[Label]) {
    loop {
        let accepted = listener.accept();
        if lock(board).is_over {
            return;
        }
        match accepted {
            // A client without an answer may ask again.
            Ok((stream, _)) => drop(answer(stream, board, labels)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => std::thread::sleep(ACCEPT_PAUSE),
        }
    }
}

/// Answers one request.
fn answer(mut stream: TcpStream, board: &Board, labels: &[Label]) -> io::Result<()> {
    stream.set_write_timeout(Some(CLIENT_LIMIT))?;
    let head = read_head(&mut stream)?;
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    if !matches!(path, "/" | "/metrics") {
        return respond(
            &mut stream,
            "404 Not Found",
            "text/plain",
            b"the figures are at /metrics\n",
        );
    }
    if method != "GET" {
        return respond(&mut stream, "405 Method Not Allowed", "text/plain", b"GET /metrics\n");
    }
    let format = Format::wanted(&head);
    let (body, is_final) = {
        let shown = lock(board);
        (format.write(&shown.figures, labels), shown.is_final)
    };
    respond(&mut stream, "200 OK", format.content_type(), &body)?;
    let mut shown = lock(board);
    shown.scrapes += 1;
    shown.is_seen |= is_final;
    board.1.notify_all();
    Ok(())
}

/// The head of a request; what may follow is not read.
fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let deadline = Instant::now() + CLIENT_LIMIT;
    let mut head = Vec::new();
    let mut piece = [0; 2048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > HEAD_BYTES_MAX {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => head.extend_from_slice(&piece[..count]),
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn respond(stream: &mut TcpStream, status: &str, kind: &str, body: &[u8]) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\nX-Content-Type-Options: nosniff\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat())
}

/// In which form a client wants the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Text(Text),
    Protobuf,
}

impl Format {
    /// The known format that the client likes best; text without a word of it.
    fn wanted(head: &str) -> Self {
        let accepted = head.lines().filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("accept").then_some(value)
        });
        let kinds = accepted.flat_map(|value| value.split(','));
        let mut best = (0.0, Self::Text(Text::Prometheus));
        for kind in kinds {
            let mut parts = kind.split(';').map(|part| part.trim().to_ascii_lowercase());
            let name = parts.next().unwrap_or_default();
            let parameters: Vec<String> = parts.collect();
            let quality = parameters.iter().find_map(|it| it.strip_prefix("q=")?.parse().ok());
            let quality: f64 = quality.unwrap_or(1.0);
            let has = |parameter: &str| parameters.iter().any(|known| known == parameter);
            let format = match name.as_str() {
                "application/vnd.google.protobuf"
                    if has("proto=io.prometheus.client.metricfamily")
                        && has("encoding=delimited") =>
                {
                    Self::Protobuf
                }
                "application/openmetrics-text" => Self::Text(Text::OpenMetrics),
                "text/plain" => Self::Text(Text::Prometheus),
                _ => continue,
            };
            if quality > best.0 {
                best = (quality, format);
            }
        }
        best.1
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Text(Text::OpenMetrics) => {
                "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
            Self::Text(Text::Prometheus) => "text/plain; version=0.0.4; charset=utf-8",
            Self::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; \
                 encoding=delimited"
            }
        }
    }

    fn write(self, figures: &Figures, labels: &[Label]) -> Vec<u8> {
        match self {
            Self::Text(text) => exposition::write(text, figures, labels).into_bytes(),
            Self::Protobuf => delimited::write(figures, labels),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_that_a_client_likes_best_is_written() {
        let protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
                        encoding=delimited";
        for (accept, want) in [
            (String::new(), Format::Text(Text::Prometheus)),
            ("Accept: */*".to_owned(), Format::Text(Text::Prometheus)),
            (
                "accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5".to_owned(),
                Format::Text(Text::OpenMetrics),
            ),
            (format!("Accept: {protobuf},text/plain;version=0.0.4;q=0.5"), Format::Protobuf),
            (
                format!("Accept: {protobuf};q=0.3,application/openmetrics-text;q=0.4"),
                Format::Text(Text::OpenMetrics),
            ),
            ("Accept: application/vnd.google.protobuf".to_owned(), Format::Text(Text::Prometheus)),
        ] {
            let head = format!("GET /metrics HTTP/1.1\r\nHost: a\r\n{accept}\r\n\r\n");
            assert_eq!(Format::wanted(&head), want, "{accept}");
        }
    }
}
