//! Text in UTF-16, read as UTF-8 and written back as it was.
//!
//! Everything else is searched as the bytes that it is: names of tools have the same bytes in all other encodings
//! that editors write.

use std::borrow::Cow;
use std::io::{self, Read};

/// How the bytes of a text are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// As they are.
    Bytes,
    /// In units of two bytes, the smaller part first.
    Utf16Little,
    /// In units of two bytes, the larger part first.
    Utf16Big,
}

const LITTLE: [u8; 2] = [0xff, 0xfe];
const BIG: [u8; 2] = [0xfe, 0xff];

impl Encoding {
    /// Tells by the first bytes. UTF-32 begins like UTF-16 and is left alone.
    pub(super) fn of(head: &[u8]) -> Self {
        if head.starts_with(&LITTLE) && !head[2..].starts_with(&[0, 0]) {
            Self::Utf16Little
        } else if head.starts_with(&BIG) {
            Self::Utf16Big
        } else {
            Self::Bytes
        }
    }

    /// Writes a text back.
    pub(super) fn encode(self, text: Vec<u8>) -> Vec<u8> {
        let bytes = |mark: [u8; 2], unit: fn(u16) -> [u8; 2]| {
            let text = String::from_utf8_lossy(&text);
            mark.into_iter().chain(text.encode_utf16().flat_map(unit)).collect()
        };
        match self {
            Self::Bytes => text,
            Self::Utf16Little => bytes(LITTLE, u16::to_le_bytes),
            Self::Utf16Big => bytes(BIG, u16::to_be_bytes),
        }
    }

    fn unit(self, pair: [u8; 2]) -> u16 {
        match self {
            Self::Utf16Big => u16::from_be_bytes(pair),
            Self::Utf16Little | Self::Bytes => u16::from_le_bytes(pair),
        }
    }
}

/// Reads a text; `None` where it could not be written back as it was.
pub(super) fn decode(bytes: &[u8]) -> Option<(Cow<'_, [u8]>, Encoding)> {
    let encoding = Encoding::of(bytes);
    if encoding == Encoding::Bytes {
        return Some((Cow::Borrowed(bytes), encoding));
    }
    let mut text = Vec::new();
    Utf16::new(&bytes[2..], encoding).read_to_end(&mut text).ok()?;
    (encoding.encode(text.clone()) == bytes).then_some((Cow::Owned(text), encoding))
}

/// Reads UTF-16 as UTF-8, piece by piece.
pub(super) struct Utf16<R> {
    inner: R,
    encoding: Encoding,
    /// Bytes and units that wait for their other half.
    odd: Option<u8>,
    high: Option<u16>,
    ready: Vec<u8>,
    taken: usize,
}

impl<R: Read> Utf16<R> {
    /// Reads what stands behind the mark at the beginning.
    pub(super) fn new(inner: R, encoding: Encoding) -> Self {
        Self { inner, encoding, odd: None, high: None, ready: Vec::new(), taken: 0 }
    }

    /// Decodes the next piece; `false` at the end.
    fn more(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 8192];
        let length = self.inner.read(&mut bytes)?;
        self.ready.clear();
        self.taken = 0;
        if length == 0 {
            let is_cut = self.odd.take().is_some() | self.high.take().is_some();
            if is_cut {
                self.push(char::REPLACEMENT_CHARACTER);
            }
            return Ok(is_cut);
        }
        let odd = self.odd.take();
        let mut rest = odd.into_iter().chain(bytes[..length].iter().copied());
        while let Some(first) = rest.next() {
            let Some(second) = rest.next() else {
                self.odd = Some(first);
                break;
            };
            let unit = self.encoding.unit([first, second]);
            if self.high.is_none() && (0xd800..0xdc00).contains(&unit) {
                self.high = Some(unit);
                continue;
            }
            let units = self.high.take().into_iter().chain([unit]);
            for read in char::decode_utf16(units) {
                self.push(read.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
        }
        Ok(true)
    }

    fn push(&mut self, read: char) {
        self.ready.extend_from_slice(read.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.ready.len() {
            if !self.more()? {
                return Ok(0);
            }
        }
        let length = into.len().min(self.ready.len() - self.taken);
        into[..length].copy_from_slice(&self.ready[self.taken..self.taken + length]);
        self.taken += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c8_utf_16_is_read_and_written_back_whatever_is_in_it() {
        let text = "create_product für 🦀\r\n".repeat(2000);
        for encoding in [Encoding::Utf16Little, Encoding::Utf16Big] {
            let bytes = encoding.encode(text.clone().into_bytes());
            assert_eq!(decode(&bytes).unwrap(), (Cow::Borrowed(text.as_bytes()), encoding));
            // Half a character cannot be kept, so such a text is not changed.
            assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(Encoding::of(&[0xff, 0xfe, 0, 0]), Encoding::Bytes);
        assert_eq!(decode(b"\xe9t\xe9").unwrap().1, Encoding::Bytes);
    }
}
