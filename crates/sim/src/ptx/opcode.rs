//! Opcodes: what their modifiers mean.

use super::code::{Atomic, CachePolicy, Compare, Copying, Hinted, Op, Shuffle, Space, Special, Type};
use super::parse::bytes_of;
use crate::machine::spec::{Hint, Prefetch};

const BYTE4: Type = Type { bytes: 4, signed: false };

/// An opcode with modifiers that are known.
pub(super) struct Decoded {
    pub op: Op,
    pub kind: Type,
    /// How the operands stand in the text.
    pub form: Form,
}

/// How the operands of an instruction stand in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Result, then so many sources.
    Plain(usize),
    /// Result, then an address.
    Load,
    /// List of so many results, then an address.
    VectorLoad(usize),
    /// Address, a list of so many sources.
    VectorStore(usize),
    /// Address, then a source.
    Store,
    /// Result (if so), address, then so many sources.
    Atomic(bool, usize),
    /// List of results, then texture and so many coordinates.
    Texture(usize),
    /// So many operands, of which those in brackets are addresses without an offset.
    Copy(usize),
    /// A label.
    Branch,
    /// Nothing that matters.
    Bare,
}

fn kind_of(modifier: &str) -> Option<Type> {
    Some(Type { bytes: bytes_of(modifier)? as u8, signed: modifier.starts_with('s') })
}

fn compare_of(modifier: &str) -> Option<Compare> {
    Some(match modifier {
        "eq" => Compare::Eq,
        "ne" => Compare::Ne,
        "lt" | "lo" => Compare::Lt,
        "le" | "ls" => Compare::Le,
        "gt" | "hi" => Compare::Gt,
        "ge" | "hs" => Compare::Ge,
        _ => return None,
    })
}

fn atomic_of(modifier: &str) -> Option<(Atomic, usize)> {
    Some(match modifier {
        "exch" => (Atomic::Exch, 1),
        "cas" => (Atomic::Cas, 2),
        "add" => (Atomic::Add, 1),
        "min" => (Atomic::Min, 1),
        "max" => (Atomic::Max, 1),
        "and" => (Atomic::And, 1),
        "or" => (Atomic::Or, 1),
        "xor" => (Atomic::Xor, 1),
        _ => return None,
    })
}

/// The space of a load or store, from its modifiers; `None` if one of them is not known.
fn space_of(modifiers: &[&str]) -> Option<Space> {
    match modifiers {
        [] => Some(Space::Generic),
        ["shared::cluster"] => Some(Space::Cluster),
        ["param"] => Some(Space::Parameter),
        ["const"] => Some(Space::Constant),
        ["shared"] | ["volatile", "shared"] => Some(Space::Shared),
        ["local"] => Some(Space::Local),
        ["global"] | ["global", "ca"] | ["global", "wb"] => Some(Space::GlobalCa),
        ["global", hint] if hinted(hint).is_some() => Some(Space::GlobalCa),
        // What is used for the last time is not kept: an H200 fetches it anew (`docs/evidence/h200.md`).
        ["global", "lu"] => Some(Space::Volatile),
        ["global", "cg"] => Some(Space::GlobalCg),
        ["global", "nc"] => Some(Space::GlobalNc),
        ["volatile", "global"] | ["global", "cv"] => Some(Space::Volatile),
        _ => None,
    }
}

/// What a modifier of a load or store of global memory asks of the caches, if it is a hint.
fn hinted(modifier: &str) -> Option<Hinted> {
    Some(match modifier {
        "cs" => Hinted::Streaming,
        "L1::evict_first" => Hinted::Sm(Some(Hint::EvictFirst)),
        "L1::evict_last" => Hinted::Sm(Some(Hint::EvictLast)),
        "L1::no_allocate" => Hinted::Sm(Some(Hint::NoAllocate)),
        "L1::evict_unchanged" | "L1::evict_normal" => Hinted::Sm(None),
        "L2::cache_hint" => Hinted::Policy,
        "L2::64B" => Hinted::Block(Prefetch::B64),
        "L2::128B" => Hinted::Block(Prefetch::B128),
        "L2::256B" => Hinted::Block(Prefetch::B256),
        _ => return None,
    })
}

