//! The round trip of any experiment with any samples.

use super::*;

fn bytes() -> impl Strategy<Value = Bytes> {
    any::<u64>().prop_map(Bytes)
}

fn patterns() -> impl Strategy<Value = Pattern> {
    let numbers = || any::<(u32, u32, u32, u32, bool)>();
    let scopes = prop::sample::select(vec![Scope::Warp, Scope::Block, Scope::Grid, Scope::Nobody]);
    let layouts = prop::sample::select(vec![Layout::Array, Layout::Linear]);
    let walks = prop::sample::select(vec![Walk2d::Rows, Walk2d::Columns, Walk2d::Tiles, Walk2d::Random]);
    let cubes =
        prop::sample::select(vec![Walk3d::Rows, Walk3d::Columns, Walk3d::Layers, Walk3d::Tiles, Walk3d::Random]);
    let samplings = prop::sample::select(vec![Sampling::Nearest, Sampling::Normalized, Sampling::Linear]);
    let sources = prop::sample::select(vec![OperandsIn::Registers, OperandsIn::Shared, OperandsIn::L1]);
    prop_oneof![
        (numbers(), cubes, layouts.clone()).prop_map(|((side, loads, ..), walk, layout)| Pattern::Cube {
            walk,
            layout,
            side,
            loads
        }),
        (numbers(), walks.clone(), samplings).prop_map(|((side, loads, ..), walk, sampling)| Pattern::Sampled {
            walk,
            sampling,
            side,
            loads
        }),
        (any::<(u32, u32)>(), sources).prop_map(|((operations, threads), operands)| Pattern::Sourced {
            operands,
            operations,
            threads
        }),
        any::<(u32, u32, u32)>().prop_map(|(loads, each, warps)| Pattern::Burst { loads, each, warps }),
        (any::<u32>(), bytes(), bytes()).prop_map(|(pairs, small, large)| Pattern::Pairs { pairs, small, large }),
        (numbers(), scopes).prop_map(|((threads, blocks, writes, between, _), scope)| Pattern::Barriers {
            threads,
            blocks,
            writes,
            between,
            scope
        }),
        (any::<(u32, u32)>(), [bytes(), bytes(), bytes(), bytes()]).prop_map(
            |((threads, reads), [distance, step, width, start])| Pattern::Reads {
                threads,
                reads,
                distance,
                step,
                width,
                start
            }
        ),
        (any::<(u32, u32)>(), [bytes(), bytes()]).prop_map(|((threads, writes), [distance, step])| Pattern::Writes {
            threads,
            writes,
            distance,
            step
        }),
        numbers().prop_map(|(threads, variables, statements, padding, _)| Pattern::Sums {
            threads,
            variables,
            statements,
            padding
        }),
        (numbers(), bytes()).prop_map(|((distinct, loads, .., uniform), stride)| Pattern::Constants {
            distinct,
            stride,
            loads,
            uniform
        }),
        numbers().prop_map(|(operations, .., parameter)| Pattern::Operands {
            operand: if parameter { Operand::Parameter } else { Operand::Immediate },
            operations
        }),
        (numbers(), walks, layouts).prop_map(|((side, loads, ..), walk, layout)| Pattern::Square {
            walk,
            layout,
            side,
            loads
        }),
        numbers().prop_map(|(skew, bytes, threads, blocks, shared)| Pattern::Histogram {
            counters: if shared { Counters::Shared } else { Counters::Global },
            skew,
            bytes,
            threads,
            blocks
        }),
        numbers().prop_map(|(operations, loads, threads, blocks, shared)| Pattern::Intensity {
            operations,
            from: if shared { LoadedFrom::Shared } else { LoadedFrom::Global },
            loads,
            threads,
            blocks
        }),
    ]
}

fn suites() -> impl Strategy<Value = Suite> {
    let parts = prop::collection::vec(prop::sample::select(PartName::ALL.to_vec()), 0..12);
    let numbers = || prop::collection::vec(any::<u64>(), 0..40);
    let counts = || prop::collection::vec(any::<u32>(), 0..40);
    (parts, counts(), numbers(), numbers(), counts(), counts(), any::<u32>()).prop_map(
        |(parts, threads, distances, jumps, barriers, variables, statements)| Suite {
            parts,
            threads,
            distances,
            jumps,
            barriers,
            variables,
            statements,
        },
    )
}

