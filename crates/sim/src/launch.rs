//! A launch on a simulated GPU: the resources of its blocks, and how many blocks fit on an SM.

use std::sync::Arc;

use super::Sim;
use super::exec::{self, Clustered, CopyCosts, Fault, Grid, LANES, LaneCosts};
use super::machine::Spec;
use super::machine::spec::{Hint, Pipeline};
use super::model::banks::Banks;
use super::model::hierarchy;
use strata_gpu::{Error, Function, Launch, Module, Result};
use strata_model::experiment::Reuse;
use strata_model::units::Bytes;

/// What lanes of a warp cost each other on a machine.
fn lane_costs(spec: &Spec) -> LaneCosts {
    LaneCosts {
        coalescing: spec.pipeline.coalescing.get(),
        transaction: spec.pipeline.transaction.get(),
        constant_word: spec.pipeline.constant_word.get(),
        filtering: spec.pipeline.filtering.get(),
        atomic: spec.pipeline.atomic.get(),
        atomic_line: spec.pipeline.atomic_line.unwrap_or(spec.pipeline.atomic).get(),
        shared_atomic: spec.shared.atomic.map_or(spec.shared.conflict.get(), |cycles| cycles.get()),
        shared_request: spec.shared.atomic_request.get(),
    }
}

/// Bytes from the code of one module to that of the next.
const CODE_BYTES: u64 = 1 << 24;
/// Warps of the largest block: 1024 threads.
const MOST_WARPS: u64 = 32;

/// Blocks of the largest cluster that every SM takes.
const PAIR: u32 = 2;

/// Cycles of a barrier after the last arrival for a block of so many threads.
fn barrier(pipeline: &Pipeline, threads: u32) -> u64 {
    let further = u64::from(threads.div_ceil(LANES)) - 1;
    pipeline.barrier.get() + (pipeline.barrier_warps.get() * further).div_ceil(MOST_WARPS - 1)
}

impl Sim {
    /// Whether this machine has what a launch asks for.
    pub(super) fn possible(&self, launch: &Launch) -> Result<()> {
        let name = &self.facts.name;
        let unsupported = |reason: String| Err(Error::Unsupported { reason });
        if let Some(size) = launch.cluster {
            let device = &self.machine.spec.device;
            let most = device.largest_cluster.get();
            if device.gpcs.is_none() {
                return unsupported(format!(
                    "the simulated {name} launches no clusters: its machine file has no `gpcs`"
                ));
            }
            if size == 0 || u64::from(size) > most || !launch.blocks.is_multiple_of(size) {
                let blocks = launch.blocks;
                return unsupported(format!(
                    "the simulated {name} launches clusters of up to {most} blocks, and {blocks} in clusters of {size} are not such"
                ));
            }
        }
        if let Some(percent) = launch.carveout
            && !self.divides_memory()
            && percent != 0
            && percent != 100
        {
            return unsupported(format!("the simulated {name} has shared memory of its own, of a fixed size"));
        }
        if let Some(width) = launch.bank_width
            && !self.machine.spec.shared.modes.iter().any(|mode| mode.get() == width.0)
        {
            return unsupported(format!("the simulated {name} has no choice of banks of {width}"));
        }
        let most = self.facts.shared_per_block_optin.unwrap_or(self.facts.shared_per_block);
        if launch.shared.0 > most.max(self.facts.shared_per_block) {
            return unsupported(format!(
                "the simulated {name} does not give a block {} of dynamic shared memory (at most {})",
                launch.shared,
                Bytes(most)
            ));
        }
        Ok(())
    }

    /// How blocks in clusters of so many go on the SMs; nothing if no file says.
    fn clustered(&self, size: u32) -> Option<Clustered> {
        let device = &self.machine.spec.device;
        let closed = if size > PAIR { device.pairs_only.clone() } else { Vec::new() };
        let gpcs = device.gpc_of_sms()?;
        let place = |sm: usize| gpcs[..sm].iter().filter(|&&gpc| gpc == gpcs[sm]).count() as u32;
        Some(Clustered { size, places: (0..gpcs.len()).map(place).collect(), gpcs, closed })
    }

    /// Whether shared memory and a cache have one memory, which can be divided between them.
    fn divides_memory(&self) -> bool {
        self.machine.spec.cache.values().any(|cache| !cache.configuration.is_empty())
    }

    /// The banks as a launch sees them.
    fn banks(&self, launch: &Launch) -> Banks {
        let shared = &self.machine.spec.shared;
        let own = shared.modes.first().copied().unwrap_or(shared.bank_width).get();
        let word = launch.bank_width.map_or(own, |width| width.0);
        Banks { count: shared.banks.get(), width: shared.bank_width.get(), word }
    }

    /// Shared memory that each SM sets aside for a launch whose blocks have so much: what a hint asks for, but enough for one
    /// block; without a hint enough for all blocks that the SM can hold.
    fn set_aside(&self, launch: &Launch, shared: u64) -> u64 {
        let spec = &self.machine.spec.shared;
        let block = shared + spec.reserved_per_block.0;
        match launch.carveout {
            Some(percent) if self.divides_memory() => (u64::from(percent) * spec.per_multiprocessor.0 / 100).max(block),
            _ => self.resident(launch.threads, shared) * block,
        }
    }

