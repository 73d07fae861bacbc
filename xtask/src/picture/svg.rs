//! A terminal's text as an SVG: each stretch of letters at its column, in the colours of a theme.
//! Reports use bold and a few colours; cursor movement and backgrounds are refused.

use std::fmt::Write as _;

/// The colours of a picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Theme {
    background: &'static str,
    frame: &'static str,
    text: &'static str,
    red: &'static str,
    green: &'static str,
    yellow: &'static str,
    cyan: &'static str,
}

/// For pages with a light background.
pub(crate) const LIGHT: Theme = Theme {
    background: "#ffffff",
    frame: "#d1d9e0",
    text: "#1f2328",
    red: "#cf222e",
    green: "#1a7f37",
    yellow: "#9a6700",
    cyan: "#1b7c83",
};

/// For pages with a dark background.
pub(crate) const DARK: Theme = Theme {
    background: "#0d1117",
    frame: "#3d444d",
    text: "#e6edf3",
    red: "#ff7b72",
    green: "#3fb950",
    yellow: "#d29922",
    cyan: "#39c5cf",
};

const FONT_PX: usize = 13;
const LINE_PX: usize = 18;
const MARGIN_PX: usize = 16;
/// A letter's width in tenths of a pixel, 0.6 of the font's size. Each stretch of text is told its
/// width, so columns stand in line in any font.
const LETTER_TENTHS: usize = 78;

/// How letters look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Style {
    is_bold: bool,
    color: Option<Color>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Color {
    Red,
    Green,
    Yellow,
    Cyan,
}

/// Letters of one style that stand together.
#[derive(Debug, PartialEq, Eq)]
struct Stretch {
    column: usize,
    text: String,
    style: Style,
}

/// Draws a text.
///
/// # Errors
/// An escape sequence that is neither bold nor one of the colours.
pub(crate) fn draw(text: &str, theme: &Theme) -> Result<String, String> {
    let lines = stretches(text.trim_end())?;
    let ends = lines.iter().flatten().map(|stretch| stretch.column + letters(&stretch.text));
    let width = ends.max().unwrap_or(0) * LETTER_TENTHS / 10 + 2 * MARGIN_PX;
    let height = lines.len() * LINE_PX + 2 * MARGIN_PX;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n\
         <title>A report of Plimsoll on a terminal</title>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"{}\" \
         stroke=\"{}\"/>\n\
         <g fill=\"{}\" font-size=\"{FONT_PX}\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\">\n",
        width - 1,
        height - 1,
        theme.background,
        theme.frame,
        theme.text,
    );
    for (index, line) in lines.iter().enumerate() {
        let y = MARGIN_PX + index * LINE_PX + FONT_PX;
        for stretch in line {
            write_stretch(stretch, y, theme, &mut svg);
        }
    }
    svg.push_str("</g>\n</svg>\n");
    Ok(svg)
}

fn write_stretch(stretch: &Stretch, y: usize, theme: &Theme, svg: &mut String) {
    let x = tenths(10 * MARGIN_PX + stretch.column * LETTER_TENTHS);
    let width = tenths(letters(&stretch.text) * LETTER_TENTHS);
    let color = stretch.style.color.map(|color| match color {
        Color::Red => theme.red,
        Color::Green => theme.green,
        Color::Yellow => theme.yellow,
        Color::Cyan => theme.cyan,
    });
    let fill = color.map_or_else(String::new, |color| format!(" fill=\"{color}\""));
    let weight = if stretch.style.is_bold { " font-weight=\"bold\"" } else { "" };
    let text = stretch.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" textLength=\"{width}\"{fill}{weight}>{text}</text>"
    );
}

fn tenths(value: usize) -> String {
    format!("{}.{}", value / 10, value % 10)
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

/// The stretches of each line. Two spaces end one, so that columns keep their places.
fn stretches(text: &str) -> Result<Vec<Vec<Stretch>>, String> {
    let mut style = Style::default();
    text.lines().map(|line| of_line(line, &mut style)).collect()
}

fn of_line(line: &str, style: &mut Style) -> Result<Vec<Stretch>, String> {
    let mut found: Vec<Stretch> = Vec::new();
    let mut column = 0;
    let mut parts = line.split('\u{1b}');
    push(parts.next().unwrap_or_default(), *style, &mut column, &mut found);
    for part in parts {
        let (code, rest) = part
            .strip_prefix('[')
            .and_then(|part| part.split_once('m'))
            .ok_or_else(|| format!("{part:?} after an escape does not set a style"))?;
        *style = changed(*style, code)?;
        push(rest, *style, &mut column, &mut found);
    }
    Ok(found)
}

/// Adds letters of one style that begin at a column, and moves that column behind them.
fn push(text: &str, style: Style, column: &mut usize, found: &mut Vec<Stretch>) {
    for piece in text.split_inclusive("  ") {
        let words = piece.trim();
        if !words.is_empty() {
            let column = *column + letters(piece) - letters(piece.trim_start());
            found.push(Stretch { column, text: words.to_owned(), style });
        }
        *column += letters(piece);
    }
}

fn changed(mut style: Style, codes: &str) -> Result<Style, String> {
    for code in codes.split(';') {
        match code {
            "0" => style = Style::default(),
            "1" => style.is_bold = true,
            "31" => style.color = Some(Color::Red),
            "32" => style.color = Some(Color::Green),
            "33" => style.color = Some(Color::Yellow),
            "36" => style.color = Some(Color::Cyan),
            other => return Err(format!("no style is known for code {other:?}")),
        }
    }
    Ok(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(column: usize, text: &str, is_bold: bool, color: Option<Color>) -> Stretch {
        Stretch { column, text: text.to_owned(), style: Style { is_bold, color } }
    }

    #[test]
    fn letters_stand_at_their_columns_in_their_style() {
        for (text, want) in [
            ("", vec![]),
            ("   ", vec![]),
            ("one two", vec![stretch(0, "one two", false, None)]),
            (
                "p50     81 µs",
                vec![stretch(0, "p50", false, None), stretch(8, "81 µs", false, None)],
            ),
            (
                "\u{1b}[1;32mVALID\u{1b}[0m, fine",
                vec![
                    stretch(0, "VALID", true, Some(Color::Green)),
                    stretch(5, ", fine", false, None),
                ],
            ),
            ("   \u{1b}[31mbad\u{1b}[0m", vec![stretch(3, "bad", false, Some(Color::Red))]),
        ] {
            assert_eq!(of_line(text, &mut Style::default()).as_ref(), Ok(&want), "{text:?}");
        }
    }

    #[test]
    fn a_style_lasts_until_it_is_changed() {
        let lines = stretches("\u{1b}[33ma\nb\u{1b}[0m c").unwrap();
        assert_eq!(lines[1][0], stretch(0, "b", false, Some(Color::Yellow)));
        assert_eq!(lines[1][1], stretch(2, "c", false, None));
    }

    #[test]
    fn a_picture_holds_its_text_and_no_markup_of_it() {
        let svg = draw("a<b & c>d\n", &LIGHT).unwrap();
        assert!(svg.contains(">a&lt;b &amp; c&gt;d</text>"), "{svg}");
        assert!(svg.contains("height=\"50\""), "{svg}");
        assert_ne!(svg, draw("a<b & c>d\n", &DARK).unwrap());
    }

    #[test]
    fn other_escapes_are_refused() {
        for text in ["\u{1b}[2J", "\u{1b}[44mx", "\u{1b}x"] {
            assert!(draw(text, &DARK).is_err(), "{text:?}");
        }
    }
}
