//! Reports of a discovery.

use serde_json::json;
use strata_model::attribute::{
    Configuration, Curve, Elements, LATENCY_CYCLES, LATENCY_NS, LEAST_CONFIGURATION, LINE_SIZE, MISS_PENALTY,
    SHARED_WITH, SIZE, STAIRCASE, Step,
};
use strata_model::evidence::Evidence;
use strata_model::experiment::{Chase, LoadPath};
use strata_model::samples::Samples;
use strata_model::topology::{Element, ElementName, SCHEMA, Topology};
use strata_model::units::{Bytes, Cycles, Nanoseconds};

use super::*;

/// A small result of everything: known, unknown and failed, from the driver, with a curve and with one without points.
pub(super) fn small(device: &str, simulated: bool) -> Topology {
    let cycles = Finding::measured(Cycles(32.0), "whole-lap chase").interval(31.5, 32.5, 0.95).from_experiments([1]);
    let size = Finding::measured(Bytes(2048), "nested footprints").range(1984.0, 2048.0).note("one of two | three");
    let points = Curve(vec![Step::new(2112, 0.1515), Step::new(2176, 0.2941), Step::new(2560, 1.0)]);
    let sharers: Elements = [ElementName::Texture, ElementName::ReadOnly].into_iter().collect();
    let l1 = Element::default()
        .with(SIZE, size)
        .with(STAIRCASE, Finding::measured(points, "footprint in bytes, share of a lap that misses"))
        .with(LINE_SIZE, Finding::failed("no load came back"))
        .with(SHARED_WITH, Finding::measured(sharers, "disturbance"))
        .with(LATENCY_CYCLES, cycles)
        .with(LATENCY_NS, Finding::derived(Nanoseconds(16.2), "by the clock"));
    let dram = Element::default()
        .with(SIZE, Finding::from_driver(Bytes(1 << 30), "device memory"))
        .with(STAIRCASE, Finding::measured(Curve::default(), "by hand"))
        .with(MISS_PENALTY, Finding::unknown(format!("{device} does not say")));
    Topology {
        schema: SCHEMA.into(),
        device: DeviceFacts { name: device.into(), compute_capability: (3, 5), ..DeviceFacts::default() },
        run: run(device, simulated),
        elements: BTreeMap::from([(ElementName::L1, l1), (ElementName::Dram, dram)]),
        replayed_from: Some(format!("{device}.strata")),
    }
}

/// What the latency of [`small`] rests on.
pub(super) fn evidence() -> Evidence {
    let chase = Chase::each_load(LoadPath::GlobalCa, Bytes(64), Bytes(32)).into();
    let samples = Samples { latencies: vec![32, 300], ..Samples::default() };
    Evidence::from_iter([(1, chase, std::rc::Rc::new(Ok(samples)))])
}

#[test]
fn a_finding_has_its_evidence_in_the_page() {
    let page = report::html(&small("Tesla K20c", false), &evidence()).unwrap();
    assert_eq!(page.matches("<summary>evidence: experiment 1</summary>").count(), 1, "only the latency cites it");
    let plots = plots(&page);
    assert_eq!(plots.as_array().unwrap().len(), 2, "the staircase, and the loads of experiment 1");
    assert_eq!(plots[1]["series"][0]["y"], json!([32, 300]));
    let none = report::html(&small("Tesla K20c", false), &Evidence::default()).unwrap();
    assert!(!none.contains("<summary>evidence"), "{none}");
}

#[test]
fn the_tables_sort_by_numbers_in_base_units() {
    let page = report::html(&small("Tesla K20c", false), &evidence()).unwrap();
    let summary = page.split("<table class=\"summary sortable\">").nth(1).unwrap();
    assert!(
        summary.contains("<td class=\"number\" data-value=\"2048\" title=\"1.938 KiB to 2 KiB\">2 KiB</td>"),
        "{summary}"
    );
    assert!(summary.contains("<td class=\"number\">?</td>"), "what is unknown has nothing to sort by");
    let all = page.split("id=\"all-findings\">").nth(1).unwrap();
    assert!(all.contains("<td class=\"why\" data-value=\"failed: no load came back\">"), "{all}");
}

/// The section of an element.
fn section<'p>(page: &'p str, key: &str) -> &'p str {
    page.split(&format!("<section id=\"{key}\">")).nth(1).unwrap().split("</section>").next().unwrap()
}

#[test]
fn a_reason_stands_once_however_many_findings_it_holds_for() {
    let reason = "the whole hierarchy is of another kind";
    let mut topology = small("Tesla K20c", false);
    let l1 = topology.elements.remove(&ElementName::L1).unwrap();
    let l1 = l1.with(SIZE, Finding::unknown(reason)).with(MISS_PENALTY, Finding::unknown(reason));
    topology.elements.insert(ElementName::L1, l1);
    let page = report::html(&topology, &evidence()).unwrap();
    let section = section(&page, "l1");
    assert_eq!(section.matches(reason).count(), 1, "{section}");
    for anchor in ["id=\"l1.size\"", "id=\"l1.miss_penalty\""] {
        assert_eq!(section.matches(anchor).count(), 1, "{anchor}");
    }
    let all = page.split("id=\"all-findings\">").nth(1).unwrap();
    assert_eq!(all.matches(reason).count(), 2, "a cell and what it is sorted by");
    assert!(all.contains(">as l1 size</td>"), "{all}");
}

