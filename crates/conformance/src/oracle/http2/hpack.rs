//! Header blocks (RFC 7541): a decoder for what testers send, with the dynamic table and the
//! Huffman code, and the few fields of answers, which need neither.

use std::collections::VecDeque;

use super::huffman;

/// The dynamic table's limit, bytes: the oracle does not change the default.
const TABLE_BYTES: usize = 4096;
/// What an entry of a table counts beyond its text (RFC 7541 4.1).
const ENTRY_BYTES: usize = 32;

/// A field: its name and its value.
pub(super) type Field = (Vec<u8>, Vec<u8>);

/// Reads the header blocks of one connection, in order.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The newest first.
    table: VecDeque<Field>,
    bytes: usize,
    /// Below the limit where the tester said so.
    limit: Option<usize>,
}

impl Decoder {
    /// The fields of a block; `None`: it is none.
    pub(super) fn block(&mut self, mut block: &[u8]) -> Option<Vec<Field>> {
        let mut fields = Vec::new();
        while let Some(&first) = block.first() {
            if first & 0x80 != 0 {
                let index = integer(&mut block, 7)?;
                fields.push(self.entry(index)?);
            } else if first & 0xe0 == 0x20 {
                let limit = integer(&mut block, 5)?;
                if limit > TABLE_BYTES || !fields.is_empty() {
                    return None;
                }
                self.limit = Some(limit);
                self.evict(0);
            } else {
                // 01: literal that enters the table; 0000 and 0001: one that does not.
                let is_kept = first & 0x40 != 0;
                let index = integer(&mut block, if is_kept { 6 } else { 4 })?;
                let name = if index == 0 { string(&mut block)? } else { self.entry(index)?.0 };
                let field = (name, string(&mut block)?);
                if is_kept {
                    self.keep(field.clone());
                }
                fields.push(field);
            }
        }
        Some(fields)
    }

    fn entry(&self, index: usize) -> Option<Field> {
        let index = index.checked_sub(1)?;
        match STATIC.get(index) {
            Some((name, value)) => Some((name.as_bytes().to_vec(), value.as_bytes().to_vec())),
            None => self.table.get(index - STATIC.len()).cloned(),
        }
    }

    fn keep(&mut self, field: Field) {
        let bytes = field.0.len() + field.1.len() + ENTRY_BYTES;
        self.evict(bytes);
        // One that is larger than the table empties it.
        if bytes <= self.limit() {
            self.bytes += bytes;
            self.table.push_front(field);
        }
    }

    fn limit(&self) -> usize {
        self.limit.unwrap_or(TABLE_BYTES)
    }

    /// Makes room for this many bytes.
    fn evict(&mut self, bytes: usize) {
        while self.bytes + bytes > self.limit() {
            let Some((name, value)) = self.table.pop_back() else { return };
            self.bytes -= name.len() + value.len() + ENTRY_BYTES;
        }
    }
}

/// An integer whose first byte has a prefix of this many bits (RFC 7541 5.1).
fn integer(block: &mut &[u8], prefix_bits: u8) -> Option<usize> {
    let (first, mut rest) = block.split_first()?;
    let most = (1 << prefix_bits) - 1;
    let mut value = usize::from(*first) & most;
    let mut goes_on = value == most;
    // Four more bytes hold more than any length here.
    for shift in [0, 7, 14, 21] {
        if !goes_on {
            break;
        }
        let (byte, after) = rest.split_first()?;
        value += (usize::from(*byte) & 0x7f) << shift;
        (rest, goes_on) = (after, byte & 0x80 != 0);
    }
    *block = rest;
    (!goes_on).then_some(value)
}

/// A string, in the Huffman code or not.
fn string(block: &mut &[u8]) -> Option<Vec<u8>> {
    let is_coded = block.first()? & 0x80 != 0;
    let length = integer(block, 7)?;
    let (text, rest) = block.split_at_checked(length)?;
    *block = rest;
    if is_coded { huffman::decode(text) } else { Some(text.to_vec()) }
}

/// Adds the status of an answer to a block: indexed, where the static table has it.
pub(super) fn put_status(out: &mut Vec<u8>, status: u16) {
    let text = status.to_string();
    let index = STATIC.iter().position(|field| *field == (":status", &text));
    match index {
        Some(index) => out.push(0x80 | (index as u8 + 1)),
        None => put_literal(out, &[0x08], &text),
    }
}

