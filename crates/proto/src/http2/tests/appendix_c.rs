//! The examples of RFC 7541, Appendix C. C.1 is with the integers.

use super::super::hpack::{Decoder, Encoder};
use super::super::{BlockBuilder, SharedFields, Value};
use super::fields_of;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| {
        u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16).expect("digits")
    };
    digits.chunks(2).map(byte).collect()
}

/// Decodes blocks one after the other; the fields after each, and the table after the last.
fn check(table_bytes: usize, blocks: &[(&str, &[&str])], table: &[&str]) {
    let mut decoder = Decoder::new(4096);
    if table_bytes == 256 {
        assert_eq!(fields_of(&mut decoder, &[0x3f, 0xe1, 0x01]), Ok(Vec::new()));
    }
    for (hex, want) in blocks {
        let got = fields_of(&mut decoder, &bytes(hex)).expect("a valid block");
        assert_eq!(got, *want, "{hex}");
    }
    for (index, want) in table.iter().enumerate() {
        let got = fields_of(&mut decoder, &[0x80 | (62 + index as u8)]);
        assert_eq!(got, Ok(vec![(*want).to_owned()]), "entry {index}");
    }
    assert!(fields_of(&mut decoder, &[0x80 | (62 + table.len() as u8)]).is_err(), "no more");
}

/// C.2.
#[test]
fn single_fields() {
    for (hex, field, table) in [
        (
            "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
            "custom-key: custom-header",
            &["custom-key: custom-header"][..],
        ),
        ("040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path", &[]),
        ("1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret", &[]),
        ("82", ":method: GET", &[]),
    ] {
        check(4096, &[(hex, &[field])], table);
    }
}

const REQUESTS: [&[&str]; 3] = [
    &[":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"],
    &[
        ":method: GET",
        ":scheme: http",
        ":path: /",
        ":authority: www.example.com",
        "cache-control: no-cache",
    ],
    &[
        ":method: GET",
        ":scheme: https",
        ":path: /index.html",
        ":authority: www.example.com",
        "custom-key: custom-value",
    ],
];

const REQUEST_TABLE: [&str; 3] =
    ["custom-key: custom-value", "cache-control: no-cache", ":authority: www.example.com"];

const CODED_REQUESTS: [&str; 3] = [
    "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
    "8286 84be 5886 a8eb 1064 9cbf",
    "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
];

/// C.3 and C.4.
#[test]
fn requests() {
    let plain = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    for blocks in [plain, CODED_REQUESTS] {
        let blocks: Vec<(&str, &[&str])> = blocks.into_iter().zip(REQUESTS).collect();
        check(4096, &blocks, &REQUEST_TABLE);
    }
}

const RESPONSES: [&[&str]; 3] = [
    &[
        ":status: 302",
        "cache-control: private",
        "date: Mon, 21 Oct 2013 20:13:21 GMT",
        "location: https://www.example.com",
    ],
    &[
        ":status: 307",
        "cache-control: private",
        "date: Mon, 21 Oct 2013 20:13:21 GMT",
        "location: https://www.example.com",
    ],
    &[
        ":status: 200",
        "cache-control: private",
        "date: Mon, 21 Oct 2013 20:13:22 GMT",
        "location: https://www.example.com",
        "content-encoding: gzip",
        "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
    ],
];

const RESPONSE_TABLE: [&str; 3] = [
    "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
    "content-encoding: gzip",
    "date: Mon, 21 Oct 2013 20:13:22 GMT",
];

/// C.5 and C.6: a table of 256 bytes, from which entries go.
#[test]
fn responses() {
    let plain = [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a
         3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04
         677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49
         553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
    ];
    let coded = [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e
         919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7
         821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed
         4ee5 b106 3d50 07",
    ];
    for blocks in [plain, coded] {
        let blocks: Vec<(&str, &[&str])> = blocks.into_iter().zip(RESPONSES).collect();
        check(256, &blocks, &RESPONSE_TABLE);
    }
}

/// Our encoder writes C.4 to the byte, with blocks compiled before.
#[test]
fn compiled_requests() {
    let mut shared = SharedFields::default();
    let compiled = REQUESTS.map(|fields| {
        let mut builder = BlockBuilder::new(&mut shared);
        for field in fields {
            let (name, value) = field.split_once(": ").expect("a name and a value");
            builder.field(name, Value::Fixed(value.as_bytes())).expect("a valid field");
        }
        builder.finish()
    });
    let mut encoder = Encoder::new(shared.len());
    for (block, want) in compiled.iter().zip(CODED_REQUESTS) {
        let mut out = Vec::new();
        encoder.begin(&mut out).block(block, |_, _| panic!("nothing varies"));
        assert_eq!(out, bytes(want));
    }
}
