//! Maps numbers to positions: ranges of axes, which end at ticks, the ticks, and their labels.

use super::model::Scale;
use super::number::labels;

/// Numbers outside of these limits are not drawn. Within them differences stay finite and quotients
/// above 0.
const LEAST: f64 = 1e-290;
const GREATEST: f64 = 1e290;

/// The maximum number of labelled ticks on an axis with numbers.
const MOST_TICKS: usize = 8;

/// An axis mapped to a range of pixels.
#[derive(Debug, Clone)]
pub struct Mapping {
    scale: Scale,
    /// The ends in the scale's own measure: the number, its logarithm, or the position of a
    /// category.
    from: f64,
    to: f64,
    pixels: (f64, f64),
    ticks: Vec<f64>,
}

/// The reason why a number cannot be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfit {
    /// Not a number, infinite, or too large.
    NotFinite,
    /// Zero or less on a logarithmic axis.
    NotPositive,
    /// The category does not exist.
    NoCategory,
}

/// Checks that a number can be drawn on an axis.
///
/// # Errors
/// The reason why it cannot.
pub fn fits(scale: &Scale, value: f64) -> Result<(), Misfit> {
    if !value.is_finite() || value.abs() > GREATEST {
        return Err(Misfit::NotFinite);
    }
    match scale {
        Scale::Linear => Ok(()),
        Scale::Log10 | Scale::Log2 if value >= LEAST => Ok(()),
        Scale::Log10 | Scale::Log2 => Err(Misfit::NotPositive),
        Scale::Category(names) => {
            let inside = value >= 0.0 && value < names.len() as f64 && value.fract() == 0.0;
            if inside {
                Ok(())
            } else {
                Err(Misfit::NoCategory)
            }
        }
    }
}

impl Mapping {
    /// An axis over all `values` that can be drawn on it, from `pixels.0` to `pixels.1`. With
    /// `base` there is room for bars: a linear axis starts at 0, a logarithmic one below the
    /// smallest number.
    pub fn new(
        scale: &Scale,
        values: impl Iterator<Item = f64>,
        base: bool,
        pixels: (f64, f64),
    ) -> Mapping {
        let values = values.filter(|value| fits(scale, *value).is_ok());
        let range = values.fold(None, |range: Option<(f64, f64)>, value| {
            let (least, greatest) = range.unwrap_or((value, value));
            Some((least.min(value), greatest.max(value)))
        });
        let (from, to, ticks) = match scale {
            Scale::Linear => linear(range.unwrap_or((0.0, 1.0)), base),
            Scale::Log10 => log10(range.unwrap_or((1.0, 10.0)), base),
            Scale::Log2 => log2(range.unwrap_or((1.0, 2.0)), base),
            Scale::Category(names) => {
                let count = names.len().max(1);
                let ticks = (0..names.len()).map(|place| place as f64).collect();
                (-0.5, count as f64 - 0.5, ticks)
            }
        };
        Mapping {
            scale: scale.clone(),
            from,
            to,
            pixels,
            ticks,
        }
    }

    /// The same axis mapped to other pixels.
    pub fn over(self, pixels: (f64, f64)) -> Mapping {
        Mapping { pixels, ..self }
    }

    /// The position of a number; a number that cannot be drawn is placed at an end of the axis.
    pub fn at(&self, value: f64) -> f64 {
        let own = match &self.scale {
            Scale::Log10 => value.log10(),
            Scale::Log2 => value.log2(),
            Scale::Linear | Scale::Category(_) => value,
        };
        let share = ((own - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        let share = if share.is_nan() { 0.0 } else { share };
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }

    /// The number at the upper end of the axis; infinite for a logarithmic axis, which shows all.
    pub fn end(&self) -> f64 {
        match self.scale {
            Scale::Linear | Scale::Category(_) => self.to,
            Scale::Log10 | Scale::Log2 => f64::INFINITY,
        }
    }

    /// The position at which bars start: 0, or the lower end of the axis.
    pub fn base(&self) -> f64 {
        self.at(0.0)
    }

    /// The width of one category, or of the whole axis.
    pub fn step(&self) -> f64 {
        let width = (self.pixels.1 - self.pixels.0).abs();
        match &self.scale {
            Scale::Category(names) => width / names.len().max(1) as f64,
            Scale::Linear | Scale::Log10 | Scale::Log2 => width,
        }
    }

    /// Positions and labels of the ticks, from the lower end of the axis.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let names = match &self.scale {
            Scale::Category(names) => names.clone(),
            Scale::Log2 => labels(&self.ticks, 2),
            Scale::Linear | Scale::Log10 => labels(&self.ticks, 10),
        };
        let places = self.ticks.iter().map(|tick| self.at(*tick));
        places.zip(names).collect()
    }
}

