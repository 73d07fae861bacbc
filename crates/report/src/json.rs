//! The result document itself, `plimsoll/result/1`, as its JSON Schema describes it.

use std::io::{self, Write};

use plimsoll_core::RunResult;

/// Writes the document, indented, with a newline at the end.
///
/// # Errors
/// Those of `out`.
pub fn write(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, result)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
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