/// Adds the length of an answer's body to a block.
pub(super) fn put_length(out: &mut Vec<u8>, bytes: usize) {
    // Index 28, as an integer with a prefix of four bits.
    put_literal(out, &[0x0f, 28 - 15], &bytes.to_string());
}

/// Adds a field by its name; both texts are shorter than 127 bytes.
pub(super) fn put_field(out: &mut Vec<u8>, name: &str, value: &str) {
    let mut start = vec![0, name.len() as u8];
    start.extend_from_slice(name.as_bytes());
    put_literal(out, &start, value);
}

fn put_literal(out: &mut Vec<u8>, start: &[u8], value: &str) {
    out.extend_from_slice(start);
    out.push(value.len() as u8);
    out.extend_from_slice(value.as_bytes());
}

/// The static table (RFC 7541 Appendix A); its first entry has the index 1.
const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let hex: String = hex.split_whitespace().collect();
        let at = |at: usize| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap();
        (0..hex.len() / 2).map(at).collect()
    }

    fn shown(fields: &[Field]) -> String {
        let field = |(name, value): &Field| {
            format!("{}={}", String::from_utf8_lossy(name), String::from_utf8_lossy(value))
        };
        fields.iter().map(field).collect::<Vec<_>>().join(" ")
    }

    /// The requests of RFC 7541 C.3 and C.4: three on one connection each.
    #[test]
    fn requests_of_the_standard() {
        let start = ":method=GET :scheme=http :path=/ :authority=www.example.com";
        let third = ":method=GET :scheme=https :path=/index.html :authority=www.example.com \
                     custom-key=custom-value";
        for blocks in [
            [
                "828684410f7777772e6578616d706c652e636f6d",
                "828684be58086e6f2d6361636865",
                "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
            ],
            [
                "828684418cf1e3c2e5f23a6ba0ab90f4ff",
                "828684be5886a8eb10649cbf",
                "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
            ],
        ] {
            let mut decoder = Decoder::default();
            let mut read = |block: &str| shown(&decoder.block(&bytes(block)).unwrap());
            assert_eq!(read(blocks[0]), start);
            assert_eq!(read(blocks[1]), format!("{start} cache-control=no-cache"));
            assert_eq!(read(blocks[2]), third);
            assert_eq!(decoder.bytes, 164);
        }
    }

    /// RFC 7541 C.5: responses on a table of 256 bytes, so that entries are evicted.
    #[test]
    fn a_small_table_evicts() {
        let mut decoder = Decoder::default();
        let first = "3fe101 4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a\
                     323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d";
        let read =
            |decoder: &mut Decoder, block: &str| shown(&decoder.block(&bytes(block)).unwrap());
        assert!(read(&mut decoder, first).starts_with(":status=302 cache-control=private date="));
        assert_eq!(decoder.bytes, 222);
        assert!(read(&mut decoder, "4803333037c1c0bf").starts_with(":status=307 cache"));
        assert_eq!((decoder.bytes, decoder.table.len()), (222, 4), "the oldest is gone");
        assert_eq!(read(&mut decoder, "20 82"), ":method=GET", "an empty table");
        assert_eq!((decoder.bytes, decoder.table.len()), (0, 0));
        assert_eq!(decoder.block(&bytes("be")), None, "nothing stands there");
    }

    #[test]
    fn what_is_no_block_is_none() {
        for hex in [
            "80",
            "ff",
            "ffffffffffff",
            "41",
            "4105",
            "410561",
            "3fe21f",
            "8220",
            "c6",
            "0085ffffffffff",
            "1f",
        ] {
            assert_eq!(Decoder::default().block(&bytes(hex)), None, "{hex}");
        }
    }

    #[test]
    fn answers_read_as_they_were_put() {
        let mut block = Vec::new();
        put_status(&mut block, 200);
        put_status(&mut block, 503);
        put_length(&mut block, 1_048_576);
        put_field(&mut block, "grpc-status", "14");
        let fields = Decoder::default().block(&block).unwrap();
        let want = ":status=200 :status=503 content-length=1048576 grpc-status=14";
        assert_eq!(shown(&fields), want);
        assert_eq!(block[0], 0x88, "one byte for what the static table has");
    }
}
