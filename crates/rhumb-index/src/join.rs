//! Joins the models of neighbouring tables into one, without reading a key.
//!
//! A model of straight pieces is wrong by at most a known error within each. A line that stays within some distance of a piece
//! is therefore wrong by at most that distance more, and since both are straight, the largest distance is at a corner. So it
//! suffices to fit lines to the corners of the pieces: a few points a piece instead of one a key. Where the new bound is looser
//! than that of the tables, one new line serves for many old pieces, also across tables.
//!
//! A line begins where a piece begins. Behind the last key of a piece, where its model stays at the piece's last rank, only
//! lines that go on beyond it have to follow; a line that ends there stays at that rank itself. See `kinds::shared::reach` for the
//! proof that windows are correct: it asks for monotone models, clamped to ranks, and a true error, which is measured here.

use crate::kinds::{Reach, Segment, plr_of};
use crate::segment::hull::Hull;
use crate::segment::{BOUND_UNIT, Fit, Line, MAX_RANKS, ROUNDING};
use crate::{Band, Index, IndexError};

/// One of the tables whose models are joined, in key order.
#[derive(Debug, Clone, Copy)]
pub struct Joined<'a> {
    /// Its model.
    pub index: &'a dyn Index,
    /// The number of its last key, or one above it and below that of the first key of the next table.
    pub last_number: u64,
}

/// The byte form of a model (of the kind `plr`) over the keys of all `tables`, whose ranks follow each other. Windows hold at
/// most `boundary` ranks, or as many as those of the widest model, if that is more, and two beside where a piece of a spline is
/// kept as it is.
///
/// Takes time and memory for the pieces of the models, whatever the number of keys.
///
/// # Errors
/// [`IndexError::Unfit`] if a model has no [bands](Index::bands), if the numbers of a table do not follow those of the table before, or
/// if there are 2^32 keys or more, or a window would hold more than 1,024.
///
/// ```
/// use rhumb_index::{Joined, Probe, Position, join, registry};
///
/// let table = |from: u64| {
///     let mut builder = registry::builder(&"pgm:boundary=8".parse()?)?;
///     for number in from..from + 1_000 {
///         builder.push(&number.pow(2).to_be_bytes(), number.pow(2))?;
///     }
///     registry::open(builder.finish()?)
/// };
/// let tables = [table(0)?, table(1_000)?];
/// let ends = [999u64.pow(2), 1_999u64.pow(2)];
/// let parts: Vec<_> = tables.iter().zip(ends).map(|(index, last_number)| Joined { index: &**index, last_number }).collect();
/// let level = registry::open(join(&parts, 64)?)?;
/// let window = level.window(1_234u64.pow(2));
/// assert!(window.lo <= 1_234 && 1_234 < window.hi && window.len() <= 64);
/// assert!(level.size_in_bytes() < tables[0].size_in_bytes());
/// # Ok::<(), rhumb_index::IndexError>(())
/// ```
pub fn join(tables: &[Joined<'_>], boundary: u64) -> Result<Vec<u8>, IndexError> {
    let pieces = pieces(tables)?;
    let keys = pieces
        .last()
        .map_or(0, |p| p.band.first_rank + p.band.ranks);
    if keys > u64::from(u32::MAX) {
        return Err(unfit("the tables have 2^32 keys or more: join fewer"));
    }
    let mut segments = Vec::new();
    let mut group = Group::default();
    for &piece in &pieces {
        if !group.add(piece, boundary) {
            segments.extend(group.end(boundary));
            group.begin(piece);
        }
    }
    segments.extend(group.end(boundary));
    plr_of(&segments, keys, boundary)
}

fn unfit(why: &str) -> IndexError {
    IndexError::Unfit {
        kind: "plr",
        why: why.to_string(),
    }
}

/// A piece of the old models.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Its ranks count from the first table on.
    band: Band,
    /// The last number that it may have to answer.
    last_number: u64,
}

