//! Finds a short list of operations that still fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::operation::Op;

/// A failed run: the number of operations done, and the reason.
#[derive(Debug)]
pub struct Failure {
    pub after: usize,
    pub why: String,
}

/// Runs the list; a panic counts as a failure at its end.
fn attempt(ops: &[Op], run: &dyn Fn(&[Op]) -> Result<(), Failure>) -> Result<(), Failure> {
    catch_unwind(AssertUnwindSafe(|| run(ops))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Failure {
            after: ops.len(),
            why: format!("panic: {}", text.unwrap_or("?")),
        })
    })
}

/// Runs a list. On failure looks for a shorter one that fails too: first the shortest failing
/// prefix, then that without unnecessary parts. The error has the failure and the operations.
pub fn check(ops: &[Op], run: &dyn Fn(&[Op]) -> Result<(), Failure>) -> Result<(), String> {
    let Err(first) = attempt(ops, run) else {
        return Ok(());
    };
    let mut failing = ops[..first.after.min(ops.len())].to_vec();
    let mut failure = first;
    let mut part = failing.len() / 2;
    let mut attempts = 0;
    while part > 0 && attempts < 600 {
        let mut from = 0;
        while from < failing.len() && attempts < 600 {
            let mut shorter = failing.clone();
            shorter.drain(from..(from + part).min(failing.len()));
            attempts += 1;
            match attempt(&shorter, run) {
                Err(again) => {
                    shorter.truncate(again.after);
                    (failing, failure) = (shorter, again);
                }
                Ok(()) => from += part,
            }
        }
        part /= 2;
    }
    let list: String = failing.iter().map(|op| format!("  {op:?}\n")).collect();
    Err(format!(
        "{}\nafter these {} operations (of {}):\n{list}",
        failure.why,
        failing.len(),
        ops.len()
    ))
}
