//! What the end of a function does to the requests that it leaves under way.

use super::World;

#[test]
fn requests_that_are_cut_off_are_counted() {
    // A function waits for what it has begun, unless it fails.
    let leaves = "http.asyncRequest('GET', `${__ENV.BASE}/delay/1h`); throw new Error('left');";
    for (iteration, teardown) in [(leaves, ""), ("", leaves)] {
        let world = World::new(&format!(
            "import http from 'k6/http'; export default function () {{ {iteration} }}
             export function teardown() {{ {teardown} }}"
        ));
        let finished = world.run(&["-q"]);
        let want = "1 requests = 0 with a response + 0 without + 1 interrupted";
        assert!(finished.stderr.contains(want), "{}", finished.stderr);
    }
}
