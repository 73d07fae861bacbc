//! What a throw-away user does, under the simulated driver.

use std::sync::Arc;

use plimsoll_io::sim::SimOptions;

use super::{MS, cast, program, worker};
use crate::vu::solo::{Errand, Returned, perform};
use crate::vu::stage::Stage;
use crate::vu::{Cast, Controls, VuError};

#[test]
fn it_takes_no_longer_than_the_script_does() {
    let head = "import { sleep } from 'k6'; export default () => {};";
    for (body, limit_ms, is_done) in [
        ("return 1", 1, true),
        ("sleep(0.2); return 1", 201, true),
        ("sleep(0.2); return 1", 199, false),
    ] {
        let program = program(&format!("{head} export function setup() {{ {body}; }}"));
        let function = program.function("setup").expect("it is exported");
        let cast = Arc::new(Cast { vus_max: 1, ..cast(&program, Vec::new(), 0) });
        let controls = Arc::new(Controls::new(0));
        let stage = Arc::new(Stage::new(Vec::new(), (0, 1), 1, Arc::clone(&controls)));
        let worker = worker((0, (SimOptions::default(), None)), &cast, &stage, ());
        let errand = Errand::Call(function, None);
        let returned = perform(worker, errand, limit_ms * MS, &controls);
        match is_done {
            true => assert_eq!(returned.ok(), Some(Returned::Value(Ok(Some("1".to_owned()))))),
            false => assert!(matches!(returned, Err(VuError::Timeout)), "{body}: {returned:?}"),
        }
    }
}
