//! The looks of each server in all charts of a page: a colour with a dash pattern for lines, and a
//! shape for points.

use plimsoll_core::study::Study;

use crate::page::chart::Look;

/// Colours differ in lightness too, so that most kinds of colour blindness, and paper without
/// colour, still tell neighbours apart; shapes and dashes tell the rest.
const LOOKS: [Look; 12] = [
    Look { class: "c0", shape: CIRCLE },
    Look { class: "c1", shape: SQUARE },
    Look { class: "c2", shape: TRIANGLE },
    Look { class: "c3", shape: DIAMOND },
    Look { class: "c4", shape: TRIANGLE_DOWN },
    Look { class: "c5", shape: PLUS },
    Look { class: "c6", shape: CROSS },
    Look { class: "c7", shape: BAR },
    Look { class: "c0 thin", shape: SQUARE },
    Look { class: "c1 thin", shape: CIRCLE },
    Look { class: "c2 thin", shape: DIAMOND },
    Look { class: "c3 thin", shape: TRIANGLE },
];

const CIRCLE: &str = "M-5 0A5 5 0 1 1 5 0A5 5 0 1 1 -5 0Z";
const SQUARE: &str = "M-4.4 -4.4H4.4V4.4H-4.4Z";
const TRIANGLE: &str = "M0 -5.4L5.4 4.2H-5.4Z";
const DIAMOND: &str = "M0 -6L6 0L0 6L-6 0Z";
const TRIANGLE_DOWN: &str = "M0 5.4L5.4 -4.2H-5.4Z";
const PLUS: &str = "M-1.8 -5.5H1.8V-1.8H5.5V1.8H1.8V5.5H-1.8V1.8H-5.5V-1.8H-1.8Z";
const CROSS: &str =
    "M-5.4 -3L-3 -5.4L0 -2.4L3 -5.4L5.4 -3L2.4 0L5.4 3L3 5.4L0 2.4L-3 5.4L-5.4 3L-2.4 0Z";
const BAR: &str = "M-5.8 -2.2H5.8V2.2H-5.8Z";

/// The looks of the servers of a study, by name.
pub(super) struct Looks<'a> {
    names: Vec<&'a str>,
}

impl<'a> Looks<'a> {
    /// In the suite's order, those that were measured: so skipped ones take no colour.
    pub(super) fn of(study: &'a Study) -> Self {
        let measured = study.servers.iter().filter(|server| server.skipped.is_none());
        Self { names: measured.map(|server| server.name.as_str()).collect() }
    }

    /// That of a server. With more servers than looks, they are shared.
    pub(super) fn look(&self, server: &str) -> Look {
        let place = self.names.iter().position(|name| *name == server);
        LOOKS[place.unwrap_or(self.names.len()) % LOOKS.len()]
    }
}
