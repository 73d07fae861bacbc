//! Users whose iterations are more than a request: a source of the tests' own says what they do,
//! over two origins, in groups, with a metric of its own, and writes down what it said and what it
//! was told. Gates are judged by a result that is made of what the workers recorded.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use plimsoll_conn::{Http1, Http1Settings, Setup};
use plimsoll_core::iterations::Iterations;
use plimsoll_core::metric::{GROUP_DURATION, Kind, MetricId, Registry, Tags, Value};
use plimsoll_core::outcome::Outcome;
use plimsoll_core::plan::{Draft, Endpoint, Request as PlannedRequest, Target};
use plimsoll_core::result::{RunResult, Tool};
use plimsoll_core::schedule::{Arrival, Profile};
use plimsoll_core::{Histogram, Phase, gate};
use plimsoll_engine::Signals;
use plimsoll_engine::source::{Answer, Interest, Reply, Request, Sample, Source, Step, Written};
use plimsoll_engine::worker::Origin;
use plimsoll_io::Address;
use plimsoll_io::sim::{Peer, PeerActions, PeerConn, SimOptions};

use crate::seeds::{Dice, random_network};
use crate::world::{MS, Ran, START_NS, World, plan};

const SEEDS: u64 = 1000;

/// Where the second origin is.
const ELSEWHERE: &str = "192.0.2.2:8080";

/// What a source has said, and what it was told.
#[derive(Debug, Default)]
struct Said {
    begun: u64,
    done: u64,
    /// Requests asked for, by origin.
    asked: [u64; 2],
    /// Requests that were told of as ended, and how many of them with a response.
    ended: u64,
    completed: u64,
    slept: u64,
    woken: u64,
    /// The values that it recorded, by how many of its requests the user had answered.
    recorded: BTreeMap<u64, u64>,
    /// Requests asked for within each group, and how often each was entered and left.
    grouped: [u64; 2],
    entered: [u64; 2],
    left_groups: [u64; 2],
    /// For how long users slept within each, ns.
    slept_in_ns: [u64; 2],
    /// Requests under way when their iteration was said to be done: nobody is told of them.
    left: u64,
    /// Answers that named a request which was not open, or another body than its own.
    wrong: Vec<String>,
}

/// What a user is to do yet in its iteration, the next last.
#[derive(Debug, Default)]
struct Shopper {
    steps: Vec<Step>,
    open: Vec<u32>,
    groups: Vec<usize>,
    answered: u64,
}

/// The groups of a shop: the second is always within the first.
const GROUPS: [&str; 2] = ["::visit", "::visit::pay"];

/// Iterations of three requests with sleeps between, or of two at once, or of nothing.
struct Shop {
    dice: Dice,
    shoppers: BTreeMap<u32, Shopper>,
    next_tag: u32,
    basket: MetricId,
    said: Said,
}

impl Shop {
    fn new(seed: u64, basket: MetricId) -> Self {
        let (dice, shoppers) = (Dice::new(seed), BTreeMap::new());
        Self { dice, shoppers, next_tag: 0, basket, said: Said::default() }
    }

    /// The metrics that it records, and the number of its own.
    fn metrics() -> (Registry, MetricId) {
        let mut registry = Registry::default();
        registry.declare(GROUP_DURATION, Kind::TimeTrend).unwrap();
        let basket = registry.declare("basket", Kind::Trend).unwrap();
        (registry, basket)
    }

    fn request(&mut self, user: u32, origin: u16) -> Request {
        self.next_tag += 1;
        let tag = self.next_tag;
        let shopper = self.shoppers.entry(user).or_default();
        shopper.open.push(tag);
        if let Some(group) = shopper.groups.last() {
            self.said.grouped[*group] += 1;
        }
        self.said.asked[usize::from(origin)] += 1;
        // A target for each origin, whose path tells which it is.
        Request { origin, target: u32::from(origin), tag }
    }

    fn sleep(&mut self) -> Step {
        Step::Sleep(self.dice.between(1, 30) * MS)
    }

