//! Whether what a store holds after a crash is legal.

use super::history::{Clock, History, KEEPER, within};
use super::load::{Load, Replay, marked, marker_key};
use crate::kit::oracle::{Content, difference};
use rhumb::DEFAULT_KEYSPACE;

/// What is known of a moment: which operations were durable before it, and which had begun by its end.
#[derive(Debug, Clone, Copy)]
pub struct Legal {
    pub durable: Clock,
    pub begun: Clock,
}

/// Checks that the contents of a store are a prefix of a commit order, with all that was durable, and
/// gives the operations in it.
pub fn judge(
    load: &Load,
    history: &History,
    legal: Legal,
    content: &Content,
) -> Result<Clock, String> {
    let keys = content.get(DEFAULT_KEYSPACE).ok_or("no default keyspace")?;
    let mut found: Clock = std::array::from_fn(|actor| match actor {
        KEEPER => legal.durable[KEEPER],
        writer => marked(keys.get(&marker_key(writer)).map(Vec::as_slice)),
    });
    if !within(legal.durable, found) || !within(found, legal.begun) {
        return Err(format!("found {found:?} operations, but {legal:?}"));
    }
    let mut replay = Replay::new(*load);
    replay.advance(found)?;
    let mut expected = replay.content();
    let mut written = content.clone();
    let kept = super::keeper::kept(content);
    written.retain(|name, _| !kept.contains_key(name));
    for name in super::KEYSPACES {
        expected.entry(name.to_string()).or_default();
    }
    if written != expected {
        let difference = difference(&expected, &written);
        return Err(format!("after {found:?} operations\n  {difference}"));
    }
    let legal = legal.durable[KEEPER]..=legal.begun[KEEPER];
    found[KEEPER] = load.find_kept(content, legal, |count| {
        let mut found = found;
        found[KEEPER] = count;
        history.check_prefix(found)
    })?;
    Ok(found)
}
