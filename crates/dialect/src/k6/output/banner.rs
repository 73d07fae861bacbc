//! What is printed before a run: where it is run, what of, and its scenarios.

use crate::duration;
use crate::k6::options::Configuration;

/// What the text says beside the configuration.
#[derive(Debug, Clone, Copy)]
pub struct Banner<'a> {
    /// The script's name, as it was given; `-` for standard input.
    pub script: &'a str,
    /// Descriptions of outputs: `json (out.json)`.
    pub outputs: &'a [String],
    /// Whether it has the colours of a terminal.
    pub has_colors: bool,
}

/// The text, with an empty line before and behind it. A picture of the program's name stands before
/// it in k6; it is the program's to print.
#[must_use]
pub fn banner(configuration: &Configuration, banner: Banner<'_>) -> String {
    let paint = |text: &str| match banner.has_colors {
        true => format!("\x1b[36m{text}\x1b[0m"),
        false => text.to_owned(),
    };
    let outputs = match banner.outputs {
        [] => "-".to_owned(),
        outputs => outputs.join(", "),
    };
    let scenarios = match configuration.scenarios.len() {
        // k6 prints the same for no scenario.
        0 | 1 => "1 scenario".to_owned(),
        many => format!("{many} scenarios"),
    };
    let limits = configuration.limits();
    let head = format!(
        "({:.2}%) {scenarios}, {} max VUs, {} max duration (incl. graceful stop):",
        configuration.part.share * 100.0,
        limits.max_vus,
        duration::print(rounded(limits.duration_ns)),
    );
    let mut text = format!(
        "\n     execution: {}\n        script: {}\n        output: {}\n\n     scenarios: {}\n",
        paint("local"),
        paint(banner.script),
        paint(&outputs),
        paint(&head),
    );
    for scenario in &configuration.scenarios {
        let description = scenario.describe(&configuration.part);
        text.push_str(&format!("              * {}: {description}\n", scenario.name));
    }
    text.push('\n');
    text
}

/// To tenths of a second.
fn rounded(ns: u64) -> i64 {
    const TENTH_NS: u64 = 100_000_000;
    let tenths = ns / TENTH_NS + u64::from(ns % TENTH_NS >= TENTH_NS / 2);
    i64::try_from(tenths.saturating_mul(TENTH_NS)).unwrap_or(i64::MAX)
}
