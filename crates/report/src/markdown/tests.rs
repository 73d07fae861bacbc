//! Both Markdown reports as a whole, on hand-made results.

use super::*;
use crate::samples;

fn whole(result: &RunResult) -> String {
    let mut bytes = Vec::new();
    write(result, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn summary(result: &RunResult) -> String {
    let mut bytes = Vec::new();
    write_summary(result, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn metrics_that_a_source_recorded() {
    let block = metrics::metrics(&samples::recorded());
    insta::assert_snapshot!(block);
    assert!(whole(&samples::recorded()).contains(block.trim_end()));
    assert_eq!(metrics::metrics(&samples::bare()), "");
}

#[test]
fn a_whole_report() {
    insta::assert_snapshot!(whole(&samples::parts()), @r"
    ## ❌ ABORTED after 4.00 s because errors\>1% FOR 3s

    1 of 2 gates FAILED: p99\@endpoint:login\<1s: nothing to measure (no endpoint 'login'; there is: home, search)

    57 of 4 012 failed: 503 x 45, 12 shed

    1 000 responses/s · response p50 839 µs, p99 2.77 ms · service p50 838 µs, p99 2.77 ms

    *Confidence:* valid · all figures hold: the tester did not disturb them

    `GET https://127.0.0.1:8080/` · 50 connections · 1 000/s · 10s · uring, 1 thread

    | Gate |  | measured |  |
    | --- | ---: | ---: | ---: |
    | `p99@endpoint:login<1s` | ❌ **FAIL** | nothing to measure | no endpoint 'login'; there is: home, search |
    | `service.p99<5ms` | ✅ pass | 3.217 ms |  |

    Target 1 000/s, offered 1 000/s, **achieved 1 000/s**, in 4.00 s

    | Requests |  |  |
    | --- | ---: | ---: |
    | scheduled | 4 012 | 100 % |
    | sent | 4 000 | 99.7 % |
    | completed | 4 000 | 99.7 % |
    | ok | 3 955 | 99 % |
    | failed | 45 | 1.1 % |
    | shed | 12 | 0.30 % |
    | after redirects | 40 | 1.00 % |

    | Latency | response time | slower | service time | slower |
    | --- | ---: | ---: | ---: | ---: |
    | min | 148 µs |  | 147 µs |  |
    | mean | ≥ 966 µs |  | 965 µs |  |
    | p50 | 839 µs | 2 000 | 838 µs | 2 000 |
    | p75 | 1.27 ms | 1 000 | 1.26 ms | 1 000 |
    | p90 | 1.71 ms | 400 | 1.71 ms | 400 |
    | p95 | 2.05 ms | 200 | 2.04 ms | 200 |
    | p99 | 2.77 ms | 40 | 2.77 ms | 40 |
    | p99.9 | ~ 3.99 ms | 4 | ~ 3.99 ms | 4 |
    | p99.99 | n/a | 0 | n/a | 0 |
    | max | 5.06 ms |  | 5.06 ms |  |
    | n | 4 000 |  | 4 000 |  |

    Slower: how many requests took longer than the value. ≥ the true value may be higher. ~ fewer than 10 samples are slower: varies from run to run. n/a no sample is slower, see max.

    | Response time by outcome | count | p50 | p99 | max |
    | --- | ---: | ---: | ---: | ---: |
    | ok | 3 955 | 841 µs | 2.78 ms | 5.06 ms |
    | failed | 45 | 788 µs | n/a | 1.77 ms |

    | Where the time went | count | p50 | p99 | max |
    | --- | ---: | ---: | ---: | ---: |
    | lag: due, not yet sent | 4 000 | 1.68 µs | 3.93 µs | 5.38 µs |
    | the tester's own delay in sending | 4 000 | 1.68 µs | 3.93 µs | 5.38 µs |
    | opening a connection | 50 | 116 µs | n/a | 154 µs |
    | sending | 4 000 | 6.00 µs | 6.00 µs | 6.00 µs |
    | waiting for the first byte | 4 000 | 829 µs | 2.76 ms | 5.05 ms |
    | receiving | 4 000 | 2.50 µs | 2.50 µs | 2.50 µs |

    | Endpoint | requests | not ok | p50 | p99 | max |
    | --- | ---: | ---: | ---: | ---: | ---: |
    | `home` | 1 334 | 0 | 452 µs | 1.05 ms | 1.31 ms |
    | `search` | 1 333 | 45 | 880 µs | 2.08 ms | 2.94 ms |
    | `a name so long that no table on a terminal can hold it` | 1 333 | 0 | 1.34 ms | 3.29 ms | 5.06 ms |

    | Address | requests | not ok | p50 | p99 | max |
    | --- | ---: | ---: | ---: | ---: | ---: |
    | `192.0.2.1:8080` | 2 000 | 45 | 839 µs | 2.72 ms | 5.06 ms |
    | `[2001:db8::1]:8080` | 2 000 | 0 | 839 µs | 2.82 ms | 4.49 ms |

    | Status | responses |  |
    | --- | ---: | ---: |
    | 200 | 3 955 | 99 % |
    | 503 | 45 | 1.1 % |

    - bytes: 176 KiB sent, 609 KiB received
    - network: 53 connections opened, 50 at once at most · changed to 50 at 2.00 s · requests on each: 60 min, 84 median, 109 max · TLS 1.3 TLS13\_AES\_256\_GCM\_SHA384: 50 full handshakes, 3 resumed · 2 segments retransmitted
    - tester: 3 % of a core at work, 0 % spinning; 9.00 MiB of memory
    - host: linux 6.18.5 · Intel Xeon Gold 6338 \@ 2.50 GHz · 4 of 4 CPUs · 16.0 GiB · hypervisor kvm
    - plimsoll 0.1.0, started 2026-11-21T10:20:30Z
    ");
}

#[test]
fn the_server_and_the_host_are_tables_of_their_own() {
    let text = whole(&samples::watched());
    for line in [
        "| Server |  |",
        "| watched | nginx (1234) |",
        "| Host |  |",
        "| CPU flags | fpu sse2 avx2 |",
        "| net.core.somaxconn | 4096 |",
    ] {
        assert!(text.lines().any(|known| known == line), "{line} in {text}");
    }
}

#[test]
fn a_summary_of_stages() {
    insta::assert_snapshot!(summary(&samples::ramp()), @r"
    ## ❌ 5 284 of 50 189 failed: 503 x 4 131, 429 x 882, 179 timed out, 92 broken

    1 638 responses/s on average over 2 stages · response p50 16.8 ms, p99 ≈ 278 ms · service p50 14.3 ms, p99 ≈ 40.1 ms

    *Confidence:* suspect · p95 and beyond in doubt: the tester's CPU was the limit, and the tester stood still for a time; p50, rate and counts hold

    `GET http://127.0.0.1:8080/search?q=hull&page=2` · 64 connections · 100 to 2 000/s for 10s, 2 000/s for 20s, Poisson arrivals · 30s · epoll, 1 thread

    | Stage | target/s | responses/s | requests | not ok | p50 | p99 | max |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | `10s@100..2k` | 1 050 | 1 037 | 10 415 | 419 | ≤ 6.62 ms | ≈ 31.2 ms | ≈ 503 ms |
    | `20s@2k` | 2 000 | 1 975 | 39 774 | 4 865 | 18.6 ms | ≈ 323 ms | ≈ 553 ms |

    Times are the response time. The figures below are over all stages.

    Target 1 683/s, offered 1 673/s, **achieved 1 638/s**, in 30.5 s; averaged over 2 stages

    | Latency | response time | slower | service time | slower |
    | --- | ---: | ---: | ---: | ---: |
    | min | 625 µs |  | 575 µs |  |
    | mean | ≈ 21.9 ms |  | ≈ 16.4 ms |  |
    | p50 | 16.8 ms | 25 094 | 14.3 ms | 25 094 |
    | p75 | 22.5 ms | 12 547 | 19.7 ms | 12 547 |
    | p90 | 29.1 ms | 5 018 | ≥ 25.6 ms | 5 018 |
    | p95 | ≤ 34.5 ms | 2 509 | ≈ 29.8 ms | 2 509 |
    | p99 | ≈ 278 ms | 501 | ≈ 40.1 ms | 501 |
    | p99.9 | ≈ 503 ms | 50 | ≈ 500 ms | 50 |
    | p99.99 | ≈ 505 ms | 5 | ≈ 500 ms | 5 |
    | max | ≈ 553 ms |  | ≈ 500 ms |  |
    | n | 50 189 |  | 50 189 |  |

    Slower: how many requests took longer than the value. ≥ the true value may be higher. ≤ the true value may be lower. ≈ the true value may be lower or higher.

    | Requests |  |  |
    | --- | ---: | ---: |
    | scheduled | 50 189 | 100 % |
    | sent | 50 189 | 100 % |
    | completed | 49 918 | 99.5 % |
    | ok | 44 905 | 89 % |
    | failed | 5 013 | 10.0 % |
    | timed out | 179 | 0.36 % |
    | broken | 92 | 0.18 % |

    | Status | responses |  |
    | --- | ---: | ---: |
    | 200 | 44 905 | 90 % |
    | 429 | 882 | 1.8 % |
    | 503 | 4 131 | 8.3 % |

    | Error | phase | count | an example |
    | --- | ---: | ---: | ---: |
    | `timeout` | waiting | 179 | `no answer within 500 ms` |
    | `truncated_body` | receiving | 92 | `the server closed the connection 512 bytes before the end of the body` |

    **Doubts**

    - a worker used 97 % of its CPU, so the tester may have been the limit: give it more threads (-t) or a lower rate
    - the tester did not run for 420 ms from 21.3 s on (420 ms in all): what waited then looks slower than the server was

    What this means: `plimsoll explain cpu paused`
    ");
}

#[test]
fn summaries_of_nothing_and_of_a_run_cut_short() {
    let text = summary(&samples::nothing());
    assert!(text.starts_with("## ❌ not one request could be sent: "), "{text}");
    assert!(text.contains("- not one response arrived") && text.contains("`refused`"), "{text}");
    let text = whole(&samples::cut_short());
    assert!(text.contains("- interrupted after") && text.contains("- warm-up"), "{text}");
    assert!(whole(&samples::bare()).contains("Nothing was measured."));
}

/// Every row of a table has as many cells as its head, whatever is in them.
#[test]
fn tables_keep_their_shape() {
    for result in [samples::hostile(), samples::parts(), samples::ramp()] {
        let mut columns = 0;
        for line in whole(&result).lines() {
            let cells = line.replace("\\|", "").matches('|').count();
            let is_row = line.starts_with('|');
            assert!(!is_row || columns == 0 || cells == columns, "{line}");
            columns = if is_row { cells } else { 0 };
            assert!(is_row || cells == 0, "{line}");
        }
    }
}

#[test]
fn what_comes_from_outside_is_code_or_escaped() {
    for text in [whole(&samples::hostile()), summary(&samples::hostile())] {
        let outside_code: String = text.split('`').step_by(2).collect();
        assert!(!outside_code.replace("\\<", "").contains("<script"), "{outside_code}");
        assert!(!text.contains('\x1b'));
    }
}
