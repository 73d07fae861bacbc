//! Scripts that log and record faster than it can be written.

use super::World;

/// More than the queue of lines holds, and more samples than a batch has.
const LINES: usize = 30_000;

#[test]
fn nothing_is_left_out() {
    let world = World::new(&format!(
        "import {{ Trend }} from 'k6/metrics'; const mine = new Trend('mine');
         export default function () {{
             for (let n = 0; n < {LINES}; n++) {{ console.log(n); mine.add(n); }} }}"
    ));
    let finished = world.run(&["-q", "--log-format", "raw", "-o", "json=all.json"]);
    assert_eq!(finished.code, Some(0), "{:.1000}", finished.stderr);
    let said = finished.stderr.lines().filter(|line| !line.starts_with("plimsoll: "));
    let want = (0..LINES).map(|number| number.to_string());
    assert!(said.eq(want), "{:.1000}", finished.stderr);
    let all = world.read("all.json");
    let points =
        all.lines().filter(|line| line.starts_with("{\"metric\":\"mine\",\"type\":\"Point\""));
    assert_eq!(points.count(), LINES);
}
