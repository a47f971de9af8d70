//! What a forward pass does with floats.
//!
//! Sums run over sixteen lanes in a fixed order, and nothing comes from the platform's mathematics library:
//! the same numbers come out on every processor, however wide its vectors are.

/// How many sums run side by side.
pub(super) const LANES: usize = 16;

/// Sixteen neighbours.
pub(super) type Lane = [f32; LANES];

/// Returns the least and the greatest value.
#[inline(always)]
pub(super) fn extent(values: &[f32]) -> (f32, f32) {
    let first = values.first().copied().unwrap_or(0.0);
    (fold(values, first, lesser, lesser), fold(values, first, greater, greater))
}

/// Subtracts the mean, divides by the deviation, and applies what was learnt.
#[inline(always)]
pub(super) fn normalise(values: &mut [f32], weight: &[f32], bias: &[f32], epsilon: f32) {
    let count = values.len() as f32;
    let mean = sum(values, |value| value) / count;
    let variance = sum(values, |value| (value - mean) * (value - mean)) / count;
    let scale = 1.0 / (variance + epsilon).sqrt();
    for ((value, weight), bias) in values.iter_mut().zip(weight).zip(bias) {
        *value = (*value - mean) * scale * weight + bias;
    }
}

/// Turns the first `count` scores into shares that add up to one.
#[inline(always)]
pub(super) fn softmax(scores: &mut [Lane], count: usize) {
    let scores = scores.as_flattened_mut();
    // The rest takes part so that lanes stay whole; its share is too small to be seen.
    scores[count..].fill(f32::MIN);
    let greatest = fold(scores, f32::MIN, greater, greater);
    for score in scores.iter_mut() {
        *score = exp(*score - greatest);
    }
    let share = 1.0 / sum(scores, |score| score);
    for score in scores {
        *score *= share;
    }
}

/// Applies the Gaussian error linear unit to each value.
#[inline(always)]
pub(super) fn gelu(values: &mut [f32]) {
    for value in values {
        *value = 0.5 * *value * (1.0 + erf(*value * std::f32::consts::FRAC_1_SQRT_2));
    }
}

/// Turns scores into logarithms of shares that add up to one.
pub(super) fn log_softmax(scores: &mut [f32]) {
    let greatest = fold(scores, f32::MIN, greater, greater);
    let rest = ln(sum(scores, |score| exp(score - greatest)));
    for score in scores {
        *score = *score - greatest - rest;
    }
}

/// Returns the share that a logarithm of odds stands for.
pub(super) fn sigmoid(x: f32) -> f32 {
    let small = exp(-x.abs());
    let share = small / (1.0 + small);
    if x < 0.0 { share } else { 1.0 - share }
}

/// Returns the product of two vectors of the same length.
#[inline(always)]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, rest_of_a), (b, rest_of_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let rest = rest_of_a.iter().zip(rest_of_b);
    rest.fold(sum(&lanes, |lane| lane), |sum, (a, b)| sum + a * b)
}

/// Returns the length of a vector.
#[inline(always)]
pub(super) fn length(values: &[f32]) -> f32 {
    sum(values, |value| value * value).sqrt()
}

#[inline(always)]
fn sum(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    fold(values, 0.0, |sum, value| sum + of(value), |a, b| a + b)
}

/// Folds sixteen lanes side by side, then their results pairwise, then what was left over.
#[inline(always)]
fn fold(values: &[f32], start: f32, take: impl Fn(f32, f32) -> f32, join: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [start; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            lanes[lane] = take(lanes[lane], chunk[lane]);
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] = join(lanes[lane], lanes[lane + width]);
        }
        width /= 2;
    }
    rest.iter().fold(lanes[0], |folded, value| take(folded, *value))
}

