//! Templates ready to be filled: their tables are found and their streams seeded, so that a request
//! only appends bytes.

use std::sync::Arc;

use super::{Encoding, Piece, Table, TemplateError, parse};
use crate::nearest::nearest;
use crate::random::{Stream, TABLES, below};

const UUID_BYTES: usize = 36;

/// Sixteen hexadecimal digits are made of one word.
const WORD_DIGITS: u32 = 16;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// A column of a table, its values one after the other as they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumn {
    table: String,
    name: String,
    encoding: Encoding,
    bytes: Vec<u8>,
    /// Where each value ends; there is at least one.
    ends: Vec<usize>,
    longest_bytes: usize,
    stream: Stream,
}

impl TableColumn {
    fn new(table: &Table, column: usize, encoding: Encoding, stream: Stream) -> Self {
        let (mut bytes, mut ends, mut longest_bytes) = (Vec::new(), Vec::new(), 0);
        for row in &table.rows {
            let start = bytes.len();
            encoding.write(row[column].as_bytes(), &mut bytes);
            ends.push(bytes.len());
            longest_bytes = longest_bytes.max(bytes.len() - start);
        }
        let (name, table) = (table.columns[column].clone(), table.path.clone());
        Self { table, name, encoding, bytes, ends, longest_bytes, stream }
    }

    /// The file it is from.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How its values are written.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Its values as they are written, from the first row on.
    pub fn values(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len()).map(|row| self.value(row))
    }

    #[inline]
    fn value(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start..self.ends[row]]
    }

    #[inline]
    fn pick(&self, number: u64, random: bool) -> &[u8] {
        let rows = self.ends.len() as u64;
        let row = if random { below(self.stream.word(number), rows.into()) } else { number % rows };
        self.value(row as usize)
    }
}

/// A piece ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Bytes(Box<[u8]>),
    Seq,
    Uuid(Stream),
    Random { stream: Stream, from: i64, count: u128 },
    RandomHex { stream: Stream, digits: u32 },
    Cell { column: Arc<TableColumn>, random: bool },
}

/// A template ready to be filled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

impl Template {
    /// Adds bytes that are the same in each request.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Bytes(before)) => *before = [before, bytes].concat().into(),
            _ => self.parts.push(Part::Bytes(bytes.into())),
        }
    }

    /// Adds what another template writes.
    pub fn append(&mut self, other: Self) {
        for part in other.parts {
            match part {
                Part::Bytes(bytes) => self.push_bytes(&bytes),
                part => self.parts.push(part),
            }
        }
    }

    /// What it writes, if that is always the same.
    #[must_use]
    pub fn fixed(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [] => Some(&[]),
            [Part::Bytes(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// The parts that are the same in each request.
    pub fn literals(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().filter_map(|part| match part {
            Part::Bytes(bytes) => Some(&**bytes),
            _ => None,
        })
    }

    /// The columns it takes values from.
    pub fn columns(&self) -> impl Iterator<Item = &Arc<TableColumn>> {
        self.parts.iter().filter_map(|part| match part {
            Part::Cell { column, .. } => Some(column),
            _ => None,
        })
    }

    /// Appends what it writes for a request.
    #[inline]
    pub fn fill(&self, number: u64, out: &mut Vec<u8>) {
        for part in &self.parts {
            part.fill(number, out);
        }
    }

    /// How many bytes [`fill`](Self::fill) appends for this request.
    #[must_use]
    pub fn bytes(&self, number: u64) -> usize {
        self.parts.iter().map(|part| part.bytes(number)).sum()
    }

    /// The most bytes that [`fill`](Self::fill) ever appends.
    #[must_use]
    pub fn bytes_max(&self) -> usize {
        self.parts.iter().map(Part::bytes_max).sum()
    }
}

impl Part {
    #[inline]
    fn fill(&self, number: u64, out: &mut Vec<u8>) {
        match self {
            Self::Bytes(bytes) => out.extend_from_slice(bytes),
            Self::Seq => push_decimal(out, number),
            Self::Uuid(stream) => push_uuid(out, *stream, number),
            Self::Random { stream, from, count } => {
                push_signed(out, drawn(*stream, *from, *count, number));
            }
            Self::RandomHex { stream, digits } => push_random_hex(out, *stream, *digits, number),
            Self::Cell { column, random } => {
                out.extend_from_slice(column.pick(number, *random));
            }
        }
    }

    fn bytes(&self, number: u64) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Seq => decimal_digits(number),
            Self::Uuid(_) => UUID_BYTES,
            Self::Random { stream, from, count } => {
                signed_bytes(drawn(*stream, *from, *count, number))
            }
            Self::RandomHex { digits, .. } => *digits as usize,
            Self::Cell { column, random } => column.pick(number, *random).len(),
        }
    }

    fn bytes_max(&self) -> usize {
        match self {
            Self::Seq => decimal_digits(u64::MAX),
            Self::Random { from, count, .. } => {
                signed_bytes(*from).max(signed_bytes(from.wrapping_add((*count - 1) as i64)))
            }
            Self::Cell { column, .. } => column.longest_bytes,
            fixed => fixed.bytes(0),
        }
    }
}

#[inline]
fn drawn(stream: Stream, from: i64, count: u128, number: u64) -> i64 {
    // Wrapping is right: the sum lies between the ends, which are signed numbers themselves.
    from.wrapping_add(below(stream.word(number), count) as i64)
}

