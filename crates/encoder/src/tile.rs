//! How matrices of whole numbers lie in memory, so that they can be multiplied without searching.
//!
//! Weights lie in panels of 64 rows, and of these four columns at a time. Activations lie in tiles of four
//! rows, and of these four columns at a time. A tile times a panel walks through both from front to back.

use crate::layout::{Accumulated, Group, LANE, Quad, ROWS, STEP, WIDTH};
use crate::simd::Path;

/// The weights of one linear map, as they lie in the file, and the sums of their rows.
#[derive(Clone, Copy)]
pub(super) struct Panels<'a> {
    groups: &'a [Group],
    steps: usize,
    sums: &'a [[i32; WIDTH]],
}

impl<'a> Panels<'a> {
    /// Takes the bytes of `columns` columns; `sums` come from [`row_sums`].
    pub(super) fn new(bytes: &'a [u8], columns: usize, sums: &'a [[i32; WIDTH]]) -> Self {
        Self { groups: groups(bytes), steps: steps(columns), sums }
    }

    /// Returns the number of panels.
    pub(super) fn len(self) -> usize {
        self.sums.len()
    }
}

/// Activations as whole numbers, each row with what brings its numbers back.
#[derive(Debug)]
pub(super) struct Tiles {
    quads: Vec<Quad>,
    steps: usize,
    /// For each row the size of a step and the number in the middle.
    pub(super) scales: Vec<(f32, f32)>,
    bytes: Vec<u8>,
}

impl Tiles {
    /// Makes room for rows of some number of columns.
    pub(super) fn new(rows: usize, columns: usize) -> Self {
        let steps = steps(columns);
        Self {
            quads: vec![[0; ROWS]; rows.div_ceil(ROWS) * steps],
            steps,
            scales: vec![(0.0, 0.0); rows],
            bytes: vec![0; steps * STEP],
        }
    }

    /// Rounds one row to whole numbers between -127 and 127, as finely as its least and greatest allow.
    #[inline(always)]
    pub(super) fn put(&mut self, row: usize, values: &[f32]) {
        self.scales[row] = round(values, &mut self.bytes);
        let quads = &mut self.quads[row / ROWS * self.steps..][..self.steps];
        for (quad, four) in quads.iter_mut().zip(self.bytes.as_chunks::<STEP>().0) {
            quad[row % ROWS] = i32::from_le_bytes(*four);
        }
    }
}

/// Multiplies activations with weights. The product of tile `t` and panel `p` is at `t * panels + p`.
pub(super) fn multiply(path: Path, tiles: &Tiles, rows: usize, panels: Panels<'_>, out: &mut [Accumulated]) {
    let weights = panels.groups.chunks_exact(panels.steps).zip(panels.sums);
    for (p, (panel, sums)) in weights.enumerate() {
        for (t, quads) in tiles.quads.chunks_exact(tiles.steps).take(rows.div_ceil(ROWS)).enumerate() {
            path.tile(quads, panel, sums, &mut out[t * panels.len() + p]);
        }
    }
}

/// Returns the sums of the rows of weights, panel by panel.
pub(super) fn row_sums(bytes: &[u8], columns: usize) -> Vec<[i32; WIDTH]> {
    let mut all = Vec::new();
    for panel in groups(bytes).chunks_exact(steps(columns)) {
        let mut sums = [0; WIDTH];
        for group in panel {
            for (sum, four) in sums.iter_mut().zip(group.as_flattened().as_chunks::<STEP>().0) {
                *sum += four.iter().map(|byte| i32::from(*byte as i8)).sum::<i32>();
            }
        }
        all.push(sums);
    }
    all
}

/// Returns how many bytes a matrix takes in panels.
pub(super) fn panel_bytes(rows: usize, columns: usize) -> usize {
    rows.div_ceil(WIDTH) * steps(columns) * WIDTH * STEP
}

/// Returns where an element lies among the bytes of a matrix in panels.
pub(super) fn panel_place(row: usize, column: usize, columns: usize) -> usize {
    ((row / WIDTH * steps(columns) + column / STEP) * WIDTH + row % WIDTH) * STEP + column % STEP
}

fn steps(columns: usize) -> usize {
    columns.div_ceil(STEP)
}

fn groups(bytes: &[u8]) -> &[Group] {
    bytes.as_chunks::<LANE>().0.as_chunks().0
}

