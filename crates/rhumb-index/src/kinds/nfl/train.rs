//! Training finds the flow under which the images of the numbers are most likely to be uniform.
//!
//! Let f be the image scaled to 0..1 between the first number and the last. A uniform image means
//! that the numbers have the density f'. Training maximises the mean logarithm of f' over a sample;
//! that is, it minimises
//!
//! ```text
//! log(y(last) - y(first)) - mean of log y'(x)
//! ```
//!
//! with y the unscaled image. It uses Adam (Kingma and Ba, 2015) with the gradient written out
//! below. The sample has evenly spaced ranks, a batch is every 32nd example and weights start at
//! quantiles, so there is no randomness; neither the loss nor a logarithm is computed. Weights that
//! must not be negative are squares of the trained values.
//!
//! The time is bounded: [`STEPS`] batches of 256 numbers, about 5 ms on a current core.

use super::flow::{Features, Flow, Unit, WIDTH, activation, logarithm_slope};

/// The fewest numbers for which training is worth its time.
pub(super) const LEAST: usize = 4096;

/// The most numbers in the sample.
const SAMPLE: usize = 8192;

/// Batches that the sample is divided into.
const BATCHES: usize = 32;

/// Steps of training: how many batches are used.
const STEPS: usize = 640;

/// How far a weight moves in the first step; the rate falls to 0 from there.
const RATE: f64 = 0.03;

/// Weights: four for each unit, and two past the hidden layer.
const WEIGHTS: usize = 4 * WIDTH + 2;

/// A number of the sample, prepared for training.
#[derive(Debug, Clone, Copy)]
struct Example {
    features: [f64; 2],
    /// Derivatives of the features, divided by their sum: the size of a derivative does not matter
    /// to the gradient of its logarithm, and nothing overflows.
    slopes: [f64; 2],
}

/// Trains a flow for ascending entries, of which there must be at least two.
pub(super) fn train(entries: &[(u64, u64)]) -> Option<Flow> {
    let (first, last) = (entries.first()?.0, entries.last()?.0);
    // Outliers at the top must not compress the others.
    let high = entries.get(entries.len() * 99 / 100)?.0;
    let features = Features::over(first, high, last);
    let ends = [features.of(first), features.of(last)];
    let examples = sample(entries, &features);
    let mut adam = Adam::new(start(&examples));
    for step in 0..STEPS {
        let batch = examples.iter().skip(step % BATCHES).step_by(BATCHES);
        let gradient = gradient(&adam.weights, batch, ends);
        // The rate falls to 0, so that the last batches have no lasting effect.
        adam.descend(&gradient, RATE * (1.0 - step as f64 / STEPS as f64));
    }
    let [past, units] = [&adam.weights[..2], &adam.weights[2..]];
    let flow = Flow {
        features,
        past: [past[0] * past[0], past[1] * past[1]],
        units: units_of(units),
    };
    flow.image(last).is_finite().then_some(flow)
}

/// Examples with evenly spaced ranks.
fn sample(entries: &[(u64, u64)], features: &Features) -> Vec<Example> {
    let count = entries.len().min(SAMPLE);
    let ranks = (0..count).map(|i| (i * entries.len() + entries.len() / 2) / count.max(1));
    let of = |number: u64| {
        let distance = number.saturating_sub(features.base) as f64;
        let [linear, logarithmic] = features.scales;
        let slopes = [linear, logarithm_slope(distance + 1.0) * logarithmic];
        let sum = slopes[0] + slopes[1];
        Example {
            features: features.of(number),
            slopes: slopes.map(|slope| slope / sum),
        }
    };
    let numbers = ranks.filter_map(|rank| entries.get(rank));
    numbers.map(|entry| of(entry.0)).collect()
}

/// The initial weights: each feature has two units, centred at quantiles and as wide as the
/// distance between two of them.
fn start(examples: &[Example]) -> [f64; WEIGHTS] {
    let quantile = |feature: usize, eighths: usize| {
        let example = examples.get(examples.len() * eighths / 8);
        example.map_or(0.0, |example| example.features[feature])
    };
    let mut weights = [0.3; WEIGHTS];
    let (_, units) = weights.split_at_mut(2);
    for (i, unit) in units.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let feature = i % 2;
        let centre = quantile(feature, 1 + 2 * i);
        let width = quantile(feature, 6) - quantile(feature, 2);
        // Cap the initial weight: steeper units have vanishing gradients.
        let weight = (1.0 / width.max(1e-9)).min(1e6);
        let (on, off) = (weight.sqrt(), 0.1);
        let [a, b] = if feature == 0 { [on, off] } else { [off, on] };
        *unit = [a, b, -weight * centre, 0.7];
    }
    weights
}

