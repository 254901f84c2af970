//! Plans the nodes of sorted keys: compact leaves, model nodes and trie nodes.
//!
//! A leaf has at most 16 keys. More keys have a node, which first skips the prefix that they all
//! share. A *model* maps the rest of a key through the prefix table and a line to a slot.
//! Neighbouring slots share a leaf as long as it has room, and a slot with more keys than that has
//! a node of its own. There is no model if it would leave more than half of the keys in one slot. A
//! *trie* separates up to 64 children by the shortest possible strings, at places where these are
//! short and the children of similar size. Every child therefore has at most three quarters of the
//! keys, and depth is logarithmic for all keys.
//!
//! The cheaper of the two is taken, by the costs of steps ([`super::costs`]): a model costs a step,
//! the bytes of its keys that go through the table, and tries below for the keys in full slots; a
//! trie costs a step for each of its levels.

use std::ops::Range;

use super::costs::Costs;
use super::keys::Keys;
use super::line::SlotLine;
use super::train::Trained;

/// The most keys of a leaf.
pub(super) const LEAF: usize = 16;

/// Which nodes may be built.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Choice {
    /// The cheaper of model and trie.
    Cheaper(Costs),
    /// Models wherever they separate the keys.
    Model,
    /// Tries only.
    Trie,
}

/// How nodes are laid out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Layout {
    pub choice: Choice,
    /// Slots of a model node for each key.
    pub slots_a_key: f64,
    /// The most keys of different slots that share a new leaf.
    pub filled: usize,
    /// The most slots that a leaf covers.
    pub covered: u32,
}

/// A node before it is built.
#[derive(Debug)]
pub(super) struct NodePlan {
    /// The length of the prefix that all keys share.
    pub at: usize,
    pub body: Body,
    /// The keys of each child.
    pub children: Vec<Range<usize>>,
}

/// Maps keys to children.
#[derive(Debug)]
pub(super) enum Body {
    Model {
        line: SlotLine,
        /// The slots of each child.
        slots: Vec<Range<u32>>,
    },
    Trie {
        partings: Vec<Vec<u8>>,
    },
}

/// The most children of a trie node.
pub(super) const FAN_OUT: usize = 64;

/// How many keys a model is tried with before it is tried with all.
const SAMPLE: usize = 256;

/// Plans nodes.
#[derive(Debug)]
pub(super) struct Planner<'a> {
    layout: Layout,
    trained: &'a Trained,
    pub keys: &'a Keys,
    /// The length of the prefix that each key shares with the one before it.
    shared: Vec<u32>,
}

/// A possible model.
struct Candidate {
    line: SlotLine,
    /// The slot of each key.
    slots: Vec<u32>,
    cost: f64,
}

impl<'a> Planner<'a> {
    pub(super) fn new(layout: Layout, trained: &'a Trained, keys: &'a Keys) -> Self {
        let shared = (0..keys.len()).map(|i| keys.shared(i.max(1) - 1, i) as u32);
        Planner {
            layout,
            trained,
            keys,
            shared: shared.collect(),
        }
    }

    /// The node for two or more keys that share their first `at` bytes.
    pub(super) fn plan(&self, keys: Range<usize>, at: usize) -> NodePlan {
        let last = keys.end.saturating_sub(1);
        let at = at.max(self.keys.shared(keys.start, last));
        let model = match self.layout.choice {
            Choice::Trie => None,
            Choice::Model => self.model(keys.clone(), at),
            Choice::Cheaper(costs) => {
                let trie = costs.trie(keys.len());
                self.model(keys.clone(), at)
                    .filter(|model| model.cost < trie)
            }
        };
        match model {
            Some(model) => self.by_model(keys, at, model),
            None => self.by_trie(keys, at),
        }
    }

    /// The best model for some keys, if any separates them well enough.
    fn model(&self, keys: Range<usize>, at: usize) -> Option<Candidate> {
        let n = keys.len();
        let exact = |i: usize| self.number(keys.start + i, at, 1).0;
        let margin = n / 16;
        let ends = [0, margin, n - 1 - margin, n - 1].map(exact);
        let slots = (n as f64 * self.layout.slots_a_key) as u32;
        let slots = slots.max(2);
        let share = |i: usize| i as f64 / n as f64;
        let (inner, outer) = (share(n - 1 - 2 * margin), share(n - 1));
        let inner = inner.max(0.5);
        let inner_span = ends[2].saturating_sub(ends[1]);
        let span = match inner_span {
            0 => ends[3].saturating_sub(ends[0]),
            span => span,
        };
        let least = SlotLine::least(slots, if inner_span > 0 { inner } else { outer }, span);
        if let Choice::Cheaper(costs) = self.layout.choice {
            // A sample this size usually shows that no model fits.
            let step = n.div_ceil(SAMPLE);
            let sample = keys.clone().step_by(step);
            let count = sample.len() as f64;
            let bytes: usize = sample.map(|i| self.number(i, at, least).1).sum();
            if costs.model(bytes as f64 / count) > 1.25 * costs.trie(n) {
                return None;
            }
        }
        let mut looked_at = 0;
        let numbers: Vec<u64> = keys
            .clone()
            .map(|i| {
                let (number, bytes) = self.number(i, at, least);
                looked_at += bytes;
                number
            })
            .collect();
        let bytes = looked_at as f64 / n as f64;
        let whole = SlotLine::through(slots, (0.0, ends[0]), (1.0, ends[3]));
        let from = (share(margin), ends[1]);
        let middle = SlotLine::through(slots, from, (share(n - margin), ends[2]));
        let lines = [whole, middle].into_iter().flatten();
        let lines = lines.map(|line| SlotLine { least, ..line });
        let models = lines.filter_map(|line| self.judge(line, &numbers, bytes));
        models.min_by(|a, b| a.cost.total_cmp(&b.cost))
    }