    /// The next step of a user.
    fn next(&mut self, user: u32) -> Step {
        let step = self.shoppers.entry(user).or_default().steps.pop().unwrap_or(Step::Done);
        match step {
            Step::Send(planned) => Step::Send(self.request(user, planned.origin)),
            Step::Begin(planned) => Step::Begin(self.request(user, planned.origin)),
            Step::Sleep(sleep_ns) => {
                self.said.slept += 1;
                for group in &self.shoppers.entry(user).or_default().groups {
                    self.said.slept_in_ns[*group] += sleep_ns;
                }
                step
            }
            Step::Record(sample) => {
                let answered = self.shoppers.entry(user).or_default().answered;
                *self.said.recorded.entry(answered).or_default() += 1;
                // What it is tagged with is what it is.
                let tags = Some(answered as u32);
                Step::Record(Sample { tags, value: answered as f64, ..sample })
            }
            Step::Enter(group) => {
                self.shoppers.entry(user).or_default().groups.push(group as usize);
                self.said.entered[group as usize] += 1;
                step
            }
            Step::Leave => {
                if let Some(group) = self.shoppers.entry(user).or_default().groups.pop() {
                    self.said.left_groups[group] += 1;
                }
                step
            }
            Step::Done => {
                self.said.done += 1;
                let shopper = self.shoppers.entry(user).or_default();
                self.said.left += shopper.open.len() as u64;
                *shopper = Shopper::default();
                step
            }
            _ => step,
        }
    }

    fn take(&mut self, user: u32, answer: &Answer<'_>) {
        self.said.ended += 1;
        let shopper = self.shoppers.entry(user).or_default();
        match shopper.open.iter().position(|tag| *tag == answer.tag) {
            Some(at) => drop(shopper.open.remove(at)),
            None => self.said.wrong.push(format!("{} is not open", answer.tag)),
        }
        if shopper.open.len() as u32 != answer.open {
            let open = &shopper.open;
            self.said.wrong.push(format!("{} open, not {open:?}", answer.open));
        }
        if let Outcome::Completed { .. } = answer.outcome {
            self.said.completed += 1;
            shopper.answered += 1;
            if answer.body != b"one" && answer.body != b"other" {
                self.said.wrong.push(format!("a body {:?}", answer.body));
            }
        }
    }
}

impl Source for Shop {
    const RESUMES: bool = true;
    const COUNTS_ITERATIONS: bool = true;

    fn rest(&mut self, _user: u32) -> Step {
        Step::Done
    }

    fn begin(&mut self, user: u32, _number: u64) -> Step {
        self.said.begun += 1;
        let send = |origin| Step::Send(Request { origin, target: 0, tag: 0 });
        let begin = |origin| Step::Begin(Request { origin, target: 0, tag: 0 });
        let (first, second) = (self.sleep(), self.sleep());
        let count = Step::Record(Sample { metric: self.basket, tags: None, value: 0.0 });
        let (visit, pay, leave) = (Step::Enter(0), Step::Enter(1), Step::Leave);
        let mut steps = match self.dice.between(0, 10) {
            0 => vec![],
            1 => vec![begin(0), begin(1), Step::Wait, count],
            2 => vec![visit, begin(1), begin(1), Step::Wait, first, leave, leave],
            3 => vec![visit, begin(0), begin(1)],
            _ => {
                let first_half = [visit, send(0), first, send(1), count];
                [&first_half[..], &[pay, second, send(0), leave, leave, count]].concat()
            }
        };
        steps.reverse();
        self.shoppers.entry(user).or_default().steps = steps;
        self.next(user)
    }

    fn resume(&mut self, user: u32, reply: Reply<'_>) -> Step {
        match reply {
            Reply::Taken => {}
            Reply::Woken => self.said.woken += 1,
            Reply::Ended(answer) => {
                self.take(user, &answer);
                if answer.open > 0 {
                    return Step::Wait;
                }
            }
        }
        self.next(user)
    }

    fn interest(&self) -> Interest {
        Interest { response: true, head: false, body: true }
    }

    fn written(&self) -> (&[u8], &[Written]) {
        (&[], &[])
    }

