//! Reads the tensors of a `.safetensors` file.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Error;

/// The tensors of a file, by name.
pub(super) struct Tensors<'a> {
    entries: HashMap<String, Entry>,
    data: &'a [u8],
}

#[derive(Debug, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

/// A tensor as floats, row by row.
#[derive(Debug)]
pub(super) struct Matrix {
    pub(super) values: Vec<f32>,
    pub(super) shape: Vec<usize>,
}

/// By which the names of a BERT begin; writers put prefixes such as `bert.` before it.
const WORDS: &str = "embeddings.word_embeddings.weight";

impl<'a> Tensors<'a> {
    /// Reads the header; prefixes that all names share are cut.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let (length, rest) = bytes.split_first_chunk().ok_or(Error::Truncated)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| Error::Truncated)?;
        let (header, data) = rest.split_at_checked(length).ok_or(Error::Truncated)?;
        let named: HashMap<String, Box<RawValue>> = serde_json::from_slice(header)?;
        let prefix = named.keys().find_map(|name| name.strip_suffix(WORDS)).unwrap_or_default().to_owned();
        let mut entries = HashMap::new();
        for (name, entry) in named {
            if let Some(name) = name.strip_prefix(&prefix).filter(|name| *name != "__metadata__") {
                entries.insert(name.to_owned(), serde_json::from_str(entry.get())?);
            }
        }
        Ok(Self { entries, data })
    }

    /// Returns a tensor as floats.
    pub(super) fn get(&self, name: &str) -> Result<Matrix, Error> {
        let missing = || Error::Missing { name: name.to_owned() };
        let mismatch = || Error::Shape { name: name.to_owned() };
        let entry = self.entries.get(name).ok_or_else(missing)?;
        let [start, end] = entry.data_offsets;
        let bytes = self.data.get(start..end).ok_or(Error::Truncated)?;
        let values: Vec<f32> = match entry.dtype.as_str() {
            "F32" => bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect(),
            "F16" => bytes.as_chunks().0.iter().map(|two| half(u16::from_le_bytes(*two))).collect(),
            "BF16" => bytes
                .as_chunks()
                .0
                .iter()
                .map(|two| f32::from_bits(u32::from(u16::from_le_bytes(*two)) << 16))
                .collect(),
            _ => return Err(Error::Unsupported { what: "dtype", found: entry.dtype.clone() }),
        };
        let count = entry.shape.iter().try_fold(1_usize, |count, size| count.checked_mul(*size));
        if count != Some(values.len()) {
            return Err(mismatch());
        }
        if !values.iter().all(|value| value.is_finite()) {
            return Err(Error::Numbers { name: name.to_owned() });
        }
        Ok(Matrix { values, shape: entry.shape.clone() })
    }
}

/// Widens a float of sixteen bits.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (u32::from(bits >> 15), (bits >> 10) & 0x1f, u32::from(bits & 0x3ff));
    let size = match exponent {
        // The numbers next to zero: so many times two to the power of -24.
        0 => fraction as f32 * 5.960_464_5e-8,
        0x1f => f32::NAN,
        _ => f32::from_bits((u32::from(exponent) + 112) << 23 | fraction << 13),
    };
    if sign == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
    }

    #[test]
    fn all_three_widths_are_read() {
        let header = r#"{"__metadata__": {"format": "pt"},
            "x.embeddings.word_embeddings.weight": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},
            "x.a": {"dtype": "F16", "shape": [3], "data_offsets": [8, 14]},
            "x.b": {"dtype": "BF16", "shape": [2], "data_offsets": [14, 18]},
            "ids": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}}"#;
        let halves = [0x3c00_u16, 0xc100, 0x8001, 0x3f80, 0xc020].map(u16::to_le_bytes);
        let floats = [1.5_f32, -2.0].map(f32::to_le_bytes);
        let file = file(header, &[floats.as_flattened(), halves.as_flattened()].concat());
        let tensors = Tensors::read(&file).unwrap();
        assert_eq!(tensors.get(WORDS).unwrap().values, [1.5, -2.0]);
        assert_eq!(tensors.get("a").unwrap().values, [1.0, -2.5, -5.960_464_5e-8]);
        assert_eq!(tensors.get("b").unwrap().values, [1.0, -2.5]);
        assert!(matches!(tensors.get("ids"), Err(Error::Missing { .. })));
    }

    #[test]
    fn what_does_not_fit_the_file_is_refused() {
        let entry = |dtype: &str, shape: &str, offsets: &str| {
            let header =
                format!(r#"{{"a": {{"dtype": "{dtype}", "shape": {shape}, "data_offsets": {offsets}}}}}"#);
            let file = file(&header, &[0; 8]);
            Tensors::read(&file).and_then(|tensors| tensors.get("a")).map(|it| it.shape)
        };
        assert_eq!(entry("F32", "[2, 1]", "[0, 8]").unwrap(), [2, 1]);
        assert!(matches!(entry("F32", "[2]", "[0, 9]"), Err(Error::Truncated)));
        assert!(matches!(entry("F32", "[2]", "[8, 0]"), Err(Error::Truncated)));
        assert!(matches!(entry("F32", "[3]", "[0, 8]"), Err(Error::Shape { .. })));
        assert!(matches!(entry("F32", "[18446744073709551615, 2]", "[0, 8]"), Err(Error::Shape { .. })));
        assert!(matches!(entry("I8", "[8]", "[0, 8]"), Err(Error::Unsupported { .. })));
        assert!(matches!(Tensors::read(&[255; 20]), Err(Error::Truncated)));
        assert!(matches!(Tensors::read(&file("{", &[])), Err(Error::Json(_))));
    }
}
