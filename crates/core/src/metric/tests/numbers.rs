//! Histograms of plain numbers: what their quantiles promise, and documents.

use super::*;

fn of(values: &[f64]) -> PackedNumbers {
    let mut histogram = NumberHistogram::default();
    for value in values {
        histogram.record(*value);
    }
    histogram.pack()
}

#[test]
fn quantiles_are_never_too_low_and_at_most_a_thousandth_too_high() {
    for seed in 0..40 {
        let mut draw = Draw::new(seed);
        let powers = [3, 10, 29][seed as usize % 3];
        let mut values: Vec<f64> = (0..500).map(|_| draw.number(powers)).collect();
        let numbers = of(&values);
        values.sort_by(f64::total_cmp);
        for q in [0.001, 0.1, 0.25, 0.5, 0.75, 0.95, 0.999, 1.0] {
            let exact = values[((q * 500.0_f64).ceil() as usize).max(1) - 1];
            let found = numbers.quantile(q).unwrap();
            let most = exact + exact.abs() / 1000.0;
            assert!(exact <= found && found <= most, "seed {seed}, {q}: {found} for {exact}");
        }
        assert_eq!(numbers.min(), values.first().copied());
        assert_eq!(numbers.max(), values.last().copied());
        assert_eq!((numbers.count(), numbers.beyond()), (500, 0));
    }
}

#[test]
fn quantiles_of_short_numbers_are_exact() {
    for value in [0.0, 1.0, -1.0, 3.0, 250.0, 2047.0, -99.5, 0.125, -2048.0, 1_000_448.0] {
        // Others below and above keep the extremes from hiding an error.
        let numbers = of(&[-1e9, value, 1e9]);
        assert_eq!(numbers.quantile(0.5), Some(value));
    }
}

#[test]
fn what_lies_beyond_the_buckets_is_in_the_exact_figures() {
    let numbers = of(&[1e-30, 1e30, 2e30, -1e30]);
    assert_eq!(numbers.beyond(), 3);
    assert_eq!((numbers.min(), numbers.max()), (Some(-1e30), Some(2e30)));
    assert_eq!(numbers.quantile(0.99), Some(2e30));
    // Tiny values are off by 1e-9 at most.
    let tiny = numbers.quantile(0.5).unwrap();
    assert!((0.0..1e-9).contains(&tiny), "{tiny}");
    assert_eq!(of(&[-1e-30, -1.0, 1.0]).quantile(0.5), Some(0.0));
    assert_eq!(of(&[1e15, 2e15]).beyond(), 0);
    assert_eq!(PackedNumbers::default().quantile(0.5), None);
    assert_eq!(PackedNumbers::default().mean(), None);
}

#[test]
fn merged_histograms_hold_what_one_would() {
    let parts: [&[f64]; 4] = [&[3.5, -1e20, 0.0], &[], &[1e20, 7.25], &[0.1, 0.2, 1e15]];
    let mut merged = NumberHistogram::default();
    for part in parts {
        let mut own = NumberHistogram::default();
        part.iter().for_each(|value| own.record(*value));
        merged.merge(&own);
    }
    assert_eq!(merged.pack(), of(&parts.concat()));
    assert_eq!(merged.count(), 8);
}

#[test]
fn a_cleared_histogram_is_as_new() {
    let mut histogram = NumberHistogram::default();
    for value in [5.0, -1e20, 1e20, 0.0] {
        histogram.record(value);
    }
    histogram.clear();
    assert_eq!(histogram.pack(), PackedNumbers::default());
    histogram.record(7.0);
    assert_eq!(histogram.pack(), of(&[7.0]));
}

#[test]
fn a_document_reads_back_whole_and_lies_are_refused() {
    for values in [vec![], vec![0.0], vec![-5.25, 0.1, 0.1, 3e20, -1e-12]] {
        let numbers = of(&values);
        let text = serde_json::to_string(&numbers).unwrap();
        assert_eq!(serde_json::from_str::<PackedNumbers>(&text).unwrap(), numbers, "{text}");
    }
    let document = serde_json::to_value(of(&[1.0, 2.0, 2.0])).unwrap();
    assert_eq!(document["buckets"], serde_json::json!([[1.0, 1], [2.0, 2]]));
    let cases = [
        ("count", serde_json::json!(4), "buckets hold 3 values"),
        ("min", serde_json::json!(null), "not the extremes"),
        ("min", serde_json::json!(9.0), "not the extremes"),
        ("buckets", serde_json::json!([[2.0, 2], [1.0, 1]]), "not above"),
        ("buckets", serde_json::json!([[1.0, 1], [2.00001, 2]]), "not where a bucket ends"),
        ("buckets", serde_json::json!([[1.0, 0], [2.0, 3]]), "not where a bucket ends"),
        ("buckets", serde_json::json!([[1.0, u64::MAX], [2.0, u64::MAX]]), "is the most"),
    ];
    for (field, value, problem) in cases {
        let mut lie = document.clone();
        lie[field] = value;
        let error = serde_json::from_value::<PackedNumbers>(lie).unwrap_err().to_string();
        assert!(error.contains(problem), "{field}: {error}");
    }
}
