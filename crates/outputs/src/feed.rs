//! A feed: what a run tells goes to all receivers, each with a thread and a queue of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver as Heard, SyncSender, channel, sync_channel};
use std::time::Duration;
use std::{fmt, io};

use plimsoll_core::RunResult;
use plimsoll_core::live::LiveFigures;

use crate::delivery::Delivery;
use crate::encoder::Encoder;
use crate::events::Timetable;
use crate::figures::{Ending, Figures, Names};
use crate::labels::Label;
use crate::receiver::{Place, Receiver};
use crate::scrape::{Scrape, Wait};
use crate::sender::{Patience, Sender};
use crate::told::Told;
use crate::transport::Transport;

/// What a thread may still have to make batches of. It does so between two attempts to send, which
/// take a few seconds at most, so more than this means that it gets no CPU.
const TOLD_MAX: usize = 64;

/// How long a thread may take at the end, beyond its own limits.
const END_SLACK: Duration = Duration::from_secs(5);

/// Sends what runs tell to receivers. Telling never waits for them.
pub struct Feed {
    lines: Vec<Line>,
}

/// The way to one receiver's thread.
struct Line {
    name: String,
    told: SyncSender<Told>,
    /// What the thread had no room for.
    dropped: AtomicU64,
    ended: Heard<Delivery>,
    /// The wait for a last scrape, where scrapes are answered.
    wait: Option<Wait>,
    /// How long the thread may take at the end.
    limit: Duration,
}

/// What a thread does for a receiver.
enum Output {
    Sender(Box<Sender>),
    Scrape(Scrape, Delivery),
}

impl Output {
    fn begin(receiver: &Receiver, style: Style<'_>, patience: Patience) -> io::Result<Self> {
        let Style { labels, names } = style;
        let (delivery, figures) = (Delivery::to(receiver), Figures::named(names));
        let encoder = Encoder::new(&receiver.form, labels);
        let transport = match &receiver.place {
            Place::Listen(address, linger) => {
                let scrape = Scrape::begin(*address, *linger, labels, figures)?;
                return Ok(Self::Scrape(scrape, delivery));
            }
            Place::Udp(to) => Transport::udp(to.clone()),
            Place::Http(to) => Transport::http(to.clone()),
        };
        let encoder = encoder.ok_or(io::ErrorKind::Unsupported)?;
        Ok(Self::Sender(Box::new(Sender::new(encoder, transport, delivery, figures, patience))))
    }

    fn serve(self, heard: &Heard<Told>) -> Delivery {
        match self {
            Self::Sender(sender) => sender.serve(heard),
            Self::Scrape(scrape, delivery) => scrape.serve(heard, delivery),
        }
    }
}

/// How figures are told from those of other runs, and named.
#[derive(Debug, Clone, Copy, Default)]
pub struct Style<'a> {
    /// What all figures have.
    pub labels: &'a [Label],
    /// Whose names they have in Prometheus.
    pub names: Names,
}

/// Why a feed cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// There is no thread for a receiver.
    #[error("no thread for the output {receiver}: {error}")]
    Thread {
        /// Which one.
        receiver: String,
        /// Why.
        error: io::Error,
    },
    /// Scrapes cannot be answered.
    #[error("cannot listen for the output {receiver}: {error}")]
    Listen {
        /// Which one.
        receiver: String,
        /// Why.
        error: io::Error,
    },
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.lines.iter().map(|line| &line.name);
        f.debug_list().entries(names).finish()
    }
}

impl Feed {
    /// Begins to listen.
    ///
    /// # Errors
    /// What a receiver needs on this host and does not get.
    pub fn begin(receivers: &[Receiver], style: Style<'_>) -> Result<Self, FeedError> {
        Self::begin_with(receivers, style, Patience::default())
    }

    pub(crate) fn begin_with(
        receivers: &[Receiver],
        style: Style<'_>,
        patience: Patience,
    ) -> Result<Self, FeedError> {
        let lines = receivers.iter().map(|receiver| Line::begin(receiver, style, patience));
        Ok(Self { lines: lines.collect::<Result<_, _>>()? })
    }

