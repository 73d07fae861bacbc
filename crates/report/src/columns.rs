//! The heads of columns of all reports, and the page that says what stands under them. Views write
//! heads of their own; a test reads finished reports and looks each head up here.

/// The page with a section for each head.
pub const PAGE: &str = include_str!("../../../docs/columns.md");

/// A head as the headings of the page have it, so that `p50` finds the section of `p99`,
/// `Stage (3)` that of `Stage`, and `metric_baskets_sum` that of `metric_NAME_sum`.
#[must_use]
pub fn normal(head: &str) -> String {
    let head = head.trim().to_lowercase();
    if let Some(figure) = head.strip_prefix("metric_").and_then(figure_of_metric) {
        return format!("metric_name_{figure}");
    }
    if is_ratio(&head) {
        return "p99/p99".to_owned();
    }
    let head = match head.rsplit_once(" (") {
        Some((before, number)) if number.trim_end_matches(')').parse::<u64>().is_ok() => before,
        _ => &head,
    };
    let words = head.split(' ').map(|word| match word.parse::<f64>() {
        Ok(_) => "n".to_owned(),
        Err(_) => percentiles_alike(word),
    });
    words.collect::<Vec<_>>().join(" ").replace("over n repeats", "over n repeat")
}

/// Whether it is a measure divided by another; a rate per second is a measure itself, and so is CPU
/// time per request.
fn is_ratio(head: &str) -> bool {
    head.split_once('/').is_some_and(|(_, over)| over != "s" && over != "request")
}

/// What a column of a custom metric has of it: `metric_NAME_p99_us` is `p99_us`.
fn figure_of_metric(rest: &str) -> Option<String> {
    let alike = percentiles_alike(rest);
    let (before, last) = alike.rsplit_once('_')?;
    Some(match before.rsplit_once('_') {
        Some((_, figure)) if last == "us" => {
            let is_count = figure == "count";
            if is_count { figure.to_owned() } else { "p99_us".to_owned() }
        }
        _ if ["min", "mean", "max", "stdev"].contains(&last) => "p99".to_owned(),
        _ => last.to_owned(),
    })
}

/// Every percentile in a word as the 99th: `p99.9/p50` and `response_p99_9_us` as `p99/p99` and
/// `response_p99_us`.
fn percentiles_alike(word: &str) -> String {
    let mut alike = String::with_capacity(word.len());
    let mut rest = word;
    let mut is_start = true;
    while let Some(first) = rest.chars().next() {
        let behind = rest.strip_prefix('p').filter(|_| is_start).map(number_length);
        if let Some(length @ 1..) = behind {
            alike.push_str("p99");
            rest = &rest[1 + length..];
            is_start = false;
        } else {
            alike.push(first);
            is_start = !first.is_alphanumeric();
            rest = &rest[first.len_utf8()..];
        }
    }
    alike
}

/// How long the number at the start is: digits, and further digits behind a dot or an underscore.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = usize::from(text.starts_with('-'));
    let whole = digits(&text[sign..]);
    if whole == 0 {
        return 0;
    }
    let rest = &text[sign + whole..];
    let further = rest.strip_prefix(['.', '_']).map_or(0, digits);
    sign + whole + if further > 0 { 1 + further } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_that_mean_the_same_are_written_alike() {
        for (head, want) in [
            ("p50", "p99"),
            ("P99.9", "p99"),
            ("P99.9/P50", "p99/p99"),
            ("mean/max", "p99/p99"),
            ("not ok/s", "not ok/s"),
            ("response p50", "response p99"),
            ("response_p99_9_us", "response_p99_us"),
            ("latency_p100_s", "latency_p99_s"),
            ("Mem(PSS)", "mem(pss)"),
            ("Stage (12)", "stage"),
            ("Over 5 repeats", "over n repeat"),
            ("Over 1 repeat", "over n repeat"),
            ("93.8 % interval", "n % interval"),
            ("metric_checkout_time_p99_9_us", "metric_name_p99_us"),
            ("metric_checkout_time_count", "metric_name_count"),
            ("metric_payments_ok_share", "metric_name_share"),
            ("metric_balance_stdev", "metric_name_p99"),
            ("#", "#"),
            ("", ""),
        ] {
            assert_eq!(normal(head), want, "{head}");
        }
    }
}
