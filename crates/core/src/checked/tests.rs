//! Plans that travel: made up from seeds, and with a canary wherever a secret can stand.

use std::net::{IpAddr, Ipv4Addr};

use super::Plan;
use super::document::{self, DocumentError, Packed, SCHEMA, SECRETS_SCHEMA};
use crate::expect::Expectation;
use crate::plan::{
    Body, ConnectTo, Draft, Endpoint, Order, PemFile, Proxy, ProxyProtocol, Request, Resolve,
    Script, Target, TlsPlan, TlsVersions, Trace, Transport,
};
use crate::random::Stream;
use crate::schedule::{Arrival, Profile, Stage};
use crate::secret::{Masks, Secret};
use crate::template::Table;

fn table(path: &str, values: &[&str]) -> Table {
    Table {
        path: path.to_owned(),
        columns: vec!["id".to_owned()],
        rows: values.iter().map(|value| vec![(*value).to_owned()]).collect(),
    }
}

fn pem(text: &str) -> PemFile {
    PemFile { path: "x.pem".to_owned(), bytes: Secret::new(text.as_bytes().to_vec()) }
}

/// Draws, each from the seed and its number.
struct Dice(Stream, u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.1 += 1;
        self.0.word(self.1) % end
    }

    fn chance(&mut self) -> bool {
        self.below(2) == 0
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.chance() { Some(make(self)) } else { None }
    }

    fn several<T>(&mut self, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| make(self)).collect()
    }

    /// Whole units of a time, so that seconds in a document are exact.
    fn time_ns(&mut self) -> u64 {
        self.below(1 << 45) + 1
    }

    fn text(&mut self) -> String {
        const LETTERS: [&str; 12] =
            ["a", "B", "7", "é", "\"", "\\", "\n", "{", "}", "\u{1f600}", "-", "\u{0}"];
        (0..self.below(9)).map(|_| LETTERS[self.below(12) as usize]).collect()
    }

    fn request(&mut self) -> Request {
        const NAMES: [&str; 4] = ["Accept", "X-Own", "Authorization", "User-Agent"];
        let body = self.maybe(|dice| match dice.below(3) {
            0 => Body::Bytes(Secret::new(vec![0xff, dice.below(256) as u8, 0])),
            1 => Body::Text(format!("password={}", dice.text()).into()),
            _ => Body::Text(dice.text().into()),
        });
        Request {
            method: ["GET", "POST"][self.below(2) as usize].to_owned(),
            http_minor: 1,
            headers: self
                .several(|dice| (NAMES[dice.below(4) as usize].to_owned(), dice.text().into())),
            chunked: body.is_some() && self.chance(),
            expect_continue: false,
            body,
        }
    }

    fn expectations(&mut self) -> Vec<Expectation> {
        const TEXTS: [&str; 4] =
            ["status=200..299", "body~=x", "header:X-Token=abc", "header:ETag~=^W"];
        self.several(|dice| TEXTS[dice.below(4) as usize].parse().unwrap())
    }

    fn target(&mut self) -> Target {
        Target {
            name: self.text(),
            path: format!("/{}?token={}", self.text(), self.text()).into(),
            request: self.request(),
            weight: self.below(5) as u32,
            expect: self.expectations(),
        }
    }

    fn profile(&mut self) -> Profile {
        let stages = (0..=self.below(3))
            .map(|_| Stage {
                duration_ns: Some(self.time_ns()),
                from_uhz: self.below(1 << 40) + 1,
                to_uhz: self.below(1 << 40) + 1,
            })
            .collect();
        let arrival = if self.chance() { Arrival::Poisson } else { Arrival::Uniform };
        Profile { stages, arrival }
    }

    fn transport(&mut self) -> Transport {
        let address = |dice: &mut Self| IpAddr::V4(Ipv4Addr::from(dice.below(1 << 32) as u32));
        Transport {
            resolve: self.several(|dice| Resolve {
                host: dice.text(),
                port: dice.below(65536) as u16,
                addresses: dice.several(address),
            }),
            connect_to: self.several(|dice| ConnectTo {
                host: dice.maybe(Self::text),
                port: dice.maybe(|dice| dice.below(65536) as u16),
                to_host: dice.maybe(Self::text),
                to_port: None,
            }),
            bind: self.several(address),
            unix_socket: self.maybe(Self::text),
            proxy: self.maybe(|dice| Proxy {
                host: dice.text(),
                port: 1,
                credentials: dice.maybe(|dice| dice.text().into()),
            }),
            proxy_protocol: self.maybe(|_| ProxyProtocol::V2),
            first_address_only: self.chance(),
            outlives_close: self.chance(),
            dns_refresh_ns: self.maybe(Self::time_ns),
        }
    }

    fn tls(&mut self) -> TlsPlan {
        let file = |dice: &mut Self| pem(&format!("-----BEGIN PRIVATE KEY{}", dice.text()));
        let cert = self.maybe(file);
        TlsPlan {
            insecure: self.chance(),
            cacert: self.maybe(|dice| pem(&format!("-----BEGIN CERT{}", dice.text()))),
            key: if cert.is_some() { self.maybe(file) } else { None },
            cert,
            sni: self.maybe(Self::text),
            alpn: self.several(|_| "http/1.1".to_owned()),
            versions: TlsVersions::Only13,
            resume_percent: self.below(101) as u8,
        }
    }

    /// A draft that can be carried out, or now and then cannot.
    fn draft(&mut self) -> Draft {
        let mut draft = Draft::new(Endpoint::http("a.example", 80, &format!("/{}", self.text())));
        draft.request = self.request();
        draft.targets = self.several(Self::target);
        draft.order = Order::Weighted;
        draft.templates = self.chance();
        draft.tables = self.several(|dice| {
            let (value, other) = (dice.text(), dice.text());
            let mut table = table("t.csv", &[&value, &other]);
            table.columns = vec![["id", "password"][dice.below(2) as usize].to_owned()];
            table
        });
        draft.expect = self.expectations();
        draft.transport = self.transport();
        draft.tls = self.tls();
        draft.connections = self.below(100) as u32 + 1;
        draft.duration_ns = Some(self.time_ns());
        draft.requests = self.maybe(|dice| dice.below(100) + 1);
        match self.below(3) {
            0 => draft.rate = Some(self.profile()),
            1 => {
                let mut offsets_ns = vec![self.time_ns(), self.time_ns()];
                offsets_ns.sort_unstable();
                draft.trace = Some(Trace { path: "times".to_owned(), offsets_ns });
            }
            _ => {}
        }
        if self.below(4) == 0 {
            draft = Draft {
                request: Request::get(),
                targets: Vec::new(),
                templates: false,
                transport: Transport::default(),
                script: Some(Script {
                    path: "x.lua".to_owned(),
                    text: format!("local token = '{}'", self.text()).into(),
                    arguments: self.several(|dice| dice.text().into()),
                }),
                ..draft
            };
        }
        draft.abort_when = self.several(|_| "errors>5% FOR 5s".to_owned());
        draft.details.worker_rates = self.chance();
        draft.masks = Masks { names: self.several(Self::text), shows_all: self.chance() };
        draft.pin = self.several(|dice| dice.below(64) as u32);
        draft.seed = self.below(u64::MAX);
        draft
    }
}

