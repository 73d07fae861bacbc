//! Result documents. Reading one checks it against the schema and its own identities, so every
//! test that looks at a figure has checked the whole.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use serde_json::Value;

/// A result document.
#[derive(Debug)]
pub(crate) struct Report(Value);

impl Report {
    /// Reads and checks a document.
    ///
    /// # Panics
    /// When it is not one, or contradicts itself.
    pub(crate) fn read(text: &str) -> Self {
        let value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let report = Self(value);
        check_schema(&report.0, "result");
        report.check_ledger();
        report.check_counts();
        report.check_series();
        report
    }

    /// The count at a JSON pointer; 0 where there is nothing.
    pub(crate) fn count(&self, pointer: &str) -> u64 {
        self.0.pointer(pointer).map_or(0, |value| value.as_u64().expect(pointer))
    }

    pub(crate) fn number(&self, pointer: &str) -> f64 {
        self.at(pointer).as_f64().unwrap_or_else(|| panic!("{pointer}"))
    }

    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.at(pointer).as_str().unwrap_or_else(|| panic!("{pointer}"))
    }

    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in {}", self.0))
    }

    /// The ledger's counts by name, in the order asked for.
    pub(crate) fn ledger<const N: usize>(&self, names: [&str; N]) -> [u64; N] {
        names.map(|name| self.count(&format!("/ledger/{name}")))
    }

    /// Phase, kind and count of each error.
    pub(crate) fn errors(&self) -> Vec<(&str, &str, u64)> {
        let errors = self.at("/errors").as_array().expect("a list");
        errors
            .iter()
            .map(|error| {
                let text = |name: &str| error[name].as_str().expect("text");
                (text("phase"), text("kind"), error["count"].as_u64().expect("a count"))
            })
            .collect()
    }

    /// A histogram in whole, in nanoseconds, as any HdrHistogram library reads it.
    pub(crate) fn histogram(&self, pointer: &str) -> Histogram<u64> {
        let text = self.text(&format!("{pointer}/hdr"));
        let bytes = BASE64_STANDARD.decode(text).expect("base64");
        Deserializer::new().deserialize(&mut bytes.as_slice()).expect("an HdrHistogram")
    }

    fn check_ledger(&self) {
        let ledger = self.at("/ledger");
        let [scheduled, sent, completed] = self.ledger(["scheduled", "sent", "completed"]);
        let sum = |names: &[&str]| -> u64 { names.iter().map(|name| self.count(name)).sum() };
        assert_eq!(scheduled, sent + sum(&["/ledger/shed", "/ledger/unsent"]), "{ledger}");
        let lost = ["/ledger/refused", "/ledger/timed_out", "/ledger/broken", "/ledger/unfinished"];
        assert_eq!(sent, completed + sum(&lost), "{ledger}");
        assert_eq!(completed, sum(&["/ledger/ok", "/ledger/failed"]), "{ledger}");
        let status = self.at("/status").as_object().expect("an object");
        let answered: u64 = status.values().filter_map(Value::as_u64).sum();
        // A WebSocket's messages have no status.
        let has_status = self.0.get("pushed").is_none();
        assert_eq!(if has_status { completed } else { 0 }, answered, "{ledger}");
    }

    fn check_counts(&self) {
        let [scheduled, sent, shed, completed, ok, failed] =
            self.ledger(["scheduled", "sent", "shed", "completed", "ok", "failed"]);
        for (histogram, want) in [
            ("/latency/response", scheduled - shed),
            ("/by_outcome/ok", ok),
            ("/by_outcome/failed", failed),
            ("/by_outcome/incomplete", scheduled - shed - completed),
            ("/latency/service", sent),
            ("/lag", sent),
            ("/phases/blocked", sent),
            ("/loader/lateness", sent),
            ("/phases/sending", completed),
            ("/phases/waiting", completed),
            ("/phases/receiving", completed),
        ] {
            assert_eq!(self.count(&format!("{histogram}/count")), want, "{histogram}");
            assert_eq!(self.histogram(histogram).len(), want, "hdr of {histogram}");
        }
    }

    fn check_series(&self) {
        let points = self.at("/series").as_array().expect("a list");
        for name in ["sent", "completed", "ok", "failed", "timed_out", "broken"] {
            let sum: u64 = points.iter().filter_map(|point| point[name].as_u64()).sum();
            assert_eq!(sum, self.count(&format!("/ledger/{name}")), "{name} over the series");
        }
    }
}

/// Holds a document against `docs/NAME.schema.json`.
///
/// # Panics
/// When it is not as that says.
pub(crate) fn check_schema(document: &Value, name: &str) {
    let mut compiler = boon::Compiler::new();
    for known in ["result", "study", "repeats", "find", "find-closed", "find-comparison"] {
        let path = format!("{}/../../docs/{known}.schema.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("a schema");
        let schema: Value = serde_json::from_str(&text).expect("JSON");
        compiler.add_resource(&format!("plimsoll:{known}:1"), schema).expect("a new schema");
    }
    let mut schemas = boon::Schemas::new();
    let schema = compiler.compile(&format!("plimsoll:{name}:1"), &mut schemas).expect("a schema");
    if let Err(error) = schemas.validate(document, schema) {
        panic!("not as the schema says: {error:#}");
    }
}
