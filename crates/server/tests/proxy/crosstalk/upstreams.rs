//! Upstreams that answer as the request's token says: well, slowly, in pieces, wrongly, or not.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Dice, Verdict};
use crate::strict::{self, Fault, Head, Request};
use crate::upstream::{PATIENCE, socket_reset};

/// How long the proxy waits for a response.
pub(super) const RESPONSE_LIMIT: Duration = Duration::from_millis(300);

const POISON: &str =
    "HTTP/1.1 200 OK\r\nX-Token: ffffffffffffffff\r\nContent-Length: 6\r\n\r\npoison";

/// What an upstream does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Plain,
    Chunks,
    UpToClose,
    Closing,
    InPieces,
    Late,
    Large,
    Interim,
    Error,
    Early,
    HeadWithBody,
    CloseUnanswered,
    ResetUnanswered,
    CutByClose,
    CutByReset,
    Poisoned,
    Garbage,
    BothLengths,
    Upgraded,
    Silent,
}

const MANNERS: [Manner; 27] = {
    use Manner::*;
    [
        Plain,
        Plain,
        Plain,
        Plain,
        Plain,
        Chunks,
        Chunks,
        Chunks,
        UpToClose,
        Closing,
        InPieces,
        InPieces,
        Late,
        Large,
        Interim,
        Error,
        Early,
        HeadWithBody,
        CloseUnanswered,
        ResetUnanswered,
        CutByClose,
        CutByReset,
        Poisoned,
        Garbage,
        BothLengths,
        Upgraded,
        Silent,
    ]
};

impl Manner {
    /// A token's first byte decides, so that clients know what to expect.
    pub(super) fn of(token: u64) -> Self {
        match (token >> 56) as usize % 64 {
            index @ 0..27 => MANNERS[index],
            _ => Self::Plain,
        }
    }

    /// Whether a request that is read in whole is answered in whole.
    pub(super) fn is_good(self) -> bool {
        use Manner::*;
        matches!(self, Plain | Chunks | Closing | InPieces | Late | Large | Interim | Error)
    }
}

/// The body of the response to a token, as long as the token says.
pub(super) fn body_of(token: u64) -> Vec<u8> {
    let length = match Manner::of(token) {
        Manner::Large => 100_000 + (token % 200_000) as usize,
        _ => (token % 1500) as usize,
    };
    let text = format!("{token:016x}.");
    text.bytes().cycle().take(length).collect()
}

/// A sum over bytes: FNV-1a.
pub(super) fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The token in a target.
pub(super) fn token_in(target: &str) -> Option<u64> {
    u64::from_str_radix(target.strip_prefix("/t/")?, 16).ok()
}

struct Shared {
    seed: u64,
    verdict: Arc<Verdict>,
    /// How often each token was read in whole, and with which method.
    tokens: Mutex<HashMap<(String, u64), u32>>,
    open: AtomicUsize,
    stop: AtomicBool,
}

/// An upstream of no good manners.
pub(super) struct Chaos {
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<Vec<JoinHandle<()>>>,
}

impl Chaos {
    pub(super) fn start(seed: u64, verdict: &Arc<Verdict>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            seed,
            verdict: Arc::clone(verdict),
            tokens: Mutex::default(),
            open: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        });
        let ours = Arc::clone(&shared);
        let accepting = thread::spawn(move || accept(&listener, &ours));
        Self { address, shared, accepting }
    }

    /// Connections that are open.
    pub(super) fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// Ends once the proxy has; says which requests were read how often.
    pub(super) fn finish(self) -> HashMap<(String, u64), u32> {
        self.shared.stop.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address).expect("the listener is there"));
        for thread in self.accepting.join().expect("no panic") {
            thread.join().expect("no panic");
        }
        std::mem::take(&mut *self.shared.tokens.lock().expect("no panic"))
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) -> Vec<JoinHandle<()>> {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for number in 0u64.. {
        let (stream, _) = listener.accept().expect("a connection");
        if shared.stop.load(Ordering::Relaxed) {
            break;
        }
        stream.set_nodelay(true).expect("an open socket");
        stream.set_read_timeout(Some(4 * PATIENCE)).expect("an open socket");
        stream.set_write_timeout(Some(PATIENCE)).expect("an open socket");
        threads.retain(|thread| !thread.is_finished());
        let shared = Arc::clone(shared);
        shared.open.fetch_add(1, Ordering::SeqCst);
        threads.push(thread::spawn(move || {
            let mut dice = Dice::new(shared.seed ^ number);
            serve(stream, &shared, &mut dice);
            shared.open.fetch_sub(1, Ordering::SeqCst);
        }));
    }
    threads
}