// `f32::min` and `f32::max` treat NaN in a way that takes several instructions.
#[inline(always)]
fn lesser(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

#[inline(always)]
fn greater(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// The exponential of a number that is not positive, to a few units in the seventh digit.
#[inline(always)]
fn exp(x: f32) -> f32 {
    /// Adding it leaves a float whose last bits are the rounded number.
    const SHIFT: f32 = 12_582_912.0;
    // Below this the result is too small to be a normal float, and nothing that a sum of shares can show.
    let x = greater(-87.0, x) * std::f32::consts::LOG2_E;
    let shifted = x + SHIFT;
    let fraction = x - (shifted - SHIFT);
    // Fitted to two to the power of a fraction between -1/2 and 1/2.
    let power = 0.001_340_044_2_f32;
    let power = power * fraction + 0.009_676_047;
    let power = power * fraction + 0.055_503_27;
    let power = power * fraction + 0.240_221_07;
    let power = power * fraction + std::f32::consts::LN_2;
    let power = power * fraction + 1.0;
    f32::from_bits((power.to_bits()).wrapping_add(shifted.to_bits() << 23))
}

/// The natural logarithm of a positive number, to a few units in the seventh digit.
fn ln(x: f32) -> f32 {
    // Between the roots of 1/2 and of 2 the series below needs five terms.
    let octaves = (x.to_bits().wrapping_add(HALF_OCTAVE) >> 23).wrapping_sub(127);
    let x = f32::from_bits(x.to_bits().wrapping_sub(octaves << 23));
    let ratio = (x - 1.0) / (x + 1.0);
    let square = ratio * ratio;
    let series = LN_TERMS.iter().fold(0.0, |sum, term| sum * square + 1.0 / term);
    octaves.cast_signed() as f32 * std::f32::consts::LN_2 + 2.0 * ratio * series
}

/// What the bits of the root of 2 lack to those of 2.
const HALF_OCTAVE: u32 = 0x4000_0000 - 0x3fb5_04f3;
/// The odd numbers below which the powers stand in the series of the logarithm, from behind.
const LN_TERMS: [f32; 5] = [9.0, 7.0, 5.0, 3.0, 1.0];

/// The error function, to three units in the sixth digit: far finer than what it is rounded to afterwards.
#[inline(always)]
fn erf(x: f32) -> f32 {
    // Beyond this it differs from one by less than the last bit.
    let x = greater(-3.9, lesser(3.9, x));
    let square = x * x;
    let above = -4.733_959_6e-6_f32;
    let above = above * square + 1.102_053_8e-3;
    let above = above * square + 4.756_329e-2;
    let above = above * square + 1.616_083_2e-1;
    let above = above * square + 1.128_403_4;
    let below = 1.123_132e-2_f32;
    let below = below * square + 1.005_625_8e-1;
    let below = below * square + 4.767_506e-1;
    let below = below * square + 1.0;
    x * above / below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_that_of_the_textbook() {
        for step in 0..8_600 {
            let x = -0.01 * step as f32;
            let expected = f64::from(x).exp();
            let relative = (f64::from(exp(x)) / expected - 1.0).abs();
            assert!(relative < 1e-5, "exp({x}) is off by {relative}");
        }
        assert!(exp(-1_000.0) < 1e-37);
    }

    #[test]
    fn the_error_function_is_that_of_the_textbook() {
        // From a table of the function.
        let known = [
            (0.0, 0.0),
            (0.1, 0.112_462_92),
            (0.5, 0.520_499_9),
            (1.0, 0.842_700_8),
            (1.5, 0.966_105_16),
            (2.0, 0.995_322_3),
            (3.0, 0.999_977_9),
            (5.0, 1.0),
        ];
        for (x, expected) in known {
            assert!((erf(x) - expected).abs() < 5e-6, "erf({x}) is {}", erf(x));
            assert!((erf(-x) + expected).abs() < 5e-6, "erf(-{x}) is {}", erf(-x));
        }
    }

    #[test]
    fn the_logarithm_is_that_of_the_textbook() {
        for step in 0..5_000 {
            let x = 1.0 + 0.1 * step as f32;
            let expected = f64::from(x).ln();
            let error = (f64::from(ln(x)) - expected).abs();
            assert!(error < 1e-6 * expected.max(0.1), "ln({x}) is off by {error}");
        }
    }

    #[test]
    fn logarithms_of_shares_are_those_of_the_shares() {
        let mut scores: Vec<f32> = (0..37).map(|at| (at * 7 % 11) as f32 - 30.0).collect();
        let mut shares = [[0.0; LANES]; 3];
        shares.as_flattened_mut()[..37].copy_from_slice(&scores);
        softmax(&mut shares, 37);
        log_softmax(&mut scores);
        for (logarithm, share) in scores.iter().zip(shares.as_flattened()) {
            assert!((logarithm.exp() - share).abs() < 1e-6, "{logarithm} for {share}");
        }
        log_softmax(&mut []);
    }

    #[test]
    fn odds_become_shares() {
        for (odds, share) in [(0.0, 0.5), (1.0, 0.731_058_6), (-1.0, 0.268_941_4), (200.0, 1.0)] {
            assert!((sigmoid(odds) - share).abs() < 1e-6, "{} for {odds}", sigmoid(odds));
        }
        assert!(sigmoid(-200.0) < 1e-37);
    }

    #[test]
    fn a_product_takes_all_lanes_and_the_rest() {
        let a: Vec<f32> = (0..35).map(|at| at as f32).collect();
        assert_eq!(dot(&a, &[2.0; 35]), 34.0 * 35.0);
        assert_eq!(dot(&[], &[]), 0.0);
    }

    #[test]
    fn shares_add_up_to_one_and_keep_their_proportions() {
        let mut scores = [[0.0; LANES]; 3];
        for (at, score) in scores.as_flattened_mut().iter_mut().enumerate() {
            *score = at as f32 - 50.0;
        }
        softmax(&mut scores, 37);
        let shares = scores.as_flattened();
        assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!((shares[36] / shares[35] - std::f32::consts::E).abs() < 1e-4);
        assert!(shares[37..].iter().all(|share| *share < 1e-30), "{:?}", &shares[37..]);
    }

    #[test]
    fn normalised_values_have_no_mean_and_unit_deviation() {
        let mut values: Vec<f32> = (0..19).map(|at| (at * at) as f32).collect();
        normalise(&mut values, &[1.0; 19], &[0.0; 19], 0.0);
        assert!(values.iter().sum::<f32>().abs() < 1e-4);
        assert!((values.iter().map(|value| value * value).sum::<f32>() / 19.0 - 1.0).abs() < 1e-4);
    }

    #[test]
    fn the_extent_spans_all_lanes_and_the_rest() {
        let mut values = vec![0.0; 35];
        values[20] = -3.0;
        values[34] = 5.0;
        assert_eq!(extent(&values), (-3.0, 5.0));
        assert_eq!(extent(&[]), (0.0, 0.0));
        assert_eq!(extent(&[2.0]), (2.0, 2.0));
    }
}
