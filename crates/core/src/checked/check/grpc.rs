//! gRPC: what goes with a call.

use crate::plan::error::{Message, PlanError, given, name};
use crate::plan::{Draft, Field, GrpcPlan, HttpVersion};

pub(super) fn check(draft: &Draft, errors: &mut Vec<PlanError>) {
    match &draft.grpc {
        None => errors.extend(uncalled(draft)),
        Some(_) if draft.endpoint.is_websocket() => errors.push(upgraded()),
        Some(grpc) => {
            errors.extend(version(draft));
            errors.extend(schema(grpc));
            errors.extend(path(draft, grpc));
            errors.extend(foreign(draft));
            errors.extend(compressed(draft));
        }
    }
}

/// What is about calls, where there are none.
fn uncalled(draft: &Draft) -> Option<PlanError> {
    let targets = draft.targets.iter().flat_map(|target| &target.expect);
    draft.expect.iter().chain(targets).find(|it| it.is_of_grpc()).map(|it| {
        let which = it.kind().replace('_', "-");
        let problem = name(Field::Expect) + format!(" {which} is about gRPC").as_str();
        let advice = Message::from("give ") + given(Field::Grpc, "package.Service/Method");
        PlanError::new(Field::Expect, problem, advice)
    })
}

/// A call to a WebSocket.
fn upgraded() -> PlanError {
    let problem = name(Field::Grpc) + " is not spoken over a WebSocket";
    PlanError::new(Field::Url, problem, "give an http:// or https:// URL")
}

fn version(draft: &Draft) -> Option<PlanError> {
    (draft.http_version != HttpVersion::Http2).then(|| {
        let advice = Message::from("leave ") + name(Field::Http) + " out";
        PlanError::new(Field::Http, name(Field::Grpc) + " is spoken over HTTP/2 alone", advice)
    })
}

/// A schema that was left out, as results do.
fn schema(grpc: &GrpcPlan) -> Option<PlanError> {
    let is_missing = grpc.descriptors.is_empty() && !grpc.files.is_empty();
    is_missing.then(|| PlanError::new(Field::Proto, "the schema was not kept", "give it again"))
}

fn path(draft: &Draft, grpc: &GrpcPlan) -> Option<PlanError> {
    let path = draft.endpoint.path.reveal();
    (*path != grpc.path()).then(|| {
        let problem =
            Message::from("with ") + name(Field::Grpc) + " the URL says only which server";
        PlanError::new(Field::Url, problem, "leave its path out")
    })
}

/// What a call does not have.
fn foreign(draft: &Draft) -> Option<PlanError> {
    let request = &draft.request;
    let given_fields = [
        (Field::Targets, !draft.targets.is_empty()),
        (Field::Script, draft.script.is_some()),
        (Field::Method, request.method != "POST"),
        (Field::Chunked, request.chunked),
        (Field::ExpectContinue, request.expect_continue),
        (Field::Redirects, draft.redirects > 0),
    ];
    let (field, _) = given_fields.into_iter().find(|(_, is_given)| *is_given)?;
    let problem = name(field) + " is not for " + name(Field::Grpc);
    Some(PlanError::new(field, problem, Message::from("leave it out")))
}

/// Metadata that say of messages what they are not.
fn compressed(draft: &Draft) -> Option<PlanError> {
    let mut headers = draft.request.headers.iter();
    let is_coding = |name: &str| name.eq_ignore_ascii_case("grpc-encoding");
    headers.find(|(name, value)| is_coding(name) && *value.reveal() != *"identity").map(|_| {
        let problem = "grpc-encoding says that messages are compressed, and they are not";
        PlanError::new(Field::Header, problem, "leave it out")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Endpoint, Request};

    /// A call that is a plan.
    fn call() -> Draft {
        let grpc = GrpcPlan {
            files: vec!["a.proto".to_owned()],
            descriptors: vec![1],
            ..GrpcPlan::new("p.S/M".to_owned())
        };
        Draft {
            http_version: HttpVersion::Http2,
            request: Request { method: "POST".to_owned(), ..Request::get() },
            grpc: Some(grpc),
            ..Draft::new(Endpoint::http("::1", 8080, "/p.S/M"))
        }
    }

    fn with(change: impl FnOnce(&mut Draft)) -> Draft {
        let mut draft = call();
        change(&mut draft);
        draft
    }

    #[test]
    fn what_does_not_go_with_a_call_is_refused() {
        call().check().expect("a plan");
        with(|it| it.grpc.as_mut().expect("a call").files.clear()).check().expect("a plan");
        for (draft, field, says) in [
            (with(|it| it.http_version = HttpVersion::Http1), Field::Http, "HTTP/2 alone"),
            (with(|it| it.http_version = HttpVersion::Auto), Field::Http, "HTTP/2 alone"),
            (with(|it| it.endpoint.path = "/x".into()), Field::Url, "only which server"),
            (
                with(|it| it.grpc.as_mut().expect("a call").descriptors.clear()),
                Field::Proto,
                "was not kept",
            ),
            (with(|it| it.request.method = "GET".to_owned()), Field::Method, "is not for"),
            (with(|it| it.redirects = 1), Field::Redirects, "is not for"),
            (
                with(|it| {
                    it.endpoint.scheme = "ws".to_owned();
                }),
                Field::Url,
                "not spoken over a WebSocket",
            ),
            (
                with(|it| it.request.headers = vec![("Grpc-Encoding".to_owned(), "gzip".into())]),
                Field::Header,
                "messages are compressed",
            ),
            (
                with(|it| {
                    it.grpc = None;
                    it.expect = vec!["grpc-status=0".parse().expect("an expectation")];
                }),
                Field::Expect,
                "grpc-status is about gRPC",
            ),
            (
                with(|it| {
                    it.grpc = None;
                    it.expect = vec!["grpc-messages=1".parse().expect("an expectation")];
                }),
                Field::Expect,
                "grpc-messages is about gRPC",
            ),
        ] {
            let error = draft.check().expect_err(says);
            let first = error.first();
            assert_eq!(first.field(), field, "{first}");
            assert!(first.to_string().contains(says), "{first}");
        }
    }

    #[test]
    fn a_record_keeps_no_schema() {
        let record = call().record();
        let kept = record.grpc.as_ref().expect("a call");
        assert_eq!((kept.method.as_str(), kept.descriptors.len()), ("p.S/M", 0));
    }
}
