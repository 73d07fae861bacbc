//! A client's HTTP/1 on a connection: responses are matched with requests in the order of sending.
//!
//! Absent on purpose: sockets and TLS. Bytes come in, and what they meant goes out.

use std::collections::VecDeque;

use plimsoll_proto::http1::{BodyLength, Limits, RequestKind, ResponseDecoder, ResponseEvent};

use crate::event::{Failure, Progress, Response};

#[derive(Debug, Clone, Copy)]
struct Sent<R> {
    request: R,
    kind: RequestKind,
}

/// The response being read.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    begun: bool,
    status: u16,
    body_bytes: u64,
    /// Whether only the end of the connection ends it.
    until_close: bool,
}

/// The open requests of a connection, and the response to the oldest of them.
#[derive(Debug)]
pub(crate) struct Http1<R> {
    decoder: ResponseDecoder,
    sent: VecDeque<Sent<R>>,
    reading: Reading,
    pipeline: usize,
    /// The last response said that there will be no other.
    is_spent: bool,
}

impl<R: Copy> Http1<R> {
    pub(crate) fn new(pipeline: usize, limits: Limits) -> Self {
        Self {
            decoder: ResponseDecoder::new(limits),
            sent: VecDeque::with_capacity(pipeline),
            reading: Reading::default(),
            pipeline,
            is_spent: false,
        }
    }

    /// A new connection begins.
    pub(crate) fn reset(&mut self) {
        self.decoder.reset();
        self.reading = Reading::default();
        self.is_spent = false;
    }

    #[inline]
    pub(crate) fn room(&self) -> usize {
        if self.is_spent { 0 } else { self.pipeline.saturating_sub(self.sent.len()) }
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.is_spent
    }

    pub(crate) fn len(&self) -> usize {
        self.sent.len()
    }

    pub(crate) fn requests(&self) -> impl Iterator<Item = R> {
        self.sent.iter().map(|sent| sent.request)
    }

    /// Whether the first byte of the oldest request's response has come.
    pub(crate) fn has_first_byte(&self) -> bool {
        self.reading.begun
    }

    /// Whether only the end of the connection ends the response being read.
    pub(crate) fn ends_with_connection(&self) -> bool {
        self.reading.until_close
    }

    #[inline]
    pub(crate) fn start(&mut self, request: R, kind: RequestKind) {
        self.sent.push_back(Sent { request, kind });
    }

    /// Reads responses.
    ///
    /// # Errors
    /// When the bytes answer no request, or are no response.
    #[inline]
    pub(crate) fn read(
        &mut self,
        mut bytes: &[u8],
        progress: &mut impl FnMut(Progress<'_, R>),
    ) -> Result<(), Failure> {
        while !bytes.is_empty() && !self.is_spent {
            let Some(Sent { request, kind }) = self.sent.front().copied() else {
                return Err(Failure::Unsolicited);
            };
            if !self.reading.begun {
                self.reading.begun = true;
                progress(Progress::FirstByte(request));
            }
            let decoded = self.decoder.decode(kind, bytes)?;
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                None => break,
                Some(ResponseEvent::Interim(head)) => {
                    let status = head.status;
                    self.reading.begun = false;
                    progress(Progress::Interim(request, status));
                }
                Some(ResponseEvent::Head(head)) => {
                    self.reading.status = head.status;
                    self.reading.until_close = head.body == BodyLength::UntilClose;
                    progress(Progress::Head(request, &head));
                }
                Some(ResponseEvent::Body(piece)) => {
                    self.reading.body_bytes += piece.len() as u64;
                    progress(Progress::Body(request, piece));
                }
                Some(ResponseEvent::End(end)) => self.complete(end.keep_alive, progress),
            }
        }
        Ok(())
    }

    /// The server will send no more. A response that only the close could end is complete.
    ///
    /// # Errors
    /// When requests are left open or the response was cut short; they are still in it.
    pub(crate) fn ended(
        &mut self,
        progress: &mut impl FnMut(Progress<'_, R>),
    ) -> Result<(), Failure> {
        if self.decoder.end()?.is_some() && !self.sent.is_empty() {
            self.complete(false, progress);
        }
        self.is_spent = true;
        if self.sent.is_empty() { Ok(()) } else { Err(Failure::Closed) }
    }

    #[inline]
    fn complete(&mut self, keep_alive: bool, progress: &mut impl FnMut(Progress<'_, R>)) {
        let reading = std::mem::take(&mut self.reading);
        self.is_spent |= !keep_alive;
        if let Some(sent) = self.sent.pop_front() {
            let response = Response { status: reading.status, body_bytes: reading.body_bytes };
            progress(Progress::Complete(sent.request, response));
        }
    }

    /// Takes the open requests out, oldest first.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = R> {
        self.sent.drain(..).map(|sent| sent.request)
    }
}
