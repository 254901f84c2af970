//! Numbers all digits of a key at once if every symbol is known (x86-64 with AVX2).
//!
//! A lane stands for a position. All lanes rank their bytes in parallel. Neighbours are then joined
//! twice, as in mixed radix: two ranks make `rank * radix + rank` in 16 bits, and two of those a
//! number of at most 31 bits. Each of these eight groups of four positions is multiplied by its
//! weight. At an unknown symbol the number would end in the middle, so such keys are numbered digit
//! by digit.
//!
//! Unsafe code pays here: a key of 24 decimal digits takes 4.5 ns, but 17 ns digit by digit.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::KeyMap;
use super::alphabet::ByteSet;

/// How many positions are numbered at once.
const LANES: usize = 32;

/// With fewer digits, numbering them one by one has the answer sooner, although it keeps the
/// processor busier. Lanes also take about 270 bytes of memory.
const MIN_DIGITS: usize = 8;

/// The largest radix in an odd lane: the lane before it is multiplied by the radix as an `i8`.
const MAX_ODD_RADIX: u32 = 127;

/// The operands of all lanes of a map. It exists only on processors with AVX2.
///
/// The alphabet of a lane is one or two ranges of bytes. Relative to its least byte these are
/// `0..=first` and `second..=second + span`; a single range is stored as both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lanes {
    least: [u8; LANES],
    first: [u8; LANES],
    second: [u8; LANES],
    span: [u8; LANES],
    /// For even lanes the radix of the next lane, for odd lanes 1.
    pairs: [u8; LANES],
    /// For even pairs the radix of the next pair, for odd pairs 1.
    quads: [u16; LANES / 2],
    /// For each group of four lanes, the product of the radices after it: groups 0, 2, 4 and 6,
    /// then 1, 3, 5 and 7.
    weights: [[u64; LANES / 8]; 2],
    /// The position of lane 0; there are only literals before it.
    start: u32,
    /// Lanes in use.
    count: u8,
    /// END is a symbol from this lane on.
    shortest: u8,
}

impl Lanes {
    /// The lanes of a map, if its last positions hold all its digits, all digits rank by ranges,
    /// there are enough of them, and the processor has AVX2.
    pub(super) fn new(map: &KeyMap) -> Option<Lanes> {
        if !is_x86_feature_detected!("avx2") {
            return None;
        }
        let start = map.depth().saturating_sub(LANES);
        if map.digits.len() < MIN_DIGITS || map.shared_prefix_bytes() < start {
            return None;
        }
        let mut lanes = Lanes {
            least: [0; LANES],
            first: [0; LANES],
            second: [0; LANES],
            span: [0; LANES],
            pairs: [0; LANES],
            quads: [0; LANES / 2],
            weights: [[0; LANES / 8]; 2],
            start: start as u32,
            count: (map.depth() - start) as u8,
            shortest: (map.shortest as usize).saturating_sub(start) as u8,
        };
        let mut radices = [1u32; LANES];
        for (lane, set) in map.sets().skip(start).enumerate() {
            let ends = lane >= usize::from(lanes.shortest);
            radices[lane] = set.len() + u32::from(ends);
            let most = if lane % 2 == 1 { MAX_ODD_RADIX } else { 256 };
            if radices[lane] > most {
                return None;
            }
            lanes.least[lane] = set.min()?;
            (lanes.first[lane], lanes.second[lane], lanes.span[lane]) = two_ranges(&set)?;
        }
        lanes.weigh(&radices);
        Some(lanes)
    }

    /// Sets all multipliers.
    fn weigh(&mut self, radices: &[u32; LANES]) {
        let mut product = 1u128;
        for (group, radix) in radices.chunks_exact(4).enumerate().rev() {
            self.pairs[group * 4..][..4].copy_from_slice(&[radix[1] as u8, 1, radix[3] as u8, 1]);
            self.quads[group * 2..][..2].copy_from_slice(&[(radix[2] * radix[3]) as u16, 1]);
            // A weight of 2^64 means that no digit can be in this group, only literals.
            self.weights[group % 2][group / 2] = product.try_into().unwrap_or(0);
            product *= radix.iter().map(|&r| u128::from(r)).product::<u128>();
        }
    }

    /// The number of a key if all its symbols are known and it is long enough. `literals` are the
    /// map's.
    #[inline]
    pub(super) fn number(&self, literals: &[u8], key: &[u8]) -> Option<u64> {
        let mut window = key;
        if self.start > 0 {
            let (prefix, rest) = key.split_at_checked(self.start as usize)?;
            if literals.get(..prefix.len()) != Some(prefix) {
                return None;
            }
            window = rest;
        }
        // SAFETY: only `new` makes lanes, after it has checked that the processor has AVX2.
        unsafe { self.number_of_window(window) }
    }

