//! Caches: their geometry, and how shared memory and the L1 divide one memory.

use strata_model::attribute::{
    BY_LAUNCH, CACHED, FETCH_GRANULARITY, INDEX, IndexFunction, LINE_SIZE, NOMINAL_SIZE, Policy, REPLACEMENT, SETS,
    SIZE, WAYS, WRITE_POLICY, Ways,
};
use strata_model::topology::ElementName;
use strata_model::units::KIB;

use super::cache::{Geometry, Letters, is_sectored, like};
use super::page::Page;

/// The memory of an SM that L1 and shared memory divide is a multiple of so many bytes: 96, 128, 192 or 256 KiB.
const UNIFIED_STEP: u64 = 32 * KIB;

/// The L1, and what it shares with shared memory.
pub(super) fn l1(page: &mut Page<'_>) {
    let base = page.base;
    match page.value(ElementName::L1, CACHED) {
        Ok((cached, found)) => page.set(&found, "-gpgpu_gmem_skip_L1D", u8::from(!cached), &[]),
        Err(why) => page.default("-gpgpu_gmem_skip_L1D", base.skips_l1, &why),
    }
    if base.is_adaptive {
        page.default("-gpgpu_adaptive_cache_config", 1, "the L1 has what shared memory leaves");
        let unified = unified(page);
        shared_options(page);
        adaptive_l1(page, unified);
    } else {
        fixed_l1(page);
    }
}

/// Bytes of the L1 and shared memory together, if they are known.
fn unified(page: &mut Page<'_>) -> Option<u64> {
    let option = "-gpgpu_unified_l1d_size";
    let size = match page.found(ElementName::L1, SIZE) {
        Ok(size) => size,
        Err(why) => {
            page.default(option, page.base.unified_kib, &why);
            return None;
        }
    };
    let rows = page.value(ElementName::L1, BY_LAUNCH).ok().map(|(launches, _)| &launches.0);
    // What is set aside where the L1 is largest.
    let aside =
        rows.and_then(|rows| rows.iter().max_by_key(|row| row.size)?.shared_configured).map_or(0, |bytes| bytes.0);
    let least = (size.number as u64)
        .saturating_add(aside)
        .max(page.topology.device.shared_per_multiprocessor.saturating_add(1));
    let bytes = least.div_ceil(UNIFIED_STEP).saturating_mul(UNIFIED_STEP);
    let notes = [
        format!("{}, and {aside} B that are set aside beside it", size.words),
        format!(
            "assumption: the memory of L1 and shared memory is the next multiple of {} KiB, in KiB",
            UNIFIED_STEP / KIB
        ),
    ];
    page.derived(option, bytes / KIB, &notes);
    Some(bytes)
}

/// The shared memory that a launch may set aside, in KiB.
fn shared_options(page: &mut Page<'_>) {
    let option = "-gpgpu_shmem_option";
    let (launches, _) = match page.value(ElementName::L1, BY_LAUNCH) {
        Ok(found) => found,
        Err(why) => return page.default(option, page.base.shared_option, &why),
    };
    let mut sizes: Vec<u64> = launches.0.iter().filter_map(|row| Some(row.shared_configured?.0 / KIB)).collect();
    sizes.push(page.topology.device.shared_per_multiprocessor / KIB);
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.len() < 2 {
        return page.default(option, page.base.shared_option, "l1.by_launch does not tell what is set aside");
    }
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    let notes = [
        "l1.by_launch: each amount of shared memory that a launch set aside, and the most of the driver, in KiB"
            .to_owned(),
        "the simulator gives a launch the first of these that its blocks fit into; there may be more".into(),
    ];
    page.derived(option, sizes.join(","), &notes);
}

