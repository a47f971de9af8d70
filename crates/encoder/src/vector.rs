//! Vectors: one of floats to compute with, one of bytes to keep, and many of bytes to search.

use crate::Error;
use crate::layout::LANE;
use crate::math;
use crate::simd::Path;

/// The meaning of a text as a direction: a vector of unit length, or of zeros if there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding(Box<[f32]>);

impl Embedding {
    /// Makes a vector of unit length; what is not finite has no direction and becomes zeros.
    pub fn new(mut values: Vec<f32>) -> Self {
        let length = math::length(&values);
        let scale = if length.is_finite() && length > 0.0 { 1.0 / length } else { 0.0 };
        for value in &mut values {
            *value = if scale == 0.0 { 0.0 } else { *value * scale };
        }
        Self(values.into())
    }

    /// Returns the numbers.
    pub fn values(&self) -> &[f32] {
        &self.0
    }

    /// Returns the cosine of the angle to another vector; what only one of them has does not count.
    pub fn cosine(&self, other: &Self) -> f32 {
        self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum()
    }

    /// Rounds each number to a byte.
    pub fn pack(&self) -> Packed {
        let (least, greatest) = math::extent(&self.0);
        let scale = greatest.max(-least) / 127.0;
        let fine = if scale > 0.0 { 1.0 / scale } else { 0.0 };
        let bytes = self.0.iter().map(|value| (value * fine).round_ties_even() as i8 as u8).collect();
        Packed { scale, bytes }
    }
}

/// A vector of one byte a number, to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    scale: f32,
    /// Whole numbers between -127 and 127.
    bytes: Box<[u8]>,
}

impl Packed {
    /// Returns how many numbers the vector has.
    pub fn dims(&self) -> usize {
        self.bytes.len()
    }

    /// Writes the scale in four bytes, then the numbers.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.scale.to_le_bytes(), &*self.bytes].concat()
    }

    /// Reads what [`Self::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (scale, bytes) = bytes.split_first_chunk().ok_or(Error::Packed)?;
        let scale = f32::from_le_bytes(*scale);
        if !scale.is_finite() || bytes.contains(&0x80) {
            return Err(Error::Packed);
        }
        Ok(Self { scale, bytes: bytes.into() })
    }

    /// Returns the numbers as floats again.
    pub fn unpack(&self) -> Embedding {
        Embedding::new(self.bytes.iter().map(|byte| f32::from(*byte as i8) * self.scale).collect())
    }
}

/// Many packed vectors side by side, to be compared with one.
#[derive(Clone, Debug)]
pub struct Vectors {
    path: Path,
    dims: usize,
    /// The numbers of each vector, filled up with zeros.
    lanes: Vec<[u8; LANE]>,
    scales: Vec<f32>,
}

impl Vectors {
    /// Makes an empty set of vectors with `dims` numbers each.
    pub fn new(dims: usize) -> Self {
        Self { path: Path::detect(), dims, lanes: Vec::new(), scales: Vec::new() }
    }

    /// Adds a vector at the end.
    pub fn push(&mut self, vector: &Packed) -> Result<(), Error> {
        self.check(vector.dims())?;
        self.lanes.extend(lanes(&vector.bytes));
        self.scales.push(vector.scale);
        Ok(())
    }

    /// Returns how many vectors there are.
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Writes the cosine of each vector with `query` into `scores`, in the order in which they were added.
    pub fn score(&self, query: &Embedding, scores: &mut Vec<f32>) -> Result<(), Error> {
        self.check(query.values().len())?;
        let query = query.pack();
        let sum = query.bytes.iter().map(|byte| i32::from(*byte as i8)).sum();
        let wide: Vec<[u8; LANE]> = lanes(&query.bytes).collect();
        scores.clear();
        // A vector of no numbers has no lanes to go by.
        let vectors = self.lanes.chunks_exact(wide.len().max(1)).zip(&self.scales);
        scores.extend(
            vectors.map(|(vector, scale)| self.path.dot(&wide, sum, vector) as f32 * (scale * query.scale)),
        );
        Ok(())
    }

    fn check(&self, dims: usize) -> Result<(), Error> {
        if dims == self.dims { Ok(()) } else { Err(Error::Dims { expected: self.dims, found: dims }) }
    }
}

fn lanes(bytes: &[u8]) -> impl Iterator<Item = [u8; LANE]> {
    bytes.chunks(LANE).map(|chunk| {
        let mut lane = [0; LANE];
        lane[..chunk.len()].copy_from_slice(chunk);
        lane
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn embedding(values: &[f32]) -> Embedding {
        Embedding::new(values.to_vec())
    }

    #[test]
    fn a_vector_has_unit_length_or_none() {
        assert_eq!(embedding(&[3.0, 4.0]).values(), [0.6, 0.8]);
        for none in [[0.0, 0.0], [f32::NAN, 1.0], [f32::INFINITY, 1.0], [f32::MAX, f32::MAX]] {
            assert_eq!(embedding(&none).values(), [0.0, 0.0], "{none:?}");
        }
    }

    #[test]
    fn a_stored_vector_comes_back() {
        let packed = embedding(&[0.25, -1.0, 0.75]).pack();
        assert_eq!(Packed::from_bytes(&packed.to_bytes()).unwrap(), packed);
        assert_eq!(packed.to_bytes()[4..], [32, -127_i8 as u8, 95]);
        assert!(packed.unpack().cosine(&embedding(&[0.25, -1.0, 0.75])) > 0.9999);
    }

    #[test]
    fn stored_bytes_that_no_vector_has_are_refused() {
        let packed = embedding(&[0.5, 1.0]).pack().to_bytes();
        assert!(Packed::from_bytes(&packed[..3]).is_err());
        assert!(Packed::from_bytes(&[&packed[..5], &[0x80]].concat()).is_err());
        assert!(Packed::from_bytes(&[&f32::NAN.to_le_bytes(), &packed[4..]].concat()).is_err());
    }

    #[test]
    fn vectors_of_another_model_are_refused() {
        let mut vectors = Vectors::new(2);
        vectors.push(&embedding(&[1.0, 0.0]).pack()).unwrap();
        let other = embedding(&[1.0, 0.0, 0.0]);
        insta::assert_snapshot!(vectors.push(&other.pack()).unwrap_err(), @"a vector of 3 numbers where there are 2 in each");
        assert!(vectors.score(&other, &mut Vec::new()).is_err());
        assert_eq!(vectors.len(), 1);
    }

    proptest! {
        #[test]
        fn scores_are_cosines(rows in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 100), 1..9)) {
            let rows: Vec<Embedding> = rows.into_iter().map(Embedding::new).collect();
            let mut vectors = Vectors::new(100);
            rows.iter().for_each(|row| vectors.push(&row.pack()).unwrap());
            let mut scores = vec![7.0];
            vectors.score(&rows[0], &mut scores).unwrap();
            prop_assert_eq!(scores.len(), rows.len());
            for (score, row) in scores.iter().zip(&rows) {
                prop_assert!((score - row.cosine(&rows[0])).abs() < 0.02, "{} {}", score, row.cosine(&rows[0]));
            }
            for path in Path::all() {
                let mut other = Vec::new();
                vectors.path = path;
                vectors.score(&rows[0], &mut other).unwrap();
                prop_assert_eq!(&other, &scores, "{:?}", path);
            }
        }
    }
}
