//! `-sync URL`: fetches the results that an `index.tsv` lists and that are not there yet.

use std::path::Path;
use std::thread;
use std::time::Duration;

use plimsoll_dialect::fortio::rest::{INDEX_HEAD, is_result_name};
use plimsoll_dialect::fortio::{Level, LogLevel, Serve};

use super::super::log;
use super::client::fetch;
use super::data;

/// The most results of a list.
const RESULTS_MAX: usize = 10_000;

/// Fetches what a list has.
///
/// # Errors
/// The first thing that fails, in one line.
pub(super) fn once(url: &str, folder: &Path) -> Result<(), String> {
    let index = fetch(url)?;
    if index.status != 200 {
        return Err(format!("the status is {}", index.status));
    }
    let text = String::from_utf8(index.body).map_err(|_| "the list is not text".to_owned())?;
    let lines = text.strip_prefix(INDEX_HEAD).ok_or_else(|| {
        "the list is not an index.tsv: it has to begin with TsvHttpData-1.0".to_owned()
    })?;
    let urls = lines.lines().filter_map(|line| line.split('\t').next());
    for url in urls.filter(|url| !url.is_empty()).take(RESULTS_MAX) {
        let name = url.rsplit('/').next().unwrap_or_default();
        if !is_result_name(name) || folder.join(name).exists() {
            continue;
        }
        let answer = fetch(url).map_err(|why| format!("{url}: {why}"))?;
        if answer.status != 200 {
            return Err(format!("{url}: the status is {}", answer.status));
        }
        data::write(folder, name, &answer.body).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

/// Does that from time to time, until the program ends.
pub(super) fn again_and_again(serve: &Serve, folder: &Path) {
    let (url, folder) = (serve.sync_url.clone(), folder.to_owned());
    let pause = Duration::from_nanos(serve.sync_interval_ns);
    thread::spawn(move || {
        loop {
            thread::sleep(pause);
            if let Err(why) = once(&url, &folder) {
                log(LogLevel::Info, Level::Error, &format!("sync of {url}: {why}"), &[]);
            }
        }
    });
}
