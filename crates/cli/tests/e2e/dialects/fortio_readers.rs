//! Expressions with which programs and scripts read fortio's JSON, run over fortio's and over ours
//! by jq and Python: what has the same value in each run is the same.

use std::process::Command;

use crate::nginx::Nginx;
use crate::programs::{share_with, turn_with};
use crate::support::{plimsoll, run};

/// The results of both, in files of a folder.
fn results(nginx: &Nginx) -> (tempfile::TempDir, [String; 2]) {
    let folder = tempfile::tempdir().expect("a folder");
    let url = nginx.url("/");
    let of = |name: &str, mut command: Command| {
        let file = folder.path().join(name).display().to_string();
        let flags = ["-quiet", "-n", "40", "-qps", "400", "-c", "2", "-labels", "a b"];
        command.args(flags).args(["-p", "50,90,99,99.9", "-json", &file, &url]);
        let finished = run(&mut command);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        file
    };
    let mut fortio = Command::new("fortio");
    fortio.arg("load");
    let files = [of("theirs", fortio), of("ours", plimsoll(&["fortio", "load"]))];
    (folder, files)
}

#[test]
fn jq_finds_the_same_as_in_fortios() {
    let Some(_turn) = turn_with(&["nginx", "fortio", "jq"]) else { return };
    let nginx = Nginx::start();
    let (_folder, files) = results(&nginx);
    for (expression, want) in [
        (".Labels", "a b"),
        (".RequestedQPS | tonumber", "400"),
        (".RequestedDuration", "exactly 40 calls"),
        (".NumThreads", "2"),
        (".RunType", "HTTP"),
        (".RetCodes[\"200\"]", "40"),
        ("[.RetCodes | to_entries[] | select(.key != \"200\") | .value] | add // 0", "0"),
        (".DurationHistogram.Count", "40"),
        ("[.DurationHistogram.Data[].Count] | add", "40"),
        (".DurationHistogram.Percentiles[] | \"p\\(.Percentile)\"", "p50\np90\np99\np99.9"),
        ("[.DurationHistogram.Percentiles[] | select(.Percentile == 99) | .Value] | length", "1"),
        (".DurationHistogram | .Min <= .Avg and .Avg <= .Max", "true"),
        (".ErrorsDurationHistogram.Count", "0"),
        (".Sizes.Count", "40"),
        ("(.DurationHistogram.Count / (.ActualDuration / 1e9) - .ActualQPS) | fabs < 1e-6", "true"),
        (".StartTime[0:19] | strptime(\"%Y-%m-%dT%H:%M:%S\") | length", "8"),
        (".ID | test(\"^[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{6}_a_b$\")", "true"),
    ] {
        for file in &files {
            let found = run(Command::new("jq").args(["-r", expression, file]));
            assert_eq!(found.stdout.trim_end(), want, "{expression} of {file}: {}", found.stderr);
        }
    }
    // The answers are as long as each other.
    let bytes = files.map(|file| run(Command::new("jq").args([".Sizes.Avg", &file])).stdout);
    assert_eq!(bytes[0], bytes[1]);
}

/// Columns of a table, as benchmarks of Istio make them of a result.
const TABLE: &str = "
import datetime, json, sys
with open(sys.argv[1]) as file:
    result = json.load(file)
qps = result['RequestedQPS']
row = {
    'labels': result['Labels'],
    'qps': 99999999 if qps == 'max' else int(qps),
    'threads': result['NumThreads'],
    'type': result['RunType'],
    'payload': int(result['Sizes']['Avg']),
}
datetime.datetime.strptime(result['StartTime'][:19], '%Y-%m-%dT%H:%M:%S')
histogram, good = result['DurationHistogram'], int(result['RetCodes']['200'])
for one in histogram['Percentiles']:
    assert int(one['Value'] * 1e6) >= int(histogram['Min'] * 1e6)
    row['p' + str(one['Percentile']).replace('.', '')] = True
row['errors'] = 100 * (int(result['Sizes']['Count']) - good) / result['Sizes']['Count']
assert abs(good / (result['ActualDuration'] / 10**9) - result['ActualQPS']) < 1e-6
print(json.dumps(row, sort_keys=True))
";

#[test]
fn python_finds_the_same_as_in_fortios() {
    let Some(_turn) = share_with(&["nginx", "fortio", "python3"]) else { return };
    let nginx = Nginx::start();
    let (_folder, files) = results(&nginx);
    let rows = files.map(|file| {
        let found = run(Command::new("python3").args(["-c", TABLE, &file]));
        assert_eq!(found.code, Some(0), "{found:?}");
        found.stdout
    });
    assert_eq!(rows[0], rows[1]);
    for part in ["\"p50\"", "\"p999\"", "\"errors\": 0.0", "\"qps\": 400", "\"labels\": \"a b\""] {
        assert!(rows[1].contains(part), "{part} in {}", rows[1]);
    }
}
