//! Escapes text from outside for a page.

use std::fmt;

use crate::facts::printable;

/// Shows a text so that it can be nothing but text, in an element and in a quoted attribute.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in printable(self.0).chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

/// Shows a text of several lines, each as [`Escaped`] does.
pub(crate) struct Lines<'a>(pub(crate) &'a str);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.0.lines() {
            let line = line.replace('\t', "    ");
            writeln!(f, "{}", Escaped(&line))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(
            Escaped("<a href=\"x\" b='y'>&\0é").to_string(),
            "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;\u{fffd}é"
        );
        assert_eq!(Lines("<a>\r\n\tb\0").to_string(), "&lt;a&gt;\n    b\u{fffd}\n");
    }
}
