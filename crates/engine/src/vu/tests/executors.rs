//! Each executor: which iterations start when, which are cut off, and which are dropped.

use std::sync::atomic::Ordering;

use plimsoll_core::executor::{Executor, VuPool};
use plimsoll_core::schedule::{ArrivalStage, Arrivals, Stripe, UserRamp, UserStage};
use plimsoll_io::sim::SimOptions;

use super::super::scene::{NEVER_NS, Scene};
use super::{MS, S, cast, program, role, run, run_with};

fn sleeper(seconds: f64) -> plimsoll_script::js::Program {
    program(&format!("import {{ sleep }} from 'k6'; export default () => sleep({seconds});"))
}

fn constant(rate: u64, duration_ns: u64, pre_allocated_vus: u64, max_vus: u64) -> Executor {
    Executor::ConstantArrivalRate {
        rate,
        time_unit_ns: S,
        pool: VuPool { pre_allocated_vus, max_vus },
        arrivals: Arrivals::constant(rate, S, duration_ns).expect("a schedule"),
    }
}

#[test]
fn shared_iterations_are_one_count() {
    let program = sleeper(0.1);
    for (vus, iterations, max_ms, want, dropped) in [
        (1, 1, 60_000, [1, 0, 0], 0),
        (3, 10, 60_000, [10, 0, 0], 0),
        // 2 VUs start at 0.0, 0.1, … 1.0, and those of 1.0 are cut off.
        (2, 30, 1_050, [20, 0, 2], 8),
    ] {
        let executor = Executor::SharedIterations { vus, iterations, max_duration_ns: max_ms * MS };
        let run = run(cast(&program, vec![role(&program, executor)], vus));
        assert_eq!(run.kept.counts(0), want, "{vus} {iterations}");
        assert_eq!(run.kept.dropped.get(&0).copied().unwrap_or(0), dropped);
    }
}

#[test]
fn each_vu_has_iterations_of_its_own() {
    let program = sleeper(0.1);
    for (vus, iterations, max_ns, want, dropped) in [
        (1, 1, 60 * S, [1, 0, 0], 0),
        (3, 4, 60 * S, [12, 0, 0], 0),
        // At 0.25 s the third is running: it is cut off, and 7 of each VU never start.
        (2, 10, 250 * MS, [4, 0, 2], 14),
    ] {
        let executor = Executor::PerVuIterations { vus, iterations, max_duration_ns: max_ns };
        let run = run(cast(&program, vec![role(&program, executor)], vus));
        assert_eq!(run.kept.counts(0), want, "{vus} {iterations}");
        assert_eq!(run.kept.dropped.get(&0).copied().unwrap_or(0), dropped);
    }
}

#[test]
fn iterations_may_end_within_the_graceful_stop() {
    let program = sleeper(0.3);
    for (graceful_ms, want) in [(0, [6, 0, 2]), (100, [6, 0, 2]), (250, [8, 0, 0])] {
        let executor = Executor::ConstantVus { vus: 2, duration_ns: S };
        let mut scenario = role(&program, executor);
        scenario.graceful_stop_ns = graceful_ms * MS;
        let run = run(cast(&program, vec![scenario], 2));
        assert_eq!(run.kept.counts(0), want, "{graceful_ms}");
        let took_ms = (run.end_ns - run.begin_ns) / MS;
        let want_ms = 1000 + graceful_ms.min(200);
        assert!((want_ms..want_ms + 2).contains(&took_ms), "{took_ms}");
    }
}

#[test]
fn a_ramp_starts_and_ends_vus() {
    let program = sleeper(0.05);
    let ramp = UserRamp {
        start: 0,
        stages: vec![
            UserStage { duration_ns: S, target: 4 },
            UserStage { duration_ns: S, target: 4 },
            UserStage { duration_ns: S, target: 0 },
        ],
    };
    let executor = Executor::RampingVus { ramp, graceful_ramp_down_ns: S };
    let mut scenario = role(&program, executor);
    scenario.graceful_stop_ns = S;
    let run = run(cast(&program, vec![scenario], 4));
    let first_of = |vu: u64| {
        let starts = run.kept.iterations.iter().filter(|it| it.vu == vu);
        starts.map(|it| it.ended.started_ns - run.begin_ns).min().expect("it ran") / MS
    };
    assert_eq!([1, 2, 3, 4].map(first_of), [250, 500, 750, 1000]);
    let last_of = |vu: u64| {
        let starts = run.kept.iterations.iter().filter(|it| it.vu == vu);
        starts.map(|it| it.ended.started_ns - run.begin_ns).max().expect("it ran") / MS
    };
    // VU 4 goes when the line reaches 3, so at 2.25 s; its last iteration starts before that.
    for (vu, gone_ms) in [(4, 2250), (3, 2500), (2, 2750), (1, 3000)] {
        let last_ms = last_of(vu);
        assert!((gone_ms - 51..gone_ms).contains(&last_ms), "VU {vu}: {last_ms}");
    }
    assert_eq!(run.kept.counts(0)[2], 0);
}

