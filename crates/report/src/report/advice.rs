//! What one does with a topology: each line follows from its findings, and is left out where one of them is unknown.

use strata_model::attribute::{
    BULK_COPY_BANDWIDTH, BY_LAUNCH, CACHED, Counts, Effect, FAR_LATENCY, FETCH_GRANULARITY, GPCS, HINTS,
    LATENCY_CYCLES, Launches, MISS_PENALTY, MULTICAST_BANDWIDTH, NEAR_LATENCY, PADDING, PARTITIONS, Padding, REACH,
};
use strata_model::experiment::Access;
use strata_model::topology::{Element, ElementName, Topology};
use strata_model::units::Bytes;

/// Above the lines.
pub(super) const TITLE: &str = "What to do with it";

/// Bytes of an element of the square tile that is given as an example: a `float`.
const EXAMPLE_ELEMENT: u64 = 4;
/// Bytes of a word of shared memory, in which padding is counted.
const WORD: u64 = 4;
/// Side of the square of which the padding was measured, in elements (Größler, section 4.6).
const PADDED_SIDE: u64 = 32;

/// A line for each thing that one would do.
pub(super) fn lines(topology: &Topology) -> Vec<String> {
    let all = [
        tile(topology),
        fetch(topology),
        hints(topology),
        padding(topology),
        near_set(topology),
        pages(topology),
        clusters(topology),
        topology.elements.get(&ElementName::AsyncCopy).and_then(multicast),
    ];
    all.into_iter().flatten().collect()
}

/// How much of a cache a program can rely on: the least that was found.
fn least(element: &Element) -> Option<u64> {
    Some(element.size()?.low.0).filter(|bytes| *bytes > 0)
}

/// The first cache of an SM that loads from global memory can use, as the path to it is called.
fn first_cache(topology: &Topology) -> Option<(&Element, &'static str)> {
    let paths = [
        (ElementName::L1, "the L1"),
        (ElementName::ReadOnly, "the read-only cache (`ld.global.nc`, `__ldg`)"),
        (ElementName::Texture, "the texture cache"),
    ];
    let of = |(name, title)| topology.elements.get(&name).map(|element| (element, title));
    let mut used = paths.into_iter().filter_map(of).filter(|(element, _)| element.get(CACHED) != Some(&false));
    used.find(|(element, _)| least(element).is_some())
}

fn tile(topology: &Topology) -> Option<String> {
    let (cache, title) = first_cache(topology)?;
    let bytes = least(cache)?;
    let side = (bytes / EXAMPLE_ELEMENT).isqrt();
    let warp = u64::from(topology.device.warp_size).max(1);
    let side = if side < warp { side } else { side / warp * warp };
    let launches = cache.get(BY_LAUNCH).and_then(Launches::extremes);
    let others = launches.map_or(String::new(), |(_, least)| {
        format!(" Some launches leave as little as {}: see `strata l1`.", least.size)
    });
    Some(format!(
        "Tiles: up to {} that the blocks of an SM read again stay in {title}, such as {side} x {side} floats.{others}",
        Bytes(bytes)
    ))
}

fn fetch(topology: &Topology) -> Option<String> {
    let (cache, _) = first_cache(topology)?;
    let sector = cache.get(FETCH_GRANULARITY)?;
    Some(format!("Loads: a miss there fetches {sector}. Let the threads of a warp use all of them."))
}

/// What loads with which hint to make, where the L1 or the L2 obeys them.
fn hints(topology: &Topology) -> Option<String> {
    let obeyed = |access: Access, effect: Effect| {
        let names = [(ElementName::L1, "the L1"), (ElementName::L2, "the L2")];
        let obeys = |element: ElementName| topology.elements.get(&element)?.get(HINTS)?.of(access);
        let by: Vec<&str> =
            names.into_iter().filter(|(name, _)| obeys(*name) == Some(effect)).map(|(_, title)| title).collect();
        (!by.is_empty()).then(|| by.join(" and "))
    };
    let first = obeyed(Access::Cs, Effect::EvictedFirst)
        .map(|by| format!("{} (`__ldcs`) for what is read once: its lines leave {by} first", Access::Cs));
    let last = obeyed(Access::L1EvictLast, Effect::EvictedLast).map(|by| {
        format!("{} for a few lines that are read again and again: they leave {by} last", Access::L1EvictLast)
    });
    let both: Vec<String> = first.into_iter().chain(last).collect();
    (!both.is_empty()).then(|| format!("Hints: {}.", both.join("; ")))
}

