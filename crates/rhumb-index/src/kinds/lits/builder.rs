//! Collects the keys of a table for the byte form.

use super::form::Form;
use super::keys::Keys;
use super::plan::Choice;
use crate::kinds::shared::order::Order;
use crate::{IndexBuilder, IndexError};

/// Builds the byte form.
#[derive(Debug)]
pub(super) struct LitsBuilder {
    order: Order,
    keys: Keys,
    choice: Choice,
}

impl LitsBuilder {
    /// A builder without keys.
    pub(super) fn new(choice: Choice) -> Self {
        LitsBuilder {
            order: Order::default(),
            keys: Keys::below(&[]),
            choice,
        }
    }
}

impl IndexBuilder for LitsBuilder {
    fn push(&mut self, key: &[u8], _number: u64) -> Result<(), IndexError> {
        self.order.push(key)?;
        self.keys.push(key);
        Ok(())
    }

    fn push_numbers(&mut self, numbers: &[u64]) -> Result<(), IndexError> {
        self.order.push_numbers(numbers)?;
        let keys = numbers.iter().map(|number| number.to_be_bytes());
        keys.for_each(|key| self.keys.push(&key));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, IndexError> {
        Form::lay(&self.keys, self.choice)
    }
}
