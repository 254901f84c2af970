//! Counts the numbers below a key with SIMD.
#![allow(unsafe_code)]

use super::numbers::Number;

/// Sizes that are counted at once: three or four cache lines, or five or six.
pub(super) const FEW: usize = 24;
pub(super) const MORE: usize = 40;

/// How many of these, at most 64, are below `key`; `None` if the processor lacks the instructions
/// that make counting faster.
///
/// A look-up that waits for memory holds back every instruction that depends on the result, and the
/// queues for these are short: when they are full, the processor cannot start the next look-up. A
/// bisection of 24 numbers has about fifteen such instructions, one after the other; counting has
/// six.
#[inline]
pub(super) fn below<T: Number, const N: usize>(numbers: &[T; N], key: u64) -> Option<usize> {
    const { assert!(N.is_multiple_of(8) && N <= 64 && size_of::<T>() == 8) };
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has the features that the function is compiled for.
        return Some(unsafe { below_avx512(numbers, key) });
    }
    let _ = (numbers, key);
    None
}

/// A method of counting without branches.
pub(crate) trait Count: Copy {
    /// How many of these ascending numbers, at most 64, are below `key`.
    fn below<T: Number, const N: usize>(self, numbers: &[T; N], key: u64) -> usize;
}

/// A computation that counts repeatedly, such as a search from node to node.
pub(crate) trait Counting {
    type Answer;

    /// Runs the computation with a method. Must always be inlined, so that it is compiled for each.
    fn by<C: Count>(self, count: C) -> Self::Answer;
}

/// Runs a computation with the best method for the processor, chosen once and not for every node.
#[inline(always)]
pub(crate) fn counting<W: Counting>(work: W) -> W::Answer {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { counting_avx512(work) };
    }
    work.by(ByFours)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
fn counting_avx512<W: Counting>(work: W) -> W::Answer {
    work.by(SideBySide(()))
}

/// Compares all numbers in parallel; created only if the processor supports it.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct SideBySide(());

#[cfg(target_arch = "x86_64")]
impl Count for SideBySide {
    #[inline(always)]
    fn below<T: Number, const N: usize>(self, numbers: &[T; N], key: u64) -> usize {
        const { assert!(N.is_multiple_of(8) && N <= 64 && size_of::<T>() == 8) };
        // SAFETY: values of this type exist only if the processor has the features that the
        // function needs.
        unsafe { below_avx512(numbers, key) }
    }
}

/// Compares every fourth number, and then three neighbours.
#[derive(Clone, Copy)]
struct ByFours;

impl Count for ByFours {
    #[inline(always)]
    fn below<T: Number, const N: usize>(self, numbers: &[T; N], key: u64) -> usize {
        by_fours(numbers, key)
    }
}

#[inline(always)]
fn by_fours<T: Number, const N: usize>(numbers: &[T; N], key: u64) -> usize {
    let is_below = |number: T| usize::from(number.value() < key);
    let (fours, _) = numbers.as_chunks::<4>();
    let whole: usize = fours.iter().map(|four| is_below(four[3])).sum();
    let more = fours.get(whole).map_or(0, |four| {
        is_below(four[0]) + is_below(four[1]) + is_below(four[2])
    });
    4 * whole + more
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
#[inline]
fn below_avx512<T: Number, const N: usize>(numbers: &[T; N], key: u64) -> usize {
    use std::arch::x86_64::{_mm512_cmplt_epu64_mask, _mm512_loadu_si512, _mm512_set1_epi64};
    let key = _mm512_set1_epi64(key as i64);
    let (eights, _) = numbers.as_chunks::<8>();
    let mut mask = 0u64;
    for (i, eight) in eights.iter().enumerate() {
        // SAFETY: there are 64 bytes to read, which need not be aligned; the processor is
        // little-endian, as are the numbers of byte forms.
        let eight = unsafe { _mm512_loadu_si512(eight.as_ptr().cast()) };
        mask |= u64::from(_mm512_cmplt_epu64_mask(eight, key)) << (8 * i);
    }
    mask.count_ones() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::SplitMix64;

    fn counts_like_one_by_one<const N: usize>() {
        let mut random = SplitMix64::new(11);
        for _ in 0..10_000 {
            let shift = random.below(64) as u32;
            let numbers: [u64; N] = std::array::from_fn(|_| random.next_u64() >> shift);
            let own = numbers[random.below(N as u64) as usize];
            for key in [
                0,
                1,
                own,
                own.wrapping_add(1),
                1 << 63,
                (1 << 63) - 1,
                u64::MAX,
            ] {
                let expected = numbers.iter().filter(|&&number| number < key).count();
                assert!(below(&numbers, key).is_none_or(|counted| counted == expected));
                let bytes = numbers.map(u64::to_le_bytes);
                assert!(below(&bytes, key).is_none_or(|counted| counted == expected));
                let mut sorted = numbers;
                sorted.sort_unstable();
                assert_eq!(by_fours(&sorted, key), expected);
            }
        }
    }

    #[test]
    fn every_size_counts_like_one_by_one() {
        counts_like_one_by_one::<8>();
        counts_like_one_by_one::<16>();
        counts_like_one_by_one::<FEW>();
        counts_like_one_by_one::<MORE>();
        counts_like_one_by_one::<64>();
    }
}