fn padding(topology: &Topology) -> Option<String> {
    let Padding(rows) = topology.elements.get(&ElementName::Shared)?.get(PADDING)?;
    // Where a program can choose how words go to the banks, the first row of a width is that of the default.
    let mut seen = Vec::new();
    let padded = rows.iter().filter(|row| {
        let first = !seen.contains(&row.width);
        seen.push(row.width);
        first
    });
    let padded: Vec<(Bytes, Bytes)> =
        padded.filter_map(|row| Some((row.width, Bytes(row.words.filter(|words| *words > 0)? * WORD)))).collect();
    let by = if padded.iter().all(|(width, bytes)| width == bytes) {
        "one element".to_owned()
    } else {
        let by = padded.iter().map(|(width, bytes)| format!("{bytes} for elements of {width}"));
        by.collect::<Vec<_>>().join(", ")
    };
    (!padded.is_empty()).then(|| {
        format!(
            "Shared memory: pad each row of a {PADDED_SIDE} x {PADDED_SIDE} array by {by}; then columns have no bank \
             conflicts."
        )
    })
}

fn near_set(topology: &Topology) -> Option<String> {
    let l2 = topology.elements.get(&ElementName::L2)?;
    let bytes = Bytes(least(l2)?);
    let kept = format!("L2: up to {bytes} that one SM reads again stay in the L2.");
    let far = || {
        let partitions = l2.number(PARTITIONS).filter(|partitions| *partitions > 1.0)?;
        let longer = l2.number(FAR_LATENCY)? - l2.number(NEAR_LATENCY)?;
        (longer > 0.0).then(|| {
            format!(
                " It has {partitions} partitions: an atomic on a line of a far one takes {longer:.0} cycles longer."
            )
        })
    };
    Some(kept + &far().unwrap_or_default())
}

fn clusters(topology: &Topology) -> Option<String> {
    let Counts(gpcs) = topology.elements.get(&ElementName::Die)?.get(GPCS)?;
    let sizes = gpcs.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let latency =
        topology.elements.get(&ElementName::DistributedShared).and_then(|element| element.get(LATENCY_CYCLES));
    let remote = latency.map_or(String::new(), |cycles| {
        format!(" A load of another block's shared memory takes {:.0} cycles.", cycles.0)
    });
    Some(format!("Clusters: the blocks of one share a GPC. The {} GPCs have {sizes} SMs.{remote}", gpcs.len()))
}

/// What copies for both blocks of a cluster bring, where it is more than copies for one block do.
fn multicast(copies: &Element) -> Option<String> {
    let (multicast, alone) = (copies.interval(MULTICAST_BANDWIDTH)?, copies.interval(BULK_COPY_BANDWIDTH)?);
    (multicast.low.0 > alone.high.0).then(|| {
        let [together, each] = [multicast, alone].map(|rate| rate.value);
        format!(
            "Multicast: if the two blocks of a cluster copy half of each tile for both, all SMs together receive {together} from the L2. If each \
             block copies tiles of its own, they receive {each}."
        )
    })
}

/// The last level whose reach and cost are known.
fn pages(topology: &Topology) -> Option<String> {
    let levels = [ElementName::TlbL3, ElementName::TlbL2, ElementName::TlbL1];
    levels.into_iter().find_map(|name| {
        let tlb = topology.elements.get(&name)?;
        let reach = tlb.interval(REACH)?.low;
        let penalty = tlb.number(MISS_PENALTY)?;
        (reach.0 > 0).then(|| {
            format!(
                "Pages: addresses spread over more than {reach} miss the {}, which adds {penalty:.0} cycles to a load.",
                name.title()
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::topology::Finding;
    use strata_model::units::BytesPerSecond;

    #[test]
    fn multicast_is_advised_where_it_surely_brings_more() {
        let rate = |rate: f64| Finding::measured(BytesPerSecond(rate), "x").range(0.98 * rate, 1.02 * rate);
        let with = |multicast, alone| {
            let copies =
                Element::default().with(MULTICAST_BANDWIDTH, rate(multicast)).with(BULK_COPY_BANDWIDTH, rate(alone));
            super::multicast(&copies)
        };
        let line = with(13.9e12, 9.7e12).expect("it brings more");
        assert!(line.contains("receive 13.90 TB/s from the L2") && line.ends_with("receive 9.700 TB/s."), "{line}");
        assert_eq!(with(9.9e12, 9.7e12), None);
    }
}
