//! Ways to cut bytes into inputs: what a machine makes of them must not depend on it. For fuzz
//! bodies and tests.

use std::fmt::Debug;

/// Compares the trace of the whole with those of a number of ways to cut it. `trace` is given the
/// places to cut before, ascending.
///
/// # Panics
/// When two differ.
pub(crate) fn check_cuts<T: Debug + PartialEq>(data: &[u8], trace: impl Fn(&[usize]) -> T) {
    const CUTS_MAX: usize = 64;
    let whole = trace(&[]);
    let every_byte: Vec<usize> = (1..data.len()).collect();
    assert_eq!(trace(&every_byte), whole, "byte by byte");
    let stride = 1 + data.len() / CUTS_MAX;
    for cut in (1..data.len()).step_by(stride) {
        assert_eq!(trace(&[cut]), whole, "cut at {cut}");
    }
    for length in [2, 3, 5, 17, 64] {
        let cuts: Vec<usize> = (1..data.len()).step_by(length).collect();
        assert_eq!(trace(&cuts), whole, "cut every {length}");
    }
}

/// The inputs that `data` makes when cut before each of `cuts`, which ascend.
pub(crate) fn inputs<'a>(data: &'a [u8], cuts: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(data.len()));
    starts.zip(ends).map(|(start, end)| &data[start..end])
}
