//! Collects the keys, and lays out the nodes over them.

use std::ops::Range;

use super::spline::Spline;
use super::{FEW_KNOTS, MOST_BITS};
use crate::kinds::rss::chunk::Chunk;
use crate::kinds::rss::nodes::{Run, Waiting, lay_out_all, runs, shared_prefix};
use crate::kinds::rss::{KIND, OVER_KEYS};
use crate::kinds::shared::order::Order;
use crate::kinds::shared::spline::RadixTable;
use crate::kinds::shared::strings::Strings;
use crate::{IndexBuilder, IndexError};

/// Gives the nodes over keys with an error, for blocks that are cut before these ranks.
type LayOut = fn(&Strings, u32, &[usize]) -> Vec<u8>;

/// Builds the tree when all keys are known.
#[derive(Debug)]
pub(in crate::kinds::rss) struct KeysBuilder {
    error: u32,
    flags: u8,
    lay_out: LayOut,
    order: Order,
    keys: Strings,
    /// The last keys of blocks.
    lasts: Strings,
}

impl KeysBuilder {
    /// With chunks of this length.
    pub(in crate::kinds::rss) fn new<C: Chunk>(error: u32) -> Self {
        KeysBuilder {
            error,
            flags: OVER_KEYS | C::FLAG,
            lay_out: lay_out::<C>,
            order: Order::default(),
            keys: Strings::default(),
            lasts: Strings::default(),
        }
    }

    /// The ranks behind the last keys of blocks, ascending. If the versions of a key go on in the next block, the key itself is
    /// looked for in the block before.
    fn cuts(&self) -> Vec<usize> {
        let mut rank = 0;
        let rank_behind = |block: usize| {
            let last = self.lasts.get(block);
            while rank < self.keys.len() && self.keys.get(rank) <= last {
                rank += 1;
            }
            rank
        };
        (0..self.lasts.len()).map(rank_behind).collect()
    }
}

impl IndexBuilder for KeysBuilder {
    fn push(&mut self, key: &[u8], _number: u64) -> Result<(), IndexError> {
        self.order.push(key)?;
        self.keys.push(key);
        Ok(())
    }

    fn trust_order(&mut self) {
        self.order.trust();
    }

    fn cut(&mut self, last_key: &[u8], _first_key: &[u8]) {
        self.lasts.push(last_key);
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, IndexError> {
        let unfit = |why: String| IndexError::Unfit {
            kind: KIND.name,
            why,
        };
        if u32::try_from(self.keys.len()).is_err() {
            return Err(unfit(format!(
                "{} keys are more than it counts",
                self.keys.len()
            )));
        }
        let nodes = (self.lay_out)(&self.keys, self.error, &self.cuts());
        let length = u32::try_from(nodes.len())
            .map_err(|_| unfit("its nodes exceed 4 GiB: write smaller tables".into()))?;
        let mut out = KIND.header().to_vec();
        out.extend([self.flags, 0, 0, 0]);
        out.extend((self.keys.len() as u64).to_le_bytes());
        out.extend(self.error.to_le_bytes());
        out.extend(length.to_le_bytes());
        out.extend(nodes);
        Ok(out)
    }
}

/// The nodes over keys; see [`LayOut`].
fn lay_out<C: Chunk>(keys: &Strings, error: u32, cuts: &[usize]) -> Vec<u8> {
    let over = Over { keys, error, cuts };
    lay_out_all(keys.len(), |node, nodes, waiting| {
        over.lay_out::<C>(&node, nodes, waiting);
    })
}

/// A redirected run.
struct Redirect {
    knot: u32,
    /// A bit for each length of keys that end inside the chunk.
    lengths: u32,
    child: Option<Range<usize>>,
}

/// What nodes are laid out over.
struct Over<'a> {
    keys: &'a Strings,
    error: u32,
    cuts: &'a [usize],
}