fn pieces(tables: &[Joined<'_>]) -> Result<Vec<Piece>, IndexError> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut first_rank = 0;
    for table in tables {
        let bands = table.index.bands();
        let mut covered = 0u64;
        let follow = bands.iter().all(|band| {
            let is_next = band.first_rank == covered && band.slope.is_finite() && band.slope >= 0.0;
            covered = covered.saturating_add(band.ranks);
            is_next && band.ranks > 0 && band.offset.is_finite()
        });
        if !follow || covered != table.index.extent() {
            return Err(unfit("a model is not made of straight pieces: use its own"));
        }
        let begins = pieces.len();
        for band in bands {
            let first_rank = first_rank + band.first_rank;
            // Of a table, the piece before it ends where this one begins.
            if let Some(before) = pieces.get_mut(begins..).and_then(|own| own.last_mut()) {
                before.last_number = band.first_number.saturating_sub(1);
            }
            pieces.push(Piece {
                band: Band { first_rank, ..band },
                last_number: table.last_number,
            });
        }
        first_rank += covered;
    }
    let ascend = |p: &[Piece]| matches!(p, [a, b] if a.last_number < b.band.first_number);
    let is_one = |p: &Piece| p.band.first_number <= p.last_number;
    match pieces.iter().all(is_one) && pieces.windows(2).all(ascend) {
        true => Ok(pieces),
        false => Err(unfit("the numbers of the tables do not ascend: join fewer")),
    }
}

impl Piece {
    /// The prediction for a number, before it is rounded, less the first rank.
    fn height(&self, number: u64) -> f64 {
        let x = number.saturating_sub(self.band.first_number) as f64;
        (self.band.slope * x + self.band.offset).clamp(0.0, self.most())
    }

    fn most(&self) -> f64 {
        self.band.ranks.saturating_sub(1) as f64
    }

    /// The numbers between which the predictions lie on straight lines, up to where they stay at the last rank.
    fn corners(&self) -> impl Iterator<Item = u64> {
        let (first, last) = (self.band.first_number, self.last_number);
        // Where the line enters the ranks of the piece and where it leaves them, if it does.
        let reaches = |height: f64| (height - self.band.offset) / self.band.slope;
        let enters = (self.band.offset < 0.0).then(|| reaches(0.0));
        let leaves = reaches(self.most());
        let at = |x: Option<f64>| {
            let x = x.filter(|x| *x >= 0.0 && *x < last.saturating_sub(first) as f64)?;
            Some(first.saturating_add(x as u64).min(last))
        };
        let (enters, leaves) = (at(enters), at(Some(leaves)));
        let behind = |number: u64| number.saturating_add(1).min(last);
        let mut numbers = [
            Some(first),
            enters,
            enters.map(behind),
            leaves,
            Some(leaves.map_or(last, behind)),
        ];
        numbers.sort_unstable();
        let mut before = None;
        let distinct = move |number: &u64| before.replace(*number) != Some(*number);
        numbers.into_iter().flatten().filter(distinct)
    }
}

/// Pieces for which one line shall serve.
#[derive(Debug, Default)]
struct Group {
    pieces: Vec<Piece>,
    /// The largest of theirs.
    error: u64,
    run: u64,
    fit: Points,
}

impl Group {
    fn begin(&mut self, piece: Piece) {
        self.pieces.clear();
        self.pieces.push(piece);
        (self.error, self.run) = (piece.band.error, piece.band.run);
        self.fit.is_begun = false;
    }

    /// Adds the next piece if a line serves for it too.
    fn add(&mut self, piece: Piece, boundary: u64) -> bool {
        let Some(first) = self.pieces.first() else {
            self.begin(piece);
            return true;
        };
        if piece.band.first_rank + piece.band.ranks - first.band.first_rank > MAX_RANKS {
            return false;
        }
        let (error, run) = (
            self.error.max(piece.band.error),
            self.run.max(piece.band.run),
        );
        let Some(bound) = bound(boundary, error, run) else {
            return false;
        };
        let is_new = !self.fit.is_begun || (error, run) != (self.error, self.run);
        let fits = match is_new {
            true => self.fit.begin(&self.pieces, bound),
            false => true,
        };
        let fits = fits
            && self
                .pieces
                .last()
                .is_some_and(|last| self.fit.follow(last, &piece));
        if fits {
            (self.error, self.run) = (error, run);
            self.pieces.push(piece);
        } else if is_new {
            // The points are those of another bound.
            self.fit.is_begun = false;
        }
        fits
    }

    /// The line of the pieces, and the largest error that it may have.
    fn end(&mut self, boundary: u64) -> Option<Segment> {
        let (first, last) = (self.pieces.first()?, self.pieces.last()?);
        let line = Line {
            first_number: first.band.first_number,
            first_rank: first.band.first_rank,
            ranks: last.band.first_rank + last.band.ranks - first.band.first_rank,
            slope: 0.0,
            offset: 0,
        };
        let fits = match bound(boundary, self.error, self.run) {
            Some(bound) if self.pieces.len() > 1 => {
                self.fit.is_begun || self.fit.begin(&self.pieces, bound)
            }
            _ => false,
        };
        let line = match fits {
            true => self.fit.line(line),
            false => line.through(0.0, first.band.offset, first.band.slope),
        };
        let reach = Reach::new(self.error_of(&line), self.run);
        self.pieces.clear();
        Some(Segment { line, reach })
    }

    /// An upper bound on the error of a line: how far it is from the pieces, and how wrong they are.
    fn error_of(&self, line: &Line) -> u64 {
        if let [Piece { band, .. }] = &*self.pieces
            && (f64::from(line.slope), line.offset()) == (band.slope, band.offset)
        {
            return self.error;
        }
        let mut far = 0.0f64;
        let mut pieces = self.pieces.iter().peekable();
        while let Some(piece) = pieces.next() {
            let base = (piece.band.first_rank - line.first_rank) as f64;
            let goes_on = pieces.peek().map(|_| piece.last_number);
            for number in piece.corners().chain(goes_on) {
                let x = number.saturating_sub(line.first_number) as f64;
                let y = f64::from(line.slope) * x + line.offset();
                far = far.max((y - base - piece.height(number)).abs());
            }
        }
        // Both the old and the new predictions are rounded; the last summand is for double arithmetic.
        (far + self.error as f64 + 1.0 + 1.0 / 1024.0) as u64
    }
}

/// How far a line may be from pieces with this error and run, in ranks; `None` if they leave no room. Half a rank is for the
/// points, which are rounded to whole ranks.
fn bound(boundary: u64, error: u64, run: u64) -> Option<f64> {
    let most = boundary.checked_sub(run)? / 2;
    let room = most as f64 - error as f64 - 0.5 - 2.0 * ROUNDING;
    (room >= 1.0 / BOUND_UNIT).then_some(room)
}

/// The corners of pieces, as points for lines.
#[derive(Debug, Default)]
struct Points {
    fit: Hull,
    is_begun: bool,
    /// The first point.
    number: u64,
    rank: u64,
    /// The height of the first point above its rank.
    height: u64,
    /// The number of the last point.
    last: Option<u64>,
}

impl Points {
    /// Takes the points of some pieces; false if no line fits.
    fn begin(&mut self, pieces: &[Piece], bound: f64) -> bool {
        let Some(first) = pieces.first() else {
            return false;
        };
        self.is_begun = true;
        (self.number, self.rank) = (first.band.first_number, first.band.first_rank);
        self.height = first.height(self.number).round() as u64;
        self.last = Some(self.number);
        self.fit.start(bound);
        let pairs = pieces.windows(2);
        let mut pairs = pairs.filter_map(|pair| pair.split_first().zip(pair.last()));
        self.add(first) && pairs.all(|((a, _), b)| self.follow(a, b))
    }

    /// Takes the points of the piece behind another one.
    fn follow(&mut self, before: &Piece, piece: &Piece) -> bool {
        self.point(before, before.last_number) && self.add(piece)
    }

    fn add(&mut self, piece: &Piece) -> bool {
        piece.corners().all(|number| self.point(piece, number))
    }

    fn point(&mut self, piece: &Piece, number: u64) -> bool {
        if self.last.is_some_and(|last| last >= number) {
            return true;
        }
        self.last = Some(number);
        let rank = piece.band.first_rank - self.rank + piece.height(number).round() as u64;
        self.fit
            .add(number - self.number, rank.saturating_sub(self.height))
    }

    /// A line within the bound of all points.
    fn line(&self, line: Line) -> Line {
        let (x, y, slope) = self.fit.line();
        line.through(x, y + self.height as f64, slope)
    }
}

#[cfg(test)]
mod tests;
