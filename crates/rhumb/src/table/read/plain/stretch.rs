//! How far the entries of a block may be lent: up to where the first limit is met.

use std::cmp::Ordering;

use super::{Limits, Reach};
use crate::entry::Direction;
use crate::table::block::BlockView;

/// Fewer entries are not lent before another one: searching for where they end costs as much as it saves.
const LEAST: usize = 4;

/// So many entries, or up to the end of a group of keys behind them, are first known to be within limits, and then twice as many each
/// time: what a short walk does not come to is not read for it.
pub(super) const FIRST_STRIDE: usize = 16;

/// How far entries are lent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    /// Where they end at the latest: forwards before this slot, backwards with it.
    pub end: usize,
    /// Whether limits allow more behind that.
    pub goes_on: bool,
    /// Forwards, whether the entry at the end is known to have the key of the last limit. It may where this is not known, as for
    /// keys of one length.
    pub meets_last: bool,
}

impl Stretch {
    /// The entries forwards from slot `from` on, or backwards before it, whose keys are within all limits: those below them, or
    /// those above them.
    #[inline]
    pub fn within(
        view: &BlockView<'_>,
        direction: Direction,
        from: usize,
        stride: usize,
        limits: Limits<'_>,
    ) -> Stretch {
        match direction {
            Direction::Forward => Stretch::forwards(view, from, stride, limits),
            Direction::Backward => Stretch::backwards(view, from, stride, limits),
        }
    }

    /// The entries from slot `from` on whose keys are below all limits.
    #[inline]
    pub fn forwards(
        view: &BlockView<'_>,
        from: usize,
        stride: usize,
        limits: Limits<'_>,
    ) -> Stretch {
        let count = view.count();
        let to = match limits {
            [None, None, None] => count,
            _ => count.min(view.up_to_group(from + stride)),
        };
        let (mut end, mut meets_last) = (to, false);
        for limit in limits {
            (end, meets_last) = match limit {
                Some(limit) => view.first_from(from..end, limit),
                None => (end, false),
            };
        }
        Stretch {
            end,
            goes_on: end == to && to < count,
            meets_last,
        }
    }

    /// The entries before slot `from` whose keys are above all limits. The first entry of the block is not among them: newer versions
    /// of its key may be in the block before.
    #[inline]
    fn backwards(view: &BlockView<'_>, from: usize, stride: usize, limits: Limits<'_>) -> Stretch {
        let to = match limits {
            [None, None, None] => 1,
            _ => from.saturating_sub(stride).max(1),
        };
        let mut start = to;
        for limit in limits.into_iter().flatten() {
            let mut behind = view.first_from(start..from, limit).0..from;
            let above = behind.find(|slot| view.compare(*slot, limit) == Ordering::Greater);
            start = above.unwrap_or(from);
        }
        Stretch {
            end: start,
            goes_on: start == to && to > 1,
            meets_last: false,
        }
    }

    /// The first entries forwards from slot `behind` on, or backwards before it, that are within reach; `None` if they are too few.
    #[inline]
    pub fn worth_lending(view: &BlockView<'_>, behind: usize, reach: Reach<'_>) -> Option<Stretch> {
        let stretch = Stretch::within(view, reach.direction, behind, FIRST_STRIDE, reach.limits);
        let end = stretch.end;
        // Up to the border of the block, few are as good as many.
        let (lent, at_border) = match reach.direction {
            Direction::Forward => (end.saturating_sub(behind), end == view.count()),
            Direction::Backward => (behind.saturating_sub(end), end == 1),
        };
        (lent >= LEAST || lent > 0 && at_border).then_some(stretch)
    }

    /// Ends it earlier.
    pub fn cut(&mut self, end: usize) {
        *self = Stretch {
            end,
            goes_on: false,
            meets_last: false,
        };
    }
}
