//! The shortest list of operations that still fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::operation::Op;

/// Where a run failed (the number of operations it did), and why.
#[derive(Debug)]
pub struct Failure {
    pub after: usize,
    pub why: String,
}

/// Runs the list; panics are failures at its end.
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

/// Runs a list, and on failure looks for a shorter one that fails too: its shortest failing prefix,
/// then that without parts that are not needed. Tells the failure and the operations.
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
