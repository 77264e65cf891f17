//! The terms of the field, as strata uses them.

/// A term and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The term.
    pub term: &'static str,
    /// What it means, in a few sentences.
    pub meaning: &'static str,
}

const fn term(term: &'static str, meaning: &'static str) -> Term {
    Term { term, meaning }
}

/// All terms, by the alphabet.
pub const GLOSSARY: &[Term] = &[
    term(
        "bank",
        "One of the parts of shared memory that deliver a word at the same time. Lanes that need different rows of one \
         bank wait for each other: a bank conflict.",
    ),
    term("block", "Threads that run on one SM and share its shared memory. CUDA calls it a thread block."),
    term(
        "capacity, usable",
        "The largest footprint before misses begin to grow with the footprint. It may be less than the data sheet says.",
    ),
    term(
        "carveout",
        "The share of the memory of an SM that is set aside as shared memory. The rest is the L1. A kernel may ask for \
         one; it is a hint.",
    ),
    term("coalescing", "Loads of the lanes of a warp that fall into the same sectors are served together."),
    term("cold chain", "A chain that is walked without warm-up: every line is loaded for the first time."),
    term("cycle", "A tick of the SM clock. The run measures how long it is."),
    term("fetch granularity", "What one miss brings in: a sector, or several."),
    term("footprint", "The memory that a chain covers, in bytes."),
    term("hit", "A load that the cache under test answers."),
    term("instance", "One physical cache of several of the same kind."),
    term(
        "interval",
        "Where the value of the next run of the same GPU is expected. Each finding says what its interval means.",
    ),
    term("lane", "One of the threads of a warp."),
    term("lap", "One walk over the whole chain."),
    term("latency", "The time from a load to the use of its value, of loads that depend on each other."),
    term("line", "What a cache allocates at a time."),
    term(
        "load path",
        "The kind of instruction that loads: `ld.global.ca`, `ld.global.cg`, `ld.global.nc`, `tex`, `ld.const`, \
         `ld.shared`, `ld.local`.",
    ),
    term("memory space", "Global, shared, local, constant or texture memory, as PTX names them."),
    term("miss", "A load that the cache under test does not answer."),
    term(
        "near and far partition",
        "The part of the L2 that an SM reaches directly, and the part that it reaches over a link.",
    ),
    term("outstanding load", "A load that has left the SM and is not answered. An SM has room for a number of them."),
    term("overhead", "The cycles that reading the clock and waiting for the value add to a timed load."),
    term("pointer chase", "A chain of dependent loads: the value of a load is the address of the next one."),
    term("reach", "The memory that a TLB translates before its first entry is evicted."),
    term(
        "replacement policy",
        "Which line a full set evicts: the least recently used one (LRU), the oldest one (FIFO), one by a tree of bits \
         (PLRU), or a random one.",
    ),
    term("resident blocks", "The blocks that an SM holds at a time. Threads, registers and shared memory limit them."),
    term("sector", "A part of a line that is fetched by itself."),
    term(
        "set",
        "The lines of a cache between which an address may choose. Its index says which set is that of an address.",
    ),
    term(
        "SM",
        "Streaming multiprocessor: the part of a GPU that runs blocks. It has its own L1, shared memory and registers.",
    ),
    term("stride", "The distance from one element of the chain, or from one lane, to the next."),
    term("thrash size", "The footprint from which every load of a lap misses."),
    term("TLB", "Translation lookaside buffer: a cache of translations from virtual to physical addresses."),
    term("warm-up", "Laps before the timed lap. They bring the cache into its steady state."),
    term("warp", "32 threads that execute an instruction together."),
    term("way", "One of the lines that a set holds."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_in_order_and_end_their_sentences() {
        assert!(GLOSSARY.is_sorted_by(|a, b| a.term.to_lowercase() < b.term.to_lowercase()));
        for Term { term, meaning } in GLOSSARY {
            assert!(meaning.ends_with('.') && meaning.len() > 20, "{term}");
        }
    }
}
