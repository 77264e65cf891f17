//! Arithmetic: one lane, one instruction. Values are kept with the bits above their type zero.

use super::warp::LANES;
use crate::ptx::{Atomic, Compare, Op, Type, cluster_address, map_shared};

/// [`compute`] for all lanes of a warp, of which `values` are the sources a, b and c. The operations of most kernels' loops are
/// told apart once, not lane by lane.
pub(super) fn compute_all(op: Op, kind: Type, values: [&[u64]; 3]) -> [u64; LANES as usize] {
    macro_rules! told_apart {
        ($($known:pat => $op:expr),* $(,)?) => {
            match op {
                $($known => each(values, |a, b, c| compute_inline($op, kind, a, b, c)),)*
                _ => each(values, |a, b, c| compute(op, kind, a, b, c)),
            }
        };
    }
    told_apart!(
        Op::Mov => Op::Mov,
        Op::Add => Op::Add,
        Op::Sub => Op::Sub,
        Op::And => Op::And,
        Op::Or => Op::Or,
        Op::Xor => Op::Xor,
        Op::MulLo => Op::MulLo,
        Op::MulWide => Op::MulWide,
        Op::MadWide => Op::MadWide,
        Op::MadLo => Op::MadLo,
        Op::Min => Op::Min,
        Op::Select => Op::Select,
        Op::Set(Compare::Lt) => Op::Set(Compare::Lt),
        Op::Set(Compare::Ne) => Op::Set(Compare::Ne),
        Op::Set(Compare::Eq) => Op::Set(Compare::Eq),
        Op::Set(Compare::Ge) => Op::Set(Compare::Ge),
    )
}

#[inline]
fn each([a, b, c]: [&[u64]; 3], one: impl Fn(u64, u64, u64) -> u64) -> [u64; LANES as usize] {
    let mut results = [0; LANES as usize];
    for (result, ((a, b), c)) in results.iter_mut().zip(a.iter().zip(b).zip(c)) {
        *result = one(*a, *b, *c);
    }
    results
}

/// The result of an operation that needs nothing but its sources.
pub(super) fn compute(op: Op, kind: Type, a: u64, b: u64, c: u64) -> u64 {
    compute_inline(op, kind, a, b, c)
}

#[inline(always)]
fn compute_inline(op: Op, kind: Type, a: u64, b: u64, c: u64) -> u64 {
    let bits = kind.bits();
    let wide = Type { bytes: (kind.bytes * 2).min(8), signed: kind.signed };
    let product = |a, b| kind.signed(a).wrapping_mul(kind.signed(b)) as u64;
    let value = match op {
        Op::Mov => a,
        Op::MapShared => map_shared(a, b),
        Op::ClusterAddress => cluster_address(a),
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::MulLo => a.wrapping_mul(b),
        Op::MadLo => a.wrapping_mul(b).wrapping_add(c),
        Op::MulWide => return wide.wrap(if kind.signed { product(a, b) } else { a.wrapping_mul(b) }),
        Op::MadWide => return wide.wrap(if kind.signed { product(a, b) } else { a.wrapping_mul(b) }.wrapping_add(c)),
        Op::MulHi if kind.signed => ((i128::from(kind.signed(a)) * i128::from(kind.signed(b))) >> bits) as u64,
        Op::MulHi => ((u128::from(a) * u128::from(b)) >> bits) as u64,
        // What division by zero gives is not specified; the hardware gives all ones.
        Op::Div | Op::Rem if b == 0 => u64::MAX,
        Op::Div if kind.signed => kind.signed(a).wrapping_div(kind.signed(b)) as u64,
        Op::Div => a / b,
        Op::Rem if kind.signed => kind.signed(a).wrapping_rem(kind.signed(b)) as u64,
        Op::Rem => a % b,
        Op::Min => {
            if less(kind, a, b) {
                a
            } else {
                b
            }
        }
        Op::Max => {
            if less(kind, a, b) {
                b
            } else {
                a
            }
        }
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Not => !a,
        Op::Neg => a.wrapping_neg(),
        // Amounts beyond the width are clamped (PTX ISA, shl and shr).
        Op::Shl => {
            if b >= u64::from(bits) {
                0
            } else {
                a << b
            }
        }
        Op::Shr if kind.signed => (kind.signed(a) >> b.min(u64::from(bits) - 1)) as u64,
        Op::Shr => {
            if b >= u64::from(bits) {
                0
            } else {
                a >> b
            }
        }
        Op::CachePolicy(policy) => policy as u64,
        Op::Popc => u64::from(a.count_ones()),
        Op::Clz => u64::from(a.leading_zeros() - (64 - bits)),
        Op::Set(compare) => return u64::from(holds(compare, kind, a, b)),
        Op::Select => {
            if c != 0 {
                a
            } else {
                b
            }
        }
        Op::Convert(to, saturated) => return convert(kind, to, saturated, a),
        Op::FloatAdd => u64::from((float(a) + float(b)).to_bits()),
        Op::FloatMul => u64::from((float(a) * float(b)).to_bits()),
        Op::ToFloat => u64::from((a as f32).to_bits()),
        // Saturated, as on the hardware.
        Op::FromFloat => u64::from(float(a) as u32),
        _ => 0,
    };
    kind.wrap(value)
}

