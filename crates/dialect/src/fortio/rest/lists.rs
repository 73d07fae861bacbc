//! Lists of results: the one that fortio's server gives, and that of a bucket of S3's kind, which
//! `-sync` reads as well.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use md5::{Digest as _, Md5};
use roxmltree::{Document, Node, ParsingOptions};

/// The most results of a list.
const RESULTS_MAX: usize = 10_000;
/// The most elements of a bucket's list; each object has about ten.
const ELEMENTS_MAX: u32 = 200_000;

/// Whether a name is that of a result in the folder of results, and of nothing outside.
#[must_use]
pub fn is_result_name(name: &str) -> bool {
    let is_safe = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | '+' | ',');
    name.ends_with(".json")
        && !name.starts_with('.')
        && name.len() <= 255
        && name.chars().all(is_safe)
}

/// The line of a result in `data/index.tsv`: where it is, its length, and its MD5 in base64, as the
/// transfer services of Google and Amazon take it.
#[must_use]
pub fn index_line(url: &str, document: &[u8]) -> String {
    let digest = BASE64.encode(Md5::digest(document));
    format!("{url}\t{}\t{digest}\n", document.len())
}

/// The first line of `data/index.tsv`.
pub const INDEX_HEAD: &str = "TsvHttpData-1.0\n";

/// What a list of results has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Names of results, and where they are.
    pub results: Vec<(String, String)>,
    /// Where the list goes on.
    pub next: Option<String>,
}

impl Listing {
    /// Reads the list that was found at a URL. Other entries are left out.
    ///
    /// # Errors
    /// In one line, what the text is instead.
    pub fn read(url: &str, text: &str) -> Result<Self, String> {
        match text.trim_start().strip_prefix(INDEX_HEAD.trim_end()) {
            Some(lines) => Ok(Self { results: results_of(lines), next: None }),
            None => Self::of_bucket(url, text),
        }
    }

    /// What a bucket lists, in the form of S3's `ListObjects`, which others speak too.
    fn of_bucket(url: &str, text: &str) -> Result<Self, String> {
        let options = ParsingOptions { nodes_limit: ELEMENTS_MAX, ..ParsingOptions::default() };
        let neither = "neither an index.tsv, which begins with TsvHttpData-1.0, nor the XML of a \
                       bucket";
        let document = Document::parse_with_options(text, options)
            .map_err(|error| format!("the list is {neither}: {error}"))?;
        let root = document.root_element();
        if root.tag_name().name() != "ListBucketResult" {
            return Err(format!("the list is {neither}"));
        }
        let contents = children(root, "Contents").take(RESULTS_MAX);
        let keys = contents.filter_map(|object| children(object, "Key").next()?.text());
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let mark = if query.is_empty() { "" } else { "?" };
        let result = |key: &str| {
            let name = key.rsplit('/').next().unwrap_or_default();
            let at = format!("{}/{}{mark}{query}", path.trim_end_matches('/'), encoded(key, "/"));
            is_result_name(name).then(|| (name.to_owned(), at))
        };
        let results = keys.filter_map(result).collect();
        let marker = children(root, "NextMarker").next().and_then(|node| node.text());
        let next = marker.filter(|marker| !marker.is_empty()).map(|marker| {
            let others = query.split('&').filter(|pair| !pair.is_empty());
            let others = others.filter(|pair| !pair.starts_with("marker="));
            let marker = format!("marker={}", encoded(marker, ""));
            let pairs: Vec<&str> = others.chain([marker.as_str()]).collect();
            format!("{path}?{}", pairs.join("&"))
        });
        Ok(Self { results, next })
    }
}

/// Results of the lines of an index: URL, length and digest of each.
fn results_of(lines: &str) -> Vec<(String, String)> {
    let urls = lines.lines().filter_map(|line| line.split('\t').next());
    let result = |url: &str| {
        let path = url.split(['?', '#']).next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        is_result_name(name).then(|| (name.to_owned(), url.to_owned()))
    };
    urls.filter(|url| !url.is_empty()).take(RESULTS_MAX).filter_map(result).collect()
}