#[test]
fn a_vu_that_a_ramp_takes_back_is_cut_off_or_goes_on() {
    let program = sleeper(1.5);
    let stages = |back: u64| {
        vec![
            UserStage { duration_ns: 0, target: 2 },
            UserStage { duration_ns: 400 * MS, target: 2 },
            UserStage { duration_ns: 0, target: 1 },
            UserStage { duration_ns: back, target: 1 },
            UserStage { duration_ns: 0, target: 2 },
            UserStage { duration_ns: 3 * S, target: 2 },
        ]
    };
    for (graceful_ms, back_ms, interrupted_early) in [(100, 300, 1), (500, 300, 0)] {
        let ramp = UserRamp { start: 1, stages: stages(back_ms * MS) };
        let executor = Executor::RampingVus { ramp, graceful_ramp_down_ns: graceful_ms * MS };
        let run = run(cast(&program, vec![role(&program, executor)], 2));
        let early = run.kept.iterations.iter().filter(|it| {
            it.ended.outcome == crate::vu::Outcome::Interrupted
                && it.ended.ended_ns < run.begin_ns + S
        });
        let ends: Vec<u64> = early.map(|it| (it.ended.ended_ns - run.begin_ns) / MS).collect();
        assert_eq!(ends.len(), interrupted_early, "{graceful_ms}");
        assert!(ends.iter().all(|ms| *ms == 400 + graceful_ms), "{ends:?}");
    }
}

#[test]
fn the_last_users_of_a_ramp_have_its_own_time_to_end() {
    let program = sleeper(6.0);
    let (down, up, stays) = ((S, 0), (0, 4), (S, 4));
    let stage = |(duration_ns, target): (u64, u64)| UserStage { duration_ns, target };
    // The stages behind a rise to 4 users in a second, the graceful ramp down and the graceful
    // stop, s; how iterations end, and when the last does.
    for (behind, ramp_down, stop, want, ended_s) in [
        (&[down][..], 0, 30, [0, 0, 4], 2),
        (&[down], 1, 30, [0, 0, 4], 3),
        (&[down], 30, 1, [0, 0, 4], 3),
        (&[stays, (0, 0)], 1, 30, [0, 0, 4], 3),
        // The first two users start at 0.25 and 0.5 s. Those that no step takes back have the
        // graceful stop.
        (&[stays], 1, 6, [4, 0, 0], 7),
        (&[stays, (0, 0), up], 1, 6, [4, 0, 0], 7),
        (&[stays, (0, 0), (0, 2)], 1, 6, [2, 0, 2], 6),
    ] {
        let all = std::iter::once((S, 4)).chain(behind.iter().copied());
        let ramp = UserRamp { start: 0, stages: all.map(stage).collect() };
        let executor = Executor::RampingVus { ramp, graceful_ramp_down_ns: ramp_down * S };
        let mut scenario = role(&program, executor);
        scenario.graceful_stop_ns = stop * S;
        let run = run(cast(&program, vec![scenario], 4));
        assert_eq!(run.kept.counts(0), want, "{behind:?} {ramp_down} {stop}");
        let took_s = (run.end_ns - run.begin_ns) / S;
        assert_eq!(took_s, ended_s, "{behind:?} {ramp_down} {stop}");
    }
}

