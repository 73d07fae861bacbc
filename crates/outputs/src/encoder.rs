//! What makes bytes of moments, for receivers that are sent some.

use crate::batch::Batch;
use crate::figures::Moment;
use crate::influx::Influx;
use crate::labels::Label;
use crate::otlp::Otlp;
use crate::receiver::Form;
use crate::remote_write::RemoteWrite;
use crate::statsd::Statsd;

/// Makes batches of moments.
#[derive(Debug)]
pub(crate) enum Encoder {
    Statsd(Statsd),
    Influx(Influx),
    RemoteWrite(RemoteWrite),
    Otlp(Otlp),
}

impl Encoder {
    /// The encoder of a form; `None` for one that is asked for and not sent.
    pub(crate) fn new(form: &Form, labels: &[Label]) -> Option<Self> {
        Some(match form {
            Form::Statsd { has_tags } => Self::Statsd(Statsd::new(labels, *has_tags)),
            Form::Influx => Self::Influx(Influx::new(labels)),
            Form::RemoteWrite { has_native, version } => {
                Self::RemoteWrite(RemoteWrite::new(labels, *has_native, *version))
            }
            Form::Otlp { temporality, resource } => {
                Self::Otlp(Otlp::new(labels, resource, *temporality))
            }
            Form::Prometheus => return None,
        })
    }

    /// The batch of a moment.
    pub(crate) fn encode(&mut self, moment: &Moment<'_>) -> Batch {
        match self {
            Self::Statsd(statsd) => statsd.encode(moment).into(),
            Self::Influx(influx) => influx.encode(moment).into(),
            Self::RemoteWrite(remote) => remote.encode(moment.all),
            Self::Otlp(otlp) => otlp.encode(moment).into(),
        }
    }

    /// The last batch, for receivers that want to know that no more follows; empty for others.
    pub(crate) fn farewell(&self) -> Batch {
        match self {
            Self::RemoteWrite(remote) => remote.farewell(),
            Self::Statsd(_) | Self::Influx(_) | Self::Otlp(_) => Batch::default(),
        }
    }
}
