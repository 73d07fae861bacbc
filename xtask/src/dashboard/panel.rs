//! Panels of a dashboard with what Prometheus answers to their expressions.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::answers::{Prometheus, Series};
use super::scale::Unit;

/// Seconds before the start and after the end of a run that are shown.
const AROUND_S: f64 = 2.0;

/// The time that is shown, s since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub from_s: f64,
    pub to_s: f64,
}

impl Window {
    /// That of the only run that Prometheus knows.
    pub(crate) fn of(prometheus: &Prometheus) -> Result<Self> {
        let time = |name: &str| {
            let expression = format!("max(last_over_time({name}_timestamp_seconds[1h]))");
            prometheus.now(&expression)
        };
        let (start_s, end_s) = (time("plimsoll_run_start")?, time("plimsoll_run_end")?);
        Ok(Self { from_s: start_s.floor() - AROUND_S, to_s: end_s.ceil() + AROUND_S })
    }
}

/// A panel's place, in the columns and rows of the dashboard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// A panel with its lines.
#[derive(Debug)]
pub(crate) struct Panel {
    pub title: String,
    pub place: Place,
    pub unit: Unit,
    /// Whether it shows the last values as text.
    pub is_stat: bool,
    /// With what the legend calls them.
    pub lines: Vec<(String, Series)>,
}

/// Something that happened, by its time.
#[derive(Debug)]
pub(crate) struct Mark {
    pub time_s: f64,
    pub color: String,
}

/// All panels.
pub(crate) fn all(
    dashboard: &Value,
    prometheus: &Prometheus,
    window: Window,
) -> Result<Vec<Panel>> {
    let panels = dashboard["panels"].as_array().context("the dashboard has no panels")?;
    panels.iter().map(|panel| read(panel, prometheus, window)).collect()
}

fn read(panel: &Value, prometheus: &Prometheus, window: Window) -> Result<Panel> {
    let mut lines = Vec::new();
    for target in panel["targets"].as_array().into_iter().flatten() {
        let (expression, legend) = (text(target, "expr"), text(target, "legendFormat"));
        for series in prometheus.range(&filled(expression), window)? {
            lines.push((named(legend, &series.labels), series));
        }
    }
    let number = |key: &str| panel["gridPos"][key].as_f64().unwrap_or(0.0);
    Ok(Panel {
        title: text(panel, "title").to_owned(),
        place: Place { x: number("x"), y: number("y"), width: number("w"), height: number("h") },
        unit: Unit::named(panel["fieldConfig"]["defaults"]["unit"].as_str().unwrap_or_default()),
        is_stat: panel["type"] == "stat",
        lines,
    })
}

/// What the annotations of the dashboard find: each value is a time in ms.
pub(crate) fn marks(
    dashboard: &Value,
    prometheus: &Prometheus,
    window: Window,
) -> Result<Vec<Mark>> {
    let mut marks: Vec<Mark> = Vec::new();
    let annotations = dashboard["annotations"]["list"].as_array();
    for annotation in annotations.into_iter().flatten() {
        let found = prometheus.range(&filled(text(annotation, "expr")), window)?;
        let values = found.iter().flat_map(|series| &series.points);
        for time_s in values.map(|(_, value_ms)| value_ms / 1e3) {
            let color = text(annotation, "iconColor").to_owned();
            if time_s >= window.from_s && marks.iter().all(|mark| mark.time_s != time_s) {
                marks.push(Mark { time_s, color });
            }
        }
    }
    Ok(marks)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// An expression as Grafana sends it, for figures of each second.
fn filled(expression: &str) -> String {
    let expression = expression.replace("$__rate_interval", "4s");
    let expression = expression.replace("$__range", "5m");
    // All of each.
    ["$run", "$server", "$load"].iter().fold(expression, |text, name| text.replace(name, ".*"))
}

/// The name of a line: labels in the place of `{{name}}`.
fn named(legend: &str, labels: &[(String, String)]) -> String {
    labels.iter().fold(legend.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{{{name}}}}}"), value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_and_names_are_filled_in() {
        let asked =
            filled("rate(a{run=~\"$run\",load=~\"$load\"}[$__rate_interval]) + b[$__range]");
        assert_eq!(asked, "rate(a{run=~\".*\",load=~\".*\"}[4s]) + b[5m]");
        let labels = [("run".to_owned(), "nightly".to_owned())];
        assert_eq!(named("sent {{run}}", &labels), "sent nightly");
        assert_eq!(named("p99", &labels), "p99");
    }
}