fn programs() -> impl Strategy<Value = ProgramFacts> {
    let code = any::<(u32, u32, u32)>().prop_map(|(bytes, local_loads, local_stores)| CodeFacts {
        bytes,
        local_loads,
        local_stores,
    });
    (any::<(u32, u32, u64)>(), prop::option::of(code)).prop_map(|((registers, local_bytes, compile_us), code)| {
        ProgramFacts { registers, local_bytes, compile_us, code }
    })
}

fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![
        Just(Order::Sequential),
        Just(Order::Random),
        bytes().prop_map(|granule| Order::Scattered { granule }),
        (bytes(), any::<u32>()).prop_map(|(page, lines)| Order::Paged { page, lines }),
        prop::collection::vec(any::<u64>(), 0..40).prop_map(|offsets| Order::Listed { offsets }),
        (bytes(), any::<u32>(), any::<bool>()).prop_map(|(granule, lines, shuffled)| Order::Pages {
            granule,
            lines,
            shuffled
        }),
        (bytes(), any::<u64>()).prop_map(|(granule, first)| Order::Window { granule, first }),
    ]
}

fn series() -> impl Strategy<Value = Series> {
    (prop::sample::select(Level::ALL.to_vec()), prop::sample::select(Question::ALL.to_vec()))
        .prop_map(|(level, question)| Series { level, question })
}

fn paths() -> impl Strategy<Value = LoadPath> {
    prop::sample::select(LoadPath::ALL.to_vec())
}

fn prepares() -> impl Strategy<Value = Prepare> {
    let fill = any::<u32>().prop_map(|passes| Prepare::Fill { passes });
    prop_oneof![Just(Prepare::Nothing), Just(Prepare::FlushL2), fill]
}

fn partners() -> impl Strategy<Value = Partner> {
    (paths(), bytes(), bytes(), any::<(u32, u32, u32)>()).prop_map(
        |(path, footprint, stride, (laps, thread, block_threads))| Partner {
            path,
            footprint,
            stride,
            laps,
            thread,
            block_threads,
        },
    )
}

fn places() -> impl Strategy<Value = Place> {
    any::<(Option<u32>, u32, Option<u8>, bool)>().prop_map(|(sm, allocation, carveout_percent, alone)| Place {
        sm,
        allocation,
        carveout_percent,
        alone,
    })
}

fn timings() -> impl Strategy<Value = Timing> {
    prop_oneof![
        any::<u32>().prop_map(Timing::resident),
        any::<u32>().prop_map(Timing::straight),
        any::<(u32, u32)>().prop_map(|(loads, laps)| Timing::EachLoad { loads, walk: Walk::Settled { laps } }),
        any::<u32>().prop_map(|pairs| Timing::EachPair { pairs }),
        any::<(u32, u32)>().prop_map(|(loads, rounds)| Timing::Laps { loads, rounds }),
    ]
}

fn chases() -> impl Strategy<Value = Chase> {
    let chain = (paths(), bytes(), bytes(), orders());
    (chain, timings(), prepares(), places(), any::<(u32, u64, u32)>()).prop_map(
        |((path, footprint, stride, order), timing, prepare, place, (warm_laps, seed, repeat))| Chase {
            path,
            footprint,
            stride,
            order,
            timing,
            warm_laps,
            prepare,
            place,
            seed,
            repeat,
        },
    )
}

fn warps() -> impl Strategy<Value = Warp> {
    let widths = prop::sample::select(AccessWidth::ALL.to_vec());
    let banks = prop::option::of(prop::sample::select(vec![BankWidth::B4, BankWidth::B8]));
    let offsets = prop::collection::vec(any::<u64>(), WARP);
    (widths, banks, offsets, bytes(), places(), any::<(u32, u32, u32, u32)>()).prop_map(
        |(width, bank_width, offsets, footprint, place, (warm_loads, loads, rounds, repeat))| Warp {
            offsets: offsets.try_into().unwrap(),
            width,
            bank_width,
            footprint,
            warm_loads,
            loads,
            rounds,
            place,
            repeat,
        },
    )
}

