//! Header blocks beyond the RFC's examples: changes of the table's size on either side, compiled
//! blocks whose values vary, secrets, and what is refused.

use super::super::hpack::{Decoder, Encoder};
use super::super::{Block, BlockBuilder, EncodeError, SharedFields, Value};
use super::fields_of;

fn encode(encoder: &mut Encoder, block: &Block, values: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut head = encoder.begin(&mut out);
    head.block(block, |nth, out| out.extend_from_slice(values[nth].as_bytes()));
    out
}

fn compile(shared: &mut SharedFields, fields: &[(&str, Option<&str>)]) -> Block {
    let mut builder = BlockBuilder::new(shared);
    for (name, value) in fields {
        let value = value.map_or(Value::Varying, |value| Value::Fixed(value.as_bytes()));
        builder.field(name, value).expect("a valid field");
    }
    builder.finish()
}

#[test]
fn values_that_vary() {
    let mut shared = SharedFields::default();
    let fields = [
        (":method", Some("GET")),
        (":path", None),
        ("X-Fixed", Some("same")),
        ("x-id", None),
        ("cookie", None),
    ];
    let block = compile(&mut shared, &fields);
    assert_eq!(shared.len(), 1);
    let (mut encoder, mut decoder) = (Encoder::new(shared.len()), Decoder::new(4096));
    let mut bytes_before = usize::MAX;
    for length in [0, 1, 126, 127, 128, 254, 255, 300, 20_000] {
        let long = "v".repeat(length);
        let values = ["/a", long.as_str(), "s=1"];
        let bytes = encode(&mut encoder, &block, &values);
        let id = format!("x-id: {long}");
        let want = [":method: GET", ":path: /a", "x-fixed: same", &id, "cookie: s=1"];
        assert_eq!(fields_of(&mut decoder, &bytes).expect("a valid block"), want, "{length}");
        // The field that never varies is in the table from the second block on.
        let rest_bytes = bytes.len() - length;
        assert!(rest_bytes < bytes_before || length > 1, "{rest_bytes} bytes");
        bytes_before = rest_bytes;
    }
}

#[test]
fn secrets_are_never_indexed() {
    for (name, value, first) in [
        ("authorization", Some("Basic eDp5"), &[0x1f, 0x08][..]),
        ("authorization", None, &[0x1f, 0x08]),
        ("cookie", Some("a=b"), &[0x1f, 0x11]),
        ("set-cookie", None, &[0x1f, 0x28]),
        ("proxy-authorization", None, &[0x1f, 0x22]),
        // Others are in the table, or literals that intermediaries may index.
        ("user-agent", Some("x"), &[0x7a]),
        ("user-agent", None, &[0x0f, 0x2b]),
        (":path", Some("/x"), &[0x04]),
        ("x-own", Some("x"), &[0x40]),
    ] {
        let mut shared = SharedFields::default();
        let block = compile(&mut shared, &[(name, value)]);
        let mut encoder = Encoder::new(shared.len());
        let bytes = encode(&mut encoder, &block, &["v"]);
        assert!(bytes.starts_with(first), "{name}: {bytes:x?}");
    }
    let mut out = Vec::new();
    let mut encoder = Encoder::new(0);
    let mut head = encoder.begin(&mut out);
    head.field("Authorization", b"Basic eDp5").expect("a valid field");
    assert!(out.starts_with(&[0x1f, 0x08]), "{out:x?}");
}

/// Two requests that share fields have them in the table once; what does not fit is left out.
#[test]
fn tables_are_filled_once() {
    let mut shared = SharedFields::default();
    let long = "x".repeat(1900);
    let first = compile(&mut shared, &[("a", Some("1")), ("big", Some(&long))]);
    let second = compile(&mut shared, &[("big", Some(&long)), ("a", Some("1"))]);
    let third = compile(&mut shared, &[("other", Some(&long)), ("b", Some("2"))]);
    let fourth = compile(&mut shared, &[("third", Some(&long)), ("a", Some("1"))]);
    assert_eq!(shared.len(), 5);
    let (mut encoder, mut decoder) = (Encoder::new(shared.len()), Decoder::new(4096));
    let mut lengths = Vec::new();
    for block in [&first, &second, &first, &third, &third, &fourth, &fourth] {
        let bytes = encode(&mut encoder, block, &[]);
        let fields = fields_of(&mut decoder, &bytes).expect("a valid block");
        assert_eq!(fields.len(), 2);
        lengths.push(bytes.len());
    }
    assert_eq!(lengths[1..3], [2, 2]);
    assert_eq!(lengths[4], 2);
    assert!(lengths[6] > 1000, "no room for a third long field: {lengths:?}");
}