/// What an opcode asks of the caches.
pub(super) fn hints(opcode: &str) -> Hinted {
    match opcode.split_once('.') {
        Some(("ld" | "st", modifiers)) => modifiers.split('.').find_map(hinted).unwrap_or_default(),
        _ => Hinted::No,
    }
}

/// What an opcode means; `None` if it is not known.
pub(super) fn decode(opcode: &str) -> Option<Decoded> {
    let parts: Vec<&str> = opcode.split('.').collect();
    let (name, modifiers) = parts.split_first()?;
    let bare = |op| Some(Decoded { op, kind: BYTE4, form: Form::Bare });
    let copy = |how, operands| Some(Decoded { op: Op::Copy(how), kind: BYTE4, form: Form::Copy(operands) });
    let mbarrier = |op, form| Some(Decoded { op, kind: Type { bytes: 8, signed: false }, form });
    match (*name, modifiers) {
        ("ret" | "exit", []) => return bare(Op::Return),
        ("bra", [] | ["uni"]) => return Some(Decoded { op: Op::Branch(0), kind: BYTE4, form: Form::Branch }),
        ("bar", ["sync"]) | ("barrier", ["sync"]) => return bare(Op::Barrier),
        ("bar", ["warp", "sync"]) => return bare(Op::WarpBarrier),
        ("barrier", ["cluster", "arrive", "aligned"] | ["cluster", "arrive", "relaxed", "aligned"]) => {
            return bare(Op::ClusterArrive);
        }
        ("barrier", ["cluster", "wait", "aligned"]) => return bare(Op::ClusterWait),
        ("pmevent", [] | ["mask"]) => return bare(Op::Fence),
        ("membar" | "fence", _) | ("cp", ["async", "bulk", "commit_group"]) => return bare(Op::Fence),
        ("cp", ["async", "wait_all"] | ["async", "bulk", "wait_group"]) => return bare(Op::CopyWait),
        ("cp", ["async", "cg", "shared", "global"]) => return copy(Copying::Word, 3),
        ("cp", ["async", "bulk", "shared::cluster", "global", "mbarrier::complete_tx::bytes"]) => {
            return copy(Copying::Bulk, 4);
        }
        (
            "cp",
            ["async", "bulk", "shared::cluster", "global", "mbarrier::complete_tx::bytes", "multicast::cluster"],
        ) => {
            return copy(Copying::Multicast, 5);
        }
        ("cp", ["async", "bulk", "global", "shared::cta", "bulk_group"]) => return copy(Copying::BulkStore, 3),
        ("mbarrier", ["init", "shared::cta", "b64"]) => return mbarrier(Op::MbarrierInit, Form::Store),
        ("mbarrier", ["arrive", "shared::cta", "b64"]) => return mbarrier(Op::MbarrierArrive, Form::Load),
        (
            "mbarrier",
            ["arrive", "shared::cluster", "b64"] | ["arrive", "release", "cluster", "shared::cluster", "b64"],
        ) => return mbarrier(Op::RemoteArrive, Form::Load),
        ("mbarrier", ["arrive", "expect_tx", "shared::cta", "b64"]) => {
            return mbarrier(Op::MbarrierArrive, Form::Atomic(true, 1));
        }
        (
            "mbarrier",
            ["try_wait", "parity", "shared::cta", "b64"]
            | ["try_wait", "parity", "acquire", "cluster", "shared::cta", "b64"],
        ) => {
            return mbarrier(Op::MbarrierTry, Form::Atomic(true, 1));
        }
        ("tex", ["2d", "v4", "f32", "f32"]) => {
            return Some(Decoded { op: Op::Sample, kind: BYTE4, form: Form::Texture(2) });
        }
        ("tex", [shape @ ("1d" | "2d" | "3d"), "v4", "u32" | "s32", "s32"]) => {
            let dimensions = match *shape {
                "1d" => 1,
                "2d" => 2,
                _ => 3,
            };
            return Some(Decoded { op: Op::Texture(dimensions), kind: BYTE4, form: Form::Texture(dimensions.into()) });
        }
        ("add", ["rn", "f32"]) => return Some(Decoded { op: Op::FloatAdd, kind: BYTE4, form: Form::Plain(2) }),
        ("mul", ["rn", "f32"]) => return Some(Decoded { op: Op::FloatMul, kind: BYTE4, form: Form::Plain(2) }),
        ("cvt", ["rn", "f32", "u32"]) => return Some(Decoded { op: Op::ToFloat, kind: BYTE4, form: Form::Plain(1) }),
        ("cvt", ["rzi", "u32", "f32"]) => {
            return Some(Decoded { op: Op::FromFloat, kind: BYTE4, form: Form::Plain(1) });
        }
        ("fma", ["rn", "f32"]) => return Some(Decoded { op: Op::Fma, kind: BYTE4, form: Form::Plain(3) }),
        _ => {}
    }
    let (last, inner) = modifiers.split_last()?;
    // Of what only moves bits, a number of floating point is 32 of them.
    let last = if *last == "f32" && matches!(*name, "mov" | "ld" | "st") { &"b32" } else { last };
    // Its last modifier is no type. The content of its line is anything afterwards: here, the number of bytes that it is for.
    if opcode == "discard.global.L2" {
        let kind = Type { bytes: 8, signed: false };
        return Some(Decoded { op: Op::Store(Space::Discarded), kind, form: Form::Store });
    }
    if *last == "pred" {
        let op = match (*name, inner) {
            ("mov", []) => (Op::Mov, 1),
            ("and", []) => (Op::And, 2),
            ("or", []) => (Op::Or, 2),
            ("xor", []) => (Op::Xor, 2),
            ("not", []) => (Op::Xor, 1),
            _ => return None,
        };
        // A predicate is 0 or 1: its complement is an exclusive or with 1, which the caller supplies.
        return Some(Decoded { op: op.0, kind: Type { bytes: 1, signed: false }, form: Form::Plain(op.1) });
    }
    let kind = kind_of(last)?;
    let plain = |op, sources| Some(Decoded { op, kind, form: Form::Plain(sources) });
    match (*name, inner) {
        ("createpolicy", ["fractional", policy]) => {
            let policy = match *policy {
                "L2::evict_normal" => CachePolicy::Normal,
                "L2::evict_first" => CachePolicy::First,
                "L2::evict_last" => CachePolicy::Last,
                "L2::evict_unchanged" => CachePolicy::Unchanged,
                _ => return None,
            };
            plain(Op::CachePolicy(policy), 0)
        }
        ("mov", []) | ("cvta", ["to", "global"]) => plain(Op::Mov, 1),
        ("mapa", ["shared::cluster"]) => plain(Op::MapShared, 2),
        ("cvta", ["shared::cluster"]) => plain(Op::ClusterAddress, 1),
        ("add", []) => plain(Op::Add, 2),
        ("sub", []) => plain(Op::Sub, 2),
        ("mul", ["lo"]) => plain(Op::MulLo, 2),
        ("mul", ["hi"]) => plain(Op::MulHi, 2),
        ("mul", ["wide"]) if kind.bytes <= 4 => plain(Op::MulWide, 2),
        ("mad", ["lo"]) => plain(Op::MadLo, 3),
        ("mad", ["wide"]) if kind.bytes <= 4 => plain(Op::MadWide, 3),
        ("div", []) => plain(Op::Div, 2),
        ("rem", []) => plain(Op::Rem, 2),
        ("min", []) => plain(Op::Min, 2),
        ("max", []) => plain(Op::Max, 2),
        ("and", []) => plain(Op::And, 2),
        ("or", []) => plain(Op::Or, 2),
        ("xor", []) => plain(Op::Xor, 2),
        ("not", []) => plain(Op::Not, 1),
        ("neg", []) => plain(Op::Neg, 1),
        ("shl", []) => plain(Op::Shl, 2),
        ("shr", []) => plain(Op::Shr, 2),
        ("popc", []) => plain(Op::Popc, 1),
        ("clz", []) => plain(Op::Clz, 1),
        ("selp", []) => plain(Op::Select, 3),
        ("setp", [compare]) => plain(Op::Set(compare_of(compare)?), 2),
        ("cvt", [to]) => plain(Op::Convert(kind_of(to)?, false), 1),
        ("cvt", ["sat", to]) => plain(Op::Convert(kind_of(to)?, true), 1),
        ("shfl", ["sync", mode]) => {
            let mode = match *mode {
                "idx" => Shuffle::Index,
                "up" => Shuffle::Up,
                "down" => Shuffle::Down,
                "bfly" => Shuffle::Butterfly,
                _ => return None,
            };
            // The member mask, the last source, changes nothing here: diverged lanes do not take part anyway.
            plain(Op::Shuffle(mode), 4)
        }
        // Vectors are known of shared memory, whose banks they show, and of global memory.
        ("ld", [space @ .., vector @ ("v2" | "v4")]) => {
            let elements = if *vector == "v2" { 2 } else { 4 };
            let space = space_of(space)?;
            let known = !matches!(space, Space::Constant | Space::Local | Space::Parameter);
            let fits = elements * usize::from(kind.bytes) <= 16;
            (known && fits).then_some(Decoded { op: Op::Load(space), kind, form: Form::VectorLoad(elements) })
        }
        ("ld", space) => Some(Decoded { op: Op::Load(space_of(space)?), kind, form: Form::Load }),
        ("st", [space @ .., vector @ ("v2" | "v4")]) => {
            let elements = if *vector == "v2" { 2 } else { 4 };
            let fits = elements * usize::from(kind.bytes) <= 16;
            let known = Decoded { op: Op::Store(space_of(space)?), kind, form: Form::VectorStore(elements) };
            (known.op != Op::Store(Space::Local) && fits).then_some(known)
        }
        ("st", space) => Some(Decoded { op: Op::Store(space_of(space)?), kind, form: Form::Store }),
        ("atom" | "red", [space @ ("global" | "shared" | "shared::cluster"), what]) => {
            let (op, sources) = atomic_of(what)?;
            let op = Op::Atomic(op, space_of(&[space])?);
            Some(Decoded { op, kind, form: Form::Atomic(*name == "atom", sources) })
        }
        _ => None,
    }
}

/// A special register of this name.
pub(super) fn special(name: &str) -> Option<Special> {
    let (stem, axis) = match name.rsplit_once('.') {
        Some((stem, "x")) => (stem, 0),
        Some((stem, "y")) => (stem, 1),
        Some((stem, "z")) => (stem, 2),
        _ => (name, 0),
    };
    Some(match (stem, name.contains('.')) {
        ("%tid", true) => Special::Thread(axis),
        ("%ntid", true) => Special::Threads(axis),
        ("%ctaid", true) => Special::Block(axis),
        ("%nctaid", true) => Special::Blocks(axis),
        ("%laneid", false) => Special::Lane,
        ("%warpid", false) => Special::Warp,
        ("%smid", false) => Special::Sm,
        ("%nsmid", false) => Special::Sms,
        ("%cluster_ctarank", false) => Special::ClusterRank,
        ("%cluster_nctarank", false) => Special::ClusterSize,
        ("%clock", false) => Special::Clock,
        ("%clock64", false) => Special::Clock64,
        ("%globaltimer", false) => Special::Timer,
        _ => return None,
    })
}