#[test]
fn arrivals_start_when_they_are_due() {
    let program = sleeper(0.01);
    let stages = vec![
        ArrivalStage { duration_ns: 2 * S, target: 200 },
        ArrivalStage { duration_ns: S, target: 200 },
        ArrivalStage { duration_ns: S, target: 0 },
    ];
    let ramping = Arrivals::ramping(10, S, &stages).expect("a schedule");
    let executor = Executor::RampingArrivalRate {
        start_rate: 10,
        stages,
        time_unit_ns: S,
        pool: VuPool { pre_allocated_vus: 5, max_vus: 5 },
        arrivals: ramping.clone(),
    };
    for (executor, arrivals) in [
        (constant(50, 3 * S, 5, 5), Arrivals::constant(50, S, 3 * S).expect("a schedule")),
        (executor, ramping),
    ] {
        let mut scenario = role(&program, executor);
        // The last one may be due at the very end.
        scenario.graceful_stop_ns = S;
        let run = run(cast(&program, vec![scenario], 5));
        assert_eq!(run.kept.counts(0), [arrivals.total() as usize, 0, 0]);
        let mut starts: Vec<(u64, u64)> = run
            .kept
            .iterations
            .iter()
            .map(|it| (it.ended.due_ns - run.begin_ns, it.ended.started_ns - run.begin_ns))
            .collect();
        starts.sort_unstable();
        for (index, (due_ns, started_ns)) in starts.into_iter().enumerate() {
            let want_ns = arrivals.due_ns(index as u64).expect("within the total");
            assert_eq!((due_ns, started_ns), (want_ns, want_ns), "iteration {index}");
        }
        assert!(run.kept.dropped.is_empty());
    }
}

#[test]
fn workers_that_wait_take_turns() {
    let program = sleeper(0.1);
    for (rate, waiting, want_ns) in [
        // Each comes to its own iteration, as long as it is due soon.
        (20_000, [true; 4], [0, 50_000, 100_000, 150_000]),
        // Otherwise they come one after another, in case the ones before are busy.
        (100, [true; 4], [0, 100_000, 200_000, 300_000]),
        (100, [false, true, false, true], [0, 0, 100_000, 100_000]),
        (100, [false, false, false, true], [0, 0, 0, 0]),
    ] {
        let scene = Scene::new(role(&program, constant(rate, S, 4, 4)), 4);
        scene.begin(0);
        waiting.iter().enumerate().for_each(|(worker, is)| scene.note_waiting(worker, *is));
        let first_ns = scene.due_ns(NEVER_NS).expect("an iteration");
        let look = |worker| scene.look_ns(worker, NEVER_NS).expect("an iteration") - first_ns;
        assert_eq!([0, 1, 2, 3].map(look), want_ns, "{rate} {waiting:?}");
        // The turn goes on with the count.
        scene.take_due(first_ns, NEVER_NS).expect("it is due");
        let due_ns = scene.due_ns(NEVER_NS).expect("an iteration");
        assert_eq!(scene.look_ns(1, NEVER_NS), Some(due_ns), "{rate} {waiting:?}");
    }
}

#[test]
fn arrivals_without_a_free_vu_are_dropped() {
    // 10 a second that take 250 ms need 2.5 VUs: 2 can start 8 a second.
    let program = sleeper(0.25);
    let run = run(cast(&program, vec![role(&program, constant(10, 10 * S, 2, 2))], 2));
    let [completed, failed, interrupted] = run.kept.counts(0);
    let dropped = run.kept.dropped[&0] as usize;
    assert_eq!(completed + failed + interrupted + dropped, 100);
    // Each VU takes every third arrival: 0, 300, 600 ms…
    assert_eq!(dropped, 33);
    let warned = run.kept.lines.iter().filter(|line| line.contains("raise maxVUs")).count();
    assert_eq!(warned, 1, "{:?}", run.kept.lines);
}

#[test]
fn vus_are_added_where_they_are_missing() {
    let program = sleeper(0.25);
    let mut grown = cast(&program, vec![role(&program, constant(10, 10 * S, 1, 8))], 1);
    grown.vus_max = 8;
    let run = run(grown);
    let dropped = run.kept.dropped[&0];
    assert!((1..=4).contains(&dropped), "{dropped}");
    let initialized = run.controls.facts.vus_initialized.load(Ordering::Relaxed);
    assert_eq!(initialized, 1 + 2, "as many as it needs, and no more");
}

#[test]
fn scenarios_that_follow_each_other_share_vus() {
    let program = program(
        "import exec from 'k6/execution'; import { sleep } from 'k6';
         let count = 0;
         export default () => { sleep(0.1); count += 1;
            console.log(exec.scenario.name, exec.vu.idInTest, count, __ITER,
                exec.scenario.iterationInTest); };",
    );
    let executor = || Executor::PerVuIterations { vus: 1, iterations: 2, max_duration_ns: 60 * S };
    let (mut one, mut two) = (role(&program, executor()), role(&program, executor()));
    (one.name, two.name) = ("one".to_owned(), "two".to_owned());
    two.start_ns = S;
    let run = run(cast(&program, vec![one, two], 1));
    assert_eq!(run.kept.lines, ["one 1 1 0 0", "one 1 2 1 1", "two 1 3 2 0", "two 1 4 3 1"]);
}