/// The peer makes its table smaller and larger: blocks begin with what it has to know, and tables
/// stay in step.
#[test]
fn sizes_that_peers_announce() {
    for (sizes, prefix) in [
        (&[4096][..], &[][..]),
        (&[1 << 20], &[]),
        (&[4000], &[0x3f, 0x81, 0x1f]),
        (&[0], &[0x20]),
        (&[50, 4096], &[0x20, 0x3f, 0xe1, 0x1f]),
        (&[4096, 60, 70], &[0x20, 0x3f, 0x27]),
        (&[2000, 3000], &[0x3f, 0xb1, 0x0f, 0x3f, 0x99, 0x17]),
    ] {
        let mut shared = SharedFields::default();
        let block = compile(&mut shared, &[("name-a", Some("value-a")), ("name-b", Some("b"))]);
        let (mut encoder, mut decoder) = (Encoder::new(shared.len()), Decoder::new(4096));
        let want = ["name-a: value-a", "name-b: b"];
        assert_eq!(
            fields_of(&mut decoder, &encode(&mut encoder, &block, &[])).expect("valid"),
            want
        );
        for size in sizes {
            encoder.limit(*size);
        }
        let bytes = encode(&mut encoder, &block, &[]);
        assert!(bytes.starts_with(prefix), "{sizes:?}: {bytes:x?}");
        assert!(!prefix.is_empty() || bytes.len() == 2, "{sizes:?}: still in the table");
        assert_eq!(fields_of(&mut decoder, &bytes).expect("valid"), want, "{sizes:?}");
        let again = encode(&mut encoder, &block, &[]);
        assert!(!again.starts_with(&[0x20]) && !again.starts_with(&[0x3f]), "once is enough");
        assert_eq!(fields_of(&mut decoder, &again).expect("valid"), want, "{sizes:?}");
    }
}

/// What we announce: until it is acknowledged the default holds, and then a table that was larger
/// must be made smaller first.
#[test]
fn sizes_that_we_announce() {
    let insert = [0x40, 1, b'a', 1, b'b'];
    let full = |bytes: &[u8]| {
        let mut decoder = Decoder::new(100);
        assert!(fields_of(&mut decoder, &insert).is_ok());
        decoder.acknowledged();
        fields_of(&mut decoder, bytes)
    };
    let field = || Ok(vec!["a: b".to_owned()]);
    let no_size = Err("malformed header block: the table's size was not lowered".to_owned());
    let bad_size = Err("malformed header block: bad change of the table's size".to_owned());
    assert_eq!(full(&[0xbe]), no_size);
    assert_eq!(full(&[]), no_size);
    assert_eq!(full(&[0x3f, 0x45, 0xbe]), field(), "100");
    assert_eq!(full(&[0x3f, 0x46, 0xbe]), bad_size, "101");
    assert_eq!(full(&[0x20, 0x3f, 0x45, 0x40, 1, b'a', 1, b'b']), field(), "0, then 100");
    let mut larger = Decoder::new(8192);
    assert_eq!(fields_of(&mut larger, &[0x3f, 0xe1, 0x3f, 0x40, 1, b'a', 1, b'b']), field());
    larger.acknowledged();
    assert_eq!(fields_of(&mut larger, &[0xbe]), field());
    assert_eq!(fields_of(&mut larger, &[0x3f, 0xe2, 0x3f]), bad_size);
}

/// A name that is taken from an entry which goes as the new one comes.
#[test]
fn a_name_outlives_its_entry() {
    let mut decoder = Decoder::new(4096);
    let name = "n".repeat(40);
    let mut block = vec![0x3f, 0x45, 0x40, 40];
    block.extend_from_slice(name.as_bytes());
    block.extend_from_slice(&[1, b'a', 0x7e, 1, b'b', 0xbe]);
    let want = [format!("{name}: a"), format!("{name}: b"), format!("{name}: b")];
    assert_eq!(fields_of(&mut decoder, &block).expect("valid"), want);
    assert!(fields_of(&mut decoder, &[0xbf]).is_err(), "the first has gone");
}

#[test]
fn what_is_not_encoded() {
    for (name, value, want) in [
        ("", "x", EncodeError::BadName),
        ("a b", "x", EncodeError::BadName),
        ("::a", "x", EncodeError::BadName),
        ("a", "x\r\ny: z", EncodeError::BadValue),
        ("a", " x", EncodeError::BadValue),
        ("Connection", "x", EncodeError::ConnectionField),
        ("transfer-encoding", "chunked", EncodeError::ConnectionField),
        ("te", "gzip", EncodeError::ConnectionField),
    ] {
        let mut shared = SharedFields::default();
        let mut builder = BlockBuilder::new(&mut shared);
        let compiled = builder.field(name, Value::Fixed(value.as_bytes()));
        assert_eq!(compiled, Err(want), "{name:?}");
        let mut out = Vec::new();
        let written = Encoder::new(0).begin(&mut out).field(name, value.as_bytes());
        assert_eq!((written, out.len()), (Err(want), 0), "{name:?}");
    }
}
