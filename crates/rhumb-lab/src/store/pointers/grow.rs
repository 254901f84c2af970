//! How a B+-tree grows: by splits, and at its end while it is loaded.

use super::node::{self, Node};
use super::paged::Buffer;
use super::tree::{Tree, check_size};
use crate::data::Pairs;
use crate::error::Result;

/// How full nodes become while a tree is loaded.
const FILL: f64 = 0.7;

impl Tree {
    /// Puts a key into a node that has no room for it, below the inner nodes of `path`, and splits all of them that
    /// have none either.
    pub(super) fn split(
        &mut self,
        full: u32,
        key: &[u8],
        value: &[u8],
        mut path: Vec<u32>,
    ) -> Result<()> {
        let (mut left, mut key, mut value) = (full, key.to_vec(), value.to_vec());
        loop {
            let right = self.nodes.add()?;
            let mut upper = Buffer::new(1);
            let divider = self.nodes.update(left, |page| {
                let divider = node::split(page, &key, &value, upper.bytes_mut(), right)?;
                Some((divider, true))
            })?;
            self.nodes.write(right, &upper)?;
            (key, value) = (divider, right.to_le_bytes().to_vec());
            let Some(parent) = path.pop() else {
                return self.raise(&key, right);
            };
            let is_put = self.nodes.update(parent, |page| {
                let is_put = node::put(page, &key, &value)?;
                Some((is_put, is_put))
            })?;
            if is_put {
                return Ok(());
            }
            left = parent;
        }
    }

    /// Adds a level, over the root and what is right of it.
    fn raise(&mut self, key: &[u8], right: u32) -> Result<()> {
        let root = self.nodes.add()?;
        let mut page = Buffer::new(1);
        node::clear(page.bytes_mut(), self.height + 1, self.root);
        let appended = node::append(page.bytes_mut(), key, &right.to_le_bytes());
        appended.ok_or_else(|| self.nodes.damaged(root))?;
        self.nodes.write(root, &page)?;
        (self.root, self.height) = (root, self.height + 1);
        Ok(())
    }

    /// Adds pairs whose keys ascend and are above all others, and fills nodes to 0.7, as the disk-resident B+-tree
    /// that LearnedKV is compared with is loaded. Returns how many of them were so; the rest is for the caller.
    ///
    /// # Errors
    /// If a pair is too long for a node; if a node cannot be read or written.
    pub fn load(&mut self, pairs: &Pairs) -> Result<usize> {
        let mut spine = self.spine()?;
        let mut loaded = 0;
        for (key, value) in pairs.iter() {
            check_size(key, value)?;
            let leaf = Node(spine[0].1.bytes());
            let last = leaf.count().checked_sub(1).and_then(|at| leaf.cell(at));
            if last.is_some_and(|(last, _)| last >= key) {
                break;
            }
            self.append(&mut spine, 0, key, value)?;
            loaded += 1;
        }
        for (number, page) in &spine {
            self.nodes.write(*number, page)?;
        }
        Ok(loaded)
    }

    /// The last node of each level, from the leaf up.
    fn spine(&self) -> Result<Vec<(u32, Buffer)>> {
        let (mut spine, mut number) = (Vec::new(), self.root);
        for level in (0..=self.height).rev() {
            let mut page = Buffer::new(1);
            self.nodes.copy(number, None, &mut page)?;
            let node = Node(page.bytes());
            let child = match level {
                0 => Some(0),
                _ => node.last_child(),
            };
            let child = child.filter(|_| node.level() == level);
            let child = child.ok_or_else(|| self.nodes.damaged(number))?;
            spine.push((number, page));
            number = child;
        }
        spine.reverse();
        Ok(spine)
    }

    /// Adds a key to the last node of a level, or to a new one if that is full enough.
    fn append(
        &mut self,
        spine: &mut Vec<(u32, Buffer)>,
        level: usize,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        if level == spine.len() {
            let below = u32::from_le_bytes(value.try_into().unwrap_or_default());
            self.raise(key, below)?;
            let mut page = Buffer::new(1);
            self.nodes.copy(self.root, None, &mut page)?;
            spine.push((self.root, page));
            return Ok(());
        }
        let (number, page) = &mut spine[level];
        let node = Node(page.bytes());
        if node.count() == 0 || node.takes(key, value, FILL) {
            let appended = node::append(page.bytes_mut(), key, value);
            return appended.ok_or_else(|| self.nodes.damaged(*number));
        }
        let new = self.nodes.add()?;
        if level == 0 {
            node::set_link(page.bytes_mut(), new);
        }
        self.nodes.write(*number, page)?;
        *number = new;
        if level == 0 {
            node::clear(page.bytes_mut(), 0, 0);
            let appended = node::append(page.bytes_mut(), key, value);
            appended.ok_or_else(|| self.nodes.damaged(new))?;
        } else {
            // The key moves up, and its child is the first of the new node.
            let first = u32::from_le_bytes(value.try_into().unwrap_or_default());
            node::clear(page.bytes_mut(), level as u8, first);
        }
        self.append(spine, level + 1, key, &new.to_le_bytes())
    }
}
