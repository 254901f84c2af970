//! Ascending numbers, segment by segment.

/// Calls `each` with the index of each segment that some of the ascending `numbers` are in, and with these.
/// A segment extends from its own first number to that of the next one, the first one also below, and the
/// last one without end.
pub(crate) fn in_turn<S>(
    segments: &[S],
    first_number: impl Fn(&S) -> u64,
    numbers: &[u64],
    mut each: impl FnMut(usize, &[u64]),
) {
    let after = |number| segments.partition_point(|segment| first_number(segment) <= number);
    let mut at = (numbers.first()).map_or(0, |first| after(*first).saturating_sub(1));
    let mut rest = numbers;
    while !rest.is_empty() && at < segments.len() {
        let own = match segments.get(at + 1).map(&first_number) {
            Some(next) => rest.partition_point(|number| *number < next),
            None => rest.len(),
        };
        let (own, later) = rest.split_at(own);
        each(at, own);
        (rest, at) = (later, at + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_given_once_with_its_segment() {
        let segments = [10, 20, 20, 30];
        let mut given = Vec::new();
        in_turn(
            &segments,
            |first| *first,
            &[5, 10, 19, 20, 30, 99],
            |at, own| {
                given.extend(own.iter().map(|number| (at, *number)));
            },
        );
        assert_eq!(given, [(0, 5), (0, 10), (0, 19), (2, 20), (3, 30), (3, 99)]);
        in_turn(&[], |first: &u64| *first, &[1], |_, _| panic!("no segment"));
    }
}
