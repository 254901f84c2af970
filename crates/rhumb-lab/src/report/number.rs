//! Formatting of numbers: short on axes, with enough digits in tables.

use crate::table;

/// The labels of ticks: exact if thirteen digits are enough, else with as few digits as make them
/// different. With base 2, whole multiples of 1,024 are written as `4Ki`; otherwise thousands are
/// written as `4k`.
pub fn labels(values: &[f64], base: u32) -> Vec<String> {
    let with = |digits| -> Vec<String> {
        let labels = values.iter().map(|value| label(*value, base, digits));
        labels.collect()
    };
    let exact = with(13);
    let apart = |labels: &Vec<String>| labels.windows(2).all(|pair| pair[0] != pair[1]);
    let all = || (3..17).map(with);
    let best = all().find(|labels| *labels == exact && apart(labels));
    let best = best.or_else(|| all().find(apart));
    best.unwrap_or_else(|| values.iter().map(f64::to_string).collect())
}

fn label(value: f64, base: u32, digits: usize) -> String {
    if base == 2 {
        let prefixes = [(30, "Gi"), (20, "Mi"), (10, "Ki")];
        for (power, name) in prefixes {
            let share = value / 2f64.powi(power);
            if (1.0..1024.0).contains(&share) {
                return rounded(share, digits.max(4)) + name;
            }
        }
    }
    match value.abs() {
        0.0 => "0".to_string(),
        1e4..1e6 => rounded(value / 1e3, digits) + "k",
        1e6..1e9 => rounded(value / 1e6, digits) + "M",
        1e9..1e12 => rounded(value / 1e9, digits) + "G",
        1e12..1e15 => rounded(value / 1e12, digits) + "T",
        1e-3..1e15 => rounded(value, digits.max(4)),
        _ => power_of_ten(value, digits),
    }
}

/// A number with this many significant digits, without zeros at the end.
fn rounded(value: f64, digits: usize) -> String {
    let whole = value.abs().max(1e-3).log10().floor() as i32 + 1;
    let decimals = (digits as i32 - whole).clamp(0, 16) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// A number in a form such as `5×10¹⁸`.
fn power_of_ten(value: f64, digits: usize) -> String {
    let text = format!("{value:.*e}", digits - 1);
    let (factor, power) = text.split_once('e').unwrap_or((&text, "0"));
    let factor = match factor.contains('.') {
        true => factor.trim_end_matches('0').trim_end_matches('.'),
        false => factor,
    };
    let raised: String = power.chars().map(superscript).collect();
    format!("{factor}×10{raised}")
}

fn superscript(digit: char) -> char {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let place = digit.to_digit(10).map(|digit| digit as usize);
    place
        .and_then(|place| RAISED.get(place))
        .copied()
        .unwrap_or('⁻')
}

/// A number with three digits, for narrow places.
pub fn short(value: f64) -> String {
    match value.abs() {
        1e-3..1e4 => rounded(value, 3),
        _ => label(value, 10, 3),
    }
}

/// A number for a table: three or four digits, or all digits before the point; whole numbers in
/// full.
pub fn exact(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "–".to_string(),
        1e15.. => power_of_ten(value, 4),
        _ if value.fract() == 0.0 => table::number(Some(value), 0),
        1e3.. => table::number(Some(value), 0),
        1e2.. => table::number(Some(value), 1),
        1e0.. => table::number(Some(value), 2),
        1e-3.. => table::number(Some(value), 4),
        _ => power_of_ten(value, 3),
    }
}

/// A quotient: two decimals from 0.1 to 1,000, otherwise as [`exact`].
pub fn factor(value: f64) -> String {
    match value.abs() {
        0.1..1e3 => table::number(Some(value), 2),
        _ => exact(value),
    }
}

/// A quantity with its unit: `Latency (µs)`.
pub fn with_unit(label: &str, unit: &str) -> String {
    match unit {
        "" => label.to_string(),
        _ => format!("{label} ({unit})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_and_distinct() {
        assert_eq!(
            labels(&[0.0, 2_500.0, 12_500.0], 10),
            ["0", "2500", "12.5k"]
        );
        assert_eq!(labels(&[1e6, 1.00005e6], 10), ["1M", "1.00005M"]);
        assert_eq!(labels(&[0.0, 5e18, 1e-7], 10), ["0", "5×10¹⁸", "1×10⁻⁷"]);
        assert_eq!(
            labels(&[512.0, 4096.0, 3221225472.0], 2),
            ["512", "4Ki", "3Gi"]
        );
    }

    #[test]
    fn tables_keep_three_digits() {
        let values = [0.0, 0.01234, 2.125, 372.0, 23_000.4, 2e18, -1e-9, f64::NAN];
        let expected = [
            "0",
            "0.0123",
            "2.12",
            "372",
            "23,000",
            "2×10¹⁸",
            "-1×10⁻⁹",
            "–",
        ];
        assert_eq!(values.map(exact), expected);
        let values = [0.58823, 87.33, 524.0, 5_240.6, 2e7];
        assert_eq!(values.map(short), ["0.588", "87.3", "524", "5241", "20M"]);
        assert_eq!(
            [0.58823, 12.0, 0.00123].map(factor),
            ["0.59", "12.00", "0.0012"]
        );
    }
}
