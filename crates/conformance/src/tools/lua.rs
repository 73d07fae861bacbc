//! The script given to wrk and wrk2: at the end it prints the digits that their reports round away,
//! and it draws paths if the ask has several.
//!
//! With `done` alone the request stays static, so a run with one path is as fast as the tester can
//! be. The figures are the tester's own, after all its corrections; only the formatting is ours.

use std::fmt::Write as _;

use serde_json::Value;

use super::abilities::{FORM_TYPE, form, pipeline, targets};
use crate::tool::{Ask, Method, Reading};
use plimsoll_lab::testers::text::{Quantiles, count_at, marked, number_at};

/// The file it is put into.
pub(super) const NAME: &str = "plimsoll.lua";

const DONE: &str = r#"done = function(summary, latency)
  local line = string.format('plimsoll {"duration_us":%.0f', summary.duration)
  line = line .. string.format(',"requests":%.0f', summary.requests)
  for _, kind in ipairs({"connect", "read", "write", "status", "timeout"}) do
    line = line .. string.format(',"%s":%.0f', kind, summary.errors[kind])
  end
  line = line .. string.format(',"min_us":%.0f,"max_us":%.0f', latency.min, latency.max)
  if latency.mean == latency.mean then
    line = line .. string.format(',"mean_us":%.3f', latency.mean)
  end
  local rows = {}
  for i, percent in ipairs({50, 75, 90, 95, 99, 99.9, 99.99}) do
    rows[i] = string.format("[%.4f,%.0f]", percent / 100, latency:percentile(percent))
  end
  io.write(line .. ',"quantiles":[' .. table.concat(rows, ",") .. "]}\n")
end
"#;

/// The script for an ask.
pub(super) fn script(ask: &Ask) -> String {
    let mut script = String::from(DONE);
    if ask.method == Method::Head {
        script.push_str("wrk.method = \"HEAD\"\n");
    }
    if let Some(form) = form(ask) {
        let body = Value::from(form);
        let _ = write!(
            script,
            "wrk.method = \"POST\"\nwrk.body = {body}\nwrk.headers[\"Content-Type\"] = \
             \"{FORM_TYPE}\"\n"
        );
    }
    if pipeline(ask) > 1 {
        // As wrk's own example does it: several requests written as one.
        let _ = write!(
            script,
            "local all\ninit = function(args) all = string.rep(wrk.format(), {}) end\n\
             request = function() return all end\n",
            pipeline(ask)
        );
    }
    let paths = targets(ask);
    if paths.is_empty() {
        return script;
    }
    let mut total = 0_u64;
    script.push_str("local paths = {");
    for (path, weight) in paths {
        total += u64::from(*weight);
        // JSON's escapes for what can stand in a path are Lua's too.
        let _ = write!(script, "{{{}, {total}}}, ", Value::from(path.as_str()));
    }
    let seed = ask.seed.unwrap_or(1);
    let _ = write!(
        script,
        r"}}
local ready = {{}}
init = function(args)
  math.randomseed({seed})
  for i, path in ipairs(paths) do ready[i] = wrk.format(nil, path[1]) end
end
request = function()
  local at = math.random() * {total}
  for i, path in ipairs(paths) do
    if at < path[2] then return ready[i] end
  end
  return ready[#ready]
end
"
    );
    script
}

/// What the script's line says.
///
/// # Errors
/// No such line, or something is missing from it.
pub(super) fn read(stdout: &str, reading: &mut Reading) -> Result<(), String> {
    let said = marked(stdout)?;
    let completed = count_at(&said, "/requests")?;
    let failed = count_at(&said, "/status")?;
    let duration_s = number_at(&said, "/duration_us")? / 1e6;
    let errors = ["/connect", "/read", "/write"].map(|pointer| count_at(&said, pointer));
    let mut sum = 0_u64;
    for count in errors {
        sum = sum.saturating_add(count?);
    }
    reading.completed = Some(completed);
    reading.failed = Some(failed);
    reading.ok = completed.checked_sub(failed);
    reading.errors = Some(sum);
    reading.timed_out = Some(count_at(&said, "/timeout")?);
    reading.duration_s = Some(duration_s);
    // Without a sample the least latency is the start value of a search for it.
    let Ok(mean_us) = number_at(&said, "/mean_us") else { return Ok(()) };
    if completed == 0 {
        return Ok(());
    }
    reading.mean_s = Some(mean_us / 1e6);
    reading.min_s = Some(number_at(&said, "/min_us")? / 1e6);
    reading.max_s = Some(number_at(&said, "/max_us")? / 1e6);
    reading.quantiles = pairs(said.get("quantiles"), 1e-6)?;
    Ok(())
}

/// Quantiles from pairs of a quantile and a value in some unit.
///
/// # Errors
/// They are something else.
pub(super) fn pairs(value: Option<&Value>, unit_s: f64) -> Result<Quantiles, String> {
    let rows = value.and_then(Value::as_array).ok_or("no quantiles")?;
    let row = |row: &Value| Some((row.get(0)?.as_f64()?, row.get(1)?.as_f64()? * unit_s));
    let quantiles: Option<Quantiles> = rows.iter().filter(|row| !row.is_null()).map(row).collect();
    quantiles.ok_or_else(|| "a quantile that is not a number".to_owned())
}
