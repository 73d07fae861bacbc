//! What a command is asked to do, once all of its flags are read.

use super::reader::Reader;
use super::values::percentiles;
use super::{Kind, THREADS_MAX, refused, too_many, wrong};
use crate::UsageText;
use crate::fortio::command::{AccessLog, Call};
use crate::fortio::task::{Curl, GrpcPing, Netcat, Serve, ServeKind, Task};

/// The most pings of `grpcping`.
const PINGS_MAX: u32 = 1_000_000;

impl Reader {
    /// What the flags and the operands ask for.
    ///
    /// # Errors
    /// What is wrong with them together, or what is not done here.
    pub(super) fn finish(mut self, kind: Kind, operands: &[String]) -> Result<Task, UsageText> {
        let kind = if kind == Kind::Load && self.is_curl { Kind::Curl } else { kind };
        if kind == Kind::Netcat {
            return self.netcat(operands);
        }
        if operands.len() > 1 {
            return Err(too_many(operands));
        }
        self.command.percentiles = percentiles(&self.percentiles)
            .map_err(|why| wrong(&format!("Unable to extract percentiles from -p: {why}")))?;
        if let Kind::Serve(kind) = kind {
            return self.serve(kind, operands);
        }
        let Some(target) = operands.first() else {
            return Err(wrong(match kind {
                Kind::GrpcPing => {
                    "Error: fortio grpcping needs host argument in the form of host, host:port or \
                     ip:port"
                }
                _ => "Error: fortio load/curl needs a URL or destination",
            }));
        };
        self.command.call_at(target);
        match kind {
            Kind::Load => self.load(),
            Kind::GrpcPing => self.grpc_ping(),
            _ => self.curl(),
        }
    }

    fn load(mut self) -> Result<Task, UsageText> {
        self.calculate_qps()?;
        if self.streams {
            self.refuse("-stream", "give -payload-file");
        }
        // fortio closes its side after a request on a connection that is to end anyway.
        let is_kept = self.command.keep_alive && !self.command.http10;
        if self.command.half_close && !is_kept && !self.command.is_std_client() {
            self.refuse("-halfclose", "connections are closed whole: leave it out");
        }
        let log = AccessLog { path: self.log_file.clone(), is_influx: self.is_influx };
        self.command.access_log = Some(log).filter(|log| !log.path.is_empty());
        if self.is_grpc {
            self.command.call = Some(match (self.grpc_method.is_empty(), self.is_ping) {
                (false, _) => Call::Method(std::mem::take(&mut self.grpc_method)),
                (true, true) => Call::Ping { delay_ns: self.delay_ns },
                (true, false) => Call::Health(std::mem::take(&mut self.health_service)),
            });
            let streams = u64::from(self.command.streams);
            let threads = u64::from(self.command.threads) * streams;
            self.command.threads = u32::try_from(threads)
                .ok()
                .filter(|threads| i64::from(*threads) <= THREADS_MAX)
                .ok_or_else(|| refused("-c times -s is too many: lower one of them"))?;
        }
        let command = self.command.clone();
        self.done(Task::Load(Box::new(command)))
    }

    fn curl(self) -> Result<Task, UsageText> {
        let mut command = self.command.clone();
        command.h2 |= self.streams;
        let curl = Curl { command, stdout_headers: self.stdout_headers, streams: self.streams };
        self.done(Task::Curl(Box::new(curl)))
    }

    fn grpc_ping(mut self) -> Result<Task, UsageText> {
        let count = u32::try_from(self.command.exactly.max(1))
            .ok()
            .filter(|count| *count <= PINGS_MAX)
            .ok_or_else(|| refused(&format!("-n is too many: give {PINGS_MAX} or fewer")))?;
        self.command.call = Some(match self.is_health {
            true => Call::Health(std::mem::take(&mut self.health_service)),
            false => Call::Ping { delay_ns: self.delay_ns },
        });
        let (command, is_health) = (self.command.clone(), self.is_health);
        self.done(Task::GrpcPing(Box::new(GrpcPing { command, count, is_health })))
    }

    /// `host:port`, or `host port`.
    fn netcat(self, operands: &[String]) -> Result<Task, UsageText> {
        let target = match operands {
            [] => {
                let line = "Error: fortio nc needs a host:port or host port destination";
                return Err(wrong(line));
            }
            [target] => target.clone(),
            [host, port] => format!("{host}:{port}"),
            _ => {
                let count = operands.len();
                return Err(wrong(&format!("At most 2 arguments expected, got {count}")));
            }
        };
        let is_udp = target.starts_with("udp://");
        let stops_on_eof = !self.outlives_eof;
        self.done(Task::Netcat(Netcat { target, is_udp, stops_on_eof }))
    }

    fn serve(mut self, kind: ServeKind, operands: &[String]) -> Result<Task, UsageText> {
        if !operands.is_empty() {
            return Err(wrong("Error: too many arguments (typo in a flag?)"));
        }
        let mut serve = std::mem::replace(&mut self.serve, Serve::new()).only(kind);
        if kind == ServeKind::Proxies && serve.proxies.is_empty() && serve.multis.is_empty() {
            return Err(wrong("Error: fortio proxies command needs at least one -P / -M flag"));
        }
        serve.data_dir.clone_from(&self.command.data_dir);
        serve.cert.clone_from(&self.command.cert);
        serve.key.clone_from(&self.command.key);
        serve.threads = self.command.workers;
        serve.command = self.command.clone();
        self.done(Task::Serve(Box::new(serve)))
    }

    /// The task, unless something of it is not done here.
    fn done(self, task: Task) -> Result<Task, UsageText> {
        match self.refused {
            Some(line) => Err(refused(&line)),
            None => Ok(task),
        }
    }

    fn calculate_qps(&mut self) -> Result<(), UsageText> {
        if !self.calculates_qps {
            return Ok(());
        }
        let command = &mut self.command;
        if command.exactly == 0 || !self.has_duration {
            let line = "Error: can't use `-calc-qps` without also specifying `-n` and `-t`";
            return Err(wrong(line));
        }
        command.qps = command.exactly as f64 / (command.duration_ns as f64 / 1e9);
        Ok(())
    }
}