/// The units for trained values: all weights except biases are squares.
fn units_of(weights: &[f64]) -> [Unit; WIDTH] {
    let mut units = [Unit::default(); WIDTH];
    for (unit, [a, b, c, v]) in units.iter_mut().zip(weights.as_chunks::<4>().0) {
        *unit = Unit {
            a: a * a,
            b: b * b,
            c: *c,
            v: v * v,
        };
    }
    units
}

/// The gradient of the loss over a batch.
///
/// With s'(u) = r^2 and s''(u) = -2 r^3 sign(u), r = 1 / (1 + |u|), the derivative of y along the
/// slopes (dt, dg) of the features is the sum of v s'(u) w over the units, w = a dt + b dg, and p
/// dt + q dg.
fn gradient<'a>(
    weights: &[f64; WEIGHTS],
    batch: impl Iterator<Item = &'a Example>,
    ends: [[f64; 2]; 2],
) -> [f64; WEIGHTS] {
    let units = units_of(&weights[2..]);
    let past = [weights[0] * weights[0], weights[1] * weights[1]];
    let mut sum = [0.0; WEIGHTS];
    let mut count = 0.0;
    for example in batch {
        let ([t, g], [dt, dg]) = (example.features, example.slopes);
        let mut part = [0.0; WEIGHTS];
        let mut slope = past[0] * dt + past[1] * dg;
        (part[0], part[1]) = (dt, dg);
        for (unit, part) in units.iter().zip(part[2..].as_chunks_mut::<4>().0) {
            let u = unit.input([t, g]);
            let r = 1.0 / (1.0 + u.abs());
            let (first, second) = (r * r, -2.0 * (r * r * r).copysign(u));
            let w = unit.a * dt + unit.b * dg;
            let bend = second * w;
            *part = [
                unit.v * (bend * t + first * dt),
                unit.v * (bend * g + first * dg),
                unit.v * bend,
                first * w,
            ];
            slope += unit.v * first * w;
        }
        let share = 1.0 / slope.max(f64::MIN_POSITIVE);
        for (sum, part) in sum.iter_mut().zip(part) {
            *sum -= part * share;
        }
        count += 1.0;
    }
    let (span, spans) = span(&units, past, ends);
    for (i, (sum, span_part)) in sum.iter_mut().zip(spans).enumerate() {
        let of_image = *sum / f64::max(count, 1.0) + span_part / span.max(f64::MIN_POSITIVE);
        let is_bias = i >= 2 && (i - 2) % 4 == 2;
        *sum = match (is_bias, weights.get(i)) {
            (false, Some(root)) => 2.0 * root * of_image,
            _ => of_image,
        };
    }
    sum
}

/// y(last) - y(first), given the features of both, and its gradient.
fn span(
    units: &[Unit; WIDTH],
    past: [f64; 2],
    [low, high]: [[f64; 2]; 2],
) -> (f64, [f64; WEIGHTS]) {
    let slope = |u: f64| {
        let r = 1.0 / (1.0 + u.abs());
        r * r
    };
    let (t, g) = (high[0] - low[0], high[1] - low[1]);
    let mut span = past[0] * t + past[1] * g;
    let mut parts = [0.0; WEIGHTS];
    (parts[0], parts[1]) = (t, g);
    for (unit, part) in units.iter().zip(parts[2..].as_chunks_mut::<4>().0) {
        let inputs = [unit.input(low), unit.input(high)];
        let grown = activation(inputs[1]) - activation(inputs[0]);
        let [start, end] = inputs.map(|u| unit.v * slope(u));
        *part = [
            end * high[0] - start * low[0],
            end * high[1] - start * low[1],
            end - start,
            grown,
        ];
        span += unit.v * grown;
    }
    (span, parts)
}

/// Adam with the constants of its paper.
#[derive(Debug)]
struct Adam {
    weights: [f64; WEIGHTS],
    mean: [f64; WEIGHTS],
    square: [f64; WEIGHTS],
    /// The weight that the initial 0 still has in each of the means.
    lack: [f64; 2],
}

impl Adam {
    fn new(weights: [f64; WEIGHTS]) -> Self {
        Adam {
            weights,
            mean: [0.0; WEIGHTS],
            square: [0.0; WEIGHTS],
            lack: [1.0; 2],
        }
    }