#[test]
fn segments_together_do_what_one_process_does() {
    let program = sleeper(0.01);
    let stages = vec![ArrivalStage { duration_ns: 2 * S, target: 90 }];
    let ramping = Arrivals::ramping(7, S, &stages).expect("a schedule");
    let ramp = Executor::RampingArrivalRate {
        start_rate: 7,
        stages,
        time_unit_ns: S,
        pool: VuPool { pre_allocated_vus: 6, max_vus: 6 },
        arrivals: ramping.clone(),
    };
    let even = Arrivals::constant(30, S, 2 * S).expect("a schedule");
    for (executor, arrivals) in [(constant(30, 2 * S, 6, 6), even), (ramp, ramping)] {
        for parts in [&[1, 2][..], &[1, 1, 1], &[3, 1, 2]] {
            let mut due: Vec<u64> = Vec::new();
            for part in Stripe::deal(parts).expect("parts") {
                let mut scenario = role(&program, executor.clone());
                (scenario.users, scenario.iterations) = (part.clone(), part);
                // The last one may be due at the very end.
                scenario.graceful_stop_ns = S;
                let run = run(cast(&program, vec![scenario], 6));
                assert!(run.kept.dropped.is_empty(), "{parts:?}");
                due.extend(run.kept.iterations.iter().map(|it| it.ended.due_ns - run.begin_ns));
            }
            due.sort_unstable();
            let all = 0..arrivals.total();
            let want: Vec<u64> = all.filter_map(|index| arrivals.due_ns(index)).collect();
            assert_eq!(due, want, "{parts:?}");
        }
    }
}

#[test]
fn a_stop_lets_iterations_end_and_an_abort_does_not() {
    let program = sleeper(0.3);
    for (aborts, want) in [(false, [4, 0, 0]), (true, [2, 0, 2])] {
        let mut scenario = role(&program, Executor::ConstantVus { vus: 2, duration_ns: 60 * S });
        scenario.graceful_stop_ns = S;
        let cast = cast(&program, vec![scenario], 2);
        let mut is_told = false;
        let run = run_with(cast, SimOptions::default(), None, |since_ns, controls| {
            if since_ns >= 400 * MS && !is_told {
                is_told = true;
                if aborts { controls.abort("enough") } else { controls.stop() }
            }
        });
        assert_eq!(run.kept.counts(0), want, "{aborts}");
        assert_eq!(run.controls.abort_reason().as_deref(), aborts.then_some("enough"));
        let progress = &run.controls.progress[0];
        let want = if aborts { 4 } else { 3 };
        assert_eq!(progress.status.load(Ordering::Relaxed), want, "{aborts}");
        let lasted_ns = progress.ended_ns.load(Ordering::Relaxed) - run.begin_ns;
        assert_eq!(lasted_ns / MS, if aborts { 400 } else { 600 });
    }
}

#[test]
fn a_script_ends_the_test() {
    let program = program(
        "import exec from 'k6/execution'; import { sleep } from 'k6';
         export default () => { sleep(0.1); if (__VU == 2) exec.test.abort('no more'); sleep(1) };",
    );
    let executor = Executor::ConstantVus { vus: 3, duration_ns: 60 * S };
    let run = run(cast(&program, vec![role(&program, executor)], 3));
    assert_eq!(run.kept.counts(0), [0, 0, 3]);
    let reason = run.controls.abort_reason().unwrap_or_default();
    assert!(reason.contains("no more"), "{reason}");
    assert_eq!((run.end_ns - run.begin_ns) / MS, 100);
}

#[test]
fn exceptions_fail_the_iteration_alone() {
    let program = program(
        "import { group, sleep } from 'k6'; import { Trend } from 'k6/metrics';
         const t = new Trend('t');
         export default () => { group('g', () => { sleep(0.2); t.add(__ITER); });
            if (__ITER == 1) throw new Error('broken'); };",
    );
    let executor = Executor::PerVuIterations { vus: 1, iterations: 3, max_duration_ns: 60 * S };
    let run = run(cast(&program, vec![role(&program, executor)], 1));
    assert_eq!(run.kept.counts(0), [2, 1, 0]);
    assert_eq!(run.kept.samples, [0.0, 1.0, 2.0]);
    assert_eq!(run.kept.groups, vec![("::g".to_owned(), 200 * MS); 3]);
    assert_eq!(run.kept.failures.len(), 1);
    assert!(run.kept.failures[0].contains("broken"), "{:?}", run.kept.failures);
}

