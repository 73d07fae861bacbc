//! A run as it happens: one line of JSON for each interval (NDJSON), with the fields of a point of
//! the result's `series`. Lines include histograms, so lines of several testers can be merged.

use std::io::{self, Write};

use plimsoll_core::series::Point;

/// Writes one line.
///
/// # Errors
/// Those of `out`.
pub fn write_point(point: &Point, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, point)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn a_point_is_one_line_and_reads_back_whole() {
        let result = samples::stall();
        let points = result.series.points();
        let mut bytes = Vec::new();
        for point in points {
            write_point(point, &mut bytes).unwrap();
        }
        let text = String::from_utf8(bytes).unwrap();
        let read: Vec<Point> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read, points);
    }
}
