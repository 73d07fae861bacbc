//! `fortio grpcping`: pings one after the other on one connection, and histograms of their round
//! trips on stdout.

use std::process::ExitCode;

use plimsoll_core::plan::Endpoint;
use plimsoll_dialect::fortio::{Call, Exchange, FLAGS, GrpcPing, Level, Parts, Pings};
use plimsoll_engine::{Answer, Control, Inquiry};
use plimsoll_grpc::builtin::Ping;

use super::{Refused, endpoint, log, now, parts, print, ready};
use crate::message::without_error_numbers;

pub(super) fn ping(ping: &GrpcPing) -> Result<ExitCode, Refused> {
    let parts = parts(&ping.command)?;
    let control = Control::default();
    let endpoint = endpoint(&ping.command)?;
    let first = ready(ping.command.ping(endpoint.clone(), &parts, [0, 0]), &FLAGS)?;
    let level = ping.command.log_level;
    let inquiry = Inquiry::new(&first, &control).map_err(|error| {
        Refused(format!("fortio: {}", without_error_numbers(&error.to_string())))
    })?;
    let mut pinger = Pinger { ping, parts, endpoint, control, inquiry, seq: 0 };
    let done = match ping.is_health {
        true => pinger.health(),
        false => pinger.pings(),
    };
    done.or_else(|why| {
        log(level, Level::Error, &format!("grpc error from Ping0 {why}"), &[]);
        Ok(ExitCode::FAILURE)
    })
}

/// A connection with pings.
struct Pinger<'a> {
    ping: &'a GrpcPing,
    parts: Parts,
    endpoint: Endpoint,
    control: Control,
    inquiry: Inquiry,
    seq: i64,
}

impl Pinger<'_> {
    /// One before the others, whose time counts nowhere, then two at a time.
    fn pings(&mut self) -> Result<ExitCode, String> {
        let mut pings = Pings::default();
        self.once(now().unix_ns)?;
        for _ in 0..self.ping.count {
            let sent_ns = now().unix_ns;
            let first_answered_ns = self.once(sent_ns)?;
            let between_ns = now().unix_ns;
            let second_answered_ns = self.once(first_answered_ns)?;
            let ended_ns = now().unix_ns;
            let line = pings.add(&Exchange {
                sent_ns,
                first_answered_ns,
                between_ns,
                second_answered_ns,
                ended_ns,
            });
            log(self.ping.command.log_level, Level::Info, &line, &[]);
        }
        show(&pings.report())
    }

    /// A ping with a time in it; gives that of the server.
    fn once(&mut self, ts_ns: i64) -> Result<i64, String> {
        let answer = self.ask(ts_ns)?;
        let message = answer.message()?;
        let read = Ping::read(message).map_err(|_| "the answer is not a ping".to_owned())?;
        Ok(read.sent_at_ns)
    }

    /// The health of a service, a number of times. Only if it serves each time, all is well.
    fn health(&mut self) -> Result<ExitCode, String> {
        let service = match &self.ping.command.call {
            Some(Call::Health(service)) => service.as_str(),
            _ => "",
        };
        let level = self.ping.command.log_level;
        let (target, count) = (&self.ping.command.target, self.ping.count);
        let text = format!("GrpcHealthCheck for {target} svc '{service}', {count} iterations");
        log(level, Level::Info, &text, &[]);
        let mut pings = Pings::default();
        let mut counts = [("SERVING", 0_u32), ("NOT_SERVING", 0)];
        for _ in 0..count {
            let sent_ns = now().unix_ns;
            let answer = self.ask(0)?;
            pings.add_round_trip(now().unix_ns - sent_ns);
            // The status is field 1, a number; SERVING is 1.
            let is_serving = answer.message()? == b"\x08\x01";
            counts[usize::from(!is_serving)].1 += 1;
        }
        let mut text = pings.report();
        for (name, count) in counts.iter().filter(|(_, count)| *count > 0) {
            text.push_str(&format!("Health {name} : {count}\n"));
        }
        let serving = counts[0].1;
        let code = show(&text)?;
        if serving == count {
            return Ok(code);
        }
        log(level, Level::Error, &format!("Unexpected SERVING count {serving} vs {count}"), &[]);
        Ok(ExitCode::FAILURE)
    }

    fn ask(&mut self, ts_ns: i64) -> Result<Answer, String> {
        self.seq += 1;
        let plan = self.ping.command.ping(self.endpoint.clone(), &self.parts, [self.seq, ts_ns]);
        let plan = ready(plan, &FLAGS).map_err(|exit| Refused::from(exit).0)?;
        let answer = self.inquiry.ask(&plan, &self.control);
        answer.map_err(|error| without_error_numbers(&error.to_string()))
    }
}

fn show(text: &str) -> Result<ExitCode, String> {
    match print(|out| out.write_all(text.as_bytes())) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(exit) => Err(Refused::from(exit).0),
    }
}
