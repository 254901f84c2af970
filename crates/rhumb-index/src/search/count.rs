//! Counts the numbers below a key side by side, in vectors.
#![allow(unsafe_code)]

/// Numbers that are counted at once: three or four cache lines, or five or six.
pub(super) const FEW: usize = 24;
pub(super) const MORE: usize = 40;

/// How many of these, at most 64, are below `key`; `None` where the processor has no instructions that
/// make it worth while.
///
/// A look-up that waits for memory holds back every instruction that needs what it waits for, and the
/// queues for these are short: when they are full, the processor cannot begin the next look-up
/// meanwhile. A bisection of 24 numbers puts some fifteen of them there, one after the other; this
/// six.
#[inline]
pub(super) fn below<const N: usize>(numbers: &[u64; N], key: u64) -> Option<usize> {
    const { assert!(N.is_multiple_of(8) && N <= 64) };
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has what the function was compiled for.
        return Some(unsafe { below_avx512(numbers, key) });
    }
    let _ = (numbers, key);
    None
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
fn below_avx512<const N: usize>(numbers: &[u64; N], key: u64) -> usize {
    use std::arch::x86_64::{_mm512_cmplt_epu64_mask, _mm512_loadu_si512, _mm512_set1_epi64};
    let key = _mm512_set1_epi64(key as i64);
    let (eights, _) = numbers.as_chunks::<8>();
    let mut mask = 0u64;
    for (i, eight) in eights.iter().enumerate() {
        // SAFETY: there are 64 bytes to read.
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
            }
        }
    }

    #[test]
    fn every_size_counts_like_one_by_one() {
        counts_like_one_by_one::<FEW>();
        counts_like_one_by_one::<MORE>();
        counts_like_one_by_one::<64>();
    }
}
