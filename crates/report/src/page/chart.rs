//! A chart: an SVG of lines that stretches with the page, and axis labels that do not.
//!
//! The drawing has its own coordinates (1000 by 1000, stretched, strokes kept), the labels are
//! elements placed by percentages. So text has the same size on a phone, a screen and paper, and
//! all charts with the same margins line up. Single points are small drawings of their own, placed
//! the same way, because in the stretched one they would be stretched too.

use super::escape::Escaped;
use super::push;
use super::scale::{Axis, Tick};

/// A line of a chart. Its class carries colour, width and dash.
pub(crate) struct Line<'a> {
    /// Its style in the style sheet.
    pub(crate) class: &'static str,
    /// Its name in the legend; empty: none there.
    pub(crate) name: &'a str,
    /// Its `d` attribute.
    pub(crate) path: String,
}

/// A point of a chart.
pub(crate) struct Mark {
    /// Where, from 0 to 1 of both axes.
    pub(crate) at: (f64, f64),
    /// Its colour in the style sheet, and its shape.
    pub(crate) look: Look,
    /// What it is, for a pointer that rests on it.
    pub(crate) title: String,
}

/// Colour and shape of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// A class of the style sheet.
    pub(crate) class: &'static str,
    /// The `d` attribute of a path within 6 of the origin.
    pub(crate) shape: &'static str,
}

impl Look {
    /// Writes the point as a drawing; `style` places it.
    pub(crate) fn write(self, style: &str, title: &str, page: &mut String) {
        push(page, format_args!("<svg class=\"dot {}\" viewBox=\"-6 -6 12 12\"", self.class));
        if !style.is_empty() {
            push(page, format_args!(" style=\"{style}\""));
        }
        if title.is_empty() {
            push(page, format_args!(" aria-hidden=\"true\"><path d=\"{}\"/></svg>", self.shape));
            return;
        }
        let title = Escaped(title);
        push(page, format_args!("><title>{title}</title><path d=\"{}\"/></svg>", self.shape));
    }
}

/// A part of the horizontal axis that is shaded.
pub(crate) struct Band {
    /// Start, from 0 to 1.
    pub(crate) from: f64,
    /// End, from 0 to 1.
    pub(crate) to: f64,
}

/// A chart.
pub(crate) struct Chart<'a> {
    /// Its id in the page and in the page's data.
    pub(crate) id: &'a str,
    /// Charts of a group share a cursor; without one they have none.
    pub(crate) group: Option<&'static str>,
    /// Its heading.
    pub(crate) title: &'a str,
    /// What it shows, in words, for who cannot see it.
    pub(crate) description: String,
    /// How to read it.
    pub(crate) how: &'a str,
    /// Horizontal axis.
    pub(crate) x: &'a Axis,
    /// Vertical axis.
    pub(crate) y: &'a Axis,
    /// Lines, from back to front.
    pub(crate) lines: Vec<Line<'a>>,
    /// Points, in front of the lines; those of a line's class are in the legend with it.
    pub(crate) marks: Vec<Mark>,
    /// What the shaded parts are.
    pub(crate) band_name: &'a str,
    /// Shaded parts.
    pub(crate) bands: Vec<Band>,
    /// Whether it is half as high.
    pub(crate) low: bool,
}