/// The L1 that grows: the simulator multiplies the ways of this string up to the unified size.
fn adaptive_l1(page: &mut Page<'_>, unified: Option<u64>) {
    let option = "-gpgpu_cache:dl1";
    let base = page.base;
    let (Some(shipped), Some(_)) = (Geometry::of(base.dl1), unified) else {
        return page.default(option, base.dl1, "l1.size is not known");
    };
    let mut notes = vec![format!(
        "this is the L1 of {} KiB, and the simulator multiplies its ways up to -gpgpu_unified_l1d_size less the shared memory",
        UNIFIED_STEP / KIB
    )];
    let line = line_of(page, ElementName::L1, shipped.line, &mut notes);
    let sets = match page.found(ElementName::L1, SETS) {
        Ok(sets)
            if (sets.number as u64).is_power_of_two() && (sets.number as u64).saturating_mul(line) <= UNIFIED_STEP =>
        {
            notes.push(sets.words);
            sets.number as u64
        }
        Ok(sets) => {
            notes.push(format!("default of {}: its sets; the simulator cannot have {}", base.name, sets.words));
            shipped.sets
        }
        Err(why) => {
            notes.push(format!("default of {}: its sets; {why}", base.name));
            shipped.sets
        }
    };
    let is_sectored = sectored(page, ElementName::L1, line, shipped.is_sectored, &mut notes);
    let geometry = Geometry { is_sectored, sets, line, ways: UNIFIED_STEP / sets.saturating_mul(line).max(1) };
    if !geometry.is_possible() {
        return page.default(option, base.dl1, &format!("the simulator cannot have lines of {line} B"));
    }
    let letters = letters(page, ElementName::L1, geometry, base.dl1, &mut notes);
    page.derived(option, like(base.dl1, geometry, letters), &notes);
}

/// The L1 of one size.
fn fixed_l1(page: &mut Page<'_>) {
    let base = page.base;
    match structure(page, ElementName::L1, base.dl1) {
        Ok((cache, mut notes)) => {
            notes.push("this L1 and the most shared memory may exclude each other: they divide one memory".into());
            page.derived("-gpgpu_cache:dl1", cache, &notes);
        }
        Err(why) => page.default("-gpgpu_cache:dl1", base.dl1, &why),
    }
}

/// The L2, which the simulator has in as many equal slices as there are subpartitions of memory controllers.
pub(super) fn l2(page: &mut Page<'_>) {
    let (base, device) = (page.base, &page.topology.device);
    let shipped = Geometry::of(base.dl2);
    let stated = page.found(ElementName::L2, NOMINAL_SIZE).map(|found| (found.number as u64, found.words));
    let size = match (stated, device.l2_size) {
        (Ok(found), _) => Some(found),
        (Err(_), 0) => None,
        (Err(_), bytes) => Some((bytes, format!("the driver's {bytes} B of L2"))),
    };
    let mut notes = Vec::new();
    let (line, sectors) = shipped.map_or((0, false), |shipped| (shipped.line, shipped.is_sectored));
    let line = line_of(page, ElementName::L2, line, &mut notes);
    let is_sectored = sectored(page, ElementName::L2, line, sectors, &mut notes);
    let slice = |controllers: u64| {
        let (bytes, _) = size.as_ref()?;
        let slices = controllers * base.sub_partitions;
        bytes.is_multiple_of(slices).then(|| Geometry::of_size(bytes / slices, line, is_sectored)).flatten()
    };
    let by_bus = u64::from(device.memory_bus_bits / base.channel_bits);
    let by_bus = (by_bus > 0).then_some(by_bus);
    let fits = by_bus.and_then(|controllers| Some((controllers, slice(controllers)?)));
    let bits = format!(
        "{} bits of the memory bus, by {} for each controller as {} has them",
        device.memory_bus_bits, base.channel_bits, base.name
    );
    let (controllers, geometry) = match fits {
        Some((controllers, geometry)) => {
            let how =
                [format!("the driver's {bits}"), "assumption: the kind of DRAM is that of this configuration".into()];
            page.derived("-gpgpu_n_mem", controllers, &how);
            (controllers, Some(geometry))
        }
        None => {
            let why = match by_bus {
                None => "the driver does not tell the width of the memory bus".to_owned(),
                Some(controllers) => format!("{bits} would make {controllers}, into which the L2 cannot be divided"),
            };
            page.default("-gpgpu_n_mem", base.n_mem, &why);
            (base.n_mem, slice(base.n_mem))
        }
    };
    page.default(
        "-gpgpu_n_sub_partition_per_mchannel",
        base.sub_partitions,
        "these are slices of a memory controller; `l2.slices` counts those that an SM sees",
    );
    if controllers == base.n_mem {
        let why = "how addresses go to the controllers is not measured";
        page.default("-gpgpu_memory_partition_indexing", base.partition_indexing, why);
    } else {
        let why =
            ["assumption: addresses go to the controllers in turn, which the simulator can for any number of them"
                .into()];
        page.derived("-gpgpu_memory_partition_indexing", 0, &why);
    }
    let Some((geometry, (bytes, words))) = geometry.zip(size) else {
        let why = "its size is not known, or cannot be divided into equal slices of sets that are a power of two";
        return page.default("-gpgpu_cache:dl2", base.dl2, why);
    };
    let slices = controllers * base.sub_partitions;
    notes.insert(0, format!("{words}, in {slices} slices of {} B", bytes / slices));
    notes.push("assumption: 16 ways or a little more, and a hash as the tuner of Accel-Sim chooses it".into());
    if let Ok(usable) = page.found(ElementName::L2, SIZE) {
        notes.push(format!("one SM can use {}; the simulator knows no partitions that keep copies", usable.words));
    }
    let Some(letters) = Letters::of(base.dl2) else { return };
    page.derived("-gpgpu_cache:dl2", like(base.dl2, geometry, Letters { index: geometry.hash(), ..letters }), &notes);
}

