//! Fuchs et al.

use super::{Here, Paper, Printed};
use strata_model::characterization::PartName;

pub(super) const PAPER: Paper = Paper {
    title: "Fuchs et al., \"Characterization of GPGPU memory\"",
    key: "fuchs",
    figures: &FIGURES,
    others: &[
        ("Figure 1", "it explains the benchmark: the addresses of pairs of loads. Nothing is measured"),
        ("Figure 10", "it explains the benchmark: the addresses of three threads. Nothing is measured"),
    ],
};

/// The average of all loads by the distance of the two of a pair, on one path.
const fn by_distance(line: &'static str, findings: &'static [&'static str]) -> Here {
    Here::Part { part: PartName::Locality, figure: "mean", line: Some(line), findings }
}

const FIGURES: [Printed; 7] = [
    Printed {
        number: "Figure 2",
        file: "02",
        title: "Shared memory by the distance of two loads",
        said: "The time is the same at all distances, so nothing caches shared memory. On the K20 it is about 70 % longer than on \
               older GPUs.",
        here: by_distance("ld.shared", &["shared_steps", "shared_off_formula"]),
    },
    Printed {
        number: "Figure 3",
        file: "03",
        title: "Texture memory by the distance of two loads",
        said: "Loads take longer from a distance of 32 B on, so a line of the first level has 32 B.",
        here: by_distance("tex.1d", &["texture_steps", "texture_off_formula"]),
    },
    Printed {
        number: "Figure 4",
        file: "04",
        title: "Constant memory by the distance of two loads",
        said: "The time changes at 64 B and at 256 B: there are two levels of cache, with lines of 64 B and of 256 B.",
        here: by_distance("ld.const", &["constant_steps", "constant_off_formula"]),
    },
    Printed {
        number: "Figure 5",
        file: "05",
        title: "Global memory by the distance of two loads",
        said: "On GPUs of compute capability 2.x the time steps at 64 B. On those of 3.x it has no step, since they do not cache \
               global loads in the L1.",
        here: by_distance("ld.global.ca", &["global_ca_steps", "global_ca_off_formula"]),
    },
    Printed {
        number: "Figures 6 to 9",
        file: "06-to-09",
        title: "1024 writes of global memory, by the number of barriers",
        said: "A barrier after each write takes 178 % longer (C2070), 163 % (Quadro 2000), 223 % (GTX 680) or 281 % (K20) than one \
               barrier. More threads take at most 11 %, 13 %, 6 % or 38 % longer.",
        here: Here::Part {
            part: PartName::Synchronization,
            figure: "block",
            line: None,
            findings: &["slowdown_by_barriers", "slowdown_by_threads"],
        },
    },
    Printed {
        number: "Figures 11 to 14",
        file: "11-to-14",
        title: "1024 reads of each thread, by the distance from thread to thread",
        said: "The greatest distance takes 898 % longer (C2070), 770 % (Quadro 2000), 443 % (GTX 680) or 263 % (K20). The time \
               stays from 16 threads on (2.x) or from 32 (3.x). On 2.x it grows again from 128 threads on.",
        here: Here::Part {
            part: PartName::Coalescing,
            figure: "cold",
            line: None,
            findings: &["slowdown_from_memory", "plateau_threads", "rise_threads"],
        },
    },
    Printed {
        number: "Figures 15 to 18",
        file: "15-to-18",
        title: "4096 statements, by the number of variables",
        said: "From 64 variables of 64 bits on, 512 B, the time grows: the compiler spills. With 2048 variables one thread takes \
               1140 % longer.",
        here: Here::Part {
            part: PartName::Spilling,
            figure: "latency",
            line: None,
            findings: &["first_spilled_256_threads", "first_spilled_256_threads_bytes", "slowdown_fewest_threads"],
        },
    },
];
