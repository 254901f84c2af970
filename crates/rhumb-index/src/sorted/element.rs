//! The types of keys and values.

use std::fmt::Debug;

use super::column::{Column, Fixed};
use super::strings::Strings;

/// A type of keys and values of [`SortedSet`](crate::SortedSet) and
/// [`SortedMap`](crate::SortedMap): the integers of all widths, `f32` and `f64` in their total
/// order, `str` and `[u8]`.
///
/// Numbers take as many bytes as their type. Strings take 4 bytes besides their own, 8 if there are
/// more than 4 GiB of them in total, and none if all have the same length.
///
/// `usize` and `isize` are stored as `u64` and `i64`: where they have 32 bits, open sets that were
/// made on a machine of 64 bits as these.
///
/// The trait is sealed; its items are not part of the API.
pub trait Element: sealed::Sealed {
    /// The type that look-ups return: a number itself, or a reference to the stored bytes of a
    /// string.
    type Ref<'a>: Copy + Debug + PartialEq + PartialOrd;

    /// How elements are stored.
    #[doc(hidden)]
    type Column: Column;

    /// The type's code in byte forms, never reused for another type.
    #[doc(hidden)]
    const CODE: u8;

    /// The stored form; `room` is a buffer for forms that must be computed.
    #[doc(hidden)]
    fn stored<'k>(&'k self, room: &'k mut [u8; 16]) -> <Self::Column as Column>::Item<'k>;

    /// The element of a stored form.
    #[doc(hidden)]
    fn from_stored<'a>(stored: <Self::Column as Column>::Item<'a>) -> Self::Ref<'a>;
}

mod sealed {
    pub trait Sealed {}
}

/// Types of up to 8 bytes, stored as numbers in the same order.
macro_rules! numbers {
    ($($type:ty, $code:literal, $bytes:literal, $to:expr, $from:expr;)*) => {$(
        impl sealed::Sealed for $type {}

        impl Element for $type {
            type Ref<'a> = $type;
            type Column = Fixed<$bytes>;
            const CODE: u8 = $code;

            #[inline(always)]
            fn stored<'k>(&'k self, _room: &'k mut [u8; 16]) -> u64 {
                let to: fn($type) -> u64 = $to;
                to(*self)
            }

            #[inline(always)]
            fn from_stored<'a>(stored: <Self::Column as Column>::Item<'a>) -> Self::Ref<'a> {
                let from: fn(u64) -> $type = $from;
                from(stored)
            }
        }
    )*};
}

numbers! {
    u8, 1, 1, u64::from, |n| n as u8;
    u16, 2, 2, u64::from, |n| n as u16;
    u32, 3, 4, u64::from, |n| n as u32;
    u64, 4, 8, |n| n, |n| n;
    usize, 4, 8, |n| n as u64, |n| n as usize;
    i8, 6, 1, |n| u64::from(n as u8 ^ 1 << 7), |n| (n as u8 ^ 1 << 7) as i8;
    i16, 7, 2, |n| u64::from(n as u16 ^ 1 << 15), |n| (n as u16 ^ 1 << 15) as i16;
    i32, 8, 4, |n| u64::from(n as u32 ^ 1 << 31), |n| (n as u32 ^ 1 << 31) as i32;
    i64, 9, 8, |n| n as u64 ^ 1 << 63, |n| (n ^ 1 << 63) as i64;
    isize, 9, 8, |n| n as i64 as u64 ^ 1 << 63, |n| (n ^ 1 << 63) as i64 as isize;
    f32, 11, 4, |n| u64::from(ordered_32(n.to_bits())), |n| f32::from_bits(bits_32(n as u32));
    f64, 12, 8, |n| ordered_64(n.to_bits()), |n| f64::from_bits(bits_64(n));
}

/// The bits of a floating-point number as an integer in the total order: all bits of negative
/// numbers are inverted, and the sign bit of others.
fn ordered_32(bits: u32) -> u32 {
    bits ^ (((bits as i32) >> 31) as u32 | 1 << 31)
}

fn bits_32(ordered: u32) -> u32 {
    ordered ^ (!(((ordered as i32) >> 31) as u32) | 1 << 31)
}

fn ordered_64(bits: u64) -> u64 {
    bits ^ (((bits as i64) >> 63) as u64 | 1 << 63)
}

fn bits_64(ordered: u64) -> u64 {
    ordered ^ (!(((ordered as i64) >> 63) as u64) | 1 << 63)
}