    fn number(&self, i: usize, at: usize, least: u64) -> (u64, usize) {
        let key = self.keys.get(i);
        let (hpt, rows) = (&self.trained.hpt, &self.trained.rows);
        hpt.number(rows, key, at, self.keys.skipped(), least)
    }

    /// The cost of look-ups with this line; `None` if it leaves more than half of the keys in one
    /// slot.
    fn judge(&self, line: SlotLine, numbers: &[u64], bytes: f64) -> Option<Candidate> {
        let slots: Vec<u32> = numbers.iter().map(|number| line.slot(*number)).collect();
        let costs = match self.layout.choice {
            Choice::Cheaper(costs) => costs,
            _ => Costs::EVEN,
        };
        let mut below = 0.0;
        for together in slots.chunk_by(|a, b| a == b).map(<[u32]>::len) {
            if together > numbers.len() / 2 {
                return None;
            }
            if together > LEAF {
                below += together as f64 * costs.trie(together);
            }
        }
        Some(Candidate {
            cost: costs.model(bytes) + below / numbers.len() as f64,
            line,
            slots,
        })
    }

    fn by_model(&self, keys: Range<usize>, at: usize, model: Candidate) -> NodePlan {
        let mut packing = Packing {
            layout: self.layout,
            children: Vec::new(),
            slots: Vec::new(),
        };
        let mut start = keys.start;
        for together in model.slots.chunk_by(|a, b| a == b) {
            let slot = together.first().copied().unwrap_or_default();
            packing.add(start..start + together.len(), slot);
            start += together.len();
        }
        packing.close(model.line.slots);
        NodePlan {
            at,
            body: Body::Model {
                line: model.line,
                slots: packing.slots,
            },
            children: packing.children,
        }
    }

    fn by_trie(&self, keys: Range<usize>, at: usize) -> NodePlan {
        let n = keys.len();
        let children = fan_out(n.div_ceil(self.layout.filled));
        let slack = n / children / 4;
        let mut cuts = vec![keys.start];
        cuts.extend((1..children).map(|i| {
            let even = keys.start + i * n / children;
            let shared = |i: &usize| self.shared.get(*i).copied().unwrap_or(u32::MAX);
            let near = (even - slack..=even + slack).min_by_key(|i| (shared(i), i.abs_diff(even)));
            near.unwrap_or(even)
        }));
        cuts.push(keys.end);
        let parting = |cut: &usize| {
            let parts = self
                .shared
                .get(*cut)
                .map_or(0, |shared| *shared as usize + 1);
            let key = self.keys.get(*cut);
            key.get(at..parts).unwrap_or_default().to_vec()
        };
        let inner = cuts.get(1..children).unwrap_or_default();
        NodePlan {
            at,
            body: Body::Trie {
                partings: inner.iter().map(parting).collect(),
            },
            children: cuts
                .iter()
                .zip(cuts.iter().skip(1))
                .map(|(a, b)| *a..*b)
                .collect(),
        }
    }
}

/// How many levels of trie nodes this many leaves need.
pub(super) fn levels(leaves: usize) -> u32 {
    let (mut levels, mut reach) = (1, FAN_OUT);
    while reach < leaves {
        levels += 1;
        reach = reach.saturating_mul(FAN_OUT);
    }
    levels
}

/// The fan-out of the topmost trie node such that all levels have similar fan-outs.
fn fan_out(leaves: usize) -> usize {
    let levels = levels(leaves);
    let mut children = 2usize;
    while children < FAN_OUT && children.saturating_pow(levels) < leaves {
        children += 1;
    }
    children
}

/// Assigns slots to children.
struct Packing {
    layout: Layout,
    children: Vec<Range<usize>>,
    slots: Vec<Range<u32>>,
}

impl Packing {
    /// Adds the keys of the next slot that has any.
    fn add(&mut self, keys: Range<usize>, slot: u32) {
        let filled = self.layout.filled;
        if let (Some(last), Some(slots)) = (self.children.last_mut(), self.slots.last_mut())
            && keys.end - last.start <= filled
            && slot - slots.start < self.layout.covered
        {
            last.end = keys.end;
            slots.end = slot + 1;
            return;
        }
        self.cover(slot, keys.start);
        let start = self.slots.last().map_or(0, |slots| slots.end);
        // A node has a slot of its own; a leaf also covers the empty slots before it.
        if keys.len() > LEAF && start < slot {
            self.push(keys.start..keys.start, start..slot);
            self.push(keys, slot..slot + 1);
        } else {
            self.push(keys, start..slot + 1);
        }
    }

    fn push(&mut self, keys: Range<usize>, slots: Range<u32>) {
        self.children.push(keys);
        self.slots.push(slots);
    }

    /// Covers the empty slots before this one, leaving at most as many as a leaf there may cover.
    fn cover(&mut self, slot: u32, rank: usize) {
        let most = self.layout.covered;
        if let (Some(last), Some(slots)) = (self.children.last(), self.slots.last_mut())
            && last.len() <= LEAF
        {
            slots.end = slot.min(slots.start.saturating_add(most)).max(slots.end);
        }
        loop {
            let start = self.slots.last().map_or(0, |slots| slots.end);
            if slot - start < most {
                return;
            }
            self.push(rank..rank, start..start + most);
        }
    }

    /// Covers the slots after the last key.
    fn close(&mut self, slots: u32) {
        let rank = self.children.last().map_or(0, |last| last.end);
        self.cover(slots, rank);
        let start = self.slots.last().map_or(0, |slots| slots.end);
        if start < slots {
            self.push(rank..rank, start..slots);
        }
    }
}