fn serve(mut stream: TcpStream, shared: &Shared, dice: &mut Dice) {
    let (mut bytes, mut is_answered) = (Vec::new(), false);
    let mut piece = [0; 16 << 10];
    loop {
        match strict::request(&bytes) {
            Ok((request, length)) => {
                bytes.drain(..length);
                let token = check(&request, shared);
                let done = std::mem::take(&mut is_answered);
                if !done && !answer(token, &request.head, &request.method, &mut stream, dice) {
                    return;
                }
                if request.head.closes() {
                    return;
                }
                continue;
            }
            Err(Fault::Wrong(why)) => {
                let from = bytes.len().min(600);
                let text = bytes[..from].escape_ascii();
                return shared.verdict.wrong(format!("an upstream got {why}: {text}"));
            }
            Err(Fault::Incomplete) => {}
        }
        if !is_answered && let Ok((head, method, target)) = strict::request_head(&bytes) {
            let token = token_in(&target).filter(|token| Manner::of(*token) == Manner::Early);
            if let Some(token) = token {
                is_answered = true;
                if !answer(token, &head, &method, &mut stream, dice) {
                    return;
                }
            }
        }
        match stream.read(&mut piece) {
            Ok(0) => return,
            Ok(length) => bytes.extend(&piece[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                return shared.verdict.wrong("the proxy left a connection open".into());
            }
            Err(_) => return,
        }
    }
}

/// Compares a whole request with what its client says about it.
fn check(request: &Request, shared: &Shared) -> u64 {
    // Clients that flip bytes may hit the token or the sum; they say so.
    let is_flipped = request.head.get("x-flipped").is_some();
    let token = token_in(&request.target).unwrap_or(0);
    let said = request.head.get("x-sum").unwrap_or_default();
    let is = format!("{}-{:016x}", request.body.len(), sum(&request.body));
    if said != is && !is_flipped && !shared.is_lenient(said) {
        let (method, target) = (&request.method, &request.target);
        shared.verdict.wrong(format!("the body of {method} {target} was {is}, not {said}"));
    }
    if !is_flipped {
        let mut tokens = shared.tokens.lock().expect("no panic");
        *tokens.entry((request.method.clone(), token)).or_default() += 1;
    }
    token
}

impl Shared {
    /// A mutation may have hit the name of the field that tells of it.
    fn is_lenient(&self, said: &str) -> bool {
        said.ends_with('?')
    }
}

fn head(status: &str, token: u64, fields: &str) -> String {
    format!("HTTP/1.1 {status}\r\nX-Token: {token:016x}\r\n{fields}\r\n")
}

/// Answers as the token says; whether to go on.
fn answer(
    token: u64,
    head_in: &Head,
    method: &str,
    stream: &mut TcpStream,
    dice: &mut Dice,
) -> bool {
    let manner = Manner::of(token);
    let body = body_of(token);
    let shown = if method == "HEAD" { &[][..] } else { &body[..] };
    let plain = |status: &str, fields: &str| {
        let length = format!("{fields}Content-Length: {}\r\n", body.len());
        [head(status, token, &length).as_bytes(), shown].concat()
    };
    let mut bytes = Vec::new();
    if head_in.get("expect").is_some() && manner != Manner::Early {
        bytes.extend(b"HTTP/1.1 100 Continue\r\n\r\n");
    }
    let mut goes_on = true;
    match manner {
        Manner::Plain | Manner::InPieces | Manner::Large => bytes.extend(plain("200 OK", "")),
        Manner::Early => bytes.extend(plain("200 OK", "X-Early: 1\r\n")),
        Manner::Error => bytes.extend(plain("500 Failed", "")),
        Manner::Chunks => bytes.extend(chunks(token, shown, method, dice)),
        Manner::UpToClose | Manner::Closing => {
            goes_on = false;
            let close = "Connection: close\r\n";
            let said = plain("200 OK", close);
            let unsaid = [head("200 OK", token, close).as_bytes(), shown].concat();
            bytes.extend(if manner == Manner::Closing { said } else { unsaid });
        }
        Manner::Late => {
            thread::park_timeout(Duration::from_millis(token % 30));
            bytes.extend(plain("200 OK", ""));
        }
        Manner::Interim => {
            bytes.extend(b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n");
            bytes.extend(plain("200 OK", ""));
        }
        Manner::HeadWithBody | Manner::Poisoned => {
            bytes.extend(plain("200 OK", ""));
            bytes.extend(POISON.bytes());
        }
        Manner::CloseUnanswered => return false,
        Manner::ResetUnanswered => return reset(stream),
        Manner::CutByClose | Manner::CutByReset => {
            let whole = plain("200 OK", "");
            bytes.extend(&whole[..dice.below(whole.len())]);
            goes_on = false;
        }
        Manner::Garbage => bytes.extend((0..200).map(|_| dice.next() as u8)),
        Manner::BothLengths => {
            bytes.extend(plain("200 OK", "Transfer-Encoding: chunked\r\n"));
        }
        Manner::Upgraded => bytes.extend(head("101 Switching", token, "Upgrade: x\r\n").bytes()),
        Manner::Silent => thread::park_timeout(4 * RESPONSE_LIMIT),
    }
    let sent = if manner == Manner::InPieces {
        pieces(&bytes, stream, dice)
    } else {
        stream.write_all(&bytes).is_ok()
    };
    if manner == Manner::CutByReset {
        return reset(stream);
    }
    if !goes_on || matches!(manner, Manner::Garbage | Manner::Upgraded) {
        // The proxy may have been first.
        let _ = stream.shutdown(Shutdown::Write);
    }
    sent && goes_on
}

fn chunks(token: u64, body: &[u8], method: &str, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = head("200 OK", token, "Transfer-Encoding: chunked\r\n").into_bytes();
    if method == "HEAD" {
        return bytes;
    }
    let mut rest = body;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(1 + dice.below(rest.len()));
        bytes.extend(format!("{:x}\r\n", piece.len()).bytes());
        bytes.extend([piece, b"\r\n"].concat());
        rest = after;
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}

/// Sends in pieces, with pauses between some.
fn pieces(mut bytes: &[u8], stream: &mut TcpStream, dice: &mut Dice) -> bool {
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at(1 + dice.below(bytes.len()));
        if stream.write_all(piece).is_err() {
            return false;
        }
        if dice.below(2) == 0 {
            thread::park_timeout(Duration::from_millis(1));
        }
        bytes = rest;
    }
    true
}

fn reset(stream: &TcpStream) -> bool {
    // The proxy may have been first.
    let _ = socket_reset(stream);
    false
}

/// Checks that no request was repeated that may not be, and none more often than there are
/// upstreams.
pub(super) fn judge_repeats(upstreams: &[HashMap<(String, u64), u32>], verdict: &Verdict) {
    let mut all: HashMap<&(String, u64), u32> = HashMap::new();
    for (key, count) in upstreams.iter().flatten() {
        *all.entry(key).or_default() += count;
    }
    for ((method, token), count) in all {
        let most = if method == "POST" { 1 } else { 1 + upstreams.len() as u32 };
        if count > most {
            verdict.wrong(format!("{method} {token:016x} was sent {count} times"));
        }
    }
}