fn runs() -> impl Strategy<Value = PatternRun> {
    (patterns(), paths(), prepares(), any::<(u32, Option<u8>, u64, u32)>()).prop_map(
        |(pattern, path, prepare, (rounds, carveout_percent, seed, repeat))| PatternRun {
            pattern,
            path,
            rounds,
            prepare,
            carveout_percent,
            seed,
            repeat,
        },
    )
}

/// Of sizes that are said none is 0.
fn imported() -> impl Strategy<Value = Imported> {
    let said = || prop::option::of((1..u64::MAX).prop_map(Bytes));
    (series(), paths(), said(), said(), any::<(u32, u32)>()).prop_map(
        |(series, path, footprint, stride, (loads, repeat))| Imported {
            series,
            path,
            footprint,
            stride,
            loads,
            repeat,
        },
    )
}

fn streams() -> impl Strategy<Value = Stream> {
    let sms = prop::collection::vec(any::<u32>(), 0..4);
    let kinds =
        (prop::sample::select(&Traffic::ALL[..]), prop::sample::select(&AccessWidth::ALL[..]), paths(), prepares());
    (kinds, sms, any::<(bool, bool, u64)>(), any::<[u32; 6]>()).prop_map(
        |((traffic, width, path, prepare), sms, (own, zeros, footprint), numbers)| {
            let [unroll, threads_per_block, blocks_per_sm, warm_cycles, timed_cycles, repeat] = numbers;
            Stream {
                traffic,
                path,
                width,
                unroll,
                threads_per_block,
                blocks_per_sm,
                sms,
                footprint: Bytes(footprint),
                region: if own { Region::Own } else { Region::Together },
                content: if zeros { Content::Zeros } else { Content::Random },
                prepare,
                warm_cycles,
                timed_cycles,
                repeat,
            }
        },
    )
}