    /// Where scrapes are answered.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.lines.iter().filter_map(|line| Some(line.wait.as_ref()?.address))
    }

    /// The measured part of a run begins, at this time since 1970. Its timetable is the plan's.
    pub fn began(&self, time_ns: u64, timetable: &Timetable) {
        self.tell(&Told::Began { time_ns, timetable: Arc::new(timetable.clone()) });
    }

    /// An interval of it ended then: `last` of the figures.
    pub fn interval(&self, time_ns: u64, figures: &LiveFigures) {
        self.tell(&Told::Interval { time_ns, live: Arc::new(figures.clone()) });
    }

    /// The run ended then. Its result's counts are final, for what no interval had.
    pub fn ended(&self, time_ns: u64, result: &RunResult) {
        self.tell(&Told::Ended { time_ns, ending: Arc::new(Ending::of(result)) });
    }

    /// Sends a batch in the form of the receiver; see [`samples`](crate::samples).
    pub fn batch(&self, batch: Vec<u8>) {
        self.tell(&Told::Batch(batch.into()));
    }

    /// Delivers the remaining batches, for some seconds at most, and returns what became of all.
    #[must_use]
    pub fn finish(self) -> Vec<Delivery> {
        self.finish_telling(|_| {})
    }

    /// The same; tells of waits for a last scrape when they begin, if there are any.
    #[must_use]
    pub fn finish_telling(self, waits: impl FnOnce(Vec<Wait>)) -> Vec<Delivery> {
        let possible: Vec<Wait> = self.lines.iter().filter_map(|line| line.wait.clone()).collect();
        let endings: Vec<_> = self.lines.into_iter().map(Line::hang_up).collect();
        let begun: Vec<Wait> = possible.into_iter().filter(Wait::has_begun).collect();
        if !begun.is_empty() {
            waits(begun);
        }
        endings.into_iter().map(|(line, ended)| line.delivery(&ended)).collect()
    }

    fn tell(&self, told: &Told) {
        for line in &self.lines {
            if line.told.try_send(told.clone()).is_err() {
                line.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// A line that is told nothing more.
struct Ended {
    name: String,
    dropped: u64,
    limit: Duration,
}

impl Line {
    fn begin(receiver: &Receiver, style: Style<'_>, patience: Patience) -> Result<Self, FeedError> {
        let (told, heard) = sync_channel(TOLD_MAX);
        let (end, ended) = channel();
        let name = receiver.to_string();
        let output = Output::begin(receiver, style, patience)
            .map_err(|error| FeedError::Listen { receiver: name.clone(), error })?;
        let wait = match &output {
            Output::Scrape(scrape, _) => Some(scrape.wait()),
            Output::Sender(_) => None,
        };
        let limit =
            wait.as_ref().map_or(patience.flush + patience.answer, |wait: &Wait| wait.limit);
        let serve = move || {
            // The feed may be gone by then.
            let _ = end.send(output.serve(&heard));
        };
        let thread = std::thread::Builder::new().name("output".to_owned()).spawn(serve);
        match thread {
            Ok(_) => Ok(Self { name, told, dropped: AtomicU64::new(0), ended, wait, limit }),
            Err(error) => Err(FeedError::Thread { receiver: name, error }),
        }
    }

    /// Tells the thread that nothing more comes.
    fn hang_up(self) -> (Ended, Heard<Delivery>) {
        let Self { name, told, dropped, ended, limit, .. } = self;
        drop(told);
        (Ended { name, dropped: dropped.into_inner(), limit }, ended)
    }
}

impl Ended {
    fn delivery(self, ended: &Heard<Delivery>) -> Delivery {
        let Self { name, dropped, limit } = self;
        let mut delivery = ended.recv_timeout(limit + END_SLACK).unwrap_or_else(|_| Delivery {
            receiver: name,
            delivered: 0,
            lost: 1,
            reason: Some("it did not end in time".to_owned()),
            is_unseen: false,
        });
        delivery.lost += dropped;
        delivery
    }
}
