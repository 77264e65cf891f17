//! Mei et al.

use super::{Here, Paper, Pictured, Printed};
use strata_model::attribute::Attribute;
use strata_model::attribute::Attribute::{
    BankModes, BankWidth, Banks, Broadcast, ConflictCycles, Entries, Index, LineSize, MissPenalty, PageSize, Reach,
    Replacement, Sets, Size, Spectrum, Staircase, ThrashSize, Ways,
};
use strata_model::topology::ElementName::{L1, Shared, Texture, TlbL1, TlbL2};

pub(super) const PAPER: Paper = Paper {
    title: "Mei et al., \"Benchmarking the Memory Hierarchy of Modern GPUs\"",
    key: "mei",
    figures: &FIGURES,
    others: &[
        ("Figure 2", "it explains a set-associative cache; nothing is measured"),
        (
            "Figure 3",
            "it explains the method: which sets miss at which array size. Figures 9 and 11 are its measurements",
        ),
        ("Figures 4 and 6", "they draw which word is in which bank. Figures 5 and 7 are the measurements of it"),
    ],
};

const FIGURES: [Printed; 8] = [
    Printed {
        number: "Figure 1",
        file: "01",
        title: "Block diagram",
        said: "Shared memory, the L1 data cache and the read-only data cache are within an SM. The L2 and the DRAM are off-chip, and \
               all SMs access the L2. (This is a GTX 780, from its documents; here everything drawn was found.)",
        here: Here::Element { picture: Pictured::Hierarchy, findings: &[] },
    },
    Printed {
        number: "Figures 5 and 7",
        file: "05-and-07",
        title: "Latency of shared memory with bank conflicts, by stride",
        said: "Fermi (5): 50 cycles for a broadcast, 88 for a conflict of 2 ways and 1210 for one of 32 ways. Kepler (7): no conflict \
               at stride 2, and 2 ways at stride 4; at stride 6 there are 2 ways with banks of 4 B, and none with banks of 8 B.",
        here: Here::Element {
            picture: Pictured::Value(Shared, Attribute::BankCurve),
            findings: &[
                (Shared, Banks),
                (Shared, BankWidth),
                (Shared, BankModes),
                (Shared, ConflictCycles),
                (Shared, Broadcast),
            ],
        },
    },
    Printed {
        number: "Table 3",
        file: "table-3",
        title: "Latency of global memory by pattern",
        said: "Kepler: 230, 236 and 289 cycles for data in the L2, with a hit in the first TLB, in the second or in none, and 371, 734 \
               and 1000 for data in memory. Fermi with the L1: 116, 404, 488, 655 and 1259; without: 371, 398, 482, 639 and 1245.",
        here: Here::Element { picture: Pictured::Value(TlbL1, Spectrum), findings: &[(L1, MissPenalty)] },
    },
    Printed {
        number: "Figure 8",
        file: "08",
        title: "Mapping of the L1 data cache",
        said: "Fermi's L1 of 16 KB has 32 sets of 4 ways with lines of 128 B. One way of a set is replaced three times as often as \
               each other: with probabilities of 1/6, 1/2, 1/6 and 1/6. The paper draws it; here it is in words.",
        here: Here::Element {
            picture: Pictured::Words,
            findings: &[(L1, Size), (L1, LineSize), (L1, Sets), (L1, Ways), (L1, Index), (L1, Replacement)],
        },
    },
    Printed {
        number: "Figure 9",
        file: "09",
        title: "Miss rate of the L1 data cache by array size",
        said: "A cache with LRU misses every load of a large array. Fermi's L1 never misses more than half of them, because it is not \
               LRU.",
        here: Here::Element {
            picture: Pictured::Value(L1, Staircase),
            findings: &[(L1, ThrashSize), (L1, Replacement)],
        },
    },
    Printed {
        number: "Figure 10",
        file: "10",
        title: "Structure of the second TLB",
        said: "65 entries of 2 MB in sets that differ: one of 17 entries and six of 8. The paper draws it; here it is in words.",
        here: Here::Element {
            picture: Pictured::Words,
            findings: &[(TlbL2, Reach), (TlbL2, Entries), (TlbL2, PageSize), (TlbL2, Sets), (TlbL2, Ways)],
        },
    },
    Printed {
        number: "Figure 11",
        file: "11",
        title: "Miss rate of the second TLB by array size",
        said: "It grows in pieces: 132 MB miss 17 entries at once, and from 134 MB to 144 MB each 2 MB more miss 8 more.",
        here: Here::Element {
            picture: Pictured::Value(TlbL2, Staircase),
            findings: &[(TlbL2, Reach), (TlbL2, Sets), (TlbL2, Ways), (TlbL2, Replacement)],
        },
    },
    Printed {
        number: "Figure 12",
        file: "12",
        title: "Mapping of the texture cache",
        said: "12 KB hold 384 lines of 32 B in 4 sets of 96 lines. Bits 7 and 8 of the address choose the set, where bits 5 and 6 \
               usually would: 128 B in a row are in one set. The paper draws it; here it is in words.",
        here: Here::Element {
            picture: Pictured::Words,
            findings: &[
                (Texture, Size),
                (Texture, LineSize),
                (Texture, Sets),
                (Texture, Ways),
                (Texture, Index),
                (Texture, Replacement),
            ],
        },
    },
];
