//! Größler's thesis.

use super::{Here, Paper, Pictured, Printed};
use strata_model::attribute::Attribute;
use strata_model::topology::{AVERAGE_LOAD, DISTANCE, DISTURBANCE, ElementName};

pub(super) const PAPER: Paper = Paper {
    title: "Größler, \"Capturing the Memory Topology of GPUs\"",
    key: "groessler",
    figures: &FIGURES,
    others: &[
        (
            "Figures 2.1 and 2.2",
            "they draw the architecture of one GPU; figure 1 of Mei et al. is the drawing of the GPU at hand",
        ),
        ("Figures 2.3, 4.18 and 6.1", "they are drawings from vendors' documents; nothing is measured"),
        ("Figures 3.1, 3.2, 4.1 to 4.4, 4.7 to 4.9, 4.14 to 4.17, 4.19, 4.20 and 5.2", "they are code"),
        ("Figures 3.3 to 3.5", "they explain the method; nothing is measured"),
        (
            "Figure 4.27",
            "it lists single loads. A result keeps none; a recording keeps all, and its HTML report shows them load by load \
             (`strata replay --format html`)",
        ),
        ("Figure 5.1", "it is the output of another tool"),
    ],
};

/// The average load of the chains about the capacity of a cache.
const fn average(
    number: &'static str,
    file: &'static str,
    title: &'static str,
    said: &'static str,
    element: ElementName,
    findings: &'static [(ElementName, Attribute)],
) -> Printed {
    let picture = Pictured::Series(element, Attribute::Size, AVERAGE_LOAD);
    Printed { number, file, title, said, here: Here::Element { picture, findings } }
}

const FIGURES: [Printed; 7] = [
    average(
        "Figure 4.5",
        "4-05",
        "Average load of the L1 data cache by array size",
        "The average stays the same up to 25.5 KiB, which is about the size of the cache, and then rises in several shifts of about \
         the same height.",
        ElementName::L1,
        &[(ElementName::L1, Attribute::Size)],
    ),
    Printed {
        number: "Figure 4.6",
        file: "4-06",
        title: "Reduction of the same loads to a geometric distance",
        said: "By far the highest increase of the distance is at the size of the cache, where the average rises no more than \
               elsewhere. So the distance helps to detect the change point.",
        here: Here::Element {
            picture: Pictured::Series(ElementName::L1, Attribute::Size, DISTANCE),
            findings: &[(ElementName::L1, Attribute::Size)],
        },
    },
    average(
        "Figure 4.10",
        "4-10",
        "Average load of the texture cache by array size",
        "The change point is at about 25 KiB. Single misses at 24.25 KiB and 24.6 KiB, before the cache is full, do not move it.",
        ElementName::Texture,
        &[(ElementName::Texture, Attribute::Size)],
    ),
    average(
        "Figure 4.11",
        "4-11",
        "Average load of the read-only cache by array size",
        "Loads by `__ldg`, which needs compute capability 3.5, find the size in the same way.",
        ElementName::ReadOnly,
        &[(ElementName::ReadOnly, Attribute::Size)],
    ),
    average(
        "Figure 4.12",
        "4-12",
        "Average load of the constant L1 by array size",
        "Arrays up to 5 KiB are enough, since no GPU there has a constant L1 of more than 4 KiB.",
        ElementName::ConstantL1,
        &[(ElementName::ConstantL1, Attribute::Size)],
    ),
    average(
        "Figure 4.13",
        "4-13",
        "Average load of the constant L1.5 by array size",
        "The arrays end at 64 KiB, the constants of a module. Where the cache is larger, the test rejects the change point, and the \
         answer is \"larger than 64 KiB\".",
        ElementName::ConstantL15,
        &[(ElementName::ConstantL15, Attribute::Size)],
    ),
    Printed {
        number: "Figures 4.21 to 4.26",
        file: "4-21-to-4-26",
        title: "Disturbance of the texture cache, by thread",
        said: "On Maxwell (4.21) one half of the threads disturbs thread 0 clearly more than the other half does: the SM has two \
               texture caches. On Turing (4.22) all threads disturb it alike: it has one. Kepler, Pascal, Volta and Ampere are in \
               4.23 to 4.26.",
        here: Here::Element {
            picture: Pictured::Series(ElementName::Texture, Attribute::InstancesPerSm, DISTURBANCE),
            findings: &[(ElementName::Texture, Attribute::InstancesPerSm)],
        },
    },
];
