//! Every slot is taken once and on time, whatever was ordered and however late workers look.

use plimsoll_core::part::Place;
use plimsoll_core::plan::Draft;
use plimsoll_core::schedule::{Arrival, Cursor, Deal, Profile, parse_stages};
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::signals::{Change, Seen, Signals};
use crate::tests::{checked, plan};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
/// When the load begins.
const START_NS: u64 = 3 * S;
/// How far ahead of its giving an order holds.
const AHEAD_NS: u64 = 2 * MS;

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.0.next_u64() % (to - from)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.between(0, 100) < percent
    }
}

/// An order and when it is given, ns on the drivers' clock.
#[derive(Debug, Clone, Copy)]
struct Given {
    at_ns: u64,
    change: Change,
}

/// What a run's slots are when the list of orders is known from the start: computed anew, one slot
/// after the other, for each worker.
fn reference(plan: &Draft, orders: &[Given]) -> Vec<(u32, Due)> {
    let measured_ns = START_NS + plan.warmup_ns;
    let stop_ns = plan.duration_ns.map_or(u64::MAX, |duration_ns| measured_ns + duration_ns);
    let holds_ns = |given: &Given| (given.at_ns + AHEAD_NS).max(measured_ns);
    let profile = plan.rate.as_ref().unwrap();
    let rates = orders.iter().enumerate().filter_map(|(index, given)| match given.change {
        Change::Rate(rate_uhz) => {
            let seed = plan.seed + index as u64 + 1;
            Some((holds_ns(given), Profile::constant(rate_uhz, None, profile.arrival), seed))
        }
        Change::Connections(_) => None,
    });
    let warmup = Profile::constant(profile.initial_uhz(), None, profile.arrival);
    let mut courses =
        vec![(START_NS, warmup, !plan.seed), (measured_ns, profile.clone(), plan.seed)];
    courses.extend(rates);
    let mut slots = Vec::new();
    let mut left = plan.requests.unwrap_or(u64::MAX);
    let mut carry = None;
    for (index, (from_ns, profile, seed)) in courses.iter().enumerate() {
        let end_ns = courses.get(index + 1).map_or(stop_ns, |next| next.0);
        let mut cursor = Cursor::new(profile, Deal::new(1, 0, 1), None, *seed);
        if let Some(carry) = carry.take().filter(|_| index > 1) {
            cursor = cursor.carrying(carry);
        }
        while let Some(slot) = cursor.peek() {
            let at_ns = from_ns + slot.due_ns;
            let measured = index > 0;
            if at_ns >= end_ns || at_ns >= stop_ns || (measured && left == 0) {
                break;
            }
            left -= u64::from(measured && left != u64::MAX);
            let ordered = orders.iter().rev().find_map(|given| match given.change {
                Change::Connections(connections) if holds_ns(given) <= at_ns => Some(connections),
                _ => None,
            });
            let connections =
                ordered.filter(|_| measured).unwrap_or_else(|| plan.connections_limit());
            let connection = slot.index % u64::from(connections);
            let worker = (connection % u64::from(plan.workers)) as u32;
            let has_stages = index == 1 && plan.rate.as_ref().unwrap().stages.len() > 1;
            let stage = if has_stages { slot.stage } else { Place::NONE };
            let number = slots.len() as u64;
            slots.push((worker, Due { at_ns, number, stage, measured }));
            cursor.advance();
        }
        cursor.end_at(end_ns.saturating_sub(*from_ns));
        carry = Some(cursor.carry());
    }
    slots
}