impl Over<'_> {
    /// Whether a block begins inside these keys, behind the first.
    fn is_parted(&self, keys: &Range<usize>) -> bool {
        let next = self.cuts.partition_point(|cut| *cut <= keys.start);
        self.cuts.get(next).is_some_and(|cut| *cut < keys.end)
    }

    fn needs_node(&self, keys: &Range<usize>) -> bool {
        keys.len() >= self.error as usize || self.is_parted(keys)
    }

    fn lay_out<C: Chunk>(&self, node: &Waiting, out: &mut Vec<u8>, waiting: &mut Vec<Waiting>) {
        let Range { start, end } = node.strings;
        let prefix = shared_prefix(
            self.keys.rest(start, node.depth),
            self.keys.rest(end - 1, node.depth),
        );
        let depth = node.depth + prefix.len();
        let runs: Vec<Run<C>> = runs(start..end, |at| self.keys.rest(at, depth));
        let (knots, redirects) = self.fit(&runs, depth);
        let (shift, cells) = cells(&knots, node.level);
        let counts = [
            start,
            end - start,
            knots.len(),
            redirects.len(),
            cells.len(),
        ];
        out.extend(counts.iter().flat_map(|n| (*n as u32).to_le_bytes()));
        out.extend((prefix.len() as u16).to_le_bytes());
        out.extend([shift, 0]);
        out.extend(prefix);
        out.extend(cells.iter().flat_map(|cell| cell.to_le_bytes()));
        knots
            .iter()
            .for_each(|(chunk, _)| out.extend(chunk.stored().as_ref()));
        out.extend(knots.iter().flat_map(|(_, rank)| rank.to_le_bytes()));
        for redirect in redirects {
            out.extend(redirect.knot.to_le_bytes());
            out.extend(redirect.lengths.to_le_bytes());
            if let Some(keys) = redirect.child {
                waiting.push(node.child::<C>(keys, depth, out.len()));
            }
            out.extend([0; 4]);
        }
    }

    /// Fits the spline of a node, whose chunks begin at `depth`.
    fn fit<C: Chunk>(&self, runs: &[Run<C>], depth: usize) -> (Vec<(C, u32)>, Vec<Redirect>) {
        let mut spline = Spline::new(self.error);
        let mut redirects = Vec::new();
        for run in runs {
            let (from, to) = (run.strings.start as u32, run.strings.end as u32);
            if self.needs_node(&run.strings) {
                spline.through(run.chunk, from);
                redirects.push(self.redirect::<C>(&run.strings, depth, spline.knots.len()));
                if let Some(after) = run.chunk.after() {
                    spline.through(after, to);
                }
            } else if self.cuts.binary_search(&run.strings.start).is_ok() {
                spline.through(run.chunk, from);
            } else {
                spline.near(run.chunk, from, to);
            }
        }
        if let Some(last) = runs.last() {
            match last.chunk.after() {
                Some(after) => spline.through(after, last.strings.end as u32),
                None => spline.through(last.chunk, last.strings.start as u32),
            }
        }
        (spline.knots, redirects)
    }

    /// Redirects a run at the last of so many knots.
    fn redirect<C: Chunk>(&self, run: &Range<usize>, depth: usize, knots: usize) -> Redirect {
        let length = |at: usize| self.keys.rest(at, depth).len();
        // Those that end inside the chunk come first, since they are prefixes of the others.
        let ended = run.clone().take_while(|at| length(*at) <= C::BYTES).count();
        let inside = run.clone().take(ended);
        let longer = run.start + ended..run.end;
        Redirect {
            knot: knots.saturating_sub(1) as u32,
            lengths: inside.map(|at| 1 << length(at)).sum(),
            child: Some(longer).filter(|longer| self.needs_node(longer)),
        }
    }
}

/// The radix table over the knots of a node with so many nodes above it: its shift and its cells.
fn cells<C: Chunk>(knots: &[(C, u32)], level: usize) -> (u8, Vec<u32>) {
    let (Some((first, _)), Some((last, _))) = (knots.first(), knots.last()) else {
        return (0, Vec::new());
    };
    if knots.len() <= FEW_KNOTS {
        return (0, Vec::new());
    }
    let most = MOST_BITS.get(level).unwrap_or(&MOST_BITS[2]);
    let bits = knots.len().next_power_of_two().ilog2().min(*most);
    let table = RadixTable::new(last.top_above(*first), bits);
    let cells = table.build(knots, |(chunk, _)| chunk.top_above(*first));
    (table.shift, cells)
}
