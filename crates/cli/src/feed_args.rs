//! Flags for outputs: who gets the figures of a run while it goes on. `run`, `find` and `lab` share
//! them.

use clap::{Args, ValueEnum};
use plimsoll_outputs::{Label, Names, Receiver};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NamesFlag {
    Plimsoll,
    K6,
}

impl From<NamesFlag> for Names {
    fn from(flag: NamesFlag) -> Self {
        match flag {
            NamesFlag::Plimsoll => Self::Own,
            NamesFlag::K6 => Self::K6,
        }
    }
}

/// Flags for outputs. [`crate::feed`] adds what the environment says.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FeedFlags {
    /// Send figures each second to where people watch them: prometheus[=LISTEN],
    /// prometheus-rw=URL, otlp[=URL], influx=URL, statsd=HOST:PORT; may be given again
    /// [default: those of PLIMSOLL_OUT]
    #[arg(long, value_name = "KIND=TARGET", value_parser = crate::value_args::receiver)]
    #[arg(help_heading = "While it runs")]
    pub out: Vec<Receiver>,
    /// A label for all figures that --out sends; run=NAME replaces the generated one; may be given
    /// again
    #[arg(long, value_name = "NAME=VALUE", help_heading = "While it runs")]
    pub out_label: Vec<Label>,
    /// Names that the metrics have in Prometheus: those of k6 are for dashboards made for it
    /// [default: plimsoll]
    #[arg(long, value_enum, help_heading = "While it runs")]
    pub out_names: Option<NamesFlag>,
}