#[test]
fn names_of_attributes_are_explained_and_stay_whole() {
    let page = report::html(&small("Tesla K20c", false), &evidence()).unwrap();
    let about = LINE_SIZE.attribute().about();
    assert!(page.contains(&format!("<a href=\"#term.line_size\" title=\"{about}\">Cache line</a>")), "{page}");
    assert!(page.contains("<code>line_<wbr>size</code>"), "a line may end at an underscore");
    assert!(page.contains("<div id=\"term.line_size\">") && page.matches(about).count() >= 3, "the glossary has it");
    // The bar leads to every section, and the title to the warnings.
    assert!(page.contains("<a class=\"warned\" href=\"#warnings\">1 warning</a>"), "{page}");
    let bar = page.split("<nav ").nth(1).unwrap().split("</nav>").next().unwrap();
    for id in page.split("<section id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(id == "warnings" || bar.contains(&format!("href=\"#{id}\"")), "{id}");
    }
}

#[test]
fn the_first_screen_has_a_plot_of_all_paths_or_none() {
    let none = report::html(&small("Tesla K20c", false), &Evidence::default()).unwrap();
    assert!(!none.contains("class=\"overview\""), "one load is no curve");
    for topology in recorded() {
        let page = report::html(&topology, &Evidence::default()).unwrap();
        let overview = section(&page, "overview");
        let kept = topology.elements.values().any(|e| e.finding(SIZE).is_some_and(|size| !size.series.is_empty()));
        assert_eq!(overview.contains("<figure class=\"overview\">"), kept, "{:?}", topology.replayed_from);
    }
}

#[test]
fn values_of_several_parts_are_words() {
    let parts = json!({"size": 21504, "misses": [[21632, 0.5]]});
    let l1 = Element::default().with(
        LEAST_CONFIGURATION,
        Finding::measured(serde_json::from_value::<Configuration>(parts).unwrap(), "by hand"),
    );
    let topology = Topology { elements: BTreeMap::from([(ElementName::L1, l1)]), ..small("Tesla K20c", false) };
    let page = report::html(&topology, &Evidence::default()).unwrap();
    assert!(page.contains("<dd>21 KiB, misses at 1 footprint"), "{page}");
    assert!(!page.contains("size 21504"), "{page}");
}

/// The results of the committed recordings that are topologies.
fn recorded() -> Vec<Topology> {
    recorded_of(SCHEMA)
}

#[test]
fn a_small_report_reads_well_as_markdown() {
    let mut settings = insta::Settings::clone_current();
    // What the picture looks like is for other tests and for eyes.
    settings.add_filter("base64,[A-Za-z0-9+/=]+", "base64,[picture]");
    settings.bind(|| insta::assert_snapshot!(report::markdown(&small("Tesla K20c", true), Pictures::Embedded).text));
}

#[test]
fn names_that_mean_mischief_are_text() {
    let topology = small(MISCHIEF, false);
    let page = report::html(&topology, &evidence()).unwrap();
    well_formed(&page);
    self_contained(&page);
    assert!(page.contains("<h1>Memory hierarchy of &lt;script&gt;&amp;&quot; <a"), "{page}");
    let markdown = report::markdown(&topology, Pictures::Embedded).text;
    assert!(
        !markdown.contains("<script") && markdown.contains("# Memory hierarchy of &lt;script&gt;&amp;\""),
        "{markdown}"
    );
    assert!(markdown.contains("- \\*&lt;script&gt;&amp;\"\\* was warm"), "{markdown}");
}

#[test]
fn a_simulated_result_says_so_before_anything_else() {
    let simulated = small("Tesla K20c", true);
    assert!(report::text(&simulated, &Terminal::PAPER, report::Extent::Details).starts_with("SIMULATED: "));
    assert!(
        report::markdown(&simulated, Pictures::Embedded).text.starts_with("**SIMULATED: no hardware was measured.**\n")
    );
    let page = report::html(&simulated, &evidence()).unwrap();
    let body = page.split("<body>").nth(1).unwrap().trim_start();
    assert!(
        body.starts_with("<p class=\"simulated\" role=\"note\">SIMULATED: no hardware was measured.</p>"),
        "{body}"
    );
    assert!(page.contains("<title>SIMULATED: "));
    let measured = small("Tesla K20c", false);
    assert!(
        !report::html(&measured, &evidence()).unwrap().contains("SIMULATED")
            && !report::markdown(&measured, Pictures::Embedded).text.contains("SIMULATED")
    );
}

#[test]
fn recorded_results_make_whole_pages() {
    for topology in recorded() {
        let page = report::html(&topology, &evidence()).unwrap();
        well_formed(&page);
        self_contained(&page);
        let curves = topology.elements.values().filter(|e| e.known(STAIRCASE).is_some()).count();
        assert!(curves > 0 && page.matches("<svg ").count() >= curves, "a curve has no picture");
        for name in topology.elements.keys() {
            assert!(page.contains(&format!("<section id=\"{}\">", name.key())), "{name} is missing");
        }
    }
}

#[test]
fn recorded_results_make_whole_markdown() {
    for topology in recorded() {
        let markdown = report::markdown(&topology, Pictures::Embedded).text;
        let pictures: Vec<&str> = markdown.lines().filter(|l| l.starts_with("![")).collect();
        assert!(!pictures.is_empty());
        for picture in pictures {
            let key = &picture[picture.rfind('[').unwrap()..];
            assert_eq!(markdown.matches(&format!("\n{key}: data:image/svg+xml;base64,")).count(), 1, "{key}");
        }
        let outside = markdown.lines().filter(|l| !l.starts_with('['));
        assert!(!outside.clone().any(|l| l.contains("http")), "no reference to elsewhere");
        // Each row of a table has the cells of its head.
        let mut columns = None;
        for line in outside {
            let cells = line.starts_with('|').then(|| line.replace("\\|", "").matches('|').count());
            assert!(columns.is_none() || cells.is_none() || cells == columns, "{line}");
            columns = cells;
        }
    }
}
