//! `strata figures`: the figures of the papers, of results or of a GPU that is measured first.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gpu_strata::attribute::{Attribute, BANK_CURVE};
use gpu_strata::topology::{AVERAGE_LOAD, DISTANCE, DISTURBANCE, ElementName, SeriesPoint, Topology};
use gpu_strata::units::Bytes;
use gpu_strata::{Device, Effort, Options, Side};
use strata_model::characterization::{PartName, Suite};
use tempfile::TempDir;

/// Pictures of Fuchs et al. for one GPU with a compiler.
const FUCHS: [&str; 7] =
    ["fuchs-02", "fuchs-03", "fuchs-04", "fuchs-05", "fuchs-06-to-09", "fuchs-11-to-14", "fuchs-15-to-18"];
/// Pictures of the other two papers for one GPU that has every cache.
const OTHERS: [&str; 12] = [
    "groessler-4-05",
    "groessler-4-06",
    "groessler-4-10",
    "groessler-4-11",
    "groessler-4-12",
    "groessler-4-13",
    "groessler-4-21-to-4-26",
    "mei-01",
    "mei-05-and-07",
    "mei-09",
    "mei-11",
    "mei-table-3",
];

fn figures(arguments: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
    command.arg("figures").args(arguments).env("STRATA_CUDA_LIBRARY", "/nonexistent/libcuda.so.1");
    command.output().expect("the binary runs")
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings").join(path)
}

fn recorded() -> PathBuf {
    in_repository("2026-11-22-h200-characterize.strata")
}

/// Names of the pictures in a folder without their ending, in alphabetical order.
fn pictures(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(".svg")?.to_owned())).collect();
    names.sort();
    names
}

/// Names of pictures, of which those that the papers have for each GPU end with its name.
fn named(keys: impl IntoIterator<Item = &'static str>, gpu: &str) -> Vec<String> {
    let shared = |key: &str| key.starts_with("fuchs-0") && !key.contains("-to-");
    let name = |key: &str| if shared(key) { key.to_owned() } else { format!("{key}-{gpu}") };
    let mut names: Vec<String> = keys.into_iter().map(name).collect();
    names.sort();
    names
}

/// The page refers to each picture, and each is one.
fn complete(folder: &Path) -> String {
    let page = fs::read_to_string(folder.join("figures.md")).unwrap();
    for picture in pictures(folder) {
        assert!(page.contains(&format!("](./{picture}.svg)")), "the page has {picture}");
        let svg = fs::read_to_string(folder.join(format!("{picture}.svg"))).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("class=\"heading\""), "{picture}");
    }
    page
}

/// The section of a figure.
fn section<'p>(page: &'p str, number: &str) -> &'p str {
    let begin = page.find(&format!("### {number}:")).unwrap_or_else(|| panic!("{number} is on the page"));
    let rest = &page[begin + 4..];
    &rest[..rest.find("\n### ").unwrap_or(rest.len())]
}

#[test]
fn a_recording_gives_every_figure_of_its_paper() {
    let dir = TempDir::new().unwrap();
    let target = dir.path().join("new/figures");
    let run = figures(&[&target, &recorded()]);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    let page = complete(&target);
    assert_eq!(pictures(&target), named(FUCHS, "nvidia-h200"));
    // The clock was measured, so the figures are in nanoseconds: 26 cycles at 1.98 GHz.
    assert!(page.contains("ns per load, including the clock reads from 13.2 to 13.2."), "{page}");
    assert!(page.contains("NVIDIA H200, texture_steps: 32, 64"), "{page}");
    assert!(
        section(&page, "Figure 4.5").contains("- NVIDIA H200: no result of \\`strata discover\\` is given"),
        "{page}"
    );
}

#[test]
fn discoveries_and_characterizations_are_mixed() {
    let dir = TempDir::new().unwrap();
    let target = dir.path().join("figures");
    let discovery = in_repository("2026-11-22-h200.json");
    let run = figures(&[&target, &discovery, &recorded()]);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    let page = complete(&target);
    // The driver tells two GPUs of one name apart. The constant L1.5 holds more than a module may declare.
    let discovered = OTHERS.into_iter().filter(|key| *key != "groessler-4-13");
    let both = [named(FUCHS, "nvidia-h200--2-"), named(discovered, "nvidia-h200")].concat();
    assert_eq!(pictures(&target), both);
    assert!(section(&page, "Figure 4.13").contains("- NVIDIA H200, constant_l15.size: "), "{page}");
    assert!(section(&page, "Figure 4.13").contains("- NVIDIA H200 (2): no result of"), "{page}");
    assert!(section(&page, "Figure 2").contains("- NVIDIA H200: no result of"), "{page}");
}

