//! Remote write 2.0 (`io.prometheus.write.v2.Request`): texts stand once, in a table, and each
//! series has its metadata.
//!
//! Absent on purpose: times at which counters began. Their field moved between two candidates of
//! the specification (2.0-rc.3 and rc.4), so that a receiver of the one misreads the other's.

use std::collections::HashMap;

use prost::Message;

use super::{Metadata, Native, Point, Series};

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Request {
    #[prost(string, repeated, tag = "4")]
    pub symbols: Vec<String>,
    #[prost(message, repeated, tag = "5")]
    pub timeseries: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TimeSeries {
    /// A name and a value in turn.
    #[prost(uint32, repeated, tag = "1")]
    pub labels: Vec<u32>,
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<Point>,
    #[prost(message, repeated, tag = "3")]
    pub histograms: Vec<Native>,
    #[prost(message, optional, tag = "5")]
    pub metadata: Option<MetadataOfSeries>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct MetadataOfSeries {
    #[prost(int32, tag = "1")]
    pub kind: i32,
    #[prost(uint32, tag = "3")]
    pub help: u32,
    #[prost(uint32, tag = "4")]
    pub unit: u32,
}

/// The table of texts. The first is empty, so that 0 stands for no text.
#[derive(Debug)]
struct Symbols {
    texts: Vec<String>,
    places: HashMap<String, u32>,
}

impl Symbols {
    fn new() -> Self {
        let empty = String::new();
        Self { texts: vec![empty.clone()], places: HashMap::from([(empty, 0)]) }
    }

    fn place(&mut self, text: &str) -> u32 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }
}

/// The request with these series.
pub(super) fn request(all: Vec<Series>) -> Request {
    let mut symbols = Symbols::new();
    let timeseries = all.into_iter().map(|Series { series, metadata }| {
        let pairs = series.labels.iter().flat_map(|pair| [&pair.name, &pair.value]);
        let labels = pairs.map(|text| symbols.place(text)).collect();
        let Metadata { kind, help, unit, .. } = metadata;
        let (help, unit) = (symbols.place(&help), symbols.place(&unit));
        let metadata = Some(MetadataOfSeries { kind, help, unit });
        let (samples, histograms) = (series.samples, series.histograms);
        TimeSeries { labels, samples, histograms, metadata }
    });
    let timeseries = timeseries.collect();
    Request { symbols: symbols.texts, timeseries }
}