/// Ends and ticks at multiples of 1, 2, 2.5 or 5 times a power of ten, as in Heckbert's "Nice
/// numbers for graph labels" (Graphics Gems, 1990).
fn linear((least, greatest): (f64, f64), base: bool) -> (f64, f64, Vec<f64>) {
    let (mut least, mut greatest) = (least, greatest);
    if base || (least > 0.0 && least < greatest / 3.0) {
        (least, greatest) = (least.min(0.0), greatest.max(0.0));
    }
    let size = least.abs().max(greatest.abs());
    if size < LEAST {
        (least, greatest) = (0.0, 1.0);
    } else if greatest - least < size * 1e-9 {
        (least, greatest) = (least - size / 2.0, greatest + size / 2.0);
    }
    let rough = (greatest - least) / (MOST_TICKS - 3) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let nice = [1.0, 2.0, 2.5, 5.0].into_iter();
    let step = nice
        .map(|factor| factor * power)
        .find(|step| *step >= rough * (1.0 - 1e-9));
    let step = step.unwrap_or(10.0 * power);
    // Rounding errors below a billionth of a step must not add a step.
    let first = (least / step + 1e-9).floor();
    let last = (greatest / step - 1e-9).ceil();
    let count = (last - first) as usize;
    let ticks: Vec<f64> = (0..=count)
        .map(|tick| (first + tick as f64) * step)
        .collect();
    (first * step, last * step, ticks)
}

/// Ends at 1, 2 or 5 times a power of ten. Ticks are at such numbers too, or over many decades at
/// powers of ten only.
fn log10((least, greatest): (f64, f64), base: bool) -> (f64, f64, Vec<f64>) {
    let (mut first, mut last) = (round_125(least, false), round_125(greatest, true));
    if first == last || (base && value_125(first) >= least) {
        first -= 1;
    }
    if first == last {
        last += 1;
    }
    let steps = (first..=last).filter(|step| step.rem_euclid(3) == 0);
    let decades: Vec<i32> = steps.collect();
    let all = (last - first) as usize + 1;
    let ticks = if all <= MOST_TICKS || decades.len() < 2 {
        (first..=last).map(value_125).collect()
    } else {
        let every = decades.len().div_ceil(MOST_TICKS);
        let kept = decades.into_iter().step_by(every);
        kept.map(value_125).collect()
    };
    (value_125(first).log10(), value_125(last).log10(), ticks)
}

/// The number with index `step` in 1, 2, 5, 10, 20, 50 ...; 1 has index 0.
fn value_125(step: i32) -> f64 {
    let factor = match step.rem_euclid(3) {
        0 => 1.0,
        1 => 2.0,
        _ => 5.0,
    };
    // Division gives exactly the number nearest to 0.1 or 0.001.
    match step.div_euclid(3) {
        power @ 0.. => factor * 10f64.powi(power),
        power => factor / 10f64.powi(-power),
    }
}

/// The index of the last such number at or below a positive value, or of the first at or above it.
fn round_125(value: f64, up: bool) -> i32 {
    let mut step = 3 * value.log10().floor() as i32;
    // The logarithm may be slightly wrong, so the search starts one step lower.
    step -= 1;
    while value_125(step + 1) <= value * (1.0 + 1e-9) {
        step += 1;
    }
    if up && value_125(step) < value * (1.0 - 1e-9) {
        step += 1;
    }
    step
}