#[test]
fn a_plan_that_travels_is_the_same_plan() {
    let mut plans = 0;
    for seed in 0..2000 {
        let draft = Dice(Stream::new(seed, 77), 0).draft();
        let Ok(plan) = draft.check() else { continue };
        plans += 1;
        let Packed { document, secrets } = plan.pack().unwrap();
        match Plan::unpack(&document, &secrets) {
            Ok(read) => assert_eq!(read, plan, "seed {seed}: {document}"),
            Err(error) => panic!("seed {seed}: {error}: {document}"),
        }
    }
    assert!(plans > 1000, "{plans} of 2000 were plans");
}

/// A draft with a canary in every place for a secret, and with contents of files beside them.
fn with_secrets() -> Draft {
    let mut draft = Draft::new(Endpoint::http("a.example", 80, "/x?token=canary-query"));
    draft.request.headers = vec![
        ("Authorization".to_owned(), "Bearer canary-bearer".into()),
        ("Cookie".to_owned(), "id=canary-cookie".into()),
        ("Accept".to_owned(), "text/seen".into()),
    ];
    draft.request.body = Some(Body::new(b"{\"password\": \"canary-json\"}".to_vec()));
    draft.request.method = "POST".to_owned();
    let part = "Content-Disposition: form-data; name=\"secret\"\r\n\r\ncanary-part";
    let request = Request { body: Some(Body::new(part.as_bytes().to_vec())), ..Request::get() };
    draft.targets = vec![Target {
        name: "home".to_owned(),
        path: "/?api_key=canary-key".into(),
        request,
        weight: 1,
        expect: vec!["header:X-Token=canary-expected".parse().unwrap()],
    }];
    let mut users = table("users.csv", &["canary-table"]);
    users.columns = vec!["password".to_owned()];
    draft.tables = vec![users, table("seen.csv", &["seen-row"])];
    draft.expect = vec!["header:X-Token~=canary-pattern".parse().unwrap()];
    let credentials = Some("me:canary-proxy".into());
    draft.transport.proxy = Some(Proxy { host: "p".to_owned(), port: 1, credentials });
    draft.tls.cacert = Some(pem("-----BEGIN CERTIFICATE-----"));
    draft.tls.cert = Some(pem("-----BEGIN PRIVATE KEY-----canary-pair"));
    draft.tls.key = Some(pem("-----BEGIN PRIVATE KEY-----canary-key"));
    draft.masks.shows_all = true;
    draft
}

