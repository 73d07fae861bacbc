//! The CPU in full: `/proc/cpuinfo` and what `/sys` adds to it.

use std::collections::BTreeSet;

use plimsoll_core::environment::Processor;

use super::environment::cpu_list;
use super::{field, read};

/// More caches than any CPU has.
const CACHES_MAX: u32 = 16;

/// Reads it.
pub(super) fn processor(cpuinfo: &str) -> Processor {
    from(cpuinfo, read)
}

fn from(cpuinfo: &str, read: impl Fn(&str) -> Option<String>) -> Processor {
    let one_of = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| field(cpuinfo, key, ':'));
        found.filter(|value| !value.is_empty()).map(str::to_owned)
    };
    let words = |keys: &[&str]| -> Vec<String> {
        one_of(keys).map(|w| w.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
    };
    let arm_stepping =
        || Some(format!("{} {}", one_of(&["CPU variant"])?, one_of(&["CPU revision"])?));
    let mhz: Vec<f64> = values(cpuinfo, "cpu MHz").filter_map(|text| text.parse().ok()).collect();
    let limit_khz = read("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    let nodes = read("/sys/devices/system/node/online").and_then(|text| cpu_list(&text));
    Processor {
        architecture: std::env::consts::ARCH.to_owned(),
        vendor: one_of(&["vendor_id", "CPU implementer"]),
        family: one_of(&["cpu family", "CPU architecture"]),
        model: one_of(&["model", "CPU part"]),
        stepping: one_of(&["stepping"]).or_else(arm_stepping),
        microcode: one_of(&["microcode"]),
        mhz_lowest: mhz.iter().copied().reduce(f64::min),
        mhz_highest: mhz.iter().copied().reduce(f64::max),
        mhz_limit: limit_khz.and_then(|khz| khz.parse::<f64>().ok()).map(|khz| khz / 1e3),
        caches: (0..CACHES_MAX).map_while(|index| cache(index, &read)).collect(),
        address_sizes: one_of(&["address sizes"]),
        sockets: distinct(values(cpuinfo, "physical id")),
        cores: cores(cpuinfo),
        numa_nodes: nodes.map(|nodes| nodes.len() as u32),
        flags: words(&["flags", "Features"]),
        bugs: words(&["bugs"]),
    }
}

/// The values of a key, one for each CPU.
fn values<'a>(cpuinfo: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    cpuinfo.lines().filter_map(move |line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

/// How many values there are without repetitions; `None` without any.
fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> Option<u32> {
    let count = values.collect::<BTreeSet<_>>().len() as u32;
    (count > 0).then_some(count)
}

/// Cores have a number within their socket.
fn cores(cpuinfo: &str) -> Option<u32> {
    distinct(values(cpuinfo, "physical id").zip(values(cpuinfo, "core id")))
}

/// `L2 1024K`.
fn cache(index: u32, read: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let file = |name| read(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}"));
    let kind = match file("type")?.as_str() {
        "Data" => "d",
        "Instruction" => "i",
        _ => "",
    };
    Some(format!("L{}{kind} {}", file("level")?, file("size")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_from<'a>(files: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |path| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
    }

    #[test]
    fn a_server_of_two_sockets() {
        let cpu = |number: u32, socket: u32, core: u32, mhz: f64| {
            format!(
                "processor\t: {number}\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n\
                 model name\t: AMD EPYC\nstepping\t: 1\nmicrocode\t: 0x1000065\ncpu MHz\t\t: {mhz}\n\
                 physical id\t: {socket}\ncore id\t\t: {core}\nflags\t\t: fpu sse2 avx2\nbugs\t\t: \
                 srso\naddress sizes\t: 48 bits physical, 57 bits virtual\npower management:\n\n"
            )
        };
        let cpuinfo = cpu(0, 0, 0, 2600.5)
            + &cpu(1, 0, 0, 3100.0)
            + &cpu(2, 0, 1, 2600.5)
            + &cpu(3, 1, 0, 1500.25);
        let files = [
            ("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3700000"),
            ("/sys/devices/system/cpu/cpu0/cache/index0/type", "Data"),
            ("/sys/devices/system/cpu/cpu0/cache/index0/level", "1"),
            ("/sys/devices/system/cpu/cpu0/cache/index0/size", "32K"),
            ("/sys/devices/system/cpu/cpu0/cache/index1/type", "Unified"),
            ("/sys/devices/system/cpu/cpu0/cache/index1/level", "2"),
            ("/sys/devices/system/cpu/cpu0/cache/index1/size", "1024K"),
            ("/sys/devices/system/node/online", "0-1"),
        ];
        let text = |text: &str| Some(text.to_owned());
        let want = Processor {
            architecture: std::env::consts::ARCH.to_owned(),
            vendor: text("AuthenticAMD"),
            family: text("25"),
            model: text("17"),
            stepping: text("1"),
            microcode: text("0x1000065"),
            mhz_lowest: Some(1500.25),
            mhz_highest: Some(3100.0),
            mhz_limit: Some(3700.0),
            caches: vec!["L1d 32K".to_owned(), "L2 1024K".to_owned()],
            address_sizes: text("48 bits physical, 57 bits virtual"),
            sockets: Some(2),
            cores: Some(3),
            numa_nodes: Some(2),
            flags: ["fpu", "sse2", "avx2"].map(str::to_owned).to_vec(),
            bugs: vec!["srso".to_owned()],
        };
        assert_eq!(from(&cpuinfo, read_from(&files)), want);
    }

    #[test]
    fn arm_gives_codes_and_an_empty_file_nothing() {
        let arm = "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\n\
            CPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1";
        let processor = from(arm, |_| None);
        let codes = [processor.vendor, processor.family, processor.model, processor.stepping];
        assert_eq!(codes.map(Option::unwrap_or_default), ["0x41", "8", "0xd0c", "0x3 1"]);
        assert_eq!(processor.flags, ["fp", "asimd"]);
        let architecture = std::env::consts::ARCH.to_owned();
        assert_eq!(from("", |_| None), Processor { architecture, ..Processor::default() });
    }
}