#[test]
fn pictures_show_the_values_of_the_findings() {
    let mut machine = Device::open("sim:gtx560ti").expect("it comes with strata");
    let only = [ElementName::L1, ElementName::Texture, ElementName::Shared];
    let found = machine.discover_only(&only, Options::effort(Effort::Quick)).expect("it is discovered");
    let topology: Topology = found.topology.clone();
    let page = gpu_strata::figures(vec![Side::Answer(Box::new(found.into()), "a".into())]).unwrap().text;
    let series = |element: ElementName, attribute: Attribute, name: &str| -> Vec<SeriesPoint> {
        topology.element(element).finding(attribute).expect("it was asked").series[name].clone()
    };
    let size = topology.l1().size().expect("it has an L1");
    for (number, name) in [("Figure 4.5", AVERAGE_LOAD), ("Figure 4.6", DISTANCE)] {
        let points = series(ElementName::L1, Attribute::Size, name);
        assert!(points.len() > 8 && points.len() <= 64, "{number}: {}", points.len());
        assert!(points.windows(2).all(|pair| pair[0].x < pair[1].x), "{number}");
        let (first, last) = (points[0], points[points.len() - 1]);
        // Hits up to the capacity, and misses beyond.
        assert!(first.x <= size.value.0 as f64 && last.x > size.value.0 as f64 && last.value > first.value, "{number}");
        let table = section(&page, number);
        for point in points {
            // Four digits are shown.
            let (at, value) = (Bytes(point.x as u64).to_string(), point.value);
            let row = table.lines().find_map(|line| line.strip_prefix(&format!("| {at} | "))).expect("a row");
            let shown: f64 = row.trim_end_matches(" |").parse().expect("a number");
            assert!((shown - value).abs() <= 0.001 * value + 0.001, "{number} at {at}: {shown} is not {value}");
        }
    }
    // A hit scores nothing.
    assert!(series(ElementName::L1, Attribute::Size, DISTANCE)[0].value < 5.0);
    let flow = series(ElementName::Texture, Attribute::InstancesPerSm, DISTURBANCE);
    assert_eq!(flow.len() as u32, topology.device.max_threads_per_block / topology.device.warp_size);
    assert_eq!(flow.iter().map(|point| point.x).take(3).collect::<Vec<_>>(), [1.0, 32.0, 64.0]);
    assert!(section(&page, "Figures 4.21 to 4.26").contains("gtx-560-ti"), "its picture has the name of the GPU");
    let banks = topology.shared().get(BANK_CURVE).expect("it was measured");
    let drawn = section(&page, "Figures 5 and 7");
    for point in &banks.0 {
        assert!(
            drawn.lines().any(|line| line.starts_with(&format!("| {} | ", point.stride))),
            "stride {}",
            point.stride
        );
    }
    assert!(section(&page, "Table 3").contains("tlb_l1 was not measured"), "{page}");
}

#[test]
fn without_results_a_gpu_is_measured() {
    let dir = TempDir::new().unwrap();
    let target = dir.path().join("figures");
    let arguments = ["--device", "sim:gtx680", "--effort", "quick", "--quiet"].map(Path::new);
    let run = figures(&[&[target.as_path()], arguments.as_slice()].concat());
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    let page = complete(&target);
    // A simulated machine has no compiler, so it spills nothing; a GTX 680 does not cache global loads in its L1 and has no
    // read-only path.
    let missing = ["fuchs-15-to-18", "groessler-4-05", "groessler-4-06", "groessler-4-11", "mei-09"];
    let all = FUCHS.into_iter().chain(OTHERS).filter(|key| !missing.contains(key));
    assert_eq!(pictures(&target), named(all, "geforce-gtx-680--simulated"));
    assert!(section(&page, "Figure 4.5").contains("on this device the SM does not cache"), "{page}");
    assert!(!page.contains("(2)") && !page.contains("is given"), "both results are of one GPU: {page}");
    assert!(section(&page, "Figures 15 to 18").contains("GeForce GTX 680, simulated: "), "{page}");
}

#[test]
fn a_folder_keeps_what_else_is_in_it() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("notes.txt"), "mine").unwrap();
    let run = figures(&[dir.path(), &recorded()]);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(fs::read_to_string(dir.path().join("notes.txt")).unwrap(), "mine");
    complete(dir.path());
}

#[test]
fn gpus_share_a_figure_where_the_paper_has_them_together() {
    let suite = Suite { parts: vec![PartName::Locality], ..Suite::default() };
    let results = ["k20c", "k20c", "840m"].map(|name| {
        let mut machine = Device::open(&format!("sim:{name}")).expect("it comes with strata");
        let found = machine.characterize(&suite, Options::effort(Effort::Quick)).expect("it is characterized");
        Side::Answer(Box::new(found.into()), name.into())
    });
    let page = gpu_strata::figures(results.into()).unwrap();
    let together = page.pictures.iter().find(|picture| picture.name == "fuchs-04.svg").expect("constants are cached");
    for gpu in ["Tesla K20c, simulated", "Tesla K20c, simulated (2)", "GeForce 840M, simulated"] {
        assert!(together.svg.contains(&format!(">{gpu}<")), "a line of {gpu}");
    }
    assert!(page.text.contains("Tesla K20c, simulated: synchronization was not measured"));
    assert!(
        page.text.contains(
            "- GeForce 840M, simulated: no result of `strata discover` is given".replace('`', "\\`").as_str()
        )
    );
}

#[test]
fn careless_use_is_refused_and_leaves_nothing_behind() {
    let dir = TempDir::new().unwrap();
    let (text, empty, missing) = (dir.path().join("a.txt"), dir.path().join("b.json"), dir.path().join("none.json"));
    fs::write(&text, "no result").unwrap();
    fs::write(&empty, "{}").unwrap();
    let target = dir.path().join("new/figures");
    for (file, words) in [(&text, "a.txt"), (&empty, "b.json"), (&missing, "none.json")] {
        let run = figures(&[&target, &recorded(), file]);
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{said}");
        assert!(said.contains(words) && !dir.path().join("new").exists(), "{said}");
    }
    // A result in the place of the folder.
    let result = recorded();
    for arguments in [vec![result.as_path()], vec![&result, &result]] {
        let run = figures(&arguments);
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{said}");
        assert!(said.contains("give the folder first, and the results after it"), "{said}");
    }
    // Results are not measured again.
    let run = figures(&[&target, &result, Path::new("--effort"), Path::new("quick")]);
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot be used with") && !target.exists(), "{said}");
    // Without a driver and without results there is nothing to draw.
    let run = figures(&[&target]);
    assert_eq!(run.status.code(), Some(3), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(!target.exists());
}