/// The same with a script, which cannot stand beside all of that.
fn with_script() -> Draft {
    let mut draft = Draft::new(Endpoint::http("a.example", 80, "/"));
    draft.script = Some(Script {
        path: "x.lua".to_owned(),
        text: "wrk.headers['Authorization'] = 'Bearer canary-script'".into(),
        arguments: vec!["canary-argument".into()],
    });
    draft
}

#[test]
fn a_document_has_no_byte_of_a_secret_and_the_part_beside_it_has_them_all() {
    for (draft, count) in [(with_secrets(), 12), (with_script(), 2)] {
        let plan = draft.check().expect("a plan");
        let Packed { document, secrets } = plan.pack().unwrap();
        // Bytes that are not text stand in JSON as numbers.
        let numbers = b"canary".map(|byte| byte.to_string()).join(",");
        for needle in ["canary", &numbers] {
            assert!(!document.contains(needle), "{document}");
        }
        assert!(!format!("{secrets:?}").contains("canary"));
        let found =
            secrets.reveal().matches("canary").count() + secrets.reveal().matches(&numbers).count();
        assert_eq!(found, count, "{}", secrets.reveal());
        assert_eq!(Plan::unpack(&document, &secrets), Ok(plan));
    }
}

#[test]
fn what_is_no_secret_travels_in_the_document() {
    let plan = with_secrets().check().expect("a plan");
    let document = plan.pack().unwrap().document;
    for seen in ["text/seen", "seen-row", "a.example", "\"sni\""] {
        assert!(document.contains(seen), "{document}");
    }
    let mut draft = with_script();
    let script = draft.script.as_mut().unwrap();
    script.text = "wrk.method = 'PUT'".into();
    let document = draft.check().unwrap().pack().unwrap().document;
    assert!(document.contains("wrk.method"), "{document}");
}

