//! The thread of one receiver: makes a batch of each moment, and delivers batches in order.
//!
//! A batch that fails in passing is tried again, with growing pauses, until it is delivered, the
//! backlog is full, or the time at the end is over. Whatever comes from the run meanwhile is made a
//! batch first, so that a receiver that hangs does not hold it up.

use std::sync::mpsc::{Receiver as Heard, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::backlog::Backlog;
use crate::batch::Batch;
use crate::delivery::{Delivery, Fate};
use crate::encoder::Encoder;
use crate::figures::{Figures, Moment};
use crate::told::Told;
use crate::transport::Transport;

/// How much time a receiver is given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// For an answer.
    pub answer: Duration,
    /// For the remaining batches at the end.
    pub flush: Duration,
    /// The pause before the second attempt. It doubles with each that fails.
    pub pause: Duration,
    /// The longest pause.
    pub pause_max: Duration,
    /// For a host to say that nobody takes the last datagrams.
    pub echo: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(5),
            flush: Duration::from_secs(10),
            pause: Duration::from_millis(250),
            pause_max: Duration::from_secs(5),
            echo: Duration::from_millis(100),
        }
    }
}

/// What one thread does.
#[derive(Debug)]
pub(crate) struct Sender {
    encoder: Encoder,
    transport: Transport,
    figures: Figures,
    backlog: Backlog,
    delivery: Delivery,
    /// When the next attempt may be made.
    not_before: Instant,
    pause: Duration,
    patience: Patience,
}

impl Sender {
    pub(crate) fn new(
        encoder: Encoder,
        transport: Transport,
        delivery: Delivery,
        figures: Figures,
        patience: Patience,
    ) -> Self {
        Self {
            encoder,
            transport,
            figures,
            backlog: Backlog::default(),
            delivery,
            not_before: Instant::now(),
            pause: patience.pause,
            patience,
        }
    }

    /// Delivers batches until the run has ended, and then those that remain.
    pub(crate) fn serve(mut self, heard: &Heard<Told>) -> Delivery {
        loop {
            let told = if self.backlog.is_empty() {
                heard.recv().map_err(RecvTimeoutError::from)
            } else {
                heard.recv_timeout(self.not_before.saturating_duration_since(Instant::now()))
            };
            match told {
                Ok(told) => self.take(&told),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            heard.try_iter().for_each(|told| self.take(&told));
            if Instant::now() >= self.not_before {
                self.attempt(self.patience.answer);
            }
        }
        let farewell = self.encoder.farewell();
        self.push(farewell);
        self.flush(Instant::now() + self.patience.flush);
        self.look_back(self.patience.echo);
        self.delivery.lost += self.backlog.len() as u64;
        self.delivery
    }

    /// Makes a batch of what was told.
    fn take(&mut self, told: &Told) {
        if let Told::Batch(batch) = told {
            self.push(batch.to_vec().into());
        } else if let Some((kind, new)) = told.note(&mut self.figures) {
            let batch = self.encoder.encode(&Moment { kind, new: &new, all: &self.figures });
            self.push(batch);
        }
    }

    fn push(&mut self, batch: Batch) {
        if !batch.bytes.is_empty() {
            self.delivery.lost += self.backlog.push(batch);
        }
    }

    /// Tries to deliver the batch that is next.
    fn attempt(&mut self, limit: Duration) {
        if self.backlog.is_empty() {
            return;
        }
        self.look_back(Duration::ZERO);
        let Some(batch) = self.backlog.first() else { return };
        match self.transport.send(batch, limit) {
            Fate::Delivered => {
                self.delivery.delivered += 1;
                self.backlog.pop();
                self.pause = self.patience.pause;
            }
            Fate::Refused { reason } => {
                self.delivery.lost += 1;
                self.delivery.reason = Some(reason);
                self.backlog.pop();
            }
            Fate::Retry { after, reason } => {
                // An attempt that the end of the run cuts short says less than one before it.
                let is_cut_short = limit < self.patience.answer;
                if !is_cut_short || self.delivery.reason.is_none() {
                    self.delivery.reason = Some(reason);
                }
                self.not_before = Instant::now() + after.unwrap_or(self.pause);
                self.pause = (self.pause * 2).min(self.patience.pause_max);
            }
        }
    }

    /// Takes the last batch back that seemed to be delivered, if it is known by now that it was
    /// not.
    fn look_back(&mut self, limit: Duration) {
        if let Some(reason) = self.transport.refusal(limit) {
            self.delivery.delivered -= 1;
            self.delivery.lost += 1;
            self.delivery.reason = Some(reason);
        }
    }

    /// Delivers the remaining batches, as far as the time allows.
    fn flush(&mut self, deadline: Instant) {
        while !self.backlog.is_empty() && self.not_before < deadline {
            std::thread::sleep(self.not_before.saturating_duration_since(Instant::now()));
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            self.attempt(left.min(self.patience.answer));
        }
    }
}
