//! What results keep of plans.

use super::*;
use crate::secret::Secret;
use crate::template::Table;

const LARGE_BYTES: usize = 4097;

fn draft() -> Draft {
    let mut draft = Draft::new(Endpoint::http("::1", 8080, "/x?y"));
    draft.request.headers = vec![("Authorization".to_owned(), "Basic c2VjcmV0".into())];
    draft.request.body = Some(Body::new(vec![b'x'; LARGE_BYTES]));
    draft
}

fn table(path: &str, value: &str) -> Table {
    let (columns, rows) = (vec!["id".to_owned()], vec![vec![value.to_owned()]]);
    Table { path: path.to_owned(), columns, rows }
}

fn pem(text: &str) -> PemFile {
    PemFile { path: "x.pem".to_owned(), bytes: Secret::new(text.as_bytes().to_vec()) }
}

#[test]
fn a_list_of_times_lasts_until_the_next_request_would_be_due() {
    for (offsets_ns, requests, want_ns) in [
        (&[0, 10, 20, 30][..], None, 40),
        (&[0, 10, 20, 30], Some(3), 30),
        (&[0, 10, 20, 30], Some(4), 40),
        (&[0, 10, 20, 30], Some(9), 40),
        (&[100, 200, 300], None, 400),
        (&[7], None, 7),
        (&[7, 7], None, 7),
        (&[], None, 0),
    ] {
        let trace = Trace { path: String::new(), offsets_ns: offsets_ns.to_vec() };
        assert_eq!(trace.window_ns(requests), want_ns, "{offsets_ns:?}, {requests:?}");
    }
}

#[test]
fn secrets_bodies_and_contents_of_files_stay_out_of_results() {
    let mut draft = draft();
    draft.endpoint.path = "/x?token=hush".into();
    let arguments = vec!["hush".into()];
    draft.script = Some(Script { path: "x.lua".to_owned(), text: "hush".into(), arguments });
    let request = Request { body: Some(Body::new(b"hush".to_vec())), ..draft.request.clone() };
    draft.targets = vec![Target {
        name: "a".to_owned(),
        path: "/?key=hush".into(),
        request,
        weight: 1,
        expect: Vec::new(),
    }];
    draft.tables = vec![table("t.csv", "hush")];
    let credentials = Some("hush".into());
    draft.transport.proxy = Some(Proxy { host: "p".to_owned(), port: 1, credentials });
    draft.tls.cert = Some(pem("hush"));
    draft.details.requests = true;
    draft.masks.names = vec!["hush".to_owned()];
    let kept = draft.record();
    let json = serde_json::to_string(&kept).unwrap();
    for secret in ["c2VjcmV0", "hush", "offsets_ns", "rows", "details", "masks", "bytes\":["] {
        assert!(!json.contains(secret), "{json}");
    }
    draft.masks.names.clear();
    draft.tables.clear();
    for secret in ["c2VjcmV0", "hush"] {
        assert!(!format!("{draft:?}").contains(secret), "{draft:?}");
        assert!(!serde_json::to_string(&draft).unwrap().contains(secret));
    }
    assert!(matches!(kept.request.body, Some(Body::Omitted { bytes: 4097, .. })));
    assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), kept);
    assert_eq!(kept.record(), kept);
}

#[test]
fn what_was_asked_to_be_shown_is_and_large_bodies_never() {
    let masks = Masks { shows_all: true, ..Masks::default() };
    let mut draft = Draft { masks, ..draft() };
    let json = |draft: &Draft| serde_json::to_string(&draft.record()).unwrap();
    assert!(json(&draft).contains("c2VjcmV0") && !json(&draft).contains("xxxx"));
    draft.request.body = Some(Body::new(b"hush".to_vec()));
    assert!(json(&draft).contains("hush"));
}

#[test]
fn an_address_of_ipv6_is_bracketed() {
    assert_eq!(draft().endpoint.to_string(), "http://[::1]:8080/x?y");
}
