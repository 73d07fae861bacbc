//! Virtual users that are resumed, cancelled and dropped in any order, with a collection wherever
//! an object is made: a reference that is missing somewhere is soon used after it is gone, and one
//! too many is found when the runtime is freed.

use super::*;

const SCRIPT: &str = "
    import http from 'k6/http'; import { check, group, sleep } from 'k6';
    import { Trend } from 'k6/metrics'; import exec from 'k6/execution';
    const sizes = new Trend('sizes'); let kept = [];
    function* parts(n) { try { for (let i = 0; i < n; i++) { sleep(0.1); yield { i }; } }
                         finally { kept.push('closed'); } }
    const work = [
        () => { const res = http.get('http://a.test/x', { tags: { t: __ITER } });
                check(res, { ok: (r) => r.json('a.#') === 2, all: (r) => Object.keys(r).length === 16 });
                sizes.add(res.body.length, { vu: __VU }); kept.push(res.headers); },
        async () => { const all = [1, 2, 3].map((i) => http.asyncRequest('POST', 'http://a.test/' + i, { i }));
                      const first = await all[1]; kept.push(first.json());
                      await Promise.allSettled(all); sleep(0.1); },
        () => { for (const part of parts(3)) { kept.push(part); if (kept.length % 7 === 6) break; } },
        () => group('g', () => { [2, 3, 1].sort((a, b) => { sleep(0.1); return a - b; }); }),
        async () => { for (let i = 0; i < 2; i++) {
                          await new Promise((ok) => setTimeout(ok, 10, { i })); kept.push(i); } },
        () => { Object.values(http.batch({ a: 'http://a.test/', b: ['POST', 'http://b.test/', 'x'] }))
                    .forEach((r) => kept.push(JSON.stringify(r))); },
        () => { exec.vu.metrics.tags.it = __ITER; throw { kept: kept.slice(-2) }; },
        () => { console.log(new Error('x').stack, [new Date(), new Uint8Array(3), new Proxy({}, {})]); },
    ];
    export default function () {
        if (kept.length > 20) kept = [];
        return work[Math.floor(Math.random() * work.length)]();
    }";

/// A small stream of numbers.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }
}

struct Player {
    vu: Vu,
    step: Step,
    open: Vec<u32>,
}

/// One random move of a player: begins, goes on, or is cancelled.
fn play(host: &mut Host, player: &mut Player, draws: &mut Draws) {
    let function = host.program.function("default").unwrap();
    host.now_ns += 50_000_000;
    player.step = match player.step {
        Step::Done(_) => {
            drop(player.vu.error());
            player.open.clear();
            player.vu.execution().iteration += 1;
            player.vu.begin(Task::Iterate(function), host.now_ns)
        }
        _ if draws.below(12) == 0 => {
            assert_eq!(player.vu.cancel(host.now_ns), Some(Ending::Cancelled));
            Step::Done(Ending::Cancelled)
        }
        Step::Send(number) => host.answer(&mut player.vu, number),
        Step::Begin(number) => {
            player.open.push(number);
            player.vu.resume(Reply::Taken, host.now_ns)
        }
        // An answer may come while it sleeps or waits for a timer.
        Step::Sleep(_) | Step::Wait(_) if !player.open.is_empty() && draws.below(2) == 0 => {
            let at = draws.below(player.open.len() as u64) as usize;
            let number = player.open.swap_remove(at);
            let is_sleeping = matches!(player.step, Step::Sleep(_));
            let step = host.answer(&mut player.vu, number);
            if is_sleeping && step == Step::Wait(None) { Step::Sleep(1) } else { step }
        }
        Step::Wait(None) => return,
        Step::Sleep(_) | Step::Wait(Some(_)) => player.vu.resume(Reply::Woken, host.now_ns),
        _ => player.vu.resume(Reply::Taken, host.now_ns),
    };
}

fn round(program: &Program, seed: u64, moves: u64) {
    let mut host = Host::new(program.clone());
    host.serve = Box::new(|_| ok("{\"a\": [1, 2]}"));
    let mut draws = Draws(seed);
    let mut players: Vec<Player> = (1..3)
        .map(|number| Player {
            vu: host.vu(number + draws.below(1000) as u32),
            step: Step::Done(Ending::Complete),
            open: Vec::new(),
        })
        .collect();
    for _ in 0..moves {
        let at = draws.below(players.len() as u64) as usize;
        play(&mut host, &mut players[at], &mut draws);
    }
}

#[test]
fn a_thousand_orders_of_events() {
    let program = load_with(&[(MAIN, SCRIPT)], Settings::default()).unwrap();
    for seed in 0..1000 {
        round(&program, seed, 60);
    }
}

#[test]
fn a_collection_at_every_allocation() {
    let settings = Settings { collects_always: true, ..Settings::default() };
    let program = load_with(&[(MAIN, SCRIPT)], settings).unwrap();
    for seed in 0..10 {
        round(&program, seed, 100);
    }
}
