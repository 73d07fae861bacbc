//! `k6 new`: a script to start from.

use std::fs::File;
use std::io::Write as _;

use clap::ArgMatches;
use plimsoll_dialect::k6::{ExitCode, Refused};

use super::log::other_fault;
use super::{args, print};

/// The script.
const MINIMAL: &str = r"import http from 'k6/http';
import { check, sleep } from 'k6';

// Ten users, each with a pause of a second between its requests.
export const options = {
  vus: 10,
  duration: '30s',
  thresholds: { http_req_failed: ['rate<0.01'] },
};

export default function () {
  const response = http.get('http://127.0.0.1:8080/');
  check(response, { 'status is 200': (r) => r.status === 200 });
  sleep(1);
}
";

/// Writes the script.
///
/// # Errors
/// A file that is there or cannot be written, and a template that is not known; exit code 255.
pub(super) fn new(given: &ArgMatches) -> Result<ExitCode, Refused> {
    if let Some(template) = args::text(given, "template").filter(|name| name != "minimal") {
        let why = match template.as_str() {
            "protocol" => "there is one template",
            "browser" => "k6/browser is not there",
            _ => "templates of your own are files to copy",
        };
        let what = format!("template '{template}' is not supported: {why}; write minimal");
        return Err(other_fault(what));
    }
    if args::text(given, "project-id").is_some() {
        return Err(other_fault("--project-id is for the cloud: leave it out".to_owned()));
    }
    let names = args::texts(given, "script");
    let name = match names.as_slice() {
        [] => "script.js",
        [name] => name.as_str(),
        names => {
            let what = format!("{} files are named: name one", names.len());
            return Err(other_fault(what));
        }
    };
    let is_forced = args::switch(given, "force") == Some(true);
    let mut options = File::options();
    let options = options.write(true).create(true).truncate(true).create_new(!is_forced);
    let written = options.open(name).and_then(|mut file| file.write_all(MINIMAL.as_bytes()));
    written.map_err(|error| {
        let advice = match error.kind() {
            std::io::ErrorKind::AlreadyExists => "it is there: give -f to overwrite it".to_owned(),
            _ => crate::message::without_error_numbers(&error.to_string()),
        };
        other_fault(format!("cannot write '{name}': {advice}"))
    })?;
    print(&format!("New script created: {name} (minimal template).\n"))?;
    Ok(ExitCode::Done)
}