impl Chart<'_> {
    /// Writes the figure.
    pub(crate) fn write(&self, page: &mut String) {
        let low = if self.low { " low" } else { "" };
        push(page, format_args!("<figure class=\"chart{low}\" id=\"{}\">\n", self.id));
        push(page, format_args!("<figcaption><h3>{}</h3>", Escaped(self.title)));
        self.legend(page);
        let room = self.room();
        match self.group {
            Some(group) => push(
                page,
                format_args!(
                    "<p class=\"readout\" aria-hidden=\"true\"></p></figcaption>\n\
                     <div class=\"plot\"{room} data-chart=\"{}\" data-group=\"{group}\">\n",
                    self.id
                ),
            ),
            None => push(page, format_args!("</figcaption>\n<div class=\"plot\"{room}>\n")),
        }
        self.drawing(page);
        for mark in &self.marks {
            let (left, bottom) = (percent(mark.at.0), percent(mark.at.1));
            mark.look.write(&format!("left:{left};bottom:{bottom}"), &mark.title, page);
        }
        labels(page, "y", self.y.ticks.iter().map(|tick| (tick, "")), "bottom");
        labels(page, "x", self.x.ticks.iter().zip(classes(&self.x.ticks)), "left");
        if self.group.is_some() {
            page.push_str("<div class=\"cursor\" hidden></div>");
        }
        page.push_str("</div>\n");
        if !self.how.is_empty() {
            push(page, format_args!("<p class=\"how\">{}</p>\n", Escaped(self.how)));
        }
        page.push_str("</figure>\n");
    }

    /// The room for the labels of the vertical axis, where they need more than usual.
    fn room(&self) -> String {
        let widest_px = self.y.ticks.iter().map(width_px).fold(0.0, f64::max);
        let is_wide = widest_px > LABELS_PX;
        if is_wide { format!(" style=\"--y:{widest_px:.0}px\"") } else { String::new() }
    }

    fn legend(&self, page: &mut String) {
        page.push_str("<ul class=\"legend\">");
        for line in self.lines.iter().filter(|line| !line.name.is_empty()) {
            push(
                page,
                format_args!(
                    "<li><svg class=\"key\" viewBox=\"0 0 28 10\" aria-hidden=\"true\">\
                     <path class=\"{}\" d=\"M1 5H27\"/></svg>",
                    line.class
                ),
            );
            let look = self.marks.iter().map(|mark| mark.look).find(|it| it.class == line.class);
            if let Some(look) = look {
                look.write("", "", page);
            }
            push(page, format_args!("{}</li>", Escaped(line.name)));
        }
        if !self.bands.is_empty() {
            push(
                page,
                format_args!(
                    "<li><svg class=\"key\" viewBox=\"0 0 28 10\" aria-hidden=\"true\">\
                     <rect class=\"band\" width=\"28\" height=\"10\"/></svg>{}</li>",
                    Escaped(self.band_name)
                ),
            );
        }
        page.push_str("</ul>");
    }

    fn drawing(&self, page: &mut String) {
        let id = self.id;
        push(
            page,
            format_args!(
                "<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" role=\"img\" \
                 aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title>\
                 <desc id=\"{id}-d\">{}</desc>\n",
                Escaped(self.title),
                Escaped(&self.description)
            ),
        );
        for band in &self.bands {
            let (from, to) = (band.from * 1e3, band.to * 1e3);
            push(
                page,
                format_args!(
                    "<rect class=\"band\" x=\"{from:.1}\" width=\"{:.1}\" height=\"1000\"/>",
                    (to - from).max(2.0)
                ),
            );
        }
        let mut grid = String::new();
        for tick in &self.y.ticks {
            push(&mut grid, format_args!("M0 {:.0}H1000", (1.0 - tick.at) * 1e3));
        }
        for tick in &self.x.ticks {
            push(&mut grid, format_args!("M{:.1} 0V1000", tick.at * 1e3));
        }
        push(page, format_args!("<path class=\"grid\" d=\"{grid}\"/>"));
        page.push_str("<path class=\"axis\" d=\"M0 0V1000H1000\"/>\n");
        for line in &self.lines {
            push(page, format_args!("<path class=\"{}\" d=\"{}\"/>\n", line.class, line.path));
        }
        page.push_str("</svg>\n");
    }
}

fn labels<'a>(
    page: &mut String,
    axis: &str,
    ticks: impl Iterator<Item = (&'a Tick, &'static str)>,
    side: &str,
) {
    push(page, format_args!("<div class=\"{axis}\" aria-hidden=\"true\">"));
    for (tick, class) in ticks.filter(|(tick, class)| !tick.label.is_empty() && *class != NOWHERE) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let (label, at) = (Escaped(&tick.label), percent(tick.at));
        push(page, format_args!("<span{class} style=\"{side}:{at}\">{label}</span>"));
    }
    page.push_str("</div>\n");
}

/// The class of a label that no chart has room for.
const NOWHERE: &str = "none";

/// The usual room for the labels of a vertical axis.
const LABELS_PX: f64 = 54.0;

/// A letter of a label, with wide letters.
const LETTER_PX: f64 = 7.4;

/// Between two labels.
const GAP_PX: f64 = 7.0;

/// How far a label may reach beyond the end of its axis.
const BEYOND_PX: f64 = 30.0;

/// The least widths of plots, and the class of labels that have room from there on. The style hides
/// them in narrower charts.
const WIDTHS_PX: [(f64, &str); 3] = [(215.0, ""), (380.0, "m"), (600.0, "l")];

fn width_px(tick: &Tick) -> f64 {
    tick.label.chars().count() as f64 * LETTER_PX
}

