use super::super::figures::{Figures, SocketErrors};
use super::super::values::Values;
use super::super::{original, text};
use super::*;
#[test]
fn diff() {
    let Ok(dir) = std::env::var("D1_IN") else { return };
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let values: Values = std::fs::read_to_string(&path)
            .unwrap()
            .lines()
            .map(|l| {
                let (a, b) = l.split_once(' ').unwrap();
                (a.parse().unwrap(), b.parse().unwrap())
            })
            .collect();
        for (flavour, expected, line, out) in [
            (Flavour::Wrk2, 0u64, "-R1 -L h", "2"),
            (Flavour::Wrk, 0, "-L h", "1_0"),
            (Flavour::Wrk, 50, "-L h", "1_50"),
            (Flavour::Wrk, 5000, "-L h", "1_5000"),
        ] {
            let c = command(flavour, line);
            let latency =
                if expected > 0 { original::corrected(&values, expected) } else { values.clone() };
            let f = Figures {
                latency,
                uncorrected: values.clone(),
                rates: values.clone(),
                completed: 0,
                failed: 0,
                received_bytes: 0,
                errors: SocketErrors::default(),
                runtime_us: 0,
                calibration_us: None,
            };
            let mut o = Vec::new();
            text::write(&c, &f, &mut o).unwrap();
            std::fs::write(format!("{}/{name}.{out}", std::env::var("D1_OUT").unwrap()), o)
                .unwrap();
        }
    }
    let us: Vec<u64> = (0..200_000).map(|i| i * 37 % 70_000_000 * 5).collect();
    let mut o = String::new();
    for u in us {
        o += &format!(
            "{} {} {}\n",
            crate::units::format_us(u as f64),
            crate::units::format_metric(u as f64),
            crate::units::format_binary(u as f64)
        );
    }
    std::fs::write(format!("{}/units", std::env::var("D1_OUT").unwrap()), o).unwrap();
}