    /// Blocks of so many threads, with so much shared memory, that an SM holds at a time; at least 1.
    fn resident(&self, threads: u32, shared: u64) -> u64 {
        let spec = &self.machine.spec;
        let by_shared = spec.shared.per_multiprocessor.0 / (shared + spec.shared.reserved_per_block.0).max(1);
        let by_threads = u64::from(self.facts.max_threads_per_multiprocessor / threads.next_multiple_of(32));
        spec.device.max_blocks_per_multiprocessor.get().min(by_shared).min(by_threads).max(1)
    }

    /// Runs a kernel.
    pub(super) fn run(&mut self, function: Function, launch: &Launch, parameters: &[u64]) -> Result<()> {
        self.usable()?;
        let invalid = |what: String| Self::failed("launch", 1, "CUDA_ERROR_INVALID_VALUE", what, false);
        let function = self.callable(function)?.clone();
        let loaded = self.loaded(Module(function.module))?;
        let module = Arc::clone(&loaded.module);
        let entry = &module.entries[&function.name];
        let shared = entry.shared + launch.shared.0;
        if launch.threads == 0 || launch.threads > self.facts.max_threads_per_block || launch.blocks == 0 {
            return Err(invalid(format!("{} blocks of {} threads cannot be launched", launch.blocks, launch.threads)));
        }
        self.possible(launch)?;
        // Who asks for more than a block has by default asks for as much as it may have.
        let by_default = self.facts.shared_per_block;
        let most = if launch.shared.0 > by_default { self.facts.most_shared_per_block().0 } else { by_default };
        if shared > most {
            let meaning = format!("{} of shared memory are more than a block has", Bytes(shared));
            return Err(invalid(meaning));
        }
        if parameters.len() != entry.parameters.len() {
            return Err(invalid(format!(
                "`{}` has {} parameters, not {}",
                entry.name,
                entry.parameters.len(),
                parameters.len()
            )));
        }
        let resident = self.resident(launch.threads, shared);
        let most = resident * u64::from(self.facts.multiprocessors);
        if launch.cooperative && u64::from(launch.blocks) > most {
            return Err(Error::Unsupported {
                reason: format!(
                    "{} blocks of {} threads are more than the {most} that the simulated {} holds at the same time",
                    launch.blocks, launch.threads, self.facts.name
                ),
            });
        }
        let clustered = launch.cluster.and_then(|size| self.clustered(size));
        if let Some(clustered) = clustered.as_ref().filter(|clustered| !clustered.fits(resident)) {
            let size = clustered.size;
            return Err(Error::Unsupported {
                reason: format!(
                    "no GPC of the simulated {} has room for a cluster of {size} such blocks",
                    self.facts.name
                ),
            });
        }
        let spec = &self.machine.spec;
        let address = |name: &str| loaded.variables.get(name).map(|variable| variable.0);
        // In the constant space addresses count from the first variable on.
        let constants = module.variables.first().and_then(|(name, _)| address(name)).unwrap_or(0);
        let symbols = entry
            .symbols
            .iter()
            .filter_map(|(slot, name)| Some((*slot, address(name)?.wrapping_sub(constants))))
            .collect();
        let fetched = self.state.instructions.fetched(entry.code.len());
        let grid = Grid {
            entry,
            symbols,
            constants,
            parameters,
            blocks: launch.blocks,
            threads: launch.threads,
            shared,
            clustered,
            sms: self.facts.multiprocessors,
            resident: resident as u32,
            pipeline: [spec.pipeline.arithmetic.get(), spec.pipeline.issue.get()],
            barrier: barrier(&spec.pipeline, launch.threads),
            cluster_barrier: spec.pipeline.cluster_barrier.get(),
            remote: [spec.shared.remote_cycles.get(), spec.shared.remote_step.get()],
            remote_atomic: spec.shared.remote_atomic.get(),
            copies: CopyCosts {
                bulk: spec.pipeline.bulk_copy.get(),
                word: spec.pipeline.cp_async.get(),
                sector: spec.pipeline.bulk_sector.get(),
                mbarrier: spec.pipeline.mbarrier.get(),
            },
            shared_cycles: [spec.shared.cycles.get(), spec.shared.conflict.get()],
            banks: self.banks(launch),
            lanes: lane_costs(spec),
            host: spec.memory.host_cycles.get(),
            budget: self.budget,
            fetched: fetched.map(|bytes| (CODE_BYTES * function.module as u64, bytes)),
            queued: spec.has_queues(),
            walks: self.walks && fetched.is_none(),
        };
        let set_aside = self.set_aside(launch, shared);
        let window = launch.window.map(|window| hierarchy::Window {
            of: window.base.0..window.base.0 + window.bytes.0,
            hint: match window.reuse {
                Reuse::Streaming => Hint::EvictFirst,
                Reuse::Persisting => Hint::EvictLast,
            },
        });
        self.state.hierarchy.begin(set_aside, window);
        exec::run(&mut self.state, &grid).map_err(|fault| {
            let error = match fault {
                Fault::Illegal(what) => {
                    Self::failed("launch", 700, "CUDA_ERROR_ILLEGAL_ADDRESS", what.to_string(), true)
                }
                Fault::Endless(budget) => {
                    let meaning = format!("kernel `{}` did not end after {budget} instructions", function.name);
                    Self::failed("launch", 702, "CUDA_ERROR_LAUNCH_TIMEOUT", meaning, true)
                }
                Fault::Memory => Self::full(),
            };
            if error.is_lost() {
                self.lost = Some(error.clone());
            }
            error
        })
    }
}