/// The classes of the labels of a horizontal axis: in which charts each has room beside the others.
fn classes(ticks: &[Tick]) -> Vec<&'static str> {
    let labelled: Vec<usize> = (0..ticks.len()).filter(|i| !ticks[*i].label.is_empty()).collect();
    let mut classes = vec![NOWHERE; ticks.len()];
    let mut shown = if is_even(ticks, &labelled) { labelled } else { in_order(ticks, labelled) };
    // From the widest to the narrowest, because a narrow chart has no label that a wide one lacks.
    for (plot_px, class) in WIDTHS_PX.into_iter().rev() {
        shown = match is_even(ticks, &shown) {
            true => every_nth(ticks, &shown, plot_px),
            false => as_many_as_fit(ticks, &shown, plot_px),
        };
        for i in &shown {
            classes[*i] = class;
        }
    }
    for (_, class) in ticks.iter().zip(&mut classes).filter(|(tick, _)| is_shifted(tick)) {
        let shifted = [("", "end"), ("m", "end m"), ("l", "end l")];
        *class = shifted.iter().find(|(it, _)| it == class).map_or(NOWHERE, |(_, end)| end);
    }
    classes
}

/// Whether labels stand at equal distances.
fn is_even(ticks: &[Tick], labels: &[usize]) -> bool {
    let gaps = labels.windows(2).map(|pair| ticks[pair[1]].at - ticks[pair[0]].at);
    let first = gaps.clone().next().unwrap_or_default();
    first > 0.0 && gaps.into_iter().all(|gap| (gap - first).abs() < 1e-6)
}

/// Labels in the order of their weight: the last, those that are not minor, the others.
fn in_order(ticks: &[Tick], mut labels: Vec<usize>) -> Vec<usize> {
    let last = labels.last().copied();
    labels.sort_by_key(|i| (Some(*i) != last || ticks[*i].minor, ticks[*i].minor));
    labels
}

/// Every label, or every second, or third, as there is room.
fn every_nth(ticks: &[Tick], labels: &[usize], plot_px: f64) -> Vec<usize> {
    let nth = |n: usize| labels.iter().copied().step_by(n).collect::<Vec<_>>();
    let has_room = |labels: &Vec<usize>| {
        let mut pairs = labels.windows(2);
        pairs.all(|pair| is_apart(&ticks[pair[0]], &ticks[pair[1]], plot_px))
    };
    (1..=labels.len()).map(nth).find(has_room).unwrap_or_default()
}

/// One label after another, where it has room beside those before it.
fn as_many_as_fit(ticks: &[Tick], labels: &[usize], plot_px: f64) -> Vec<usize> {
    let mut placed: Vec<usize> = Vec::new();
    for i in labels {
        if placed.iter().all(|other| is_apart(&ticks[*i], &ticks[*other], plot_px)) {
            placed.push(*i);
        }
    }
    placed
}

/// Whether two labels do not touch along an axis of a length.
fn is_apart(one: &Tick, other: &Tick, plot_px: f64) -> bool {
    let ((from, to), (other_from, other_to)) = (span_px(one, plot_px), span_px(other, plot_px));
    to + GAP_PX <= other_from || other_to + GAP_PX <= from
}

/// Where a label lies along an axis of a length.
fn span_px(tick: &Tick, plot_px: f64) -> (f64, f64) {
    let (at, width_px) = (tick.at * plot_px, width_px(tick));
    let to = if is_shifted(tick) { at + BEYOND_PX } else { at + width_px / 2.0 };
    (to - width_px, to)
}

/// Whether a label would reach too far beyond the end of its axis.
fn is_shifted(tick: &Tick) -> bool {
    tick.at > 0.995 && width_px(tick) / 2.0 > BEYOND_PX
}

/// A share as a length of the style sheet.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// A line through points given as shares of both axes.
pub(crate) fn curve(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let command = if i == 0 { 'M' } else { 'L' };
        push(&mut path, format_args!("{command}{:.1} {:.0}", x * 1e3, (1.0 - y) * 1e3));
    }
    path
}

