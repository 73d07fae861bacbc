//! The building blocks of pages: escaped text, tables, axes and charts, their style, and the frame
//! around them. The content of a page is the business of its own module.
//!
//! A page is one file that loads nothing. A content security policy ensures that, whatever text
//! from outside it contains.

#[cfg(test)]
pub(crate) use tests::browser;
pub(crate) mod chart;
#[cfg(test)]
pub(crate) mod checks;
pub(crate) mod escape;
pub(crate) mod fit;
pub(crate) mod scale;
pub(crate) mod table;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use plimsoll_core::environment::Environment;

use escape::Escaped;

/// Colours, text, tables and charts of every page.
pub(crate) const STYLE: &str = include_str!("page.css");

/// Appends to a page.
pub(crate) fn push(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.write_fmt(text).expect("writing to a string cannot fail");
}

/// The host: a line on screen, with everything that is known of it folded behind.
pub(crate) fn host(host: &Environment, page: &mut String) {
    let line = table::clipped(&crate::host::line(host));
    let clip = |(name, value): (String, String)| (table::clipped(&name), value);
    // The flags of a CPU are long, and all of them count.
    let rows = crate::host::whole(host).into_iter().map(clip).collect();
    table::folded("The host", &line, rows, page);
}

/// Everything before the body: `style` is the page's own, after that of all.
pub(crate) fn head(title: &str, style: &str, page: &mut String) {
    let stacked = fit::style();
    push(
        page,
        format_args!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n\
             <style>\n{STYLE}{stacked}{style}</style>\n</head>\n",
            Escaped(title)
        ),
    );
}
