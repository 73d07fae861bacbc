//! What the bare loops share: the command line, the bytes on the wire, when to stop, and the line
//! of JSON at the end.
//!
//! The bare loops are yardsticks: a client and a server that do nothing but what every client and
//! server must. Left out on purpose: parsing (but for the size of the first response), timestamps,
//! latencies, errors of single requests (any failure ends the program), TLS, pipelining, threads,
//! names (addresses are IPv4 literals).

#![warn(missing_docs)]

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::Instant;

mod system;

pub use system::{check, pin, raise_file_limit, stop_after, stop_on_signal};

const USAGE: &str = "\
usage: client ADDR [-c CONNECTIONS] [-d SECONDS] [--cpu K] [--close]
       server ADDR [--cpu K] [--response-bytes N] [--close] [--log-arrivals]
ADDR is IPV4:PORT. A server on port 0 says which port it got and runs until SIGTERM or SIGINT.
--close: one request per connection; the server is the one that closes.
--log-arrivals (epoll only): variance/mean of the requests in each millisecond.";

/// What the command line asks for.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to connect, or to listen.
    pub address: SocketAddrV4,
    /// Connections the client holds open.
    pub connections: usize,
    /// How long the client runs, once connected.
    pub seconds: f64,
    /// The CPU to run on.
    pub cpu: Option<usize>,
    /// One request per connection.
    pub close: bool,
    /// Size of the server's body; 11 is "hello world".
    pub response_bytes: usize,
    /// Whether the server counts requests by millisecond.
    pub log_arrivals: bool,
}

impl Options {
    /// The request every connection sends.
    pub fn request(&self) -> Vec<u8> {
        let connection = if self.close { "Connection: close\r\n" } else { "" };
        format!("GET / HTTP/1.1\r\nHost: {}\r\n{connection}\r\n", self.address).into_bytes()
    }

    /// The response to every request. It names keep-alive, because HTTP/1.0 clients (ab) ask.
    pub fn response(&self) -> Vec<u8> {
        let connection = if self.close { "close" } else { "keep-alive" };
        let body = match self.response_bytes {
            11 => "hello world".to_owned(),
            bytes => "x".repeat(bytes),
        };
        let length = body.len();
        format!(
            "HTTP/1.1 200 OK\r\nConnection: {connection}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }

    /// Listens, and says where on stdout.
    ///
    /// # Errors
    /// What `bind` and `listen` return.
    pub fn listen(&self) -> io::Result<TcpListener> {
        let listener = system::listen(self.address)?;
        println!("listening on http://{}", listener.local_addr()?);
        io::stdout().flush()?;
        Ok(listener)
    }

    /// Opens the client's connections.
    ///
    /// # Errors
    /// What `connect` returns.
    pub fn connect(&self) -> io::Result<Vec<TcpStream>> {
        (0..self.connections)
            .map(|_| {
                let stream = TcpStream::connect(self.address)?;
                stream.set_nodelay(true)?;
                Ok(stream)
            })
            .collect()
    }

    /// Makes one request to learn how many bytes a response has; all others must have as many.
    ///
    /// # Errors
    /// A response without Content-Length on a connection kept open, or one that ends early.
    pub fn learn_response_bytes(&self) -> io::Result<usize> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.write_all(&self.request())?;
        let mut response = Vec::new();
        let mut chunk = [0; 16 * 1024];
        loop {
            if !self.close
                && let Some(bytes) = response_bytes(&response)?
            {
                return Ok(bytes);
            }
            match stream.read(&mut chunk)? {
                0 if self.close && !response.is_empty() => return Ok(response.len()),
                0 => return Err(io::Error::other("the first response ended early")),
                n => response.extend_from_slice(&chunk[..n]),
            }
        }
    }
}

/// The size of the response that `bytes` begins with, once its head is complete.
fn response_bytes(bytes: &[u8]) -> io::Result<Option<usize>> {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .and_then(|value| value.trim().parse::<usize>().ok())
        .ok_or_else(|| io::Error::other("the first response has no Content-Length"))?;
    Ok(Some(end + 4 + length))
}

/// The clock and the CPU time at the start of what is measured.
#[derive(Debug)]
pub struct Meter {
    began: Instant,
    cpu: system::CpuTime,
}

impl Meter {
    /// Starts measuring.
    pub fn start() -> Self {
        Self { began: Instant::now(), cpu: system::CpuTime::now() }
    }