/// A register as a number of floating point.
pub(super) fn float(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn less(kind: Type, a: u64, b: u64) -> bool {
    if kind.signed { kind.signed(a) < kind.signed(b) } else { a < b }
}

fn holds(compare: Compare, kind: Type, a: u64, b: u64) -> bool {
    match compare {
        Compare::Eq => a == b,
        Compare::Ne => a != b,
        Compare::Lt => less(kind, a, b),
        Compare::Le => !less(kind, b, a),
        Compare::Gt => less(kind, b, a),
        Compare::Ge => !less(kind, a, b),
    }
}

fn convert(from: Type, to: Type, saturated: bool, a: u64) -> u64 {
    let value = if from.signed { i128::from(from.signed(a)) } else { i128::from(a) };
    let clamped = if saturated {
        let (low, high) = if to.signed {
            (-(1i128 << (to.bits() - 1)), (1i128 << (to.bits() - 1)) - 1)
        } else {
            (0, (1i128 << to.bits()) - 1)
        };
        value.clamp(low, high)
    } else {
        value
    };
    to.wrap(clamped as u64)
}

/// What an atomic operation leaves in memory where `old` was.
pub(super) fn atomic(op: Atomic, kind: Type, old: u64, b: u64, c: u64) -> u64 {
    let value = match op {
        Atomic::Exch => b,
        Atomic::Cas => {
            if old == b {
                c
            } else {
                old
            }
        }
        Atomic::Add => old.wrapping_add(b),
        Atomic::Min => {
            if less(kind, b, old) {
                b
            } else {
                old
            }
        }
        Atomic::Max => {
            if less(kind, old, b) {
                b
            } else {
                old
            }
        }
        Atomic::And => old & b,
        Atomic::Or => old | b,
        Atomic::Xor => old ^ b,
    };
    kind.wrap(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const U32: Type = Type { bytes: 4, signed: false };
    const S32: Type = Type { bytes: 4, signed: true };
    const U64: Type = Type { bytes: 8, signed: false };

    #[test]
    fn narrow_results_wrap() {
        assert_eq!(compute(Op::Add, U32, 0xffff_ffff, 2, 0), 1);
        assert_eq!(compute(Op::Sub, U32, 0, 1, 0), 0xffff_ffff);
        assert_eq!(compute(Op::MulWide, U32, 0xffff_ffff, 4, 0), 0x3_ffff_fffc);
        assert_eq!(compute(Op::MadWide, S32, 0xffff_ffff, 4, 10), 6);
        assert_eq!(compute(Op::MulHi, U64, u64::MAX, 2, 0), 1);
    }

    #[test]
    fn signs_matter_where_they_do() {
        assert_eq!(compute(Op::Shr, S32, 0x8000_0000, 4, 0), 0xf800_0000);
        assert_eq!(compute(Op::Shr, U32, 0x8000_0000, 4, 0), 0x0800_0000);
        assert_eq!(compute(Op::Set(Compare::Lt), S32, 0xffff_ffff, 0, 0), 1);
        assert_eq!(compute(Op::Set(Compare::Lt), U32, 0xffff_ffff, 0, 0), 0);
        assert_eq!(compute(Op::Min, S32, 0xffff_fffe, 3, 0), 0xffff_fffe);
    }

    #[test]
    fn conversions_extend_truncate_and_saturate() {
        assert_eq!(compute(Op::Convert(U64, false), S32, 0xffff_ffff, 0, 0), u64::MAX);
        assert_eq!(compute(Op::Convert(U32, false), U64, 0x1_0000_0005, 0, 0), 5);
        assert_eq!(compute(Op::Convert(U32, true), U64, 0x1_0000_0005, 0, 0), 0xffff_ffff);
        assert_eq!(compute(Op::Convert(U32, true), S32, 0xffff_ffff, 0, 0), 0);
    }

    #[test]
    fn shifts_beyond_the_width_give_nothing() {
        assert_eq!(compute(Op::Shl, U32, 1, 32, 0), 0);
        assert_eq!(compute(Op::Shl, U64, 1, 63, 0), 1 << 63);
        assert_eq!(compute(Op::Clz, U32, 1, 0, 0), 31);
    }
}