/// The constant cache.
pub(super) fn constant(page: &mut Page<'_>) {
    let (option, base) = ("-gpgpu_const_cache:l1", page.base);
    match structure(page, ElementName::ConstantL1, base.constant) {
        Ok((cache, mut notes)) => {
            notes.push(
                "the simulator has no second constant cache, and none at all with -gpgpu_perfect_inst_const_cache 1"
                    .into(),
            );
            page.derived(option, cache, &notes);
        }
        Err(why) => page.default(option, base.constant, &why),
    }
}

/// The instruction cache.
pub(super) fn instructions(page: &mut Page<'_>) {
    let (option, base) = ("-gpgpu_cache:il1", page.base);
    let shipped = Geometry::of(base.il1).zip(Letters::of(base.il1));
    match (page.found(ElementName::InstructionL1, SIZE), shipped) {
        (Ok(size), Some((shipped, letters))) => {
            let Some(geometry) = Geometry::of_size(size.number as u64, shipped.line, shipped.is_sectored) else {
                return page.default(option, base.il1, &format!("the simulator cannot have {}", size.words));
            };
            let notes = [
                size.words,
                format!("default of {}: lines of {} B; assumption: 16 ways or a little more", base.name, shipped.line),
                "the simulator has one instruction cache, and a perfect one with -gpgpu_perfect_inst_const_cache 1"
                    .into(),
            ];
            page.derived(option, like(base.il1, geometry, letters), &notes);
        }
        (Err(why), _) => page.default(option, base.il1, &why),
        (Ok(_), None) => {}
    }
}

/// A cache whose sets and ways were found, or at least its size; with what is said of it.
fn structure(page: &Page<'_>, element: ElementName, shipped: &str) -> Result<(String, Vec<String>), String> {
    let of_shipped = Geometry::of(shipped).ok_or("the shipped cache cannot be read")?;
    let size = page.found(element, SIZE)?;
    let mut notes = vec![size.words.clone()];
    let line = line_of(page, element, of_shipped.line, &mut notes);
    let is_sectored = sectored(page, element, line, of_shipped.is_sectored, &mut notes);
    let sets = page.found(element, SETS);
    let ways = page.value(element, WAYS);
    let geometry = match (sets, ways) {
        (Ok(sets), Ok((Ways::Equal(of_each), ways))) => {
            notes.extend([sets.words, ways.words]);
            Geometry { is_sectored, sets: sets.number as u64, line, ways: *of_each }
        }
        (sets, ways) => {
            let why = sets.err().or(ways.err()).unwrap_or_else(|| format!("sets of {element} have different ways"));
            notes.push(format!("assumption: 16 ways or a little more; {why}"));
            Geometry::of_size(size.number as u64, line, is_sectored).ok_or(why)?
        }
    };
    if !geometry.is_possible() {
        return Err(format!("the simulator cannot have {} sets of {} lines of {line} B", geometry.sets, geometry.ways));
    }
    if geometry.bytes() != size.number as u64 {
        notes.push(format!(
            "sets, ways and lines make {} B, of which a program can use {}",
            geometry.bytes(),
            size.number
        ));
    }
    let letters = letters(page, element, geometry, shipped, &mut notes);
    Ok((like(shipped, geometry, letters), notes))
}

