//! What the program answers beside the echo: the REST interface, results, pages, and the page that
//! shows a request.
//!
//! Each request has a thread of its own, since a run is answered when it is over. Their number has
//! a limit.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use plimsoll_core::secret::percent_decoded;
use plimsoll_core::units::counted;
use plimsoll_dialect::WallTime;
use plimsoll_dialect::fortio::rest::Arguments;
use plimsoll_dialect::fortio::{Serve, ServeKind};
use plimsoll_server::{Asked, Handle, Reply, Response};

use super::super::{Refused, now};
use super::rest::{Runs, json};
use super::{client, data, pages, results, sync};

/// Requests that are worked on at a time; further ones get a 503.
const REQUESTS_MAX: usize = 256;

/// What stands behind `rest/`. As anywhere else, the page is below it.
const RESTS: [&str; 4] = ["run", "status", "stop", "dns"];

/// What a 404 says.
const NOT_FOUND: &str = "404 page not found\n";

/// Everything that requests share.
pub(super) struct Site {
    shared: Arc<Shared>,
}

/// What the threads of requests share.
pub(super) struct Shared {
    pub(super) serve: Serve,
    pub(super) runs: Runs,
    pub(super) started: (Instant, WallTime),
    folder: PathBuf,
    /// Where results are, below the root.
    data_path: String,
    address: Mutex<Option<SocketAddr>>,
    busy: AtomicUsize,
}