fn push_uuid(out: &mut Vec<u8>, stream: Stream, number: u64) {
    let place = number.wrapping_mul(2);
    // Version 4 and the variant of RFC 9562 section 5.4.
    let high = stream.word(place) & !0xf000 | 0x4000;
    let low = stream.word(place.wrapping_add(1)) & !(0b11 << 62) | 0b10 << 62;
    let mut text = [b'-'; UUID_BYTES];
    let digits = (0..16).map(|i| high >> (60 - 4 * i)).chain((0..16).map(|i| low >> (60 - 4 * i)));
    let places = (0..8).chain(9..13).chain(14..18).chain(19..23).chain(24..36);
    for (place, digit) in places.zip(digits) {
        text[place] = HEX[(digit & 0xf) as usize];
    }
    out.extend_from_slice(&text);
}

fn push_random_hex(out: &mut Vec<u8>, stream: Stream, digits: u32, number: u64) {
    let words = u64::from(digits.div_ceil(WORD_DIGITS));
    for i in 0..words {
        let word = stream.word(number.wrapping_mul(words).wrapping_add(i));
        let left = digits as usize - i as usize * WORD_DIGITS as usize;
        let mut text = [0; WORD_DIGITS as usize];
        for (place, digit) in text.iter_mut().enumerate() {
            *digit = HEX[(word >> (60 - 4 * place) & 0xf) as usize];
        }
        out.extend_from_slice(&text[..left.min(text.len())]);
    }
}

fn push_signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push_decimal(out, value.unsigned_abs());
}

fn signed_bytes(value: i64) -> usize {
    usize::from(value < 0) + decimal_digits(value.unsigned_abs())
}

/// Appends a number in decimal.
#[inline]
fn push_decimal(out: &mut Vec<u8>, mut value: u64) {
    // 2^64 has 20 digits.
    let mut text = [0; 20];
    let mut at = text.len();
    loop {
        at -= 1;
        text[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&text[at..]);
}

fn decimal_digits(value: u64) -> usize {
    value.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Makes templates ready. One for a whole run, so that templates share the columns they use.
#[derive(Debug)]
pub struct Compiler<'t> {
    seed: u64,
    tables: &'t [Table],
    columns: Vec<Arc<TableColumn>>,
    place: u64,
}

impl<'t> Compiler<'t> {
    /// For templates over these tables.
    #[must_use]
    pub fn new(seed: u64, tables: &'t [Table]) -> Self {
        Self { seed, tables, columns: Vec::new(), place: 0 }
    }

    /// Begins another request: what is random in it depends on its place in the request, not on
    /// how many requests there are.
    pub fn begin_request(&mut self) {
        self.place = 0;
    }

    /// Makes the next text of the request ready; values of tables stand in it as they are.
    ///
    /// # Errors
    /// When the text is no template, or names a table or column that is not there.
    pub fn compile(&mut self, text: &str) -> Result<Template, TemplateError> {
        self.compile_for(text, |_| Encoding::Raw)
    }

    /// The same of a path with its query, in which values are percent-encoded.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_target(&mut self, text: &str) -> Result<Template, TemplateError> {
        self.compile_for(text, |before| match before.literals().any(|text| text.contains(&b'?')) {
            true => Encoding::Query,
            false => Encoding::Path,
        })
    }

    /// `default` says how a value is written behind what there is already.
    fn compile_for(
        &mut self,
        text: &str,
        default: impl Fn(&Template) -> Encoding,
    ) -> Result<Template, TemplateError> {
        let mut template = Template::default();
        for piece in parse(text)? {
            let stream = Stream::new(self.seed, self.place);
            self.place += 1;
            let part = match piece {
                Piece::Text(text) => Part::Bytes(text.into_bytes().into()),
                Piece::Seq => Part::Seq,
                Piece::Uuid => Part::Uuid(stream),
                Piece::Random { from, to } => {
                    let count = (i128::from(to) - i128::from(from) + 1).unsigned_abs();
                    Part::Random { stream, from, count }
                }
                Piece::RandomHex { digits } => Part::RandomHex { stream, digits },
                Piece::Csv { table, column, random, encoding } => {
                    let encoding = encoding.unwrap_or_else(|| default(&template));
                    Part::Cell { column: self.column(&table, &column, encoding)?, random }
                }
            };
            template.parts.push(part);
        }
        Ok(template)
    }

    fn column(
        &mut self,
        path: &str,
        name: &str,
        encoding: Encoding,
    ) -> Result<Arc<TableColumn>, TemplateError> {
        let is_it = |column: &&Arc<TableColumn>| {
            column.table == path && column.name == name && column.encoding == encoding
        };
        if let Some(known) = self.columns.iter().find(is_it) {
            return Ok(Arc::clone(known));
        }
        let table = self.tables.iter().position(|table| table.path == path);
        let number = table.ok_or_else(|| TemplateError::Table(path.to_owned()))?;
        let table = &self.tables[number];
        let Some(index) = table.columns.iter().position(|column| column == name) else {
            let columns = table.columns.iter().map(String::as_str);
            let advice = match nearest(name, columns) {
                Some(meant) => format!("did you mean '{meant}'?"),
                None => format!("its first line names {}", table.columns.join(", ")),
            };
            let (table, column) = (path.to_owned(), name.to_owned());
            return Err(TemplateError::Column { table, column, advice });
        };
        if table.rows.is_empty() {
            return Err(TemplateError::Empty(path.to_owned()));
        }
        // One stream for a table: columns of one random row belong together.
        let stream = Stream::new(self.seed, TABLES + number as u64);
        let column = Arc::new(TableColumn::new(table, index, encoding, stream));
        self.columns.push(Arc::clone(&column));
        Ok(column)
    }
}