pub fn experiments() -> impl Strategy<Value = Experiment> {
    let disturbs = (chases(), partners(), any::<u32>()).prop_map(|(chase, partner, loads)| {
        let Chase { path, footprint, stride, order, warm_laps, prepare, place, seed, repeat, .. } = chase;
        Disturb { path, footprint, stride, order, loads, warm_laps, partner, prepare, place, seed, repeat }
    });
    let clocks = any::<(u32, u32, u32)>().prop_map(|(span_us, sm, repeat)| Clock { span_us, sm, repeat });
    let watches = any::<(u32, u32, u32)>().prop_map(|(span_us, sm, repeat)| Watch { span_us, sm, repeat });
    let launched = (chases(), any::<(u32, u64)>()).prop_map(|(chase, (threads_per_block, shared))| Launched {
        chase,
        threads_per_block,
        shared_per_block: Bytes(shared),
    });
    let loaded = (streams(), chases(), any::<(u32, u32)>()).prop_map(|(stream, chase, (sm, pause))| {
        let Chase { footprint, stride, seed, .. } = chase;
        LoadedChase { stream, sm, footprint, stride, seed, pause }
    });
    let transfers = (0..Direction::ALL.len(), any::<(u64, u32)>()).prop_map(|(way, (bytes, repeat))| Transfer {
        direction: Direction::ALL[way],
        bytes: Bytes(bytes),
        repeat,
    });
    let atomics = (streams(), 0..Target::ALL.len(), any::<bool>()).prop_map(|(stream, target, is_shared)| {
        let Stream { unroll, threads_per_block, blocks_per_sm, sms, warm_cycles, timed_cycles, repeat, .. } = stream;
        let memory = if is_shared { AtomicMemory::Shared } else { AtomicMemory::Global };
        let target = Target::ALL[target];
        Atomics { memory, target, unroll, threads_per_block, blocks_per_sm, sms, warm_cycles, timed_cycles, repeat }
    });
    let clusters = any::<(u32, u32, u64, u32, u32)>().prop_map(|(size, count, shared, span_us, repeat)| {
        let shared_per_block = Bytes(shared);
        Clusters { size, count, shared_per_block, span_us, repeat }
    });
    let numbers = any::<(u32, u32, u64, (u32, u32, u32), bool, u32)>();
    let distributed = (numbers, 0..ClusterWork::ALL.len()).prop_map(
        |((size, count, shared, (distance, steps, rounds), alone, repeat), work)| Distributed {
            size,
            count,
            shared_per_block: Bytes(shared),
            work: ClusterWork::ALL[work],
            distance,
            steps,
            rounds,
            alone,
            repeat,
        },
    );
    let code = any::<(u64, bool, Option<u32>, Option<u32>, (u32, u32, u32))>().prop_map(
        |(footprint, is_dense, sm, partner, (warm_laps, laps, repeat))| CodeWalk {
            footprint: Bytes(footprint),
            block: if is_dense { LEAST_CODE_BLOCK } else { CODE_BLOCK },
            sm,
            partner,
            warm_laps,
            laps,
            repeat,
        },
    );
    let pages = any::<((u32, u64), Vec<u32>, Vec<u32>, (u32, u32, u64, u32))>().prop_map(
        |((pages, distance), walkers, partners, (laps, parts, seed, repeat))| PageWalk {
            pages,
            distance: Bytes(distance),
            walkers,
            partners,
            laps,
            parts,
            seed,
            repeat,
        },
    );
    let by_window = (streams(), any::<(u32, Vec<u8>, u32, u64)>())
        .prop_map(|(stream, (windows, sms, pieces, seed))| WindowStream { stream, windows, sms, pieces, seed });
    let sizes = any::<(u64, u64, u64, u64, u64)>();
    let residency = (0..Access::ALL.len(), any::<bool>(), any::<(u32, u64, u32)>(), sizes).prop_map(
        |(access, is_first, (lines, seed, repeat), (distance, beside, before, after, step))| Residency {
            path: if is_first { LoadPath::GlobalCa } else { LoadPath::GlobalCg },
            access: Access::ALL[access],
            lines,
            distance: Bytes(distance),
            beside: Bytes(beside),
            before: Bytes(before),
            after: Bytes(after),
            step: Bytes(step),
            seed,
            repeat,
        },
    );
    let displaced = (0..Traffic::ALL.len(), any::<(u64, u64, u64)>(), any::<(u64, u32, u32)>()).prop_map(
        |(traffic, (first, before, after), (step, pause, repeat))| Displacement {
            traffic: Traffic::ALL[traffic],
            first: Bytes(first),
            before: Bytes(before),
            after: Bytes(after),
            step: Bytes(step),
            pause,
            repeat,
        },
    );
    let contended = (any::<(u32, u32, u32, u64)>(), prop::collection::vec(any::<u32>(), 0..30), any::<(u32, u32)>())
        .prop_map(|((sm, warps, contended, loaded), places, (passes, repeat))| Contention {
            sm,
            warps,
            contended,
            loaded: Bytes(loaded),
            places,
            passes,
            repeat,
        });
    let by_partition =
        (streams(), any::<(u64, Vec<u8>, Vec<u8>, bool)>()).prop_map(|(stream, (mask, pages, sms, is_far))| {
            PartitionStream { stream, homes: HomeMap { mask, pages }, sms, is_far }
        });
    let chased = (streams(), chases(), any::<(u32, u32)>()).prop_map(|(stream, chase, (sm, pause))| {
        let Chase { footprint, stride, seed, order, .. } = chase;
        PartitionChase { chase: LoadedChase { stream, sm, footprint, stride, seed, pause }, order }
    });
    let clustered = (streams(), any::<(u32, u32, u64, u32)>()).prop_map(|(stream, (size, count, shared, distance))| {
        ClusterStream { stream, size, count, shared_per_block: Bytes(shared), distance }
    });
    let copies = (any::<(u64, u64, u32, u32, u32, u32)>(), 0..CopyWork::ALL.len()).prop_map(
        |((bytes, place, sm, steps, rounds, repeat), work)| AsyncCopy {
            work: CopyWork::ALL[work],
            bytes: Bytes(bytes),
            place: Bytes(place),
            sm,
            steps,
            rounds,
            repeat,
        },
    );
    let copied =
        (streams(), 0..CopyWork::ALL.len()).prop_map(|(stream, by)| CopyStream { stream, by: CopyWork::ALL[by] });
    prop_oneof![
        1 => copied.prop_map(Experiment::from),
        1 => copies.prop_map(Experiment::from),
        1 => clustered.prop_map(Experiment::from),
        1 => by_partition.prop_map(Experiment::from),
        1 => chased.prop_map(Experiment::from),
        4 => chases().prop_map(Experiment::from),
        1 => disturbs.prop_map(Experiment::from),
        1 => clocks.prop_map(Experiment::from),
        1 => watches.prop_map(Experiment::from),
        1 => warps().prop_map(Experiment::from),
        1 => runs().prop_map(Experiment::from),
        1 => imported().prop_map(Experiment::from),
        1 => launched.prop_map(Experiment::from),
        1 => streams().prop_map(Experiment::from),
        1 => loaded.prop_map(Experiment::from),
        1 => transfers.prop_map(Experiment::from),
        1 => atomics.prop_map(Experiment::from),
        1 => clusters.prop_map(Experiment::from),
        1 => distributed.prop_map(Experiment::from),
        1 => code.prop_map(Experiment::from),
        1 => pages.prop_map(Experiment::from),
        1 => by_window.prop_map(Experiment::from),
        1 => residency.prop_map(Experiment::from),
        1 => displaced.prop_map(Experiment::from),
        1 => contended.prop_map(Experiment::from),
    ]
}