    fn tags(&self, number: u32) -> Tags {
        [("answered", number.to_string())].into_iter().collect()
    }

    fn group(&self, number: u32) -> String {
        GROUPS[number as usize].to_owned()
    }

    fn is_over(&self) -> bool {
        false
    }
}

/// What a server at two addresses saw.
#[derive(Debug, Default)]
struct Seen {
    /// Requests that came to each address.
    requests: [u64; 2],
    /// Those that came again, after a redirect.
    again: [u64; 2],
    wrong: Vec<String>,
}

/// A server at two addresses, which answers after a while.
struct Servers {
    dice: Dice,
    hangs: u64,
    /// Whether every request is sent on, once, to the same server by its full name.
    redirects: bool,
    lines: BTreeMap<PeerConn, (usize, Vec<u8>)>,
    seen: Rc<RefCell<Seen>>,
}

impl Peer for Servers {
    fn connecting(&mut self, conn: PeerConn, to: &Address) {
        let at = usize::from(to.to_string() == ELSEWHERE);
        self.lines.insert(conn, (at, Vec::new()));
    }

    fn connected(&mut self, _now_ns: u64, _conn: PeerConn, _out: &mut PeerActions) {}

    fn received(&mut self, _now_ns: u64, conn: PeerConn, bytes: &[u8], out: &mut PeerActions) {
        let Some((at, received)) = self.lines.get_mut(&conn) else { return };
        received.extend_from_slice(bytes);
        while let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = received.drain(..end + 4).collect();
            let mut seen = self.seen.borrow_mut();
            let name = ["one", "other"][*at];
            if head.starts_with(format!("GET /{name}?again ").as_bytes()) {
                seen.again[*at] += 1;
                let body = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", name.len());
                out.send(self.dice.between(1, 10) * MS, body + name);
                continue;
            }
            seen.requests[*at] += 1;
            let path = [&b"GET /one "[..], b"GET /other "][*at];
            if !head.starts_with(path) {
                seen.wrong.push(format!("{} at {at}", String::from_utf8_lossy(&head)));
            }
            if self.redirects {
                let server = ["192.0.2.1", "elsewhere.example:8080"][*at];
                let location = format!("Location: http://{server}/{name}?again");
                let text = format!("HTTP/1.1 302 Found\r\n{location}\r\nContent-Length: 0\r\n\r\n");
                out.send(self.dice.between(1, 10) * MS, text);
            } else if !self.dice.chance(self.hangs) {
                let length = name.len();
                let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{name}");
                out.send(self.dice.between(1, 10) * MS, text);
            }
        }
    }

    fn closed(&mut self, _now_ns: u64, conn: PeerConn) {
        self.lines.remove(&conn);
    }
}

fn random_plan(dice: &mut Dice) -> Draft {
    let connections = dice.between(1, 10) as u32;
    let duration_ns = dice.between(100, 1500) * MS;
    let target = |name: &str| Target {
        name: name.to_owned(),
        path: format!("/{name}").into(),
        request: PlannedRequest::get(),
        weight: 1,
        expect: Vec::new(),
    };
    let mut plan = Draft {
        connections,
        workers: dice.between(1, u64::from(connections.min(2)) + 1) as u32,
        duration_ns: Some(duration_ns),
        timeout_ns: 200 * MS,
        drain_ns: dice.between(0, 1000) * MS,
        targets: vec![target("one"), target("other")],
        ..plan()
    };
    if dice.chance(60) {
        let rate_uhz = dice.between(1_000_000, 400_000_000);
        plan.rate = Some(Profile::constant(rate_uhz, Some(duration_ns), Arrival::Uniform));
        plan.shed_after_ns = dice.chance(30).then(|| dice.between(1, 200) * MS);
    }
    if dice.chance(30) {
        let fits = plan.rate.as_ref().and_then(Profile::total).unwrap_or(100);
        plan.requests = Some(dice.between(1, fits.clamp(1, 99) + 1));
    }
    plan
}

struct Came {
    ran: Ran,
    said: Vec<Said>,
    seen: Vec<Seen>,
    iterations: Iterations,
}