/// Rounds `values` to bytes that are greater by 128; the bytes behind them stay.
#[inline(always)]
fn round(values: &[f32], bytes: &mut [u8]) -> (f32, f32) {
    /// Adding it leaves a float whose last bits are the rounded number.
    const SHIFT: f32 = 12_582_912.0;
    let (least, greatest) = crate::math::extent(values);
    let middle = (least + greatest) * 0.5;
    let extent = greatest - least;
    let fine = if extent > 0.0 { 254.0 / extent } else { 0.0 };
    for (byte, value) in bytes.iter_mut().zip(values) {
        *byte = ((value - middle) * fine + SHIFT).to_bits() as u8 ^ 0x80;
    }
    (extent / 254.0, middle)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Builds the bytes of a matrix in panels, from its rows.
    fn panels(rows: &[Vec<i8>]) -> Vec<u8> {
        let columns = rows[0].len();
        let mut bytes = vec![0; panel_bytes(rows.len(), columns)];
        for (r, row) in rows.iter().enumerate() {
            for (c, value) in row.iter().enumerate() {
                bytes[panel_place(r, c, columns)] = *value as u8;
            }
        }
        bytes
    }

    /// Multiplies on one path and takes the whole numbers apart again.
    fn product(path: Path, activations: &[Vec<f32>], weights: &[Vec<i8>]) -> Vec<Vec<i32>> {
        let (rows, columns) = (activations.len(), weights[0].len());
        let bytes = panels(weights);
        let sums = row_sums(&bytes, columns);
        let panels = Panels::new(&bytes, columns, &sums);
        let mut tiles = Tiles::new(rows, columns);
        for (row, values) in activations.iter().enumerate() {
            tiles.put(row, values);
        }
        let mut out = vec![[[0; WIDTH]; ROWS]; rows.div_ceil(ROWS) * panels.len()];
        multiply(path, &tiles, rows, panels, &mut out);
        let at = |r: usize, c: usize| out[r / ROWS * panels.len() + c / WIDTH][r % ROWS][c % WIDTH];
        (0..rows).map(|r| (0..weights.len()).map(|c| at(r, c)).collect()).collect()
    }

    /// Whole numbers whose extent is the full one, so that rounding leaves them as they are.
    fn activations(rows: usize, columns: usize) -> impl Strategy<Value = Vec<Vec<f32>>> {
        let row = prop::collection::vec((-127_i8..=127).prop_map(f32::from), columns).prop_map(|mut row| {
            let last = row.len() - 1;
            (row[0], row[last]) = (-127.0, 127.0);
            row
        });
        prop::collection::vec(row, rows)
    }

    fn matrices() -> impl Strategy<Value = (Vec<Vec<f32>>, Vec<Vec<i8>>)> {
        (1_usize..11, 1_usize..140, 2_usize..80).prop_flat_map(|(rows, out, columns)| {
            let weights = prop::collection::vec(prop::collection::vec(-127_i8..=127, columns), out);
            (activations(rows, columns), weights)
        })
    }

    proptest! {
        #[test]
        fn every_path_multiplies_as_on_paper((activations, weights) in matrices()) {
            let expected: Vec<Vec<i32>> = activations
                .iter()
                .map(|row| {
                    let dot = |weights: &Vec<i8>| {
                        row.iter().zip(weights).map(|(a, b)| *a as i32 * i32::from(*b)).sum()
                    };
                    weights.iter().map(dot).collect()
                })
                .collect();
            for path in Path::all() {
                prop_assert_eq!(&product(path, &activations, &weights), &expected, "{:?}", path);
            }
        }
    }

    #[test]
    fn the_largest_numbers_do_not_saturate() {
        for (a, w) in [(127, 127), (127, -127), (-127, 127), (-127, -127)] {
            let columns = 1_538;
            let mut row = vec![a as f32; columns];
            row[0] = -row[0];
            let expected = w * a * (columns as i32 - 2);
            for path in Path::all() {
                let product = product(path, &[row.clone()], &[vec![w as i8; columns]]);
                assert_eq!(product, [[expected]], "{path:?}");
            }
        }
    }

    #[test]
    fn rounding_keeps_a_row_within_half_a_step() {
        let values: Vec<f32> = (0..50).map(|at| (at as f32 * 0.37).sin() * 3.0 + 1.0).collect();
        let mut bytes = vec![0; values.len()];
        let (step, middle) = round(&values, &mut bytes);
        for (value, byte) in values.iter().zip(bytes) {
            let back = f32::from((byte ^ 0x80) as i8) * step + middle;
            assert!((back - value).abs() <= step * 0.501, "{value} came back as {back}");
        }
    }

    #[test]
    fn a_row_of_one_number_is_kept_exactly() {
        let mut bytes = vec![7; 3];
        assert_eq!(round(&[2.5, 2.5], &mut bytes), (0.0, 2.5));
        assert_eq!(bytes, [0x80, 0x80, 7]);
    }
}
