//! The encoder and the argument reader inside the program, and the vectors that come with it.
//!
//! Both are parts of the program's file. The system reads them from there when they are touched, so they cost
//! no memory before. A build for debugging reads them from the folder `models` instead.

use std::borrow::Cow;
use std::sync::OnceLock;

use toolyard_core::arguments::{Form, ReadField, read_fields};
use toolyard_encoder::{Encoder, Packed, Reader, ReaderInput, RequestReading, Title};

use super::key::TextKey;

/// Where a file of the folder `models` is.
#[expect(dead_code, reason = "which of them there are depends on the build")]
enum Source {
    /// It did not come with the sources.
    Nowhere,
    /// Where it lay when the program was built.
    Beside(&'static str),
    /// In the program.
    Inside(&'static Aligned<[u8]>),
}

/// Puts bytes where the encoder reads them fastest.
#[repr(C, align(64))]
struct Aligned<B: ?Sized>(B);

mod files {
    use super::Source;
    include!(concat!(env!("OUT_DIR"), "/models.rs"));
}

impl Source {
    fn bytes(&self) -> Option<Cow<'static, [u8]>> {
        match self {
            Self::Nowhere => None,
            Self::Beside(path) => std::fs::read(path).ok().map(Cow::Owned),
            Self::Inside(bytes) => Some(Cow::Borrowed(&bytes.0)),
        }
    }
}

/// The encoder inside the program. Its weights are touched when the first text is encoded.
#[derive(Debug)]
pub struct Inside {
    pub(super) title: Title,
    bytes: &'static [u8],
    encoder: OnceLock<Encoder>,
}

impl Inside {
    pub(super) fn encoder(&self) -> &Encoder {
        self.encoder.get_or_init(|| Encoder::open(self.bytes).expect("a test opens the file that is put in"))
    }
}

/// Returns the encoder inside the program; `None` where it was built without one.
pub(super) fn inside() -> Option<&'static Inside> {
    static BYTES: OnceLock<Option<Cow<'static, [u8]>>> = OnceLock::new();
    static INSIDE: OnceLock<Option<Inside>> = OnceLock::new();
    let read = || {
        let bytes = BYTES.get_or_init(|| files::ENCODER.bytes()).as_deref()?;
        Some(Inside { title: Title::read(bytes).ok()?, bytes, encoder: OnceLock::new() })
    };
    INSIDE.get_or_init(read).as_ref()
}

/// The argument reader inside the program, beside the encoder whose words it takes.
#[derive(Debug)]
pub struct ArgumentReader {
    encoder: &'static Encoder,
    reader: Reader,
}

impl ArgumentReader {
    /// Returns the reader inside the program, opened on first use; `None` where it was built without one.
    pub fn builtin() -> Option<&'static Self> {
        static BYTES: OnceLock<Option<Cow<'static, [u8]>>> = OnceLock::new();
        static READER: OnceLock<Option<ArgumentReader>> = OnceLock::new();
        let open = || {
            let bytes: &'static [u8] = BYTES.get_or_init(|| files::READER.bytes()).as_deref()?;
            let encoder = inside()?.encoder();
            Some(Self { encoder, reader: Reader::open(bytes, encoder).ok()? })
        };
        READER.get_or_init(open).as_ref()
    }

    /// Reads a request beside a tool: whether the tool can serve it, and what it says of each field.
    pub fn read(&self, request: &str, (tool, about): (&str, &str), form: &Form) -> RequestReading {
        let fields = read_fields(form);
        let parameters: Vec<_> = fields.iter().map(ReadField::text).collect();
        self.reader.read(self.encoder, &ReaderInput { request, tool, about, parameters: &parameters })
    }
}

/// Returns the vectors of the metadata library, where they come from the encoder with this key.
pub(super) fn library(key: &str) -> Option<Precomputed<'static>> {
    static LIBRARY: OnceLock<Option<Cow<'static, [u8]>>> = OnceLock::new();
    let bytes = LIBRARY.get_or_init(|| files::LIBRARY.bytes()).as_ref()?;
    Precomputed::read(bytes).filter(|library| library.key == key)
}