/// Ends at powers of two; ticks at every power, or at regular intervals of powers.
fn log2((least, greatest): (f64, f64), base: bool) -> (f64, f64, Vec<f64>) {
    let (mut first, mut last) = (least.log2().floor(), greatest.log2().ceil());
    if base && first >= least.log2() {
        first -= 1.0;
    }
    if first == last {
        last += 1.0;
    }
    let every = ((last - first + 1.0) as usize).div_ceil(MOST_TICKS);
    let powers = (first as i32..=last as i32).step_by(every);
    (first, last, powers.map(|power| 2f64.powi(power)).collect())
}

#[cfg(test)]
mod tests {
    use rhumb_index::check::SplitMix64;

    use super::*;

    fn ticks(scale: &Scale, values: &[f64], base: bool) -> Vec<String> {
        let mapping = Mapping::new(scale, values.iter().copied(), base, (0.0, 100.0));
        mapping
            .ticks()
            .into_iter()
            .map(|(_, label)| label)
            .collect()
    }

    #[test]
    fn ticks_are_round() {
        let linear = |values: &[f64], base| ticks(&Scale::Linear, values, base);
        assert_eq!(linear(&[0.3, 2.8], true), ["0", "1", "2", "3"]);
        assert_eq!(linear(&[1.0, 9.7], true), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(
            linear(&[-0.1, 0.1], false),
            ["-0.1", "-0.05", "0", "0.05", "0.1"]
        );
        assert_eq!(linear(&[], true), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(
            ticks(&Scale::Log10, &[1.4e6, 2.3e10], false),
            ["1M", "10M", "100M", "1G", "10G"]
        );
        assert_eq!(
            ticks(&Scale::Log10, &[0.3, 4.0], true),
            ["0.2", "0.5", "1", "2", "5"]
        );
        assert_eq!(
            ticks(&Scale::Log2, &[8.0, 128.0], false),
            ["8", "16", "32", "64", "128"]
        );
        assert_eq!(
            ticks(&Scale::Log2, &[1024.0, 1500.0], false),
            ["1Ki", "2Ki"]
        );
    }

    #[test]
    fn every_axis_covers_its_numbers_with_a_few_distinct_ticks() {
        let mut random = SplitMix64::new(41);
        for _ in 0..20_000 {
            let exponent = (random.next_u64() % 600) as f64 - 300.0;
            let count = 1 + random.next_u64() % 3;
            let values: Vec<f64> = (0..count)
                .map(|_| (random.next_u64() % 2_000) as f64 - 500.0)
                .map(|value| value * 10f64.powf(exponent))
                .collect();
            for scale in [Scale::Linear, Scale::Log10, Scale::Log2] {
                let base = random.next_u64().is_multiple_of(2);
                check(&scale, &values, base);
            }
        }
    }

    fn check(scale: &Scale, values: &[f64], base: bool) {
        let mapping = Mapping::new(scale, values.iter().copied(), base, (10.0, 110.0));
        let context = format!("{scale:?} {values:?} {base} {mapping:?}");
        let ticks = mapping.ticks();
        assert!((2..=MOST_TICKS + 1).contains(&ticks.len()), "{context}");
        for pair in ticks.windows(2) {
            assert!(pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1, "{context}");
        }
        for value in values.iter().filter(|value| fits(scale, **value).is_ok()) {
            let place = mapping.at(*value);
            assert!((10.0..=110.0).contains(&place), "{context}");
            if *scale == Scale::Linear {
                assert!(place >= ticks[0].0 - 1e-6, "{context}");
                assert!(place <= ticks[ticks.len() - 1].0 + 1e-6, "{context}");
            }
        }
    }

    #[test]
    fn categories_lie_in_the_middle_of_their_part() {
        let scale = Scale::Category(["a", "b"].map(str::to_string).to_vec());
        let mapping = Mapping::new(&scale, [0.0].into_iter(), true, (0.0, 100.0));
        let expected = [(25.0, "a".to_string()), (75.0, "b".to_string())];
        assert_eq!(mapping.ticks(), expected);
        assert_eq!(mapping.step(), 50.0);
        assert_eq!(fits(&scale, 2.0), Err(Misfit::NoCategory));
        assert_eq!(fits(&scale, 0.5), Err(Misfit::NoCategory));
        assert_eq!(fits(&Scale::Log2, 0.0), Err(Misfit::NotPositive));
        assert_eq!(fits(&Scale::Linear, f64::NAN), Err(Misfit::NotFinite));
    }
}