    /// The number of the symbols from position `start` on.
    #[target_feature(enable = "avx2")]
    fn number_of_window(&self, window: &[u8]) -> Option<u64> {
        let bytes = load_window(window)?;
        let lane = load(&LANE_NUMBERS);
        let inside = window.len().min(usize::from(self.count));
        let inside = _mm256_cmpgt_epi8(_mm256_set1_epi8(inside as i8), lane);

        let offset = _mm256_sub_epi8(bytes, load(&self.least));
        let first = load(&self.first);
        let in_first = at_most(offset, first);
        let beyond = _mm256_sub_epi8(offset, load(&self.second));
        let in_second = at_most(beyond, load(&self.span));
        let known = _mm256_or_si256(in_first, in_second);
        // False if a lane is 0 in `known` and 1 in `inside`.
        if _mm256_testc_si256(known, inside) == 0 {
            return None;
        }

        // Symbols of the second range rank from first + 1 on; END ranks before both. All ones are
        // -1.
        let ones = _mm256_set1_epi8(-1);
        let in_second = _mm256_sub_epi8(_mm256_add_epi8(beyond, first), ones);
        let rank = _mm256_blendv_epi8(in_second, offset, in_first);
        let ends = _mm256_cmpgt_epi8(lane, _mm256_set1_epi8(self.shortest as i8 - 1));
        let rank = _mm256_and_si256(_mm256_sub_epi8(rank, ends), inside);

        let pairs = _mm256_maddubs_epi16(rank, load(&self.pairs));
        let quads = _mm256_madd_epi16(pairs, load_words(&self.quads));
        let even = multiply(quads, load_weights(&self.weights[0]));
        let odd = multiply(_mm256_srli_epi64(quads, 32), load_weights(&self.weights[1]));
        Some(sum(_mm256_add_epi64(even, odd)))
    }
}

/// The index of each lane.
const LANE_NUMBERS: [u8; LANES] = {
    let mut numbers = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        numbers[lane] = lane as u8;
        lane += 1;
    }
    numbers
};

/// The set's one or two ranges, relative to its least byte: the last byte of the first range, the
/// first byte of the second, and the distance from there to its last. `None` if there are more
/// ranges.
fn two_ranges(set: &ByteSet) -> Option<(u8, u8, u8)> {
    let (min, max) = (set.min()?, set.max()?);
    let gap = (min..=max).find(|&byte| !set.contains(byte));
    let Some(gap) = gap else {
        return Some((max - min, 0, max - min));
    };
    let second = (gap..=max).find(|&byte| set.contains(byte))?;
    let one_range = (second..=max).all(|byte| set.contains(byte));
    one_range.then(|| (gap - 1 - min, second - min, max - second))
}

/// The first bytes of the window, in order; lanes past its end are undefined. `None` for windows
/// below 8 bytes, which are quicker digit by digit.
#[inline]
#[target_feature(enable = "avx2")]
fn load_window(window: &[u8]) -> Option<__m256i> {
    if let Some(whole) = window.first_chunk() {
        return Some(load(whole));
    }
    let missing = LANES - window.len();
    if let (Some(low), Some(last)) = (window.first_chunk(), window.last_chunk()) {
        // The last 16 bytes, shifted down to follow the first 16.
        let from = _mm_add_epi8(
            _mm256_castsi256_si128(load(&LANE_NUMBERS)),
            _mm_set1_epi8(missing as i8),
        );
        let high = _mm_shuffle_epi8(load_half(last), from);
        return Some(_mm256_set_m128i(high, load_half(low)));
    }
    let low = i64::from_le_bytes(*window.first_chunk()?);
    let last = u64::from_le_bytes(*window.last_chunk()?);
    // Likewise with the last 8 bytes after the first 8.
    let high = last.wrapping_shr(8 * (missing as u32 - 16)) as i64;
    Some(_mm256_castsi128_si256(_mm_set_epi64x(high, low)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; LANES]) -> __m256i {
    // SAFETY: reads exactly the 32 bytes of the array; this load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_half(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: reads exactly the 16 bytes of the array; this load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_words(words: &[u16; LANES / 2]) -> __m256i {
    // SAFETY: reads exactly the 32 bytes of the array; this load needs no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_weights(weights: &[u64; LANES / 8]) -> __m256i {
    // SAFETY: reads exactly the 32 bytes of the array; this load needs no alignment.
    unsafe { _mm256_loadu_si256(weights.as_ptr().cast()) }
}

/// All ones in the lanes where `a <= b`, unsigned.
#[inline]
#[target_feature(enable = "avx2")]
fn at_most(a: __m256i, b: __m256i) -> __m256i {
    _mm256_cmpeq_epi8(_mm256_min_epu8(a, b), a)
}

/// The low half of each 64-bit lane of `groups` times that lane of `weights`, modulo 2^64.
#[inline]
#[target_feature(enable = "avx2")]
fn multiply(groups: __m256i, weights: __m256i) -> __m256i {
    let low = _mm256_mul_epu32(groups, weights);
    let high = _mm256_mul_epu32(groups, _mm256_srli_epi64(weights, 32));
    _mm256_add_epi64(low, _mm256_slli_epi64(high, 32))
}

/// The sum of the four 64-bit lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn sum(lanes: __m256i) -> u64 {
    let high = _mm256_extracti128_si256(lanes, 1);
    let pair = _mm_add_epi64(_mm256_castsi256_si128(lanes), high);
    let other = _mm_unpackhi_epi64(pair, pair);
    _mm_cvtsi128_si64(_mm_add_epi64(pair, other)) as u64
}