/// What a worker takes that looks at times of its own, and may be held up by its server.
fn taken(plan: &Arc<Plan>, orders: &[Given], worker: u32, dice: &mut Dice) -> Vec<(u32, Due)> {
    let timetable = Timetable::new(plan, START_NS);
    let mut admission = Admission::new(plan, worker, Arc::new(Tickets::of(plan)));
    let (signals, mut seen) = (Signals::default(), Seen::default());
    let mut orders = orders.iter().peekable();
    let mut slots = Vec::new();
    let end_ns = timetable.measured_ns + 20 * S;
    let hung_until_ns = if dice.chance(40) { START_NS + dice.between(0, 8 * S) } else { 0 };
    let mut now_ns = START_NS;
    while now_ns < end_ns {
        while let Some(given) = orders.next_if(|given| given.at_ns <= now_ns) {
            let holds_ns = given.at_ns + AHEAD_NS;
            match given.change {
                Change::Rate(rate_uhz) => signals.set_rate(holds_ns, rate_uhz).unwrap(),
                Change::Connections(count) => signals.set_connections(holds_ns, count).unwrap(),
            }
        }
        let news = signals.news(&mut seen);
        news.iter().flat_map(|news| &news.orders).for_each(|order| {
            admission.obey(&timetable, *order);
        });
        while now_ns >= hung_until_ns
            && let Some(due) = admission.peek(&timetable).filter(|due| due.at_ns <= now_ns)
        {
            admission.take();
            slots.push((worker, due));
        }
        now_ns += if dice.chance(90) { dice.between(1, 30 * MS) } else { dice.between(1, 2 * S) };
    }
    slots
}

fn random_plan(dice: &mut Dice) -> Draft {
    let workers = dice.between(1, 4) as u32;
    let stages = ["6s@40", "2s@0..60,1s@30,3s@60..5", "1s@0,5s@25"][dice.between(0, 3) as usize];
    let arrival = if dice.chance(30) { Arrival::Poisson } else { Arrival::Uniform };
    let profile = Profile { stages: parse_stages(stages).unwrap(), arrival };
    Draft {
        workers,
        connections: workers + dice.between(0, 9) as u32,
        connections_max: dice.chance(30).then_some(20),
        warmup_ns: if dice.chance(40) { dice.between(1, 2000) * MS } else { 0 },
        duration_ns: Some(6 * S),
        requests: dice.chance(30).then(|| dice.between(1, 250)),
        seed: dice.between(0, 1 << 40),
        rate: Some(profile),
        ..plan()
    }
}

fn random_orders(dice: &mut Dice, plan: &Draft) -> Vec<Given> {
    let mut at_ns = START_NS;
    let mut orders = Vec::new();
    for _ in 0..dice.between(0, 7) {
        // Some come together, and some when the run is over.
        at_ns += if dice.chance(30) { dice.between(0, 3) } else { dice.between(0, 3 * S) };
        let change = if dice.chance(60) {
            Change::Rate(dice.between(1, 80_000_000))
        } else {
            Change::Connections(dice.between(plan.workers.into(), 30) as u32)
        };
        orders.push(Given { at_ns, change });
    }
    orders
}

#[test]
fn what_is_taken_follows_from_the_list_of_orders_alone() {
    for seed in 0..3000 {
        let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
        let Ok(plan) = random_plan(&mut dice).check() else { continue };
        let plan = Arc::new(plan);
        let orders = random_orders(&mut dice, &plan);
        let mut slots: Vec<_> =
            (0..plan.workers).flat_map(|worker| taken(&plan, &orders, worker, &mut dice)).collect();
        slots.sort_by_key(|(_, due)| due.number);
        let want = reference(&plan, &orders);
        let differs = slots.iter().zip(&want).position(|(one, other)| one != other);
        assert!(
            slots == want,
            "seed {seed}: {} taken of {}, different from {differs:?} on\n{orders:?}\n{plan:?}",
            slots.len(),
            want.len()
        );
    }
}

/// A server that hangs takes no slot of the first rate's nor of the second's.
#[test]
fn a_second_change_keeps_the_slots_of_the_first() {
    let rate = Profile::constant(100_000_000, Some(6 * S), Arrival::Uniform);
    let plan = Draft { rate: Some(rate), duration_ns: Some(6 * S), ..plan() };
    let plan = Arc::new(checked(&plan));
    let timetable = Timetable::new(&plan, START_NS);
    let mut admission = Admission::new(&plan, 0, Arc::new(Tickets::of(&plan)));
    for (at_ns, rate_uhz) in [(1200 * MS, 10_000_000), (3200 * MS, 20_000_000)] {
        let change = Change::Rate(rate_uhz);
        admission.obey(&timetable, Order { at_ns: START_NS + at_ns, change });
    }
    let mut count = 0;
    while admission.peek(&timetable).is_some() {
        admission.take();
        count += 1;
    }
    assert_eq!(count, 120 + 20 + 56);
}