#[test]
fn hostile_and_foreign_documents_get_one_line() {
    let plan = with_secrets().check().expect("a plan");
    let Packed { document, secrets } = plan.pack().unwrap();
    let of = |text: &str| Secret::from(text.replace("SCHEMA", SECRETS_SCHEMA));
    let none = of(r#"{"schema":"SCHEMA","values":{}}"#);
    let plain = Draft::new(Endpoint::http("a", 80, "/")).check().unwrap().pack().unwrap().document;
    let changed = |from: &str, to: &str| {
        assert!(plain.contains(from), "{plain}");
        plain.replace(from, to)
    };
    let deep = format!("{{\"schema\":\"{SCHEMA}\",\"plan\":{}", "[".repeat(100_000));
    let stranger = r#"{"schema":"SCHEMA","values":{"/endpoint/path":"/canary"}}"#;
    let cases = [
        (String::new(), none.clone(), "cannot be read"),
        ("{}".to_owned(), none.clone(), "cannot be read"),
        ("[1]".to_owned(), none.clone(), "cannot be read"),
        (deep, none.clone(), "cannot be read"),
        (changed(SCHEMA, "plimsoll/plan/2"), none.clone(), "not plimsoll/plan/1"),
        (changed(SCHEMA, "\\u001b[31m\\n"), none.clone(), "not plimsoll/plan/1"),
        (changed("\"pipeline\":1", "\"pipeline\":\"1\""), none.clone(), "wrong form"),
        (changed("\"pipeline\":1", "\"pipeline\":1,\"streams\":9"), none.clone(), "/streams"),
        (changed("\"pipeline\":1", "\"pipeline\":0"), none.clone(), "pipeline = 0"),
        (changed("\"port\":80", "\"port\":0"), none.clone(), "the port"),
        (changed("\"port\":80", "\"port\":80,\"\\n\\n\":1"), none.clone(), "not known"),
        (changed("\"scheme\":\"http\"", "\"scheme\":\"file\""), none.clone(), "the scheme"),
        (changed("\"timeout_s\":30.0", "\"timeout_s\":1e300"), none.clone(), "wrong form"),
        (changed("\"connections\":50", "\"connections\":4294967295"), none.clone(), "too many"),
        (
            changed("\"body\":null", "\"body\":{\"omitted\":{\"bytes\":1}}"),
            none.clone(),
            "was not kept",
        ),
        (document.clone(), none.clone(), "is missing"),
        (document.clone(), of(r#"{"schema":"x","values":{}}"#), "not plimsoll/plan-secrets/1"),
        (document.clone(), of("hush"), "part with secrets cannot be read"),
        (plain.clone(), of(stranger), "not those of this plan"),
        (changed("\"secrets\":[]", "\"secrets\":[\"/endpoint/path\"]"), of(stranger), "not known"),
        (changed("\"secrets\":[]", "\"secrets\":[\"/a\\nb\"]"), none.clone(), "is missing"),
        (document.clone(), Secret::from(secrets.reveal().replace("\"Bearer", "7,\"")), "cannot"),
        (
            document,
            Secret::from(secrets.reveal().replace("\"id=canary-cookie\"", "{\"canary\":1}")),
            "wrong form",
        ),
    ];
    for (document, secrets, says) in cases {
        let line = Plan::unpack(&document, &secrets).expect_err(says).to_string();
        assert!(line.contains(says), "{says}: {line}");
        assert!(!line.contains(['\n', '\u{1b}']) && line.len() < 300, "{line}");
        assert!(!line.contains("canary"), "{line}");
    }
}

#[test]
fn a_document_of_any_length_is_read_up_to_its_limit() {
    let long = " ".repeat(document::BYTES_MAX + 1);
    let error = Plan::unpack(&long, &Secret::default()).expect_err("it is too long");
    assert_eq!(error, DocumentError::TooLong("document"));
    assert!(error.to_string().contains("256 MiB"), "{error}");
}
