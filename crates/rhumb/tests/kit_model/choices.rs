//! The decisions of generated tests, from a seed or from the bytes of a fuzzer.

/// A source of decisions that are the same for the same seed or bytes.
#[derive(Debug, Clone)]
pub struct Choices {
    state: u64,
    bytes: Option<Vec<u8>>,
    at: usize,
}

impl Choices {
    /// Unlimited decisions from a seed.
    pub fn seeded(seed: u64) -> Self {
        Choices {
            state: seed,
            bytes: None,
            at: 0,
        }
    }

    /// Decisions read from bytes; zeros after their end.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Choices {
            state: 0,
            bytes: Some(bytes.to_vec()),
            at: 0,
        }
    }

    /// Whether all bytes are used up.
    pub fn exhausted(&self) -> bool {
        self.bytes.as_ref().is_some_and(|b| self.at >= b.len())
    }

    /// The next 64 bits by splitmix64 of a seed, or the next two of the bytes.
    pub fn next(&mut self) -> u64 {
        if let Some(bytes) = &self.bytes {
            let byte = |i: usize| u64::from(bytes.get(i).copied().unwrap_or(0));
            let value = byte(self.at) << 8 | byte(self.at + 1);
            self.at += 2;
            return value;
        }
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 for 0.
    pub fn below(&mut self, n: u64) -> u64 {
        let next = self.next();
        next.checked_rem(n).unwrap_or(0)
    }

    /// `true` with a probability of `percent` percent.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `from`.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}
