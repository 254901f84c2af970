//! Runs arithmetic over many numbers with the widest SIMD vectors of the processor.
#![allow(unsafe_code)]

/// A computation. Its `run`, and all functions it calls, must be `#[inline(always)]`, so that they
/// are compiled for each width of vectors.
pub(crate) trait Work {
    /// The result of the computation.
    type Result;

    /// Runs the computation.
    fn run(self) -> Self::Result;
}

/// Runs a computation that is compiled three times: for the baseline of x86_64, for AVX2 and for
/// AVX-512. Results are the same to the bit: nothing is reordered or fused.
///
/// Choosing costs a nanosecond; training lines takes half the time.
#[inline]
pub(crate) fn wide<W: Work>(work: W) -> W::Result {
    #[cfg(target_arch = "x86_64")]
    {
        if has_avx512() {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { with_avx512(work) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { with_avx2(work) };
        }
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn with_avx512<W: Work>(work: W) -> W::Result {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<W: Work>(work: W) -> W::Result {
    work.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Halves<'a>(&'a [u64]);

    impl Work for Halves<'_> {
        type Result = u64;

        #[inline(always)]
        fn run(self) -> u64 {
            let halves = self.0.iter().map(|&n| (n as f64 / 2.0).to_bits());
            halves.fold(0, u64::wrapping_add)
        }
    }

    #[test]
    fn wide_code_gives_the_same_result() {
        let numbers: Vec<u64> = (0..1001).map(|i| i << (i % 60)).collect();
        let plain = Halves(&numbers).run();
        assert_eq!(wide(Halves(&numbers)), plain);
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the features that the function is compiled for.
            assert_eq!(unsafe { with_avx2(Halves(&numbers)) }, plain);
        }
    }
}
