//! Histograms as the tables from which the prelude makes statistics.

use mlua::{Lua, Table};
use plimsoll_core::histogram::Histogram;

use super::Api;

/// The numbers of a histogram, each value divided by `unit` and rounded down.
pub(super) fn table(lua: &Lua, histogram: &Histogram, unit: u64, api: Api) -> mlua::Result<Table> {
    let (values, running) = distinct(histogram, unit);
    let table = lua.create_table()?;
    table.raw_set("total", histogram.count() as f64)?;
    table.raw_set("min", histogram.min_ns().map_or(0, |min| min / unit) as f64)?;
    table.raw_set("max", histogram.max_ns().map_or(0, |max| max / unit) as f64)?;
    table.raw_set("mean", histogram.mean_ns().unwrap_or(0.0) / unit as f64)?;
    table.raw_set("stdev", stdev(histogram, api) / unit as f64)?;
    table.raw_set("values", lua.create_sequence_from(values)?)?;
    table.raw_set("running", lua.create_sequence_from(running)?)?;
    Ok(table)
}

/// The values that occur, ascending, and how many there are up to each.
fn distinct(histogram: &Histogram, unit: u64) -> (Vec<f64>, Vec<f64>) {
    let (min, max) = (histogram.min_ns().unwrap_or(0), histogram.max_ns().unwrap_or(0));
    let (mut values, mut running): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    let mut total = 0;
    for (value, count) in histogram.buckets() {
        total += count;
        let value = (value.clamp(min, max) / unit) as f64;
        if values.last() != Some(&value) {
            values.push(value);
            running.push(0.0);
        }
        if let Some(last) = running.last_mut() {
            *last = total as f64;
        }
    }
    (values, running)
}

/// wrk divides by one less than the number of values, wrk2 by their number.
fn stdev(histogram: &Histogram, api: Api) -> f64 {
    let count = histogram.count();
    if count < 2 {
        return 0.0;
    }
    let of_population = histogram.stdev_ns().unwrap_or(0.0);
    match api {
        Api::Wrk => of_population * (count as f64 / (count - 1) as f64).sqrt(),
        Api::Wrk2 => of_population,
    }
}