fn outcomes() -> impl Strategy<Value = Result<Samples, Failure>> {
    let latency = prop_oneof![Just(255u32), 0..300u32, 0..70_000u32, any::<u32>()];
    let laps = any::<(u32, u64)>().prop_map(|(loads, cycles)| Lap { loads, cycles });
    let clocks = any::<(u64, u64)>().prop_map(|(cycles, nanoseconds)| ClockSpan { cycles, nanoseconds });
    let lists = (prop::collection::vec(latency, 0..50), prop::collection::vec(laps, 0..5));
    let programs = prop::option::of(programs());
    // No kernel tells of both.
    let blocks = (programs, prop::collection::vec(0..300u32, 0..20))
        .prop_map(|(program, sms)| if program.is_some() { (program, Vec::new()) } else { (None, sms) });
    let samples = (lists, prop::collection::vec(clocks, 0..3), any::<(u32, u64)>(), blocks).prop_map(
        |((latencies, laps), clocks, (sm, base), (program, sms))| Samples {
            latencies,
            laps,
            clocks,
            sm,
            base,
            program,
            sms,
        },
    );
    prop_oneof![
        4 => samples.prop_map(Ok),
        1 => any::<String>().prop_map(|reason| Err(Failure::unsupported(reason))),
        1 => any::<String>().prop_map(|reason| Err(Failure::failed(reason))),
        1 => Just(Err(Failure::Interrupted)),
        1 => Just(Err(Failure::NotRecorded)),
    ]
}

proptest! {
    #[test]
    fn any_entries_survive(
        parts in prop::collection::vec((any::<u32>(), experiments(), any::<u16>(), outcomes(), 0.0..1e6), 0..20),
        batch in 1usize..8,
        asked in prop::option::of(suites()),
    ) {
        let entries: Vec<Entry> = parts
            .into_iter()
            .map(|(number, experiment, kernel_version, outcome, at_s)| {
                Entry { number, experiment, kernel_version, outcome, at_s }
            })
            .collect();
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.header(&header()).unwrap();
        if let Some(asked) = &asked {
            writer.asked(asked).unwrap();
        }
        for batch in entries.chunks(batch) {
            writer.measured(batch).unwrap();
        }
        let recording = read(&writer.into_inner()).unwrap();
        prop_assert_eq!(&recording.asked, &asked);
        prop_assert_eq!(&*recording.entries, &*entries);
        for entry in &entries {
            let last = entries.iter().rfind(|other| other.experiment == entry.experiment && other.is_current());
            prop_assert_eq!(recording.number_of(&entry.experiment), last.map(|last| last.number));
            let first = entries.iter().find(|other| other.number == entry.number);
            prop_assert_eq!(recording.by_number(entry.number), first);
        }
    }
}
