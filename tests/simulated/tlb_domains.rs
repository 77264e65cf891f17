//! Which SMs share a level of the TLB, of machines of which that is known.

use strata_model::attribute::{Counts, RANDOM_READ_BANDWIDTH, Value, WINDOWED_READ_BANDWIDTH};
use strata_model::topology::ElementName::{self, Dram, TlbL1, TlbL2};
use strata_model::topology::{BANDWIDTH_BY_FOOTPRINT, Topology, Wanted};
use strata_sim::machine::Machine;

use crate::sim;
use gpu_strata::{Device, Effort, Options};

/// SMs of a device where no level is shared.
const SMS: usize = 12;

/// A level: which instance each SM uses (none where each has its own), MiB of a page, sets, ways, what a miss adds.
type Level<'a> = (Option<&'a str>, u64, u64, u64, u64);

/// SMs of a device with these levels.
fn count(levels: &[Level<'_>]) -> usize {
    levels.iter().find_map(|(sms, ..)| *sms).map_or(SMS, str::len)
}

/// The K20c with as many SMs as the levels name and these levels, and what disturbs it.
fn machine(levels: &[Level<'_>], replacement: &str, noise: &str) -> Machine {
    let text = text(levels, replacement, noise);
    Machine::parse("with domains", &text).unwrap_or_else(|defect| panic!("{defect}\n{text}"))
}

fn text(levels: &[Level<'_>], replacement: &str, noise: &str) -> String {
    let text = Machine::named("k20c").expect("it comes with strata").text;
    let text = text.replace("multiprocessors = 13\n", &format!("multiprocessors = {}\n", count(levels)));
    let (before, after) = (text.find("[[tlb]]").expect("it has some"), text.find("[shared]").expect("it has some"));
    let table = |(number, (sms, page, sets, ways, penalty)): (usize, &Level<'_>)| {
        let owner = match sms {
            None => "scope = \"sm\"".to_owned(),
            Some(sms) => format!("scope = \"device\"\nsms = \"{sms}\""),
        };
        format!(
            "[[tlb]]\nname = \"{number}\"\n{owner}\npage = \"{page} MiB\"\nsets = {sets}\nways = {ways}\nreplacement = \"{replacement}\"\n\
             penalty = {penalty}\n"
        )
    };
    let tables: String = levels.iter().enumerate().map(table).collect();
    format!("{}{tables}{}\n[noise]\n{noise}\n", &text[..before], &text[after..])
}

fn found(machine: &Machine, seed: u64) -> Topology {
    sim::discovery(machine, Effort::Quick, seed, &[TlbL1, TlbL2]).topology
}

/// What must be said of a level: how many SMs share each instance, and which one each SM uses.
fn expected(sms: Option<&str>, count: usize) -> (Value, Value) {
    let numbers: Vec<u64> = match sms {
        None => (0..count as u64).collect(),
        Some(sms) => sms.chars().map(|one| u64::from(one.to_digit(36).expect("a digit"))).collect(),
    };
    let mut sizes = vec![0; *numbers.iter().max().expect("SMs") as usize + 1];
    numbers.iter().for_each(|&number| sizes[number as usize] += 1);
    sizes.sort_unstable();
    (Value::Counts(Counts(sizes)), Value::Counts(Counts(numbers)))
}

fn check(levels: &[Level<'_>], replacement: &str, noise: &str, seeds: &[u64]) {
    let machine = machine(levels, replacement, noise);
    for &seed in seeds {
        let topology = found(&machine, seed);
        let elements: [ElementName; 2] = [TlbL1, TlbL2];
        for ((sms, ..), element) in levels.iter().zip(elements) {
            let what = format!("{element} of {levels:?}, {replacement}, {noise}, seed {seed}");
            let (sizes, numbers) = expected(*sms, count(levels));
            let said = |attribute| sim::finding(&topology, element, attribute);
            let finding = said("sms_of_an_instance");
            assert_eq!(finding.value, Some(sizes), "{what}: {finding:?}");
            assert_eq!(said("instance_of_sms").value, Some(numbers), "{what}");
        }
    }
}

#[test]
fn sms_that_share_a_tlb_are_found() {
    check(&[(None, 2, 1, 16, 30), (Some("010122010122"), 32, 8, 8, 90)], "lru", "", &[1, 2]);
    check(&[(Some("001122334455"), 2, 4, 8, 12), (Some("000000000000"), 8, 32, 8, 60)], "lru", "", &[1]);
    check(&[(Some("012012345345"), 2, 7, 3, 40)], "fifo", "", &[1, 2]);
}

#[test]
fn many_sms_share_one_tlb_or_few() {
    let one = "0".repeat(40);
    check(&[(Some(&one), 2, 4, 8, 25)], "lru", "", &[1]);
    let fours: String = (0..40).map(|sm| char::from_digit(sm / 2 % 10, 10).expect("a digit")).collect();
    check(&[(Some(&fours), 2, 4, 8, 25)], "lru", "", &[1]);
}

/// The first level keeps the pages of a window, whatever others do to the second.
#[test]
fn levels_of_nearly_the_same_reach_say_nothing_of_who_shares_the_second() {
    let sms = "001122334455";
    for replacement in ["lru", "random"] {
        let topology = found(&machine(&[(None, 2, 16, 4, 30), (Some(sms), 2, 13, 8, 90)], replacement, ""), 1);
        let finding = sim::finding(&topology, TlbL2, "instance_of_sms");
        assert!(!finding.is_known() || finding.value == Some(expected(Some(sms), 12).1), "{replacement}: {finding:?}");
    }
}

#[test]
fn who_shares_a_tlb_is_found_whatever_disturbs() {
    let levels = [(None, 2, 1, 16, 30), (Some("001011222222"), 32, 8, 8, 90)];
    check(&levels, "lru", "spikes = 0.002\nspike = 700", &[1]);
    check(&levels, "lru", "jitter = 4", &[1]);
}

#[test]
fn with_random_victims_nothing_wrong_is_said() {
    let sms = "001011222222";
    let topology = found(&machine(&[(Some(sms), 2, 8, 8, 90)], "random", ""), 1);
    let finding = sim::finding(&topology, TlbL1, "instance_of_sms");
    assert!(!finding.is_known() || finding.value == Some(expected(Some(sms), sms.len()).1), "{finding:?}");
}

#[test]
fn one_sm_alone_shares_with_nobody_and_says_nothing_of_the_others() {
    check(&[(Some("011111111111"), 2, 4, 8, 25)], "lru", "", &[1]);
    check(&[(Some("011223344556"), 2, 4, 8, 25)], "lru", "", &[1]);
}

/// A miss of the second level takes about as long again as a load of DRAM, and its instances cover 2 GiB of 5.
#[test]
fn windows_by_tlb_bring_what_reads_at_random_from_all_of_the_memory_lose() {
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let levels = [(None, 2, 1, 16, 10), (Some("012345012345"), 32, 8, 8, 400)];
    std::fs::write(file.path(), text(&levels, "lru", "")).unwrap();
    let only: Vec<Wanted> =
        ["dram.random_read_bandwidth", "dram.windowed_read_bandwidth"].map(|wanted| wanted.parse().unwrap()).into();
    let mut device = Device::open(&format!("sim:{}", file.path().display())).unwrap();
    let found = device.discover_only(&only, Options::effort(Effort::Quick).seed(1)).unwrap().topology;
    let dram = &found.elements[&Dram];
    let (whole, windowed) =
        (dram.finding(RANDOM_READ_BANDWIDTH).unwrap(), dram.finding(WINDOWED_READ_BANDWIDTH).unwrap());
    let points = &whole.series[BANDWIDTH_BY_FOOTPRINT];
    let (least, most) = (points[0].value, points.last().unwrap().value);
    assert_eq!(whole.number(), Some(most));
    assert!(most < 0.75 * least, "{points:?}");
    let by_tlb = windowed.number().unwrap_or_else(|| panic!("{windowed:?}"));
    assert!((0.97..1.03).contains(&(by_tlb / least)), "{windowed:?} of {points:?}");
}
