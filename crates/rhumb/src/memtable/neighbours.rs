//! What the writer knows of the nodes beside its position.

use super::list::{MAX_HEIGHT, NONE};

/// The writer's neighbours on one side of its position, level by level: two arrays, since the second is changed as
/// a whole.
pub(super) struct Side {
    pub nodes: [u32; MAX_HEIGHT],
    shared: [Shared; MAX_HEIGHT],
}

/// A node beside the writer's position, or the end of the list there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Neighbour {
    pub node: u32,
    pub shared: Shared,
}

/// How many bytes a neighbour shares with the last key: twice their number, and 1 more if that is known to be
/// exact. Otherwise it may share more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shared(u32);

impl Shared {
    /// What an end of the list shares.
    const NOTHING: Shared = Shared(1);
    /// What a key shares with itself, and with one that differs in zeros at its end only.
    pub const ALL: Shared = Shared(u32::MAX >> 1);

    pub fn exactly(bytes: usize) -> Self {
        Shared(Self::at_least(bytes).0 | 1)
    }

    fn at_least(bytes: usize) -> Self {
        // More than the bytes of any key.
        const MOST: usize = (Shared::ALL.0 >> 1) as usize;
        Shared((bytes.min(MOST) as u32) << 1)
    }

    pub fn bytes(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub fn is_exact(self) -> bool {
        self.0 & 1 == 1
    }
}

impl Neighbour {
    pub const END: Neighbour = Neighbour {
        node: NONE,
        shared: Shared::NOTHING,
    };

    /// `shared` is what a comparison told.
    pub fn new(node: u32, shared: usize) -> Self {
        Neighbour {
            node,
            shared: Shared::exactly(shared),
        }
    }
}

impl Side {
    pub const ENDS: Side = Side {
        nodes: [NONE; MAX_HEIGHT],
        shared: [Shared::NOTHING; MAX_HEIGHT],
    };

    /// The neighbour on a level; the end of the list above all levels.
    pub fn get(&self, level: usize) -> Neighbour {
        match (self.nodes.get(level), self.shared.get(level)) {
            (Some(&node), Some(&shared)) => Neighbour { node, shared },
            _ => Neighbour::END,
        }
    }

    pub fn set(&mut self, level: usize, neighbour: Neighbour) {
        if let (Some(node), Some(shared)) = (self.nodes.get_mut(level), self.shared.get_mut(level))
        {
            (*node, *shared) = (neighbour.node, neighbour.shared);
        }
    }

    /// The writer moves away from all neighbours, to a key that shares `shared` bytes with the last one. What
    /// shares no more with the last key shares as much with the new one, and the others share `shared`.
    pub fn leave(&mut self, shared: usize) {
        self.limit(Shared::exactly(shared));
    }

    /// The writer moves towards all neighbours, to a key before them that shares `shared` bytes with the last one.
    /// What shares less with the last key shares as much with the new one, and the others share `shared` or
    /// more.
    pub fn approach(&mut self, shared: usize) {
        self.limit(Shared::at_least(shared));
    }

    /// All levels at once, without a branch. The ends of the list share nothing before and after.
    fn limit(&mut self, most: Shared) {
        for shared in &mut self.shared {
            *shared = (*shared).min(most);
        }
    }
}
