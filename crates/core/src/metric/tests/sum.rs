//! Sums that are exact, whatever the order.

use super::*;

fn total(values: &[f64]) -> Total {
    let mut sum = Sum::default();
    for value in values {
        sum.add(*value);
    }
    sum.total()
}

#[test]
fn a_sum_is_rounded_once() {
    let tiny = 2f64.powi(-60);
    let cases: [(&[f64], f64); 10] = [
        (&[], 0.0),
        (&[0.1; 10], 1.0),
        (&[1e200, 1.0, -1e200], 1.0),
        (&[1.0, 1e100, 1.0, -1e100], 2.0),
        (&[1.5, -1.5], 0.0),
        (&[9_007_199_254_740_992.0, 1.0, 1.0], 9_007_199_254_740_994.0),
        // Halfway between two numbers: to the even one, unless more lies below.
        (&[1.0, f64::EPSILON / 2.0], 1.0),
        (&[1.0, f64::EPSILON / 2.0, tiny], 1.0 + f64::EPSILON),
        (&[1.0, f64::EPSILON / 2.0, -tiny], 1.0),
        (&[f64::from_bits(1), 1.0, -1.0], f64::from_bits(1)),
    ];
    for (values, want) in cases {
        assert_eq!(total(values).value(), want, "{values:?}");
    }
}

/// Each half of the range has what the other half has not, so parts become many.
#[test]
fn a_sum_of_any_sizes_is_the_same_in_any_order() {
    for seed in 0..60 {
        let mut draw = Draw::new(seed);
        let powers = [20, 200, 850][seed as usize % 3];
        let mut values: Vec<f64> = (0..400).map(|_| draw.number(powers)).collect();
        let forward = total(&values);
        values.reverse();
        assert_eq!(total(&values), forward, "seed {seed}");
        let cut = draw.below(400) as usize;
        let mut parts = total(&values[..cut]);
        parts.merge(&total(&values[cut..]));
        assert_eq!(parts, forward, "seed {seed}, cut at {cut}");
        // All of it taken away again leaves nothing: no digit was lost.
        values.extend(values.clone().iter().map(|value| -value));
        assert_eq!(total(&values), Total::default(), "seed {seed}");
    }
}

#[test]
fn a_sum_reads_back_whole() {
    for values in [vec![], vec![2.5], vec![1e20, 1.0, 1e-20]] {
        let written = total(&values);
        let text = serde_json::to_string(&written).unwrap();
        assert_eq!(serde_json::from_str::<Total>(&text).unwrap(), written, "{text}");
    }
    assert_eq!(serde_json::to_string(&total(&[2.5])).unwrap(), r#"{"sum":2.5}"#);
    assert!(serde_json::from_str::<Total>(r#"{"sum":1e307}"#).is_err());
}
