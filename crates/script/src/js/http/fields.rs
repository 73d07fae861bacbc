//! The fields of a request's head, on their way to the wire: names as Go writes them, sorted, and
//! each only once.

/// Fields that are written one after the other into buffers, which are kept.
#[derive(Debug, Default)]
pub(super) struct Fields {
    text: Vec<u8>,
    places: Vec<Place>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    start: usize,
    name_end: usize,
    end: usize,
}

impl Fields {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.places.clear();
    }

    /// Adds a field. It counts instead of one of the same name that was added before.
    pub(super) fn put(&mut self, name: &[u8], value: &[u8]) {
        let start = self.text.len();
        self.text.extend(canonical(name));
        let name_end = self.text.len();
        self.text.extend_from_slice(value.trim_ascii());
        self.places.push(Place { start, name_end, end: self.text.len() });
    }

    fn name(&self, place: &Place) -> &[u8] {
        &self.text[place.start..place.name_end]
    }

    /// The value of a field, by the canonical form of its name.
    pub(super) fn value(&self, name: &str) -> Option<&[u8]> {
        let place = self.places.iter().rfind(|place| self.name(place) == name.as_bytes())?;
        Some(&self.text[place.name_end..place.end])
    }

    /// Writes the fields, a line each, but for those with one of these names.
    pub(super) fn write(&mut self, out: &mut Vec<u8>, but_for: &[&str]) {
        let mut places = std::mem::take(&mut self.places);
        places.sort_unstable_by(|a, b| (self.name(a), a.start).cmp(&(self.name(b), b.start)));
        for (at, place) in places.iter().enumerate() {
            let name = self.name(place);
            let is_replaced = places.get(at + 1).is_some_and(|next| self.name(next) == name);
            if is_replaced || but_for.iter().any(|other| other.as_bytes() == name) {
                continue;
            }
            for part in [name, b": ", &self.text[place.name_end..place.end], b"\r\n"] {
                out.extend_from_slice(part);
            }
        }
        self.places = places;
    }
}

/// A name as Go writes it: `Content-Type`.
pub(in crate::js) fn canonical(name: &[u8]) -> impl Iterator<Item = u8> {
    let mut starts_word = true;
    name.iter().map(move |byte| {
        let cased = if starts_word { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() };
        starts_word = *byte == b'-';
        cased
    })
}

/// Whether a name is one that a field can have (RFC 9110 5.1).
pub(in crate::js) fn is_token(name: &[u8]) -> bool {
    let is_of_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !name.is_empty() && name.iter().all(is_of_token)
}

/// Whether a value is one that a field can have: without control characters but tabs.
pub(super) fn is_value(value: &[u8]) -> bool {
    !value.iter().any(|byte| *byte < b' ' && *byte != b'\t' || *byte == 0x7f)
}

/// Names and values in the lines of a head. What is not a field is left out.
pub(super) fn lines(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    head.split(|byte| *byte == b'\n').filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b':')?;
        Some((line[..at].trim_ascii(), line[at + 1..].trim_ascii()))
    })
}

/// The first value of a field in the lines of a head.
pub(super) fn value<'a>(head: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let is_it = |(known, _): &(&[u8], &[u8])| known.eq_ignore_ascii_case(name.as_bytes());
    lines(head).find(is_it).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_sorted_and_the_last_of_a_name_counts() {
        let mut fields = Fields::default();
        for (name, value) in
            [("x-b", "1"), ("ACCEPT", " a "), ("X-B", "2"), ("Host", "h"), ("a", "")]
        {
            fields.put(name.as_bytes(), value.as_bytes());
        }
        assert_eq!(fields.value("X-B"), Some(&b"2"[..]));
        assert_eq!(fields.value("x-b"), None);
        for _ in 0..2 {
            let mut out = Vec::new();
            fields.write(&mut out, &["Host"]);
            assert_eq!(String::from_utf8(out).unwrap(), "A: \r\nAccept: a\r\nX-B: 2\r\n");
        }
        fields.clear();
        assert_eq!(fields.value("X-B"), None);
    }

    #[test]
    fn heads_are_read_leniently() {
        let head = b"HTTP/1.1 200 OK\r\nA: b\r\nnothing\r\n a:c\r\n: d\n\xff:\xfe";
        let all: Vec<_> = lines(head).collect();
        let want: [(&[u8], &[u8]); 4] =
            [(b"A", b"b"), (b"a", b"c"), (b"", b"d"), (b"\xff", b"\xfe")];
        assert_eq!(all, want);
        assert_eq!(value(head, "a"), Some(&b"b"[..]));
    }
}
