//! Numbers, truth values and names of enums: read from text, written in binary.

use prost_reflect::Kind;

use crate::wire::write_varint;

/// How a value is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scalar {
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Float,
    Double,
    Bool,
    /// With its names.
    Enum(Vec<(String, i32)>),
}

impl Scalar {
    /// `None` for types that are not scalars, and for strings and bytes.
    pub(super) fn of(kind: &Kind) -> Option<Self> {
        Some(match kind {
            Kind::Int32 => Self::Int32,
            Kind::Int64 => Self::Int64,
            Kind::Uint32 => Self::Uint32,
            Kind::Uint64 => Self::Uint64,
            Kind::Sint32 => Self::Sint32,
            Kind::Sint64 => Self::Sint64,
            Kind::Fixed32 | Kind::Sfixed32 => Self::Fixed32,
            Kind::Fixed64 | Kind::Sfixed64 => Self::Fixed64,
            Kind::Float => Self::Float,
            Kind::Double => Self::Double,
            Kind::Bool => Self::Bool,
            Kind::Enum(known) => {
                Self::Enum(known.values().map(|it| (it.name().to_owned(), it.number())).collect())
            }
            Kind::String | Kind::Bytes | Kind::Message(_) => return None,
        })
    }

    /// Whether the number of a request, which only grows, is a value for it. In 32 bits it begins
    /// again at 0, or at the smallest number, after the largest.
    pub(super) fn takes_any_number(&self) -> bool {
        !matches!(self, Self::Bool | Self::Enum(_))
    }

    /// A value by its text, in the low bits of what is written. A number that has too many bits
    /// loses the highest ones. `None` if it is not a value of this type.
    pub(super) fn read(&self, text: &[u8]) -> Option<u64> {
        let text = std::str::from_utf8(text).ok()?;
        Some(match self {
            Self::Int32 => i64::from(integer(text)? as i32) as u64,
            Self::Int64 | Self::Uint64 | Self::Fixed64 => integer(text)?,
            Self::Uint32 | Self::Fixed32 => u64::from(integer(text)? as u32),
            Self::Sint32 => {
                let number = integer(text)? as i32;
                u64::from((number << 1 ^ number >> 31) as u32)
            }
            Self::Sint64 => {
                let number = integer(text)? as i64;
                (number << 1 ^ number >> 63) as u64
            }
            Self::Float => u64::from(floating(text, str::parse::<f32>)?.to_bits()),
            Self::Double => floating(text, str::parse::<f64>)?.to_bits(),
            Self::Bool => u64::from(text.parse::<bool>().ok()?),
            Self::Enum(known) => match known.iter().find(|(name, _)| name == text) {
                Some((_, number)) => i64::from(*number) as u64,
                None => i64::from(text.parse::<i32>().ok()?) as u64,
            },
        })
    }

    /// Writes what [`read`](Self::read) gave.
    pub(super) fn write(&self, bits: u64, out: &mut Vec<u8>) {
        match self {
            Self::Fixed32 | Self::Float => out.extend_from_slice(&(bits as u32).to_le_bytes()),
            Self::Fixed64 | Self::Double => out.extend_from_slice(&bits.to_le_bytes()),
            _ => write_varint(out, bits),
        }
    }
}

/// The 64 bits of a whole number.
fn integer(text: &str) -> Option<u64> {
    text.parse::<u64>().or_else(|_| text.parse::<i64>().map(|it| it as u64)).ok()
}

/// JSON's numbers, and the words that ProtoJSON has beside them.
fn floating<T, E>(text: &str, parse: impl Fn(&str) -> Result<T, E>) -> Option<T> {
    let is_word = matches!(text, "NaN" | "Infinity" | "-Infinity");
    let is_number = text.bytes().all(|it| it.is_ascii_digit() || b"+-.eE".contains(&it));
    if !is_word && !is_number {
        return None;
    }
    parse(text).ok()
}

/// Whether a text is a value of this type as it stands, with no bit lost.
pub(super) fn is_exact(kind: &Kind, scalar: &Scalar, text: &[u8]) -> bool {
    let whole = || std::str::from_utf8(text).ok()?.parse::<i128>().ok();
    let within = |from: i128, to: i128| whole().is_some_and(|it| (from..=to).contains(&it));
    match kind {
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => within(i32::MIN.into(), i32::MAX.into()),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => within(i64::MIN.into(), i64::MAX.into()),
        Kind::Uint32 | Kind::Fixed32 => within(0, u32::MAX.into()),
        Kind::Uint64 | Kind::Fixed64 => within(0, u64::MAX.into()),
        _ => scalar.read(text).is_some(),
    }
}