/// Steps: from, to and height, each as a share of its axis. A missing height leaves a gap.
pub(crate) fn steps(stretches: impl Iterator<Item = (f64, f64, Option<f64>)>) -> String {
    let mut path = String::new();
    let mut open = false;
    for (from, to, height) in stretches {
        let Some(height) = height else {
            open = false;
            continue;
        };
        let y = (1.0 - height) * 1e3;
        if open {
            push(&mut path, format_args!("V{y:.0}"));
        } else {
            push(&mut path, format_args!("M{:.1} {y:.0}", from * 1e3));
        }
        push(&mut path, format_args!("H{:.1}", to * 1e3));
        open = true;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        assert_eq!(curve(&[(0.0, 0.0), (0.5, 0.25), (1.0, 1.0)]), "M0.0 1000L500.0 750L1000.0 0");
        let stretches = [
            (0.0, 0.25, Some(0.5)),
            (0.25, 0.5, Some(1.0)),
            (0.5, 0.75, None),
            (0.75, 1.0, Some(0.0)),
        ];
        assert_eq!(steps(stretches.into_iter()), "M0.0 500H250.0V0H500.0M750.0 1000H1000.0");
        assert_eq!(steps(std::iter::empty()), "");
    }

    #[test]
    fn labels_have_room_in_every_chart() {
        let shown = |axis: &Axis, least: &[&str]| {
            let ticks = axis.ticks.iter().zip(classes(&axis.ticks));
            let ticks =
                ticks.filter(|(tick, class)| !tick.label.is_empty() && least.contains(class));
            ticks.map(|(tick, _)| tick.label.clone()).collect::<Vec<_>>().join(", ")
        };
        let seconds = Axis::time(10_000_000_000);
        assert_eq!(shown(&seconds, &["", "end"]), "0 s, 2 s, 4 s, 6 s, 8 s, 10 s");
        assert_eq!(shown(&seconds, &["", "end", "m", "l"]).split(", ").count(), 11);
        let quantiles = Axis::quantiles(10_000_000);
        assert_eq!(shown(&quantiles, &["", "end"]), "50 %, 99 %, 99.99999 %");
        let rates = Axis::from_zero(12_345_678.0, crate::page::scale::rate_name);
        assert_eq!(shown(&rates, &["", "end"]), "0, 10 000 000");
        assert_eq!(classes(&[]), Vec::<&str>::new());
    }

    #[test]
    fn a_chart() {
        let (x, y) = (Axis::time(2_000_000_000), Axis::durations(1_000, 9_000));
        let chart = Chart {
            id: "a",
            group: Some("time"),
            title: "A & B",
            description: "one < two".to_owned(),
            how: "Look.",
            x: &x,
            y: &y,
            lines: vec![Line {
                class: "s-p99",
                name: "p99",
                path: curve(&[(0.0, 0.5), (1.0, 0.5)]),
            }],
            marks: Vec::new(),
            band_name: "paused",
            bands: vec![Band { from: 0.25, to: 0.25 }],
            low: false,
        };
        let mut page = String::new();
        chart.write(&mut page);
        insta::assert_snapshot!(page, @r#"
        <figure class="chart" id="a">
        <figcaption><h3>A &amp; B</h3><ul class="legend"><li><svg class="key" viewBox="0 0 28 10" aria-hidden="true"><path class="s-p99" d="M1 5H27"/></svg>p99</li><li><svg class="key" viewBox="0 0 28 10" aria-hidden="true"><rect class="band" width="28" height="10"/></svg>paused</li></ul><p class="readout" aria-hidden="true"></p></figcaption>
        <div class="plot" data-chart="a" data-group="time">
        <svg viewBox="0 0 1000 1000" preserveAspectRatio="none" role="img" aria-labelledby="a-t a-d"><title id="a-t">A &amp; B</title><desc id="a-d">one &lt; two</desc>
        <rect class="band" x="250.0" width="2.0" height="1000"/><path class="grid" d="M0 1000H1000M0 699H1000M0 301H1000M0 0H1000M0.0 0V1000M100.0 0V1000M200.0 0V1000M300.0 0V1000M400.0 0V1000M500.0 0V1000M600.0 0V1000M700.0 0V1000M800.0 0V1000M900.0 0V1000M1000.0 0V1000"/><path class="axis" d="M0 0V1000H1000"/>
        <path class="s-p99" d="M0.0 500L1000.0 500"/>
        </svg>
        <div class="y" aria-hidden="true"><span style="bottom:0.00%">1 µs</span><span style="bottom:30.10%">2 µs</span><span style="bottom:69.90%">5 µs</span><span style="bottom:100.00%">10 µs</span></div>
        <div class="x" aria-hidden="true"><span style="left:0.00%">0.0 s</span><span class="l" style="left:10.00%">0.2 s</span><span class="m" style="left:20.00%">0.4 s</span><span class="l" style="left:30.00%">0.6 s</span><span style="left:40.00%">0.8 s</span><span class="l" style="left:50.00%">1.0 s</span><span class="m" style="left:60.00%">1.2 s</span><span class="l" style="left:70.00%">1.4 s</span><span style="left:80.00%">1.6 s</span><span class="l" style="left:90.00%">1.8 s</span><span class="m" style="left:100.00%">2.0 s</span></div>
        <div class="cursor" hidden></div></div>
        <p class="how">Look.</p>
        </figure>
        "#);
    }
}