/// The elements of this name below one, whatever their namespace.
fn children<'a, 'input>(
    node: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(move |child| child.tag_name().name() == name)
}

/// A text percent-encoded but for letters, digits, `-._~` and what is `kept`.
fn encoded(text: &str, kept: &str) -> String {
    let byte = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_listed_with_their_digests() {
        let line = index_line("http://h/data/a.json", b"hello");
        assert_eq!(line, "http://h/data/a.json\t5\tXUFAKrxLKna5cZ2REBfFkg==\n");
    }

    #[test]
    fn names_lead_nowhere_else() {
        for (name, want) in [
            ("2026-11-26-121159_2.json", true),
            ("a b,c+d.json", true),
            ("../x.json", false),
            ("a/b.json", false),
            (".json", false),
            ("..json", false),
            ("a\\b.json", false),
            ("x.txt", false),
            ("a\0.json", false),
        ] {
            assert_eq!(is_result_name(name), want, "{name:?}");
        }
    }

    fn read(url: &str, text: &str) -> (Vec<String>, Option<String>) {
        let listing = Listing::read(url, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let results = listing.results.into_iter();
        (results.map(|(name, url)| format!("{name} {url}")).collect(), listing.next)
    }

    #[test]
    fn lists_of_servers_are_read() {
        let text = "TsvHttpData-1.0\nhttp://h/data/a.json\t5\tXUFA\nhttp://h/x.txt\t1\ty\n\
                    http://h/b.json?c=/d.json\t1\tz\n";
        let want = ["a.json http://h/data/a.json", "b.json http://h/b.json?c=/d.json"];
        assert_eq!(read("http://h/index.tsv", text), (want.map(str::to_owned).to_vec(), None));
        assert_eq!(read("http://h/", "TsvHttpData-1.0\n"), (vec![], None));
    }

    #[test]
    fn lists_of_buckets_are_read_from_part_to_part() {
        let list = |inside: &str| {
            format!(
                "<?xml version='1.0' encoding='UTF-8'?>\n<ListBucketResult \
                 xmlns='http://doc.s3.amazonaws.com/2006-03-01'><Name>b</Name>{inside}\
                 </ListBucketResult>"
            )
        };
        let object = |key: &str| format!("<Contents><Key>{key}</Key><Size>5</Size></Contents>");
        for (url, inside, results, next) in [
            ("http://h/b", object("a.json"), &["a.json http://h/b/a.json"][..], None),
            (
                "http://h/b/?prefix=x&marker=old",
                object("x/")
                    + &object("x/a b.json")
                    + &object("x/c&amp;d")
                    + "<NextMarker>x/c&amp;d</NextMarker>",
                &["a b.json http://h/b/x/a%20b.json?prefix=x&marker=old"],
                Some("http://h/b/?prefix=x&marker=x%2Fc%26d"),
            ),
            ("http://h/b", object("../../x.json"), &["x.json http://h/b/../../x.json"], None),
            ("http://h/b", "<NextMarker/>".to_owned(), &[], None),
            (
                "http://h/b",
                "<CommonPrefixes><Key>a.json</Key></CommonPrefixes>".to_owned(),
                &[],
                None,
            ),
        ] {
            let want =
                (results.iter().map(|it| (*it).to_owned()).collect(), next.map(str::to_owned));
            assert_eq!(read(url, &list(&inside)), want, "{url} {inside}");
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        let bomb = "<!DOCTYPE a [<!ENTITY b 'c'>]><ListBucketResult>&b;</ListBucketResult>";
        let many = format!("<ListBucketResult>{}</ListBucketResult>", "<a/>".repeat(200_001));
        for text in ["", "<html/>", "{}", "<ListBucketResult>", bomb, &many] {
            let error = Listing::read("http://h/", text).expect_err("no list");
            assert!(error.contains("neither an index.tsv") && !error.contains('\n'), "{error}");
        }
    }
}