fn run(seed: u64, plan: &Draft, sim: &SimOptions, hangs: u64) -> Came {
    run_told(seed, plan, sim, hangs, &Signals::default())
}

/// The same with orders given beforehand.
fn run_told(seed: u64, plan: &Draft, sim: &SimOptions, hangs: u64, signals: &Signals) -> Came {
    let mut logs = Vec::new();
    let redirects = plan.redirects > 0;
    let peer = |worker: u32| {
        let seen = Rc::new(RefCell::new(Seen::default()));
        logs.push(Rc::clone(&seen));
        let dice = Dice::new(seed ^ u64::from(worker) << 32);
        Box::new(Servers { dice, hangs, redirects, lines: BTreeMap::new(), seen }) as Box<dyn Peer>
    };
    let settings = Http1Settings { pipeline: 1 };
    let world = World { plan, sim, settings: &settings, signals };
    let mut said = Vec::new();
    let mut shops = 0;
    let elsewhere: Address = Address::Tcp(ELSEWHERE.parse().unwrap());
    let ran = world.run::<Http1, _>(
        peer,
        |assignment| {
            shops += 1;
            let routes: Arc<[_]> = [elsewhere.clone().into()].into();
            let endpoint = Endpoint::http("elsewhere.example", 8080, "/");
            let origin = Origin { endpoint, routes, setup: Setup::default() };
            let (registry, basket) = Shop::metrics();
            let assignment = assignment.with_metrics(Arc::new(registry));
            (Shop::new(seed + (shops << 20), basket), assignment.with_origins(vec![origin]))
        },
        |shop| said.push(shop.said),
    );
    let mut iterations = Iterations::default();
    for record in &ran.records {
        iterations.merge(record.iterations.as_ref().expect("they are counted"));
    }
    Came { ran, said, seen: logs.iter().map(|log| log.take()).collect(), iterations }
}

/// What holds whatever the network does.
fn check(seed: u64, plan: &Draft, came: &Came) {
    let Came { ran, said, seen, iterations } = came;
    let ledger = ran.sum().ledger;
    let context =
        || format!("seed {seed}: {ledger:?}\n{iterations:?}\n{said:?}\n{seen:?}\n{plan:?}");
    ledger.check().unwrap_or_else(|error| panic!("{error}, {}", context()));
    iterations.check().unwrap_or_else(|error| panic!("{error}, {}", context()));
    let total = |of: fn(&Said) -> u64| said.iter().map(of).sum::<u64>();
    let wrong = said.iter().flat_map(|it| &it.wrong).chain(seen.iter().flat_map(|it| &it.wrong));
    assert_eq!(wrong.collect::<Vec<_>>(), [""; 0], "{}", context());
    assert_eq!(iterations.started, total(|it| it.begun), "{}", context());
    assert_eq!(ledger.scheduled, total(|it| it.asked[0] + it.asked[1]), "{}", context());
    // No user learns of those that end with the run.
    let ended = ledger.completed + ledger.timed_out + ledger.broken;
    let (told, left) = (total(|it| it.ended), total(|it| it.left));
    assert!((told..=told + left).contains(&ended), "{}", context());
    let completed = total(|it| it.completed);
    assert!((completed..=completed + left).contains(&ledger.completed), "{}", context());
    // One whose last request is still open has said that it is done.
    assert!(iterations.completed <= total(|it| it.done), "{}", context());
    let slept_on = total(|it| it.slept) - total(|it| it.woken);
    assert!(iterations.unfinished >= slept_on, "{}", context());
    let arrived: u64 = seen.iter().map(|it| it.requests[0] + it.requests[1]).sum();
    assert!(arrived <= ledger.sent, "{}", context());
    if let (Some(profile), None) = (&plan.rate, plan.requests) {
        assert_eq!(iterations.scheduled, profile.total().unwrap(), "{}", context());
    }
    if let (None, Some(requests)) = (&plan.rate, plan.requests) {
        assert!(iterations.scheduled <= requests, "{}", context());
    }
}

