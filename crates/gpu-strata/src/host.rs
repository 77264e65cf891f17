//! The host of a run, as Linux describes it. Neither its name nor a user's is read.

use std::fs;

use strata_model::facts::HostFacts;

/// Longest text that is taken from the host, in characters: names of CPUs, systems and kernels are far shorter.
const LONGEST: usize = 200;

/// Asks the host. It takes a few milliseconds for each hundred hardware threads.
pub(crate) fn read() -> HostFacts {
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    let cpu = Cpu::parse(&text("/proc/cpuinfo"));
    HostFacts {
        cpu: cpu.model,
        sockets: cpu.sockets,
        cores: cpu.cores,
        threads: cpu.threads,
        memory: memory(&text("/proc/meminfo")),
        os: os(&text("/etc/os-release")).or_else(|| os(&text("/usr/lib/os-release"))),
        kernel: kernel(&text("/proc/sys/kernel/ostype"), &text("/proc/sys/kernel/osrelease")),
        architecture: std::env::consts::ARCH.into(),
    }
}

/// What `/proc/cpuinfo` says.
#[derive(Debug, Default, PartialEq)]
struct Cpu {
    model: Option<String>,
    sockets: Option<u32>,
    cores: Option<u32>,
    threads: Option<u32>,
}

impl Cpu {
    fn parse(cpuinfo: &str) -> Self {
        let of = |thread: &str, key: &str| {
            let mut lines = thread.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(name, _)| name.trim() == key).and_then(|(_, value)| line(value))
        };
        let threads: Vec<&str> = cpuinfo.split("\n\n").filter(|thread| of(thread, "processor").is_some()).collect();
        // One thread that does not say where it is leaves both numbers open.
        let sockets = threads.iter().map(|thread| of(thread, "physical id")).collect();
        let core = |thread: &&str| Some(of(thread, "physical id")? + "," + &of(thread, "core id")?);
        let cores = threads.iter().map(core).collect();
        // A CPU of Arm does not name itself.
        let numbers = |thread: &&str| {
            Some(format!("CPU of implementer {}, part {}", of(thread, "CPU implementer")?, of(thread, "CPU part")?))
        };
        Cpu {
            model: threads.first().and_then(|thread| of(thread, "model name").or_else(|| numbers(thread))),
            sockets: different(sockets),
            cores: different(cores),
            threads: Some(threads.len() as u32).filter(|count| *count > 0),
        }
    }
}

/// How many of the texts are different; nothing if there are none.
fn different(texts: Option<Vec<String>>) -> Option<u32> {
    let mut texts = texts?;
    texts.sort_unstable();
    texts.dedup();
    Some(texts.len() as u32).filter(|count| *count > 0)
}

/// Memory in bytes, from `/proc/meminfo`, which counts in KiB and writes `kB`.
fn memory(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Name and version of the operating system, from `os-release`.
fn os(release: &str) -> Option<String> {
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim();
    let quoted = |mark| name.strip_prefix(mark).and_then(|name| name.strip_suffix(mark));
    line(quoted('"').or_else(|| quoted('\'')).unwrap_or(name))
}

fn kernel(kind: &str, release: &str) -> Option<String> {
    Some(format!("{} {}", line(kind)?, line(release)?))
}

/// A text of the host on one line; nothing if it is empty.
fn line(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let shortened: String = words.join(" ").chars().take(LONGEST).collect();
    (!shortened.is_empty()).then_some(shortened)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets of two cores, of which the first core of each has two threads in use.
    const X86: &str = "\
processor\t: 0\nmodel name\t: Intel(R) Xeon(R)   Platinum 8480+\nphysical id\t: 0\ncore id\t\t: 0\npower management:\n
processor\t: 1\nmodel name\t: Intel(R) Xeon(R)   Platinum 8480+\nphysical id\t: 0\ncore id\t\t: 8\npower management:\n
processor\t: 2\nmodel name\t: Intel(R) Xeon(R)   Platinum 8480+\nphysical id\t: 1\ncore id\t\t: 0\npower management:\n
processor\t: 3\nmodel name\t: Intel(R) Xeon(R)   Platinum 8480+\nphysical id\t: 1\ncore id\t\t: 8\npower management:\n
processor\t: 4\nmodel name\t: Intel(R) Xeon(R)   Platinum 8480+\nphysical id\t: 0\ncore id\t\t: 0\npower management:\n
processor\t: 5\nmodel name\t: Intel(R) Xeon(R)   Platinum 8480+\nphysical id\t: 1\ncore id\t\t: 0\npower management:\n
";

    #[test]
    fn threads_cores_and_sockets_are_told_apart() {
        let cpu = Cpu::parse(X86);
        assert_eq!(cpu.model.as_deref(), Some("Intel(R) Xeon(R) Platinum 8480+"));
        assert_eq!((cpu.sockets, cpu.cores, cpu.threads), (Some(2), Some(4), Some(6)));
    }

    #[test]
    fn what_the_host_does_not_say_is_open() {
        let arm =
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\nprocessor\t: 1\nCPU implementer\t: 0x41\n";
        let cpu = Cpu::parse(arm);
        assert_eq!(cpu.model.as_deref(), Some("CPU of implementer 0x41, part 0xd4f"));
        assert_eq!((cpu.sockets, cpu.cores, cpu.threads), (None, None, Some(2)));
        // One socket is named, the other is not.
        assert_eq!(Cpu::parse(&X86.replacen("physical id\t: 1\n", "", 1)).sockets, None);
        for nothing in ["", "\n\n", "no colon", "Hardware : board\n\nRevision : 1"] {
            assert_eq!(Cpu::parse(nothing), Cpu::default());
        }
        assert_eq!([memory(""), memory("MemTotal: many kB"), memory("MemTotal: 18446744073709551615 kB")], [None; 3]);
        assert_eq!([os(""), os("PRETTY_NAME=\"\""), kernel("Linux\n", ""), kernel("", "6.8")], [const { None }; 4]);
    }

    #[test]
    fn memory_system_and_kernel_are_read() {
        assert_eq!(memory("MemTotal:       24684084 kB\nMemFree:  1 kB\n"), Some(24_684_084 * 1024));
        for quoted in ["\"Ubuntu 24.04.1 LTS\"", "'Ubuntu 24.04.1 LTS'"] {
            let release = format!("NAME=Ubuntu\nPRETTY_NAME={quoted}\nID=ubuntu\n");
            assert_eq!(os(&release).as_deref(), Some("Ubuntu 24.04.1 LTS"));
        }
        assert_eq!(os("PRETTY_NAME=Alpine").as_deref(), Some("Alpine"));
        assert_eq!(kernel("Linux\n", "6.8.0-45-generic\n").as_deref(), Some("Linux 6.8.0-45-generic"));
        assert_eq!(kernel("Linux", &"x".repeat(9999)).map(|text| text.len()), Some(6 + LONGEST));
    }
}
