//! What of k6's web dashboard there is: its report at the end of a test, which is ours here, as
//! HTML. No page is served during the test.

use std::path::PathBuf;

use plimsoll_core::RunResult;
use plimsoll_dialect::k6::Refused;
use plimsoll_dialect::k6::output::Level;
use plimsoll_report::html;
use plimsoll_runner::k6::{Handle, Planned, Points, Ran, RecordError, Terms, Test};

use super::log::{Log, other_fault};
use super::outputs::Variables;
use crate::{destination, message};

/// Where a report is asked for, and whether a page is.
pub(super) fn variables(variables: Variables<'_>) -> (Option<String>, bool) {
    // k6 has an older name for it too.
    let path = variables.text("K6_WEB_DASHBOARD_EXPORT");
    let path = path.or_else(|| variables.text("K6_WEB_DASHBOARD_REPORT"));
    let no = ["0", "f", "F", "false", "FALSE", "False"];
    let page = variables.text("K6_WEB_DASHBOARD");
    (path, page.is_some_and(|text| !no.contains(&text.as_str())))
}

/// The report that was asked for.
pub(super) struct Dashboard {
    path: PathBuf,
    planned: Planned,
}

impl Dashboard {
    /// The report that variables ask for, if they do; a page that they ask for is warned of.
    ///
    /// # Errors
    /// When the run cannot be planned.
    pub(super) fn asked(
        test: &Test,
        script: &str,
        variables: Variables<'_>,
        log: &Log,
    ) -> Result<Option<Self>, Refused> {
        let (path, wants_page) = self::variables(variables);
        if wants_page {
            let what = "K6_WEB_DASHBOARD serves no page here";
            let advice = match path {
                Some(_) => "the report is written at the end",
                None => "K6_WEB_DASHBOARD_EXPORT=FILE writes a report at the end",
            };
            log.say(Level::Warning, format!("{what}: {advice}"));
        }
        let Some(path) = path else { return Ok(None) };
        let planned = test.plan(&Terms { script: script.to_owned(), ..Terms::default() });
        let planned = planned.map_err(|error| other_fault(error.to_string()))?;
        Ok(Some(Self { path: path.into(), planned }))
    }

    /// Runs the test, and writes the report, once there is one.
    ///
    /// # Errors
    /// Why nothing was run.
    pub(super) fn run(
        &self,
        test: &Test,
        handle: &Handle,
        log: &Log,
        points: Option<Points>,
    ) -> Result<Ran, Refused> {
        let lines = (log.lines(), points);
        let ran = test.record_beside(&self.planned, Default::default(), handle, lines, &mut |_| ());
        match ran {
            Ok((ran, result)) => {
                self.say(result, log);
                Ok(ran)
            }
            Err(RecordError::Refused(refused)) => Err(refused),
            Err(RecordError::Run(error)) => Err(other_fault(error.to_string())),
        }
    }

    /// Says where the report is, or why it is not there.
    fn say(&self, result: Result<RunResult, RecordError>, log: &Log) {
        let path = self.path.display();
        let written = result.map_err(|error| error.to_string()).and_then(|result| {
            let mut bytes = Vec::new();
            let written = html::write(&result, &mut bytes);
            let written = written.and_then(|()| destination::write(&self.path, &bytes));
            written.map_err(|error| message::without_error_numbers(&error.to_string()))
        });
        match written {
            Ok(()) => {
                log.say(Level::Info, format!("plimsoll's report is in '{path}', in place of k6's"));
            }
            Err(why) => log.say(Level::Error, format!("cannot write the report '{path}': {why}")),
        }
    }
}
