//! `-sync URL`, and the page `sync`: fetches the results that an `index.tsv` or a bucket lists and
//! that are not there yet.

use std::path::Path;
use std::thread;
use std::time::Duration;

use plimsoll_dialect::fortio::rest::Listing;
use plimsoll_dialect::fortio::{Level, LogLevel, Serve};

use super::super::log;
use super::client::fetch;
use super::data;

/// The most parts of a list; a bucket gives a thousand objects in each.
const PARTS_MAX: usize = 100;

/// Fetches what a list has, from part to part; gives the number of results that are new.
///
/// # Errors
/// The first thing that fails, in one line.
pub(super) fn once(url: &str, folder: &Path) -> Result<u64, String> {
    let (mut at, mut copied) = (url.to_owned(), 0);
    for _ in 0..PARTS_MAX {
        let text = String::from_utf8(fetch_whole(&at)?);
        let text = text.map_err(|_| "the list is not text".to_owned())?;
        let Listing { results, next } = Listing::read(&at, &text)?;
        for (name, url) in results {
            if folder.join(&name).exists() {
                continue;
            }
            let document = fetch_whole(&url).map_err(|why| format!("{url}: {why}"))?;
            data::write(folder, &name, &document).map_err(|error| format!("{name}: {error}"))?;
            copied += 1;
        }
        match next {
            None => return Ok(copied),
            Some(next) if next == at => return Err("the list goes on with itself".to_owned()),
            Some(next) => at = next,
        }
    }
    Err(format!("the list has more than {PARTS_MAX} parts"))
}

/// What is there.
fn fetch_whole(url: &str) -> Result<Vec<u8>, String> {
    let answer = fetch(url)?;
    match answer.status {
        200 => Ok(answer.body),
        status => Err(format!("the status is {status}")),
    }
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
