//! A chart: an SVG of lines that stretches with the page, and axis labels that do not.
//!
//! The drawing has its own coordinates (1000 by 1000, stretched, strokes kept), the labels are
//! elements placed by percentages. So text has the same size on a phone, a screen and paper, and
//! all charts with the same margins line up.

use std::fmt::Write as _;

use super::escape::Escaped;
use super::scale::{Axis, Tick};

/// A line of a chart. Its class carries colour, width and dash.
pub(super) struct Line {
    /// Its style in the style sheet.
    pub(super) class: &'static str,
    /// Its name in the legend.
    pub(super) name: &'static str,
    /// Its `d` attribute.
    pub(super) path: String,
}

/// A part of the horizontal axis that is shaded.
pub(super) struct Band {
    /// Start, from 0 to 1.
    pub(super) from: f64,
    /// End, from 0 to 1.
    pub(super) to: f64,
}

/// A chart.
pub(super) struct Chart<'a> {
    /// Its id in the page and in the page's data.
    pub(super) id: &'static str,
    /// Charts of a group share a cursor.
    pub(super) group: &'static str,
    /// Its heading.
    pub(super) title: &'static str,
    /// What it shows, in words, for who cannot see it.
    pub(super) description: String,
    /// How to read it.
    pub(super) how: &'a str,
    /// Horizontal axis.
    pub(super) x: &'a Axis,
    /// Vertical axis.
    pub(super) y: &'a Axis,
    /// Lines, from back to front.
    pub(super) lines: Vec<Line>,
    /// What the shaded parts are.
    pub(super) band_name: &'static str,
    /// Shaded parts.
    pub(super) bands: Vec<Band>,
    /// Whether it is half as high.
    pub(super) low: bool,
}

impl Chart<'_> {
    /// Writes the figure.
    pub(super) fn write(&self, page: &mut String) {
        let low = if self.low { " low" } else { "" };
        push(page, format_args!("<figure class=\"chart{low}\" id=\"{}\">\n", self.id));
        push(page, format_args!("<figcaption><h3>{}</h3>", Escaped(self.title)));
        self.legend(page);
        page.push_str("<p class=\"readout\" aria-hidden=\"true\"></p></figcaption>\n");
        push(
            page,
            format_args!(
                "<div class=\"plot\" data-chart=\"{}\" data-group=\"{}\">\n",
                self.id, self.group
            ),
        );
        self.drawing(page);
        labels(page, "y", &self.y.ticks, |tick| format!("bottom:{}", percent(tick.at)));
        labels(page, "x", &self.x.ticks, |tick| format!("left:{}", percent(tick.at)));
        page.push_str("<div class=\"cursor\" hidden></div></div>\n");
        push(page, format_args!("<p class=\"how\">{}</p>\n</figure>\n", Escaped(self.how)));
    }

    fn legend(&self, page: &mut String) {
        page.push_str("<ul class=\"legend\">");
        for line in &self.lines {
            push(
                page,
                format_args!(
                    "<li><svg class=\"key\" viewBox=\"0 0 28 10\" aria-hidden=\"true\">\
                     <path class=\"{}\" d=\"M1 5H27\"/></svg>{}</li>",
                    line.class,
                    Escaped(line.name)
                ),
            );
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

fn labels(page: &mut String, axis: &str, ticks: &[Tick], place: impl Fn(&Tick) -> String) {
    push(page, format_args!("<div class=\"{axis}\" aria-hidden=\"true\">"));
    for tick in ticks.iter().filter(|tick| !tick.label.is_empty()) {
        let minor = if tick.minor { " class=\"minor\"" } else { "" };
        let label = Escaped(&tick.label);
        push(page, format_args!("<span{minor} style=\"{}\">{label}</span>", place(tick)));
    }
    page.push_str("</div>\n");
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// Appends to a page.
pub(super) fn push(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.write_fmt(text).expect("writing to a string cannot fail");
}

/// A line through points given as shares of both axes.
pub(super) fn curve(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let command = if i == 0 { 'M' } else { 'L' };
        push(&mut path, format_args!("{command}{:.1} {:.0}", x * 1e3, (1.0 - y) * 1e3));
    }
    path
}

/// Steps: from, to and height, each as a share of its axis. A missing height leaves a gap.
pub(super) fn steps(stretches: impl Iterator<Item = (f64, f64, Option<f64>)>) -> String {
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
    fn a_chart() {
        let (x, y) = (Axis::time(2_000_000_000), Axis::durations(1_000, 9_000));
        let chart = Chart {
            id: "a",
            group: "time",
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
        <div class="y" aria-hidden="true"><span style="bottom:0.00%">1 µs</span><span class="minor" style="bottom:30.10%">2 µs</span><span class="minor" style="bottom:69.90%">5 µs</span><span style="bottom:100.00%">10 µs</span></div>
        <div class="x" aria-hidden="true"><span style="left:0.00%">0.0 s</span><span class="minor" style="left:10.00%">0.2 s</span><span style="left:20.00%">0.4 s</span><span class="minor" style="left:30.00%">0.6 s</span><span style="left:40.00%">0.8 s</span><span class="minor" style="left:50.00%">1.0 s</span><span style="left:60.00%">1.2 s</span><span class="minor" style="left:70.00%">1.4 s</span><span style="left:80.00%">1.6 s</span><span class="minor" style="left:90.00%">1.8 s</span><span style="left:100.00%">2.0 s</span></div>
        <div class="cursor" hidden></div></div>
        <p class="how">Look.</p>
        </figure>
        "#);
    }
}
