//! Precision, extremes, and that nothing is lost at rest, in a document or by merging.

use proptest::prelude::*;

use super::*;

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    for &value_ns in values {
        histogram.record(value_ns);
    }
    histogram
}

#[test]
fn empty_says_nothing() {
    let empty = Histogram::new();
    assert_eq!(empty.quantile_ns(0.5), None);
    assert_eq!((empty.min_ns(), empty.max_ns(), empty.mean_ns()), (None, None, None));
    let json = serde_json::to_value(&empty).unwrap();
    assert_eq!(json["quantiles"][0]["us"], serde_json::Value::Null);
    assert_eq!(serde_json::from_value::<Histogram>(json).unwrap(), empty);
}

#[test]
fn precision_is_a_thousandth_and_the_extremes_are_exact() {
    for value_ns in [100, 100_000, 1_234_000, 65_000_000_000, LIMIT_NS] {
        let histogram = of(&[value_ns, value_ns + 7, 3]);
        let median = histogram.quantile_ns(0.5).unwrap();
        let error = median.abs_diff(value_ns) as f64 / value_ns as f64;
        assert!(error <= 0.001, "{value_ns}: {median}");
        assert_eq!(histogram.max_ns(), Some((value_ns + 7).max(3)));
        assert_eq!(histogram.min_ns(), Some(value_ns.min(3)));
    }
}

#[test]
fn beyond_an_hour_is_counted_and_exact_in_the_maximum() {
    let histogram = of(&[5, 2 * LIMIT_NS, LIMIT_NS]);
    assert_eq!(histogram.count(), 3);
    assert_eq!(histogram.beyond_hour(), 1);
    assert_eq!(histogram.max_ns(), Some(2 * LIMIT_NS));
    assert_eq!(histogram.quantile_ns(1.0), Some(2 * LIMIT_NS));
}

#[test]
fn hdr_decodes_with_the_library() {
    let histogram = of(&[1_000, 2_000, 3_000_000]);
    let text = histogram.to_hdr();
    assert!(text.starts_with("HISTF"), "{text}");
    let bytes = BASE64.decode(text).unwrap();
    let decoded: Hdr<u64> = Deserializer::new().deserialize(&mut Cursor::new(bytes)).unwrap();
    assert_eq!(decoded.len(), 3);
    assert_eq!(decoded.high(), LIMIT_NS);
    assert_eq!(decoded.sigfig(), 3);
}

#[test]
fn documents_that_contradict_themselves_are_refused() {
    let whole = serde_json::to_value(of(&[1_000, 2_000_000])).unwrap();
    let wrong = [
        ("count", serde_json::json!(3), "count says 3"),
        ("min_us", serde_json::json!(5_000), "not the extremes"),
        ("max_us", serde_json::json!(null), "not the extremes"),
        ("hdr", serde_json::json!("HISTF"), "hdr"),
    ];
    for (field, value, why) in wrong {
        let mut document = whole.clone();
        document[field] = value;
        let error = serde_json::from_value::<Histogram>(document).unwrap_err().to_string();
        assert!(error.contains(why), "{field}: {error}");
    }
}

/// Two buckets of a finer histogram can hold more than the one of ours that both fall into may.
#[test]
fn counts_that_could_not_be_written_again_are_refused() {
    let mut fine = Hdr::<u64>::new_with_bounds(1, LIMIT_NS, 5).unwrap();
    for value_ns in [600_000, 600_004] {
        fine.record_n(value_ns, i64::MAX as u64).unwrap();
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&fine, &mut bytes).unwrap();
    let mut document = serde_json::to_value(of(&[600_000])).unwrap();
    document["hdr"] = BASE64.encode(bytes).into();
    document["count"] = fine.len().into();
    let error = serde_json::from_value::<Histogram>(document).unwrap_err().to_string();
    assert!(error.contains("is the most"), "{error}");
}

/// A head of the plain encoding, and what follows it.
fn coded(digits: u32, highest: u64, length: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = 0x1c84_9313_u32.to_be_bytes().to_vec();
    for word in [length, 0, digits] {
        bytes.extend_from_slice(&word.to_be_bytes());
    }
    for word in [1, highest, 1.0_f64.to_bits()] {
        bytes.extend_from_slice(&word.to_be_bytes());
    }
    bytes.extend_from_slice(payload);
    bytes
}

fn deflated(plain: &[u8]) -> Vec<u8> {
    let mut zipped = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut zipped, plain).unwrap();
    let zipped = zipped.finish().unwrap();
    let mut bytes = 0x1c84_9314_u32.to_be_bytes().to_vec();
    bytes.extend_from_slice(&(zipped.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&zipped);
    bytes
}

#[test]
fn what_would_take_much_memory_is_refused() {
    let bomb = vec![1; 5 << 20];
    for (bytes, says) in [
        (deflated(&coded(3, 1 << 40, bomb.len() as u32, &bomb)), "inflates to more than"),
        (coded(3, 1 << 40, bomb.len() as u32, &bomb), "inflates to more than"),
        (deflated(&coded(3, 1 << 40, u32::MAX, &[])), "inflates to more than"),
        (deflated(&coded(3, 1 << 40, 1000, &[1])), "cut short"),
        (deflated(&coded(5, u64::MAX, 1, &[2])), "buckets"),
        (coded(200, 1 << 40, 1, &[2]), "buckets"),
        (vec![0x1c, 0x84, 0x93, 0x14, 0, 0], "cut short"),
        (Vec::new(), "V2 encoding"),
    ] {
        let mut document = serde_json::to_value(of(&[600_000])).unwrap();
        document["hdr"] = BASE64.encode(bytes).into();
        let error = serde_json::from_value::<Histogram>(document).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let mut document = serde_json::to_value(of(&[600_000])).unwrap();
    document["hdr"] = BASE64.encode(deflated(&coded(3, 1 << 41, 1, &[2]))).into();
    serde_json::from_value::<Histogram>(document).unwrap();
}

#[test]
fn clear_forgets_all() {
    let mut histogram = of(&[1, 2 * LIMIT_NS]);
    histogram.clear();
    assert_eq!(histogram, Histogram::new());
}

fn durations() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![0u64..5_000_000, 0..2 * LIMIT_NS], 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn merge_is_lossless_and_associative(a in durations(), b in durations(), c in durations()) {
        let whole = of(&[a.clone(), b.clone(), c.clone()].concat());
        let (ha, hb, hc) = (of(&a), of(&b), of(&c));
        let mut left = ha.clone();
        left.merge(&hb);
        left.merge(&hc);
        let mut tail = hb.clone();
        tail.merge(&hc);
        let mut right = ha;
        right.merge(&tail);
        prop_assert_eq!(&left, &whole);
        prop_assert_eq!(&right, &whole);
    }

    #[test]
    fn at_rest_and_as_json_nothing_is_lost(values in durations()) {
        let histogram = of(&values);
        prop_assert_eq!(&histogram.pack().unpack(), &histogram);
        let json = serde_json::to_string(&histogram).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Histogram>(&json).unwrap(), &histogram);
    }
}