/// The result that the workers' records make.
fn came_of(ran: &Ran, plan: &Draft, iterations: &Iterations) -> RunResult {
    let tool = Tool { name: String::new(), version: String::new() };
    let mut result = RunResult::empty(tool, plan);
    result.record(&ran.sum());
    result.iterations = Some(iterations.clone());
    result
}

/// Where all iterations came to their end: requests by group, times in groups, and the values of
/// the source's own metric, as figures and as gates see them.
fn check_groups_and_metrics(result: &RunResult, said: &[Said], context: &dyn Fn() -> String) {
    let both = |of: fn(&Said) -> [u64; 2]| {
        said.iter().map(of).fold([0; 2], |sum, more| [sum[0] + more[0], sum[1] + more[1]])
    };
    let (grouped, entered) = (both(|it| it.grouped), both(|it| it.entered));
    let left = both(|it| it.left_groups);
    for (at, name) in GROUPS.iter().enumerate() {
        let group = result.groups.iter().find(|part| part.name == *name);
        assert_eq!(group.is_some(), entered[at] > 0, "{name}, {}", context());
        assert_eq!(group.map_or(0, |part| part.ledger.scheduled), grouped[at], "{}", context());
        group.inspect(|part| part.ledger.check().unwrap());
    }
    // A group lasts as long as its users sleep and wait for answers in it.
    let slept_ns = both(|it| it.slept_in_ns);
    let longest_ns = result.latency.response.max_ns().unwrap_or(0);
    for (at, requests) in [grouped[0] + grouped[1], grouped[1]].into_iter().enumerate() {
        let most_ns = slept_ns[at] + requests * longest_ns;
        let took_ns = group_durations(result, GROUPS[at]).map_or(0, |times| times.sum_ns());
        assert!((slept_ns[at]..=most_ns).contains(&took_ns), "{took_ns} ns, {}", context());
    }
    let mut recorded: BTreeMap<u64, u64> = BTreeMap::new();
    for (value, count) in said.iter().flat_map(|it| &it.recorded) {
        *recorded.entry(*value).or_default() += count;
    }
    let count: u64 = recorded.values().sum();
    let sum: u64 = recorded.iter().map(|(value, count)| value * count).sum();
    let basket = result.metrics.named("basket").next().expect("it is declared");
    let Value::Trend(numbers) = &basket.value else { panic!("{basket:?}") };
    assert_eq!((numbers.count(), numbers.total().value()), (count, sum as f64), "{}", context());
    for (value, count) in &recorded {
        let tags: Tags = [("answered", value.to_string())].into_iter().collect();
        let tagged = basket.tagged.iter().find(|tagged| tagged.tags == tags);
        let Some(Value::Trend(numbers)) = tagged.map(|it| &it.value) else { panic!("{value}") };
        assert_eq!((numbers.count(), numbers.min()), (*count, Some(*value as f64)));
    }
    let completed = result.iterations.as_ref().unwrap().completed;
    let mut gates = vec![
        (format!("iterations=={completed}"), true),
        (format!("iterations>{completed}"), false),
        // Without a value there is no data.
        (format!("basket.count=={count}"), count > 0),
        (format!("{GROUP_DURATION}.count=={}", left[0] + left[1]), left[0] > 0),
        ("iteration.max<10s".to_owned(), completed > 0),
    ];
    for (at, name) in GROUPS.iter().enumerate().filter(|(at, _)| left[*at] > 0) {
        let of_group = format!("{GROUP_DURATION}{{group:\"{name}\"}}.count");
        gates.push((format!("{of_group}=={}", left[at]), true));
        gates.push((format!("{of_group}>{}", left[at]), false));
        gates.push((format!("scheduled@group:{name}=={}", grouped[at]), true));
    }
    let conditions: Vec<String> = gates.iter().map(|(text, _)| text.clone()).collect();
    let judged = gate::judge(&conditions, result).unwrap();
    for (judged, (text, holds)) in judged.iter().zip(&gates) {
        assert_eq!(judged.pass, *holds, "{text}: {judged:?}, {}", context());
    }
}