    /// One step against a gradient. Large weights move in proportion to their size, since weights
    /// span orders of magnitude.
    fn descend(&mut self, gradient: &[f64; WEIGHTS], rate: f64) {
        const DECAY: [f64; 2] = [0.9, 0.999];
        self.lack = [self.lack[0] * DECAY[0], self.lack[1] * DECAY[1]];
        let moments = self.mean.iter_mut().zip(&mut self.square);
        for ((weight, by), (mean, square)) in self.weights.iter_mut().zip(gradient).zip(moments) {
            *mean += (1.0 - DECAY[0]) * (by - *mean);
            *square += (1.0 - DECAY[1]) * (by * by - *square);
            let mean = *mean / (1.0 - self.lack[0]);
            let square = *square / (1.0 - self.lack[1]);
            let reach = rate * weight.abs().max(1.0);
            *weight -= reach * mean / (square.sqrt() + 1e-12);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::SplitMix64;

    /// Entries of the given quantile function at evenly spaced ranks.
    fn entries(count: u64, number: impl Fn(f64) -> f64) -> Vec<(u64, u64)> {
        let at = |i: u64| (number((i as f64 + 0.5) / count as f64) as u64, i);
        let mut entries: Vec<_> = (0..count).map(at).collect();
        entries.dedup_by_key(|entry| entry.0);
        entries
    }

    /// The largest difference between the image, scaled to 0..1, and the share of smaller numbers.
    fn unevenness(flow: &Flow, entries: &[(u64, u64)]) -> f64 {
        let image = |entry: Option<&(u64, u64)>| entry.map_or(0.0, |e| flow.image(e.0));
        let (start, end) = (image(entries.first()), image(entries.last()));
        let count = entries.len() as f64;
        let off = |(i, e): (usize, &(u64, u64))| {
            ((flow.image(e.0) - start) / (end - start) - i as f64 / count).abs()
        };
        entries.iter().enumerate().map(off).fold(0.0, f64::max)
    }

    #[test]
    fn images_of_skewed_numbers_are_nearly_uniform() {
        type Quantile = fn(f64) -> f64;
        let skewed: [(&str, Quantile, f64); 5] = [
            ("uniform", |p| p * 1e15, 0.02),
            ("exponential", |p| -(1.0 - p).ln() * 1e12, 0.06),
            ("pareto", |p| 1e6 * (1.0 - p).powi(-2), 0.03),
            ("logistic", |p| 1e12 + 3e10 * (p / (1.0 - p)).ln(), 0.06),
            ("square", |p| p * p * 1e18, 0.03),
        ];
        for (name, number, most) in skewed {
            let entries = entries(20_000, number);
            let flow = train(&entries).unwrap();
            let off = unevenness(&flow, &entries);
            assert!(off < most, "{name}: {off} with {flow:?}");
        }
    }

    /// The loss, up to a constant.
    fn loss(weights: &[f64; WEIGHTS], examples: &[Example], ends: [[f64; 2]; 2]) -> f64 {
        let units = units_of(&weights[2..]);
        let past = [weights[0] * weights[0], weights[1] * weights[1]];
        let slope = |example: &Example| {
            let [dt, dg] = example.slopes;
            let parts = units.iter().map(|unit| {
                let r = 1.0 / (1.0 + unit.input(example.features).abs());
                unit.v * r * r * (unit.a * dt + unit.b * dg)
            });
            parts.sum::<f64>() + past[0] * dt + past[1] * dg
        };
        let logs: f64 = examples.iter().map(|example| slope(example).ln()).sum();
        span(&units, past, ends).0.ln() - logs / examples.len() as f64
    }

    #[test]
    fn gradients_match_the_loss() {
        let mut random = SplitMix64::new(11);
        let entries = entries(500, |p| 1e9 * (1.0 - p).powi(-2));
        let last = entries[entries.len() - 1].0;
        let features = Features::over(entries[0].0, last / 3, last);
        let ends = [features.of(entries[0].0), features.of(last)];
        let examples = sample(&entries, &features);
        for _ in 0..20 {
            let weights: [f64; WEIGHTS] = std::array::from_fn(|_| 0.2 + random.fraction());
            let gradient = gradient(&weights, examples.iter(), ends);
            for i in 0..WEIGHTS {
                let moved = |by: f64| {
                    let mut weights = weights;
                    weights[i] += by;
                    loss(&weights, &examples, ends)
                };
                let measured = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                let off = (gradient[i] - measured).abs();
                assert!(off < 1e-4 * (1.0 + measured.abs()), "{i}: {off} {measured}");
            }
        }
    }

    #[test]
    fn any_numbers_can_be_trained_on() {
        let ends = [(0, 0), (u64::MAX, 1)];
        let powers: Vec<_> = (0..64).map(|i| (1u64 << i, i)).collect();
        let outlier: Vec<_> = (0..5000)
            .map(|i| (i, i))
            .chain([(u64::MAX, 5000)])
            .collect();
        let late: Vec<_> = [(0, 0)]
            .into_iter()
            .chain((1..5000).map(|i| (u64::MAX - 5000 + i, i)))
            .collect();
        for entries in [&ends[..], &powers, &outlier, &late] {
            let flow = train(entries).unwrap();
            let images = entries.iter().map(|entry| flow.image(entry.0));
            assert!(images.clone().all(f64::is_finite) && images.is_sorted());
            assert_eq!(train(entries), Some(flow));
        }
    }
}
