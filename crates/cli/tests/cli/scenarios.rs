//! Scenarios of a plan file from the outside: the report, the document, the exit code, and signals.

use rustix::process::Signal;

use crate::closed::ClosedPort;
use crate::peer::{Answer, OK, Peer};
use crate::planned::Plan;
use crate::support::{Report, Running, Server, plimsoll, run};

#[test]
fn a_run_of_scenarios_is_reported_and_judged() {
    let server = Server::start(&[]);
    let plan = Plan::new(&format!(
        "url = '{}'\nconnections = 2\njson = 'out.json'\n\
         gate = ['completed@scenario:b>=40', 'failed@scenario:b<40']\n\
         [scenario.a]\nrequests = 30\n\
         [scenario.b]\nurl = '{}'\nstart = '500ms'\nrequests = 40\n",
        server.url("/"),
        server.url("/status/503"),
    ));
    let finished = plan.run(&[]);
    assert_eq!(finished.code, Some(3), "{finished:?}");
    for words in ["2 scenarios: a, b", "500ms", "1 of 2 gates FAILED"] {
        assert!(finished.stdout.contains(words), "{words}: {finished:?}");
    }
    let report = plan.report("out.json");
    assert_eq!(report.ledger(["sent", "ok", "failed"]), [70, 30, 40]);
    assert_eq!(report.at("/scenarios/0/result/ledger/ok"), &30);
    assert_eq!(report.at("/scenarios/1/result/ledger/failed"), &40);
    assert_eq!(report.at("/scenarios/1/start_s"), &0.5);
    let printed = run(plimsoll(&["report", "out.json"]).current_dir(plan.path()));
    assert!(printed.stdout.contains("2 scenarios: a, b"), "{printed:?}");
}

#[test]
fn without_one_server_there_is_no_load() {
    let peer = Peer::answering(|_| Answer::Say(OK));
    let closed = ClosedPort::new();
    let plan = Plan::new(&format!(
        "requests = 5\n[scenario.here]\nurl = '{}'\n[scenario.gone]\nurl = '{}'\n",
        peer.url("/"),
        closed.url(),
    ));
    let finished = plan.run(&["--json", "out.json"]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let said = "scenario 'gone': no connection to ";
    assert!(finished.stderr.contains(said) && finished.stderr.contains("--wait"), "{finished:?}");
    assert_eq!(peer.requests().len(), 0);
    assert_eq!(plan.report("out.json").at("/loader/verdict"), "invalid");
}

#[test]
fn a_signal_ends_all_scenarios() {
    let peer = Peer::answering(|_| Answer::Say(OK));
    let plan = Plan::new(&format!(
        "url = '{}'\nduration = '80s'\nconnections = 2\n\
         [scenario.a]\nrate = 200\n[scenario.b]\n[scenario.later]\nstart = '60s'\nrate = 5\n",
        peer.url("/"),
    ));
    let mut command = plimsoll(&["run", "plan.toml", "--format", "json"]);
    let running = Running::start(command.current_dir(plan.path()));
    peer.wait_for_requests(50);
    let finished = running.finish_by(Signal::INT);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(130), ""), "{finished:?}");
    let report = Report::read(&finished.stdout);
    assert_eq!(report.at("/interrupted"), &true);
    let [sent, completed] = report.ledger(["sent", "completed"]);
    assert_eq!((sent, completed), (peer.requests().len() as u64, sent));
    assert_eq!(report.at("/scenarios/2/result/ledger/scheduled"), &0);
    assert!(report.number("/elapsed_s") < 60.0);
}
