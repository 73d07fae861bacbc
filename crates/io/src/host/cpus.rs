//! Which logical CPUs share a core, and which CPUs serve the interrupts of devices.

use super::environment::cpu_list;
use super::read;

/// The hardware threads that share a core, for each core of these CPUs that has several, ascending.
#[must_use]
pub fn shared_cores(cpus: &[u32]) -> Vec<Vec<u32>> {
    cores(cpus, |cpu| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        cpu_list(&read(&path)?)
    })
}

fn cores(cpus: &[u32], siblings: impl Fn(u32) -> Option<Vec<u32>>) -> Vec<Vec<u32>> {
    let mut cores: Vec<Vec<u32>> = Vec::new();
    for siblings in cpus.iter().filter_map(|&cpu| siblings(cpu)) {
        if siblings.len() > 1 && !cores.contains(&siblings) {
            cores.push(siblings);
        }
    }
    cores
}

/// How often devices have interrupted each CPU since the machine started, by its place among the
/// CPUs that are switched on; empty where the kernel does not tell.
#[must_use]
pub fn interrupts() -> Vec<u64> {
    device_interrupts(&read("/proc/interrupts").unwrap_or_default())
}

/// A line of names of CPUs, then lines `NUMBER: COUNT COUNT ... NAME`. Those with letters for a
/// number are the CPUs' own (timers, each other) and left out.
fn device_interrupts(text: &str) -> Vec<u64> {
    let mut lines = text.lines();
    let cpus = lines.next().map_or(0, |names| names.split_whitespace().count());
    let mut sums = vec![0_u64; cpus];
    for line in lines {
        let Some((number, counts)) = line.split_once(':') else { continue };
        if number.trim().parse::<u32>().is_err() {
            continue;
        }
        for (sum, count) in sums.iter_mut().zip(counts.split_whitespace()) {
            let Ok(count) = count.parse::<u64>() else { break };
            *sum = sum.saturating_add(count);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_of_several_threads() {
        let hyperthreads = |cpu: u32| Some(vec![cpu % 2, cpu % 2 + 2]);
        assert_eq!(cores(&[0, 1, 2, 3], hyperthreads), [[0, 2], [1, 3]]);
        assert_eq!(cores(&[1], hyperthreads), [[1, 3]]);
        assert!(cores(&[0, 1], |cpu| Some(vec![cpu])).is_empty());
        assert!(cores(&[0, 1], |_| None).is_empty());
    }

    #[test]
    fn interrupts_of_devices() {
        let text = "           CPU0       CPU1\n\
             24:          1          0  IO-APIC   5-edge      ACPI:Ged\n\
             36:          0     466167 PCI-MSIX-0000:00:02.0   1-edge virtio1\n\
            LOC:    9000000    9000000   Local timer interrupts\n\
            ERR:          0\n\
             41:       6365";
        assert_eq!(device_interrupts(text), [6366, 466_167]);
        assert!(device_interrupts("").is_empty());
        assert_eq!(device_interrupts("CPU0\nx\n: 5\n7: y"), [0]);
    }
}
