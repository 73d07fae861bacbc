//! What the [`Driver`] trait promises, checked with every driver by one table of cases, and what
//! each driver promises beyond it: `kernel` for those on real sockets, `sim` for the simulation.

mod cases;
mod flow;
mod kernel;
mod sim;
mod world;

use plimsoll_io::sim::{SimDriver, SimOptions};
use plimsoll_io::{Driver, DriverOptions, EpollDriver};

/// Runs each case on a thread of its own, so that a failure bears the name of the case.
fn run<D: Driver>(table: &[cases::Case<D>], make: &(impl Fn(DriverOptions) -> D + Sync)) {
    for &(name, case) in table {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name(name.to_owned());
            let started = thread.spawn_scoped(scope, || case(&|options| make(options)));
            let ended = started.expect("a thread").join();
            assert!(ended.is_ok(), "case '{name}' failed, see above");
        });
    }
}

fn conformance<D: Driver>(make: impl Fn(DriverOptions) -> D + Sync) {
    run(&cases::table(), &make);
    run(&flow::table(), &make);
}

/// What a driver over a real kernel has to pass: everything, and all but the case about timestamps
/// once more with them.
fn conformance_of_kernel<D: Driver>(make: impl Fn(DriverOptions) -> D + Sync) {
    conformance(&make);
    run(&kernel::table(), &make);
    if cfg!(target_os = "linux") {
        let stamped = |options| make(DriverOptions { receive_timestamps: true, ..options });
        let mut table = cases::table();
        table.retain(|&(name, _)| name != "receive_timestamps");
        run(&table, &stamped);
        run(&flow::table(), &stamped);
        run(&kernel::table(), &stamped);
    }
}

#[test]
fn epoll_conforms() {
    conformance_of_kernel(|options| EpollDriver::new(&options).expect("epoll can be opened"));
}

/// With registered files and without.
#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::print_stderr, reason = "a test that did not run has to say so")]
fn uring_conforms() {
    use plimsoll_io::UringDriver;
    if let Err(error) = UringDriver::new(&world::options(2, 2)) {
        eprintln!("skipped: io_uring cannot be opened here: {error}");
        return;
    }
    for long_lived in [false, true] {
        conformance_of_kernel(|options| {
            let options = DriverOptions { long_lived, ..options };
            UringDriver::new(&options).expect("io_uring was offered a moment ago")
        });
    }
}

#[test]
fn sim_conforms() {
    conformance(|options| SimDriver::new(&options, SimOptions::default(), None));
}

#[test]
fn sim_conforms_with_delays_and_pieces() {
    for seed in 0..4 {
        let options = SimOptions {
            seed,
            latency_ns: 1_000..2_000_000,
            split: 0.7,
            partial_write: 0.7,
            accept_delay_ns: 0..3_000_000,
            wait_jitter_ns: 0..200_000,
            ..SimOptions::default()
        };
        conformance(move |driver| SimDriver::new(&driver, options.clone(), None));
    }
}