    /// Ends measuring, after this many requests.
    pub fn finish(self, requests: u64) -> Measured {
        let seconds = self.began.elapsed().as_secs_f64();
        let cpu = system::CpuTime::now();
        let user_s = cpu.user_s - self.cpu.user_s;
        let system_s = cpu.system_s - self.cpu.system_s;
        let mut measured = Measured { json: format!("{{\"requests\":{requests}") };
        measured.add("seconds", seconds);
        measured.add("requests_per_s", requests as f64 / seconds);
        measured.add("user_s", user_s);
        measured.add("system_s", system_s);
        measured.add("cpu_us_per_request", (user_s + system_s) * 1e6 / requests.max(1) as f64);
        measured.add("max_rss_bytes", cpu.max_rss_bytes as f64);
        measured
    }
}

/// The line printed at the end.
#[derive(Debug)]
pub struct Measured {
    json: String,
}

impl Measured {
    /// Adds a number to the line.
    pub fn add(&mut self, name: &str, value: f64) {
        // Writing to a string cannot fail.
        let _ = write!(self.json, ",\"{name}\":{value}");
    }
}

/// The programs' `main`: reads the command line, runs the one or the other, prints the line.
pub fn main(
    client: fn(&Options) -> io::Result<Measured>,
    server: fn(&Options) -> io::Result<Measured>,
) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((mode, options)) = parse(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let run = if mode == "client" { client } else { server };
    let measured = raise_file_limit()
        .and_then(|()| options.cpu.map_or(Ok(()), pin))
        .and_then(|()| run(&options));
    match measured {
        Ok(measured) => {
            println!("{}}}", measured.json);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{mode} {}: {error}", options.address);
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: &[String]) -> Option<(&str, Options)> {
    let [mode, address, rest @ ..] = arguments else { return None };
    if mode != "client" && mode != "server" {
        return None;
    }
    let mut options = Options {
        address: address.parse().ok()?,
        connections: 100,
        seconds: 10.0,
        cpu: None,
        close: false,
        response_bytes: 11,
        log_arrivals: false,
    };
    let mut rest = rest.iter();
    while let Some(flag) = rest.next() {
        match flag.as_str() {
            "-c" => options.connections = rest.next()?.parse().ok().filter(|&n| n > 0)?,
            "-d" => options.seconds = rest.next()?.parse().ok().filter(|&s: &f64| s > 0.0)?,
            "--cpu" => options.cpu = Some(rest.next()?.parse().ok()?),
            "--response-bytes" => options.response_bytes = rest.next()?.parse().ok()?,
            "--close" => options.close = true,
            "--log-arrivals" => options.log_arrivals = true,
            _ => return None,
        }
    }
    Some((mode, options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Option<(String, Options)> {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        parse(&arguments).map(|(mode, options)| (mode.to_owned(), options))
    }

    #[test]
    fn command_lines() {
        let (mode, options) = parsed("client 127.0.0.1:80 -c 7 -d 0.5 --cpu 1 --close").unwrap();
        assert_eq!((mode.as_str(), options.connections, options.seconds), ("client", 7, 0.5));
        assert_eq!((options.cpu, options.close), (Some(1), true));
        for bad in ["client", "both 127.0.0.1:80", "client here:80", "client 127.0.0.1:80 -c 0"] {
            assert!(parsed(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_response_is_its_head_and_its_body() {
        let (_, options) = parsed("server 127.0.0.1:80").unwrap();
        let response = options.response();
        assert_eq!(response_bytes(&response).unwrap(), Some(response.len()));
        assert_eq!(response_bytes(&response[..20]).unwrap(), None);
        assert!(response_bytes(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