/// The times that users were in a group.
fn group_durations(result: &RunResult, name: &str) -> Option<Histogram> {
    let durations = result.metrics.named(GROUP_DURATION).next()?;
    let tags: Tags = [("group", name)].into_iter().collect();
    match &durations.tagged.iter().find(|tagged| tagged.tags == tags)?.value {
        Value::TimeTrend(times) => Some(times.unpack()),
        _ => None,
    }
}

#[test]
fn iterations_and_requests_are_each_accounted_for() {
    let mut all = Said::default();
    for seed in 0..SEEDS {
        let mut dice = Dice::new(seed);
        let mut plan = random_plan(&mut dice);
        // Long enough for any iteration to end.
        plan.drain_ns = 1000 * MS;
        let hangs = if dice.chance(30) { 10 } else { 0 };
        let sim = SimOptions { seed, ..SimOptions::default() };
        // Users whose connections are taken away end the iteration that they are in.
        let signals = Signals::default();
        if dice.chance(30) {
            let connections = dice.between(1, u64::from(plan.connections) + 1) as u32;
            let connections = connections.max(plan.workers);
            signals.set_connections(START_NS + dice.between(0, 800) * MS, connections).unwrap();
        }
        let came = run_told(seed, &plan, &sim, hangs, &signals);
        check(seed, &plan, &came);
        let Came { ran, said, seen, iterations } = came;
        let context = || format!("seed {seed}: {iterations:?}\n{said:?}\n{seen:?}\n{plan:?}");
        let ledger = ran.sum().ledger;
        let total = |of: fn(&Said) -> u64| said.iter().map(of).sum::<u64>();
        let arrived = |at: usize| seen.iter().map(|it| it.requests[at]).sum::<u64>();
        assert_eq!(iterations.unfinished, 0, "{}", context());
        assert_eq!(iterations.completed, total(|it| it.done), "{}", context());
        assert_eq!(total(|it| it.slept), total(|it| it.woken), "{}", context());
        assert_eq!([arrived(0), arrived(1)], [total(|it| it.asked[0]), total(|it| it.asked[1])]);
        assert_eq!(ledger.sent, ledger.scheduled, "{}", context());
        let ended = ledger.completed + ledger.timed_out + ledger.broken;
        assert_eq!(ended, total(|it| it.ended + it.left), "{}", context());
        if hangs == 0 {
            assert_eq!(ledger.completed, ledger.scheduled, "{}", context());
        }
        check_groups_and_metrics(&came_of(&ran, &plan, &iterations), &said, &context);
        all.done += total(|it| it.done);
        all.slept += total(|it| it.slept);
        all.left += total(|it| it.left);
        all.asked[1] += total(|it| it.asked[1]);
    }
    let counts = [all.done, all.slept, all.asked[1], all.left];
    assert!(counts.iter().all(|count| *count > 10_000), "too little happened: {counts:?}");
}

#[test]
fn over_a_bad_network_iterations_and_requests_are_accounted_for() {
    for seed in 0..SEEDS {
        let mut dice = Dice::new(seed);
        let plan = random_plan(&mut dice);
        let network = random_network(&mut dice, seed);
        check(seed, &plan, &run(seed, &plan, &network, 5));
    }
}

/// One user, an iteration every second: what it waits for itself is no latency, and its requests
/// are timed one by one.
#[test]
fn sleeps_are_in_iterations_and_not_in_requests() {
    let duration_ns = 20_000 * MS;
    let rate = Profile::constant(1_000_000, Some(duration_ns), Arrival::Uniform);
    let plan = Draft {
        connections: 1,
        rate: Some(rate),
        duration_ns: Some(duration_ns),
        ..random_plan(&mut Dice::new(1))
    };
    let plan = Draft { requests: None, shed_after_ns: None, workers: 1, ..plan };
    let Came { ran, iterations, .. } = run(3, &plan, &SimOptions::default(), 0);
    let sum = ran.sum();
    assert!(sum.service.max_ns().unwrap() < 12 * MS, "{:?}", sum.service.max_ns());
    assert!(sum.response().max_ns().unwrap() < 25 * MS, "a connect and an answer");
    assert!(sum.delays.lateness.max_ns().unwrap() < MS, "{:?}", sum.delays.lateness.max_ns());
    assert!(iterations.duration.max_ns().unwrap() > 30 * MS);
    assert_eq!(iterations.response.max_ns(), iterations.duration.max_ns(), "none had to wait");
    assert_eq!(iterations.completed, 20);
}

