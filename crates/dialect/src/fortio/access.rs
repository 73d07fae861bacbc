//! Lines of fortio's access log.

use plimsoll_core::details::Call;

use super::command::{AccessLog, Command};

/// The line of a call of a run that began at this time of the wall clock, ns since the start of
/// 1970.
#[must_use]
pub fn access_line(log: &AccessLog, command: &Command, call: &Call, began_unix_ns: i64) -> String {
    let Call { taken_ns, connection, number, status, is_answered, is_ok, .. } = *call;
    let latency = taken_ns as f64 / 1e9;
    let start_ns = began_unix_ns.saturating_add(call.start_ns as i64);
    let details = match (&command.call, is_answered) {
        (Some(_), _) if is_ok => "SERVING".to_owned(),
        (Some(_), true) => "NOT_SERVING".to_owned(),
        (Some(_), false) => "ERROR".to_owned(),
        (None, true) if status > 0 => status.to_string(),
        (None, true) => "OK".to_owned(),
        (None, false) => "-1".to_owned(),
    };
    match log.is_influx {
        true => format!(
            "latency,thread={connection},ok={is_ok} value={latency:.6},details=\"{details}\" \
             {start_ns}\n"
        ),
        false => format!(
            "{{\"latency\":{latency:.6},\"timestamp\":{start_ns},\"thread\":{connection},\
             \"iter\":{number},\"ok\":{is_ok},\"details\":\"{details}\"}}\n"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fortio::{Task, parse};

    /// The lines that fortio wrote.
    #[test]
    fn lines_are_those_of_fortio() {
        let call = |taken_ns, start_ns, connection, number| Call {
            start_ns,
            taken_ns,
            connection,
            number,
            status: 200,
            is_answered: true,
            is_ok: true,
        };
        let json = call(589_000, 633_308_053, 1, 0);
        let influx = call(2_474_000, 653_975_224, 0, 0);
        let lost = Call { status: 0, is_answered: false, is_ok: false, ..json };
        let command = ["load", "u"].map(str::to_owned);
        let Ok(Task::Load(http)) = parse(&command) else { panic!("a load") };
        for (is_influx, call, want) in [
            (
                false,
                json,
                "{\"latency\":0.000589,\"timestamp\":1795331293633308053,\"thread\":1,\"iter\":0,\
                 \"ok\":true,\"details\":\"200\"}\n",
            ),
            (
                true,
                influx,
                "latency,thread=0,ok=true value=0.002474,details=\"200\" 1795331293653975224\n",
            ),
            (
                true,
                lost,
                "latency,thread=1,ok=false value=0.000589,details=\"-1\" 1795331293633308053\n",
            ),
        ] {
            let log = AccessLog { path: String::new(), is_influx };
            assert_eq!(access_line(&log, &http, &call, 1_795_331_293_000_000_000), want);
        }
    }
}
