//! Draws panels where the dashboard has them, as one SVG.

use std::fmt::Write as _;

use super::panel::{Mark, Panel, Window};
use super::scale::ticks;

/// The size of a place of the dashboard's grid.
const COLUMN_PX: f64 = 50.0;
const ROW_PX: f64 = 30.0;
/// The gap between panels.
const GAP_PX: f64 = 8.0;
/// What a panel needs around its lines.
const TOP_PX: f64 = 34.0;
const LEFT_PX: f64 = 74.0;
const RIGHT_PX: f64 = 14.0;
const BOTTOM_PX: f64 = 44.0;
/// Seconds between the ticks of time.
const TIME_TICK_S: usize = 20;

const COLORS: [&str; 8] =
    ["#1a7f37", "#bf8700", "#0969da", "#bc4c00", "#cf222e", "#8250df", "#1b7c83", "#57606a"];

/// The picture.
pub(crate) fn dashboard(panels: &[Panel], marks: &[Mark], window: Window) -> String {
    let width = panels.iter().map(|it| it.place.x + it.place.width).fold(0.0, f64::max) * COLUMN_PX;
    let height = panels.iter().map(|it| it.place.y + it.place.height).fold(0.0, f64::max) * ROW_PX;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <title>The panels of the dashboard during a run</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#f4f5f5\"/>\n"
    );
    for panel in panels {
        let area = Area::of(panel);
        area.frame(&mut svg, &panel.title);
        match panel.is_stat {
            true => stat(&mut svg, panel, &area),
            false => graph(&mut svg, panel, &area, marks, window),
        }
    }
    svg + "</svg>\n"
}

/// Where a panel is, px.
struct Area {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Area {
    fn of(panel: &Panel) -> Self {
        let place = panel.place;
        Self {
            x: place.x * COLUMN_PX + GAP_PX / 2.0,
            y: place.y * ROW_PX + GAP_PX / 2.0,
            width: place.width * COLUMN_PX - GAP_PX,
            height: place.height * ROW_PX - GAP_PX,
        }
    }

    fn frame(&self, svg: &mut String, title: &str) {
        let Self { x, y, width, height } = self;
        put(
            svg,
            format_args!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"2\" \
                 fill=\"#ffffff\" stroke=\"#d8d9da\"/>"
            ),
        );
        text(svg, (x + 10.0, y + 20.0), "start", "#1f2328", "font-weight=\"bold\"", title);
    }
}

/// Lines over time.
fn graph(svg: &mut String, panel: &Panel, area: &Area, marks: &[Mark], window: Window) {
    let (left, right) = (area.x + LEFT_PX, area.x + area.width - RIGHT_PX);
    let (top, bottom) = (area.y + TOP_PX, area.y + area.height - BOTTOM_PX);
    let values = panel.lines.iter().flat_map(|(_, series)| &series.points);
    let ticks = ticks(values.map(|(_, value)| *value).fold(0.0, f64::max));
    let max = ticks.last().copied().unwrap_or(1.0);
    let at_time = |time_s: f64| {
        left + (time_s - window.from_s) / (window.to_s - window.from_s) * (right - left)
    };
    let at_value = |value: f64| bottom - value / max * (bottom - top);
    for tick in &ticks {
        let y = at_value(*tick);
        line(svg, (left, y), (right, y), "#e4e5e6", "");
        text(svg, (left - 6.0, y + 4.0), "end", "#57606a", "", &panel.unit.write(*tick));
    }
    for elapsed_s in (0..=(window.to_s - window.from_s) as usize).step_by(TIME_TICK_S) {
        let x = at_time(window.from_s + elapsed_s as f64);
        line(svg, (x, top), (x, bottom), "#e4e5e6", "");
        text(svg, (x, bottom + 14.0), "middle", "#57606a", "", &format!("{elapsed_s} s"));
    }
    for mark in marks {
        let x = at_time(mark.time_s);
        line(svg, (x, top), (x, bottom), &mark.color, "stroke-dasharray=\"3 3\"");
    }
    let mut legend_x = area.x + 12.0;
    for ((name, series), color) in panel.lines.iter().zip(COLORS.iter().cycle()) {
        let points: Vec<String> = series
            .points
            .iter()
            .map(|(time_s, value)| format!("{:.1},{:.1}", at_time(*time_s), at_value(*value)))
            .collect();
        put(
            svg,
            format_args!(
                "<polyline fill=\"none\" stroke=\"{color}\" stroke-width=\"1.3\" points=\"{}\"/>",
                points.join(" ")
            ),
        );
        let y = area.y + area.height - 12.0;
        line(svg, (legend_x, y - 4.0), (legend_x + 14.0, y - 4.0), color, "stroke-width=\"3\"");
        text(svg, (legend_x + 19.0, y), "start", "#1f2328", "", name);
        legend_x += 36.0 + 6.2 * name.chars().count() as f64;
    }
}

/// The last value of each line.
fn stat(svg: &mut String, panel: &Panel, area: &Area) {
    let step = (area.height - TOP_PX) / panel.lines.len().max(1) as f64;
    for (index, (name, series)) in panel.lines.iter().enumerate() {
        let Some((_, value)) = series.points.last() else { continue };
        let y = area.y + TOP_PX + step * (index as f64 + 0.5);
        let color = if *value > 0.0 { COLORS[0] } else { COLORS[4] };
        text(svg, (area.x + 16.0, y + 6.0), "start", "#1f2328", "font-size=\"15\"", name);
        let (x, shown) = (area.x + area.width - 20.0, panel.unit.write(*value));
        text(svg, (x, y + 10.0), "end", color, "font-size=\"30\"", &shown);
    }
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), color: &str, more: &str) {
    let ((x1, y1), (x2, y2)) = (from, to);
    put(
        svg,
        format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{color}\" \
             {more}/>"
        ),
    );
}

fn text(svg: &mut String, at: (f64, f64), anchor: &str, color: &str, more: &str, text: &str) {
    let (x, y) = at;
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    put(
        svg,
        format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{color}\" {more}>\
             {text}</text>"
        ),
    );
}

/// Adds an element on a line of its own.
fn put(svg: &mut String, element: std::fmt::Arguments<'_>) {
    writeln!(svg, "{element}").expect("writing to memory cannot fail");
}

#[cfg(test)]
mod tests {
    use super::super::answers::Series;
    use super::super::panel::Place;
    use super::super::scale::Unit;
    use super::*;

    #[test]
    fn panels_stand_where_the_dashboard_has_them() {
        let panel = |x: f64, is_stat: bool| Panel {
            title: "Errors < 1 & more".to_owned(),
            place: Place { x, y: 8.0, width: 12.0, height: 8.0 },
            unit: Unit::Plain,
            is_stat,
            lines: vec![(
                "all".to_owned(),
                Series { labels: Vec::new(), points: vec![(10.0, 0.0), (30.0, 4.0)] },
            )],
        };
        let marks = [Mark { time_s: 20.0, color: "purple".to_owned() }];
        let window = Window { from_s: 10.0, to_s: 30.0 };
        let svg = dashboard(&[panel(0.0, false), panel(12.0, true)], &marks, window);
        for want in [
            "width=\"1200\" height=\"480\"",
            "Errors &lt; 1 &amp; more",
            // From the lower left to the upper right of the first panel's lines.
            "points=\"78.0,432.0 582.0,278.0\"",
            "<line x1=\"330.0\" y1=\"278.0\" x2=\"330.0\" y2=\"432.0\" stroke=\"purple\"",
            "font-size=\"30\">4</text>",
        ] {
            assert!(svg.contains(want), "{want} {svg}");
        }
    }
}