#[test]
fn an_iteration_takes_at_least_so_long() {
    let program = sleeper(0.1);
    let executor = Executor::PerVuIterations { vus: 1, iterations: 3, max_duration_ns: 60 * S };
    let mut cast = cast(&program, vec![role(&program, executor)], 1);
    cast.min_iteration_ns = S;
    let run = run(cast);
    let starts: Vec<u64> =
        run.kept.iterations.iter().map(|it| (it.ended.started_ns - run.begin_ns) / S).collect();
    assert_eq!(starts, [0, 1, 2]);
    assert!(
        run.kept.iterations.iter().all(|it| it.ended.ended_ns - it.ended.started_ns < 200 * MS)
    );
}

#[test]
fn busy_scripts_and_pauses_of_the_process_keep_the_ledger() {
    let program = program(
        "import { sleep } from 'k6';
         export default () => { for (let i = 0; i < 20000; i++); sleep(Math.random() * 0.05);
            if (Math.random() < 0.1) throw new Error('x'); sleep(Math.random() * 0.05); };",
    );
    for seed in 0..12 {
        let mut scenarios = vec![
            role(&program, constant(100, S, 3, 6)),
            role(&program, Executor::ConstantVus { vus: 2, duration_ns: S }),
            role(
                &program,
                Executor::SharedIterations { vus: 2, iterations: 30, max_duration_ns: S },
            ),
        ];
        scenarios[1].start_ns = (seed % 7) * 100 * MS;
        scenarios[2].graceful_stop_ns = (seed % 3) * 20 * MS;
        let mut cast = cast(&program, scenarios, 7);
        cast.vus_max = 10;
        let sim = SimOptions {
            seed,
            wait_jitter_ns: 0..200_000,
            work_ns: 100..20_000,
            ..SimOptions::default()
        };
        let run = run_with(cast, sim, None, |_, _| {});
        let started = |role: u32| run.kept.counts(role).iter().sum::<usize>() as u64;
        let dropped = |role: u32| run.kept.dropped.get(&role).copied().unwrap_or(0);
        assert_eq!(started(0) + dropped(0), 100, "seed {seed}");
        assert_eq!(started(2) + dropped(2), 30, "seed {seed}");
    }
}

#[test]
fn progress_is_right_when_it_is_read() {
    let program = program(
        "import exec from 'k6/execution'; import { sleep } from 'k6';
         import { Trend } from 'k6/metrics'; const seen = new Trend('seen');
         export default () => {
             seen.add(exec.scenario.progress); sleep(1); seen.add(exec.scenario.progress);
         };",
    );
    for (executor, vus, want) in [
        (Executor::ConstantVus { vus: 1, duration_ns: 4 * S }, 1, [0, 25, 25, 50, 50, 75, 75, 100]),
        (
            Executor::SharedIterations { vus: 1, iterations: 4, max_duration_ns: 60 * S },
            1,
            [0, 0, 25, 25, 50, 50, 75, 75],
        ),
        (
            Executor::PerVuIterations { vus: 2, iterations: 2, max_duration_ns: 60 * S },
            2,
            [0, 0, 0, 25, 50, 50, 50, 75],
        ),
    ] {
        let what = format!("{executor:?}");
        let mut scenario = role(&program, executor);
        scenario.graceful_stop_ns = S;
        let run = run(cast(&program, vec![scenario], vus));
        let seen: Vec<u64> =
            run.kept.samples.iter().map(|value| (value * 100.0).round() as u64).collect();
        assert_eq!(seen, want, "{what}");
    }
}

#[test]
fn vus_are_told_while_there_is_a_scenario() {
    let program = sleeper(0.1);
    for (duration_ms, least) in [(950, 0), (1000, 0), (1500, 1), (2000, 1), (2500, 2)] {
        let executor = Executor::ConstantVus { vus: 4, duration_ns: duration_ms * MS };
        let run = run(cast(&program, vec![role(&program, executor)], 4));
        let told: Vec<[u64; 2]> = run.kept.ticks.iter().flatten().copied().collect();
        assert!(told.len() >= least, "{duration_ms}: {told:?}");
        assert!(told.iter().all(|vus| *vus == [4, 4]), "{duration_ms}: {told:?}");
        assert_eq!(run.kept.ticks.last(), Some(&None), "{duration_ms}");
    }
}
