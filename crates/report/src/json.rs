//! Documents themselves, such as `plimsoll/result/1`, as their JSON Schemas describe them.

use std::io::{self, Write};

use serde::Serialize;

/// Writes a document, indented, with a newline at the end.
///
/// # Errors
/// Those of `out`.
pub fn write(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use plimsoll_core::RunResult;

    use super::*;
    use crate::samples;

    #[test]
    fn a_document_reads_back_whole() {
        for result in [samples::stall(), samples::nothing()] {
            let mut bytes = Vec::new();
            write(&result, &mut bytes).unwrap();
            assert!(bytes.ends_with(b"}\n"));
            assert_eq!(serde_json::from_slice::<RunResult>(&bytes).unwrap(), result);
        }
    }
}