/// Types of 16 bytes, stored as strings of big-endian bytes.
macro_rules! wide {
    ($($type:ty, $code:literal, $sign:expr;)*) => {$(
        impl sealed::Sealed for $type {}

        impl Element for $type {
            type Ref<'a> = $type;
            type Column = Strings;
            const CODE: u8 = $code;

            #[inline]
            fn stored<'k>(&'k self, room: &'k mut [u8; 16]) -> &'k [u8] {
                *room = (*self as u128 ^ $sign).to_be_bytes();
                room
            }

            #[inline]
            fn from_stored<'a>(stored: <Self::Column as Column>::Item<'a>) -> Self::Ref<'a> {
                let bytes = stored.first_chunk().copied().unwrap_or_default();
                (u128::from_be_bytes(bytes) ^ $sign) as $type
            }
        }
    )*};
}

wide! {
    u128, 5, 0;
    i128, 10, 1 << 127;
}

impl sealed::Sealed for [u8] {}

impl Element for [u8] {
    type Ref<'a> = &'a [u8];
    type Column = Strings;
    const CODE: u8 = 13;

    #[inline(always)]
    fn stored<'k>(&'k self, _room: &'k mut [u8; 16]) -> &'k [u8] {
        self
    }

    #[inline(always)]
    fn from_stored<'a>(stored: <Self::Column as Column>::Item<'a>) -> Self::Ref<'a> {
        stored
    }
}

impl sealed::Sealed for str {}

impl Element for str {
    type Ref<'a> = &'a str;
    type Column = Strings;
    const CODE: u8 = 14;

    #[inline(always)]
    fn stored<'k>(&'k self, _room: &'k mut [u8; 16]) -> &'k [u8] {
        self.as_bytes()
    }

    /// Bytes that are not UTF-8, which only damage causes, are cut off.
    #[inline]
    fn from_stored<'a>(stored: <Self::Column as Column>::Item<'a>) -> Self::Ref<'a> {
        match str::from_utf8(stored) {
            Ok(text) => text,
            Err(error) => {
                let sound = stored.get(..error.valid_up_to());
                str::from_utf8(sound.unwrap_or_default()).unwrap_or_default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that stored forms ascend as the elements do, and convert back.
    fn ascends<T>(sorted: &[T])
    where
        T: for<'a> Element<Ref<'a> = T, Column = Fixed<8>> + Copy + PartialEq,
    {
        let mut before = None;
        for element in sorted {
            let stored = element.stored(&mut [0; 16]);
            assert!(T::from_stored(stored) == *element);
            assert!(before < Some(stored));
            before = Some(stored);
        }
    }

    #[test]
    fn numbers_keep_their_order() {
        ascends(&[0u64, 1, 1 << 63, u64::MAX]);
        ascends(&[0usize, 7, usize::MAX]);
        ascends(&[i64::MIN, -1, 0, 1, i64::MAX]);
        ascends(&[isize::MIN, -1, 0, isize::MAX]);
        ascends(&[
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -1e-310,
            0.0,
            1e-310,
            1.5,
            f64::INFINITY,
        ]);
    }

    #[test]
    fn floating_point_numbers_are_in_total_order() {
        let numbers = [
            -f64::NAN,
            f64::NEG_INFINITY,
            -0.0,
            0.0,
            f64::INFINITY,
            f64::NAN,
        ];
        let stored = numbers.map(|n| n.stored(&mut [0; 16]));
        assert!(stored.is_sorted_by(|a, b| a < b));
        for (number, stored) in numbers.iter().zip(stored) {
            assert_eq!(f64::from_stored(stored).to_bits(), number.to_bits());
        }
        let numbers = [-f32::NAN, -1.0, -0.0, 0.0, 1.0, f32::NAN];
        let stored = numbers.map(|n| n.stored(&mut [0; 16]));
        assert!(stored.is_sorted_by(|a, b| a < b) && stored[5] <= u64::from(u32::MAX));
        for (number, stored) in numbers.iter().zip(stored) {
            assert_eq!(f32::from_stored(stored).to_bits(), number.to_bits());
        }
    }

    #[test]
    fn every_width_converts_back() {
        for n in i16::MIN..=i16::MAX {
            assert_eq!(i16::from_stored(n.stored(&mut [0; 16])), n);
            let small = n as i8;
            assert_eq!(i8::from_stored(small.stored(&mut [0; 16])), small);
            let wide = i128::from(n) << 100;
            assert_eq!(i128::from_stored(wide.stored(&mut [0; 16])), wide);
        }
        let (mut low, mut high) = ([0; 16], [0; 16]);
        assert!((-1i128).stored(&mut low) < 0i128.stored(&mut high));
        assert!(u128::MAX.stored(&mut low) > 0u128.stored(&mut high));
    }

    #[test]
    fn damaged_text_is_cut_off() {
        assert_eq!(str::from_stored(b"ab\xffcd"), "ab");
    }
}