impl Site {
    /// Finds out whether results can be written.
    ///
    /// # Errors
    /// The path is not a folder, or the folder cannot be written.
    pub(super) fn new(serve: &Serve) -> Result<Self, Refused> {
        let folder = PathBuf::from(&serve.data_dir);
        let shown = folder.display();
        if serve.kind == ServeKind::Server {
            tempfile::tempfile_in(&folder)
                .map_err(|error| format!("fortio: cannot write to -data-dir '{shown}': {error}"))?;
        } else if !folder.is_dir() {
            return Err(format!("fortio: -data-dir '{shown}' is not a folder").into());
        }
        let data_path = format!("{}/data/", serve.ui_path.trim_end_matches('/'));
        let shared = Shared {
            serve: serve.clone(),
            runs: Runs::default(),
            started: (Instant::now(), now()),
            folder,
            data_path,
            address: Mutex::new(None),
            busy: AtomicUsize::new(0),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    pub(super) fn data_dir(&self) -> &Path {
        &self.shared.folder
    }

    /// Where the site is, as it turned out.
    pub(super) fn set_address(&self, address: SocketAddr) {
        *self.shared.address.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
    }
}

impl Handle for Site {
    fn handle(&self, asked: Asked, reply: Reply) {
        let shared = Arc::clone(&self.shared);
        if shared.busy.fetch_add(1, Ordering::Relaxed) >= REQUESTS_MAX {
            shared.busy.fetch_sub(1, Ordering::Relaxed);
            return reply.send(text(503, "too many requests are worked on: try again\n"));
        }
        thread::spawn(move || {
            reply.send(shared.answer(&asked));
            shared.busy.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

impl Shared {
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn answer(&self, asked: &Asked) -> Response {
        let path = asked.target.split('?').next().unwrap_or_default();
        let debug = self.serve.debug_path.trim_end_matches('/');
        if !debug.is_empty() && path == debug {
            return pages::debug(asked, self.started);
        }
        if !debug.is_empty() && path == format!("{debug}/metrics") {
            return text(200, &self.runs.metrics());
        }
        if !debug.is_empty() && path.starts_with(&format!("{debug}/pprof")) {
            return unprofiled();
        }
        let root = self.serve.ui_path.trim_end_matches('/');
        let Some(rest) = path.strip_prefix(root) else { return not_found() };
        let Some(rest) = rest.strip_prefix('/') else {
            let fields = vec![("Location", format!("{root}/"))];
            return Response { status: 301, fields, body: Vec::new() };
        };
        match rest.split_once('/') {
            Some(("data", "")) => html(200, &pages::list(&data::names(&self.folder))),
            Some(("data", "index.tsv")) => self.index(asked),
            Some(("data", name)) => self.result(&percent_decoded(name)),
            _ if self.serve.kind == ServeKind::Report || rest == "browse" => self.browse(asked),
            _ if rest == "sync" && self.serve.fetches => self.sync(asked),
            _ if rest == "flags" => html(200, &pages::flags()),
            Some(("rest", what)) if RESTS.contains(&what) => self.rest(what, asked),
            Some(("fetch", place)) if self.serve.fetches => fetched(&with_query(place, asked)),
            Some(("fetch2", "")) if self.serve.fetches => {
                let arguments = Arguments::read(&asked.target, b"").unwrap_or_default();
                fetched(arguments.text("url"))
            }
            _ => self.page(asked),
        }
    }

    fn rest(&self, what: &str, asked: &Asked) -> Response {
        let arguments = match Arguments::read(&asked.target, &asked.body) {
            Ok(arguments) => arguments,
            Err(error) => return json(400, &error),
        };
        match what {
            "run" => self.runs.run(&arguments, asked, self),
            "status" => self.runs.status(&arguments),
            "stop" => self.runs.stop(&arguments, &self.data_url(asked)),
            _ => super::rest::dns(&arguments),
        }
    }

    /// The page with a form; a form that was sent starts or stops a run.
    fn page(&self, asked: &Asked) -> Response {
        let arguments = Arguments::read(&asked.target, b"").unwrap_or_default();
        if arguments.text("load") == "Start" {
            let answer = self.runs.run(&arguments, asked, self);
            return if arguments.is_on("json") { answer } else { results::of_run(answer) };
        }
        if arguments.text("stop") == "Stop" {
            return self.runs.stop(&arguments, &self.data_url(asked));
        }
        html(200, &pages::front(self.started))
    }

    /// Saved results. fortio has their list at the top where it shows nothing else.
    fn browse(&self, asked: &Asked) -> Response {
        let arguments = Arguments::read(&asked.target, b"").unwrap_or_default();
        results::browse(&self.folder, &arguments, self.serve.kind == ServeKind::Report)
    }

    /// Copies the results of a list.
    fn sync(&self, asked: &Asked) -> Response {
        let arguments = Arguments::read(&asked.target, b"").unwrap_or_default();
        let url = arguments.text("url");
        if url.is_empty() {
            return html(200, &pages::sync());
        }
        match sync::once(url, &self.folder) {
            Ok(copied) => {
                html(200, &results::message(&format!("{} copied.", counted(copied, "new result"))))
            }
            Err(why) => html(400, &results::message(&why)),
        }
    }

    /// What stands before the names of results, for this client.
    pub(super) fn data_url(&self, asked: &Asked) -> String {
        if !self.serve.base_url.is_empty() {
            return format!("{}{}", self.serve.base_url.trim_end_matches('/'), self.data_path);
        }
        let own = if asked.is_secure { "https" } else { "http" };
        let scheme = asked.field("x-forwarded-proto").unwrap_or(own);
        let host = asked.field("x-forwarded-host").or_else(|| asked.field("host"));
        let address = *self.address.lock().unwrap_or_else(PoisonError::into_inner);
        let address = address.map(|it| it.to_string()).unwrap_or_default();
        format!("{scheme}://{}{}", host.unwrap_or(&address), self.data_path)
    }

    fn index(&self, asked: &Asked) -> Response {
        let mut response = text(200, &data::index(&self.folder, &self.data_url(asked)));
        response.fields.push(("Access-Control-Allow-Origin", "*".to_owned()));
        let changed = data::changed(&self.folder).http_date();
        response.fields.push(("Etag", format!("\"{changed}\"")));
        response.fields.push(("Last-Modified", changed));
        response
    }

    fn result(&self, name: &str) -> Response {
        let found = data::read(&self.folder, name);
        let kind = found.as_ref().map_or("text/plain; charset=utf-8", |_| "application/json");
        let field = |name, value: &str| (name, value.to_owned());
        let fields = vec![
            field("Access-Control-Allow-Origin", "*"),
            field("Cache-Control", "max-age=365000000, immutable"),
            field("Content-Type", kind),
        ];
        let status = if found.is_some() { 200 } else { 404 };
        Response { status, fields, body: found.unwrap_or_else(|| NOT_FOUND.into()) }
    }
}

fn with_query(place: &str, asked: &Asked) -> String {
    match asked.target.split_once('?') {
        Some((_, query)) => format!("{place}?{query}"),
        None => place.to_owned(),
    }
}

/// The answer of another server, passed on.
fn fetched(url: &str) -> Response {
    let answer = match client::fetch(url) {
        Ok(answer) => answer,
        Err(why) => return text(400, &format!("{why}\n")),
    };
    let head = String::from_utf8_lossy(&answer.head).into_owned();
    let lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let mut kinds = lines.filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let kind = kinds.next().map_or("application/octet-stream", |(_, kind)| kind.trim());
    let fields = vec![("Content-Type", kind.to_owned())];
    Response { status: answer.status, fields, body: answer.body }
}

pub(super) fn not_found() -> Response {
    text(404, NOT_FOUND)
}

pub(super) fn text(status: u16, body: &str) -> Response {
    let fields = vec![("Content-Type", "text/plain; charset=UTF-8".to_owned())];
    Response { status, fields, body: body.as_bytes().to_vec() }
}

pub(super) fn html(status: u16, body: &str) -> Response {
    let fields = vec![("Content-Type", "text/html; charset=UTF-8".to_owned())];
    Response { status, fields, body: body.as_bytes().to_vec() }
}

/// What the address of Go's profiler says.
fn unprofiled() -> Response {
    let process = std::process::id();
    text(501, &format!("profiles are taken with perf: perf record -g -p {process}\n"))
}