/// One user with more to do than it has time for: slots that wait too long are dropped as
/// iterations, and none of their requests is ever asked for.
#[test]
fn slots_that_find_no_free_user_are_shed_as_iterations() {
    let duration_ns = 2_000 * MS;
    let rate = Profile::constant(200_000_000, Some(duration_ns), Arrival::Uniform);
    let plan = Draft {
        connections: 1,
        workers: 1,
        rate: Some(rate),
        duration_ns: Some(duration_ns),
        requests: None,
        drain_ns: 1000 * MS,
        shed_after_ns: Some(100 * MS),
        ..random_plan(&mut Dice::new(1))
    };
    let Came { ran, iterations, said, .. } = run(3, &plan, &SimOptions::default(), 0);
    assert_eq!(iterations.check(), Ok(()));
    assert_eq!(iterations.scheduled, 400);
    // At the end the slots of the last 100 ms still wait.
    assert!((19..=20).contains(&iterations.unsent), "{iterations:?}");
    assert_eq!(iterations.shed, 400 - iterations.started - iterations.unsent);
    let ledger = ran.sum().ledger;
    assert_eq!((ledger.shed, ledger.unsent), (0, 0));
    assert_eq!(ledger.scheduled, said[0].asked[0] + said[0].asked[1]);
    let late_ns = iterations.response.max_ns().unwrap() - iterations.duration.max_ns().unwrap();
    assert!((50 * MS..=100 * MS).contains(&late_ns), "{late_ns}");
}

/// In a closed loop too a request can have to wait within an iteration: two at once to one origin,
/// whose connection takes one.
#[test]
fn a_request_that_waits_for_its_connection_in_an_iteration_is_blocked() {
    let plan = Draft {
        connections: 1,
        workers: 1,
        rate: None,
        duration_ns: Some(5_000 * MS),
        requests: None,
        shed_after_ns: None,
        ..random_plan(&mut Dice::new(1))
    };
    let Came { ran, said, .. } = run(3, &plan, &SimOptions::default(), 0);
    let sum = ran.sum();
    let blocked = &sum.phases[Phase::Blocked];
    assert_eq!(blocked.count(), said[0].asked[0] + said[0].asked[1]);
    let longest_ns = blocked.max_ns().unwrap();
    assert!((5 * MS..=sum.service.max_ns().unwrap()).contains(&longest_ns), "{longest_ns} ns");
    assert_eq!(sum.delays.lag.sum_ns(), blocked.sum_ns(), "the tester itself was never late");
}

/// A server may redirect to itself by its full name, also one that is not the plan's own.
#[test]
fn redirects_are_followed_at_the_origin_that_sent_them() {
    let plan = Draft {
        rate: None,
        duration_ns: Some(2_000 * MS),
        requests: None,
        shed_after_ns: None,
        redirects: 1,
        drain_ns: 1000 * MS,
        ..random_plan(&mut Dice::new(1))
    };
    let Came { ran, said, seen, .. } = run(3, &plan, &SimOptions::default(), 0);
    let ledger = ran.sum().ledger;
    let sum = |of: fn(&Seen) -> [u64; 2]| seen.iter().map(of).map(|[a, b]| a + b).sum::<u64>();
    assert_eq!(sum(|it| it.again), sum(|it| it.requests));
    assert!(seen[0].again[1] > 10, "{seen:?}");
    assert_eq!((ledger.redirects, ledger.failed), (sum(|it| it.again), 0), "{ledger:?}");
    let wrong = said.iter().flat_map(|it| &it.wrong).chain(seen.iter().flat_map(|it| &it.wrong));
    assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
}
