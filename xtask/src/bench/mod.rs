//! `cargo xtask bench`: compares plimsoll with its peers and with the least a program can do
//! (`bench/`), and its server with other servers.
//!
//! Machines differ and are shared, so nothing here is a test with a threshold. Contenders take
//! turns within one run (A B C A B C), and client and server each have their own CPU. Quote the
//! ratio of two contenders in the same round.
//!
//! Absent on purpose: remote machines, TLS to servers that are not ours, and tuning flags of the
//! peers beyond what makes them do the same work.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

mod build;
mod contest;
mod host;
mod parse;
mod process;
mod render;
mod server;
mod tables;
mod tool;

const USAGE: &str = "\
usage: cargo xtask bench [TABLE...] [FLAGS]

tables (default: all)
  closed       keep-alive, closed loop, 100 connections
  connections  the same with 1, 10 and 1000 connections
  bodies       answers and requests of 1 KiB, 100 KiB and 1 MiB
  rate         10 000 requests/s over 100 connections: latency, lateness, evenness
  connect      one request per connection
  memory       resident memory against connections and time
  hello        servers under one client
  proxy        proxies between one client and one server
  observer     what progress and time series cost
  http2        HTTP/2: closed loops to several servers, at a rate, servers
  grpc         unary calls of gRPC
  websocket    messages of WebSockets

flags
  --pairs N        rounds in which every contender runs once (default 5)
  --seconds S      length of one run (default 5)
  --server-cpu K   CPU of the servers (default 0)
  --client-cpu K   CPU of the clients (default 1)
  --only A,B       only these contenders (plimsoll, bare-uring, bare-epoll, wrk, nginx, ...)
  --output FILE    write the tables there as well";

/// What the command line asks for.
#[derive(Debug, Clone)]
struct Options {
    tables: Vec<String>,
    pairs: usize,
    seconds: u64,
    server_cpu: usize,
    client_cpu: usize,
    only: Option<Vec<String>>,
    output: Option<PathBuf>,
}

impl Options {
    /// Whether a contender of this name takes part.
    fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|wanted| wanted == name))
    }
}

/// Runs the tables asked for and prints them as Markdown on stdout.
pub(crate) fn run(args: Vec<String>) -> Result<()> {
    if args.iter().any(|arg| arg == "-h" || arg == "--help") {
        println!("{USAGE}");
        return Ok(());
    }
    let options = parse_options(args)?;
    if let Some(file) = &options.output {
        std::fs::write(file, "").with_context(|| format!("cannot write {}", file.display()))?;
    }
    host::raise_file_limit()?;
    let programs = build::programs(&options)?;
    let folder = process::Folder::create()?;
    let stage = contest::Stage { options: &options, programs: &programs, folder: &folder };
    let mut text = render::heading(&options, &programs);
    print!("{text}");
    for name in &options.tables {
        for contest in tables::contests(name, &stage)? {
            let outcome = contest::hold(&stage, &contest)?;
            let table = render::table(&contest, &outcome);
            print!("\n{table}");
            text.push('\n');
            text.push_str(&table);
            if let Some(file) = &options.output {
                std::fs::write(file, &text)?;
            }
        }
    }
    Ok(())
}

fn parse_options(args: Vec<String>) -> Result<Options> {
    let mut options = Options {
        tables: Vec::new(),
        pairs: 5,
        seconds: 5,
        server_cpu: 0,
        client_cpu: 1,
        only: None,
        output: None,
    };
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--pairs" => options.pairs = positive(&arg, &value()?)?,
            "--seconds" => options.seconds = positive(&arg, &value()?)? as u64,
            "--server-cpu" => options.server_cpu = number(&arg, &value()?)?,
            "--client-cpu" => options.client_cpu = number(&arg, &value()?)?,
            "--only" => options.only = Some(value()?.split(',').map(str::to_owned).collect()),
            "--output" => options.output = Some(PathBuf::from(value()?)),
            table if tables::NAMES.contains(&table) => options.tables.push(arg),
            _ => bail!("there is no table or flag {arg}; see cargo xtask bench --help"),
        }
    }
    if options.tables.is_empty() {
        options.tables = tables::NAMES.map(str::to_owned).to_vec();
    }
    Ok(options)
}

fn number(flag: &str, value: &str) -> Result<usize> {
    value.parse().with_context(|| format!("{flag} needs a whole number, not {value}"))
}

fn positive(flag: &str, value: &str) -> Result<usize> {
    match number(flag, value)? {
        0 => bail!("{flag} needs at least 1"),
        n => Ok(n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options> {
        parse_options(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn options_are_read_and_wrong_ones_named() {
        let options = parsed("rate closed --pairs 2 --seconds 7 --only plimsoll,wrk").unwrap();
        assert_eq!(options.tables, ["rate", "closed"]);
        assert_eq!((options.pairs, options.seconds), (2, 7));
        assert!(options.wants("wrk") && !options.wants("ab"));
        assert_eq!(parsed("").unwrap().tables, tables::NAMES);
        for (line, complaint) in [
            ("--pairs 0", "--pairs needs at least 1"),
            ("--seconds", "--seconds needs a value"),
            ("--client-cpu x", "--client-cpu needs a whole number, not x"),
            ("clsoed", "there is no table or flag clsoed; see cargo xtask bench --help"),
        ] {
            assert_eq!(parsed(line).unwrap_err().to_string(), complaint);
        }
    }
}
