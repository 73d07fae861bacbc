//! Asks a server for the descriptors of all its services.
//!
//! ```text
//! List ── names ──> a Discovery for each service, one after the other ──> whole
//! ```

use super::client::{Discovery, ReflectionError, Step, answer, names};
use super::{request, response};
use crate::schema::Schema;
use crate::wire::write_bytes;

/// What the names of the services begin with that only tell of others.
const OWN: &str = "grpc.reflection.";

/// The questions to a server about all of its services.
#[derive(Debug, Clone)]
pub struct Survey {
    /// Those that are still to be asked about; `None` before the server has named them.
    services: Option<Vec<String>>,
    discovery: Discovery,
}

impl Default for Survey {
    fn default() -> Self {
        Self::new()
    }
}

impl Survey {
    /// Before the first question.
    #[must_use]
    pub fn new() -> Self {
        Self { services: None, discovery: Discovery::of_none() }
    }

    /// Appends the message to send next.
    pub fn write_request(&self, out: &mut Vec<u8>) {
        match self.services {
            None => write_bytes(out, request::LIST_SERVICES, b"*"),
            Some(_) => self.discovery.write_request(out),
        }
    }

    /// Takes the response to it.
    ///
    /// # Errors
    /// When the server does not give what is needed.
    pub fn response(&mut self, message: &[u8]) -> Result<Step, ReflectionError> {
        if self.services.is_some() {
            return match self.discovery.response(message)? {
                Step::Ask => Ok(Step::Ask),
                Step::Whole => Ok(self.turn()),
            };
        }
        let Some((response::LIST_SERVICES, list)) = answer(message)? else {
            return Err(ReflectionError::Malformed);
        };
        let mut services = names(list)?;
        services.retain(|name| !name.starts_with(OWN));
        services.reverse();
        self.services = Some(services);
        Ok(self.turn())
    }

    /// Goes on with the next service.
    fn turn(&mut self) -> Step {
        match self.services.as_mut().and_then(Vec::pop) {
            Some(service) => {
                self.discovery.turn_to(service);
                Step::Ask
            }
            None => Step::Whole,
        }
    }

    /// The schema, once it is whole.
    ///
    /// # Errors
    /// When the files are not descriptors or don't fit together.
    pub fn into_schema(self) -> Result<Schema, ReflectionError> {
        self.discovery.into_schema()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::schema;
    use crate::reflection::Answers;

    #[test]
    fn a_survey_learns_of_every_service_but_reflection() {
        let answers = Answers::new(&schema().expect("compiles"));
        let mut survey = Survey::new();
        for questions in 1.. {
            let (mut question, mut reply) = (Vec::new(), Vec::new());
            survey.write_request(&mut question);
            answers.answer(&question, &mut reply).expect("a question");
            if survey.response(&reply).expect("an answer") == Step::Whole {
                break;
            }
            assert!(questions < 20);
        }
        let learned = survey.into_schema().expect("a schema");
        let mut paths: Vec<String> = learned.all_methods().map(|method| method.path()).collect();
        paths.sort();
        assert_eq!(paths.len(), 9, "{paths:?}");
        assert!(paths.contains(&"/fgrpc.PingServer/Ping".to_owned()));
        assert!(!paths.iter().any(|path| path.contains("Reflection")));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for reply in [&b""[..], b"\xff", b"\x22\x00", b"\x3a\x02\x08\x05"] {
            assert_eq!(Survey::new().response(reply), Err(ReflectionError::Malformed));
        }
        assert_eq!(Survey::new().response(b"\x32\x00"), Ok(Step::Whole), "no services");
    }
}