#[test]
fn tickets_are_taken_once_and_singly_at_the_end() {
    let plan = checked(&Draft { requests: Some(10_000), workers: 3, ..plan() });
    let tickets = Arc::new(Tickets::of(&plan));
    let mut workers: Vec<_> = (0..3).map(|_| Closed::new(Arc::clone(&tickets))).collect();
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(1));
    let mut numbers = Vec::new();
    let mut now_ns = S;
    while !workers.iter().all(Closed::is_over) {
        now_ns += dice.between(0, 20_000);
        numbers.extend(workers[dice.between(0, 3) as usize].take(true, now_ns));
    }
    assert!(workers.iter_mut().all(|worker| worker.take(true, now_ns).is_none()));
    // The last ones were not kept by a worker that had taken a block of them.
    let late = numbers.iter().skip(9_900).map(|number| number.abs_diff(9_950)).max();
    assert!(late < Some(150), "{late:?}");
    numbers.sort_unstable();
    assert_eq!(numbers, (0..10_000).collect::<Vec<_>>());
}

#[test]
fn numbers_go_on_from_the_warm_up() {
    let plan = checked(&Draft { requests: Some(50), workers: 2, ..plan() });
    let tickets = Arc::new(Tickets::of(&plan));
    let mut workers = [0, 1].map(|_| Closed::new(Arc::clone(&tickets)));
    let mut numbers: Vec<_> = (0..21).filter_map(|n| workers[n % 2].take(false, S)).collect();
    numbers.extend((0..200).filter_map(|n| workers[n % 2].take(true, S)));
    assert_eq!(numbers.len(), 21 + 50);
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 21 + 50);
}

/// A worker that was fast and can send no more: others send what it has taken.
#[test]
fn what_a_worker_gives_back_is_taken_by_the_others() {
    let plan = checked(&Draft { requests: Some(3000), workers: 2, ..plan() });
    let tickets = Arc::new(Tickets::of(&plan));
    let mut workers = [0, 1].map(|_| Closed::new(Arc::clone(&tickets)));
    let mut numbers: Vec<_> = (0..17).filter_map(|_| workers[0].take(true, S)).collect();
    let until_ns = workers[0].keep_until_ns();
    assert!((S..S + 10 * MS).contains(&until_ns), "{until_ns}");
    // What the first holds is all that is left.
    numbers.extend(std::iter::from_fn(|| workers[1].take(true, S + MS)));
    assert!(numbers.len() < 3000 && workers[1].awaits_others() && !workers[1].is_over());
    assert!(!workers[1].has_returned());
    workers[0].give_back();
    assert_eq!(workers[0].keep_until_ns(), u64::MAX);
    assert!(workers[1].has_returned() && !workers.iter().any(Closed::is_over));
    numbers.extend(std::iter::from_fn(|| workers[1].take(true, S + MS)));
    assert!(workers.iter().all(Closed::is_over) && !workers[1].awaits_others());
    numbers.sort_unstable();
    assert_eq!(numbers, (0..3000).collect::<Vec<_>>());
}

/// Threads that take and give back as they like take each request once, and none is over before
/// all are taken.
#[test]
fn each_request_is_taken_once_however_often_blocks_are_given_back() {
    const REQUESTS: u64 = 20_000;
    for seed in 0..5 {
        let plan = checked(&Draft { requests: Some(REQUESTS), workers: 4, ..plan() });
        let tickets = Arc::new(Tickets::of(&plan));
        let warm: Vec<_> =
            (0..seed).filter_map(|_| Closed::new(Arc::clone(&tickets)).take(false, S)).collect();
        let worker = &|number: u64| {
            let mut closed = Closed::new(Arc::clone(&tickets));
            let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed * 4 + number));
            let (mut numbers, mut now_ns) = (Vec::new(), S);
            while !closed.is_over() {
                now_ns += dice.between(0, 20_000);
                numbers.extend(closed.take(true, now_ns));
                if dice.chance(10) {
                    closed.give_back();
                }
            }
            numbers
        };
        let mut numbers: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|number| scope.spawn(move || worker(number))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        numbers.extend(warm);
        numbers.sort_unstable();
        assert_eq!(numbers, (0..REQUESTS + seed).collect::<Vec<_>>(), "seed {seed}");
    }
}