/// Bytes of a line: what was found, or those of the shipped cache.
fn line_of(page: &Page<'_>, element: ElementName, shipped: u64, notes: &mut Vec<String>) -> u64 {
    match page.found(element, LINE_SIZE) {
        Ok(found) => {
            notes.push(found.words);
            found.number as u64
        }
        Err(why) => {
            notes.push(format!("default of {}: lines of {shipped} B; {why}", page.base.name));
            shipped
        }
    }
}

/// Whether the cache is sectored: by what one miss brings in, or as the shipped one is.
fn sectored(page: &Page<'_>, element: ElementName, line: u64, shipped: bool, notes: &mut Vec<String>) -> bool {
    match page.found(element, FETCH_GRANULARITY) {
        Ok(found) => {
            let fetch = found.number as u64;
            notes.push(match is_sectored(line, fetch) {
                true if fetch != 32 => format!("{}; the simulator has sectors of 32 B", found.words),
                _ => found.words,
            });
            is_sectored(line, fetch)
        }
        Err(why) => {
            notes.push(format!("default of {}: whether a miss brings in a sector or a line; {why}", page.base.name));
            shipped
        }
    }
}

/// Replacement, writes and set index: what was found and the simulator has, or those of the shipped cache.
fn letters(
    page: &Page<'_>,
    element: ElementName,
    geometry: Geometry,
    shipped: &str,
    notes: &mut Vec<String>,
) -> Letters {
    let base = page.base.name;
    let plain = Letters { replacement: 'L', write: 'R', allocation: 'f', write_allocation: 'N', index: 'L' };
    let mut letters = Letters::of(shipped).unwrap_or(plain);
    match page.value(element, REPLACEMENT) {
        Ok((Policy::Lru, found)) => {
            letters.replacement = 'L';
            notes.push(found.words);
        }
        Ok((Policy::Fifo, found)) => {
            letters.replacement = 'F';
            notes.push(found.words);
        }
        Ok((_, found)) => {
            notes.push(format!("default of {base}: its replacement; the simulator cannot have {}", found.words))
        }
        Err(why) => notes.push(format!("default of {base}: its replacement; {why}")),
    }
    // A cache that is only read has no policy for stores.
    if letters.write != 'R' {
        match page.value(element, WRITE_POLICY) {
            Ok((policy, found)) => {
                (letters.write, letters.write_allocation) = match policy.as_str() {
                    "allocates" => ('T', 'L'),
                    "evicts" => ('E', 'N'),
                    _ => ('T', 'N'),
                };
                // The simulator refuses to allocate on a store where it allocates on a fill.
                letters.allocation = if letters.write_allocation == 'L' { 'm' } else { letters.allocation };
                notes.push(format!("{}; assumption: stores are written through", found.words));
            }
            Err(why) => notes.push(format!("default of {base}: what stores do; {why}")),
        }
    }
    let from = geometry.line.ilog2();
    let bits = page.value(element, INDEX).ok().filter(|(index, _)| {
        matches!(index, IndexFunction::Bits { bits } if bits.iter().copied().eq(from..from + geometry.sets.ilog2()))
    });
    match bits {
        Some((_, found)) => {
            letters.index = 'L';
            notes.push(found.words);
        }
        None if geometry.takes(letters.index) => notes.push(format!("default of {base}: its set index")),
        None => {
            let shipped = letters.index;
            letters.index = 'L';
            notes.push(format!(
                "assumption: a plain set index; the simulator has the one of {base} ({shipped}) for other numbers of sets"
            ));
        }
    }
    letters
}