/// Vectors that were computed before, each found by the hash of its text.
///
/// The file: `TYVEC001`, the length of the encoder's key and the key, the numbers of a vector, the number of
/// vectors (all lengths and numbers in four bytes); then the first eight bytes of the texts' hashes in order;
/// then the vectors in the same order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Precomputed<'b> {
    key: &'b str,
    hashes: &'b [[u8; HASH]],
    vectors: &'b [u8],
    /// Bytes of one vector.
    stride: usize,
}

const MAGIC: &[u8; 8] = b"TYVEC001";
const HASH: usize = 8;
/// A vector begins with its scale.
const SCALE: usize = 4;

impl<'b> Precomputed<'b> {
    fn read(file: &'b [u8]) -> Option<Self> {
        let number = |bytes: &'b [u8]| -> Option<(usize, &'b [u8])> {
            let (number, rest) = bytes.split_first_chunk()?;
            Some((u32::from_le_bytes(*number) as usize, rest))
        };
        let (length, rest) = number(file.strip_prefix(MAGIC)?)?;
        let (key, rest) = rest.split_at_checked(length)?;
        let (dims, rest) = number(rest)?;
        let (count, rest) = number(rest)?;
        let (hashes, vectors) = rest.split_at_checked(count.checked_mul(HASH)?)?;
        let stride = dims + SCALE;
        let (hashes, _) = hashes.as_chunks();
        (vectors.len() == count.checked_mul(stride)?).then_some(())?;
        Some(Self { key: std::str::from_utf8(key).ok()?, hashes, vectors, stride })
    }

    /// Returns the vector of a text.
    pub(super) fn find(&self, text: &TextKey) -> Option<Packed> {
        let at = self.hashes.binary_search_by(|hash| hash[..].cmp(&text.0[..HASH])).ok()?;
        Packed::from_bytes(&self.vectors[at * self.stride..][..self.stride]).ok()
    }
}

/// Writes vectors of an encoder as the file that comes with the program.
pub fn library_file(key: &str, dims: usize, vectors: &[(TextKey, Packed)]) -> Vec<u8> {
    let mut sorted: Vec<([u8; HASH], &Packed)> = vectors
        .iter()
        .map(|(text, vector)| (*text.0.first_chunk().expect("the hash of a text is longer"), vector))
        .collect();
    sorted.sort_by_key(|(hash, _)| *hash);
    sorted.dedup_by_key(|(hash, _)| *hash);
    let number = |number: usize| u32::try_from(number).expect("it is a small file").to_le_bytes();
    let mut file = MAGIC.to_vec();
    file.extend(number(key.len()));
    file.extend(key.as_bytes());
    file.extend(number(dims));
    file.extend(number(sorted.len()));
    file.extend(sorted.iter().flat_map(|(hash, _)| hash));
    file.extend(sorted.iter().flat_map(|(_, vector)| vector.to_bytes()));
    file
}

#[cfg(test)]
mod tests {
    use toolyard_core::metadata::Library;

    use super::*;

    #[test]
    fn r13_the_metadata_library_comes_with_its_vectors() {
        let Some(inside) = inside() else { return };
        let library =
            library(&inside.title.key).expect("`library_vectors` was run after the encoder changed");
        for sidecar in Library::builtin().sidecars() {
            let mut texts =
                sidecar.tools.values().flat_map(|note| note.examples.iter().chain(&note.use_cases));
            let unknown = texts.find(|text| library.find(&TextKey::of(text)).is_none());
            assert_eq!(unknown, None, "`library_vectors` was run after the library changed");
        }
    }

    #[test]
    fn r13_a_file_of_vectors_gives_back_what_was_written_and_a_broken_one_nothing() {
        let Some(inside) = inside() else { return };
        let encoder = inside.encoder();
        let vectors: Vec<_> =
            ["b", "a", "c"].map(|text| (TextKey::of(text), encoder.encode(text).pack())).to_vec();
        let file = library_file(&inside.title.key, inside.title.dims, &vectors);
        let read = Precomputed::read(&file).expect("it was just written");
        assert_eq!(read.key, encoder.key());
        for (text, vector) in &vectors {
            assert_eq!(read.find(text).as_ref(), Some(vector));
        }
        assert_eq!(read.find(&TextKey::of("d")), None);
        for end in [0, 7, 20, file.len() - 1] {
            assert!(Precomputed::read(&file[..end]).is_none(), "{end}");
        }
    }
}
