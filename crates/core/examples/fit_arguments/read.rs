//! What an argument reader says of requests.

use std::path::Path;

use toolyard_core::arguments::{Form, ReadField, read_fields};
use toolyard_encoder::{Encoder, Reader, ReaderInput, RequestReading};

/// A reader with the encoder whose words it takes.
pub(crate) struct Opened {
    encoder: Encoder,
    reader: Reader,
}

impl Opened {
    pub(crate) fn open(path: &Path, encoder: Encoder) -> Self {
        let bytes = std::fs::read(path).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
        Self { reader: Reader::open(bytes, &encoder).expect("a reader"), encoder }
    }

    /// Reads a request beside a form.
    pub(crate) fn read(&self, request: &str, (tool, about): (&str, &str), form: &Form) -> RequestReading {
        let fields = read_fields(form);
        let parameters: Vec<_> = fields.iter().map(ReadField::text).collect();
        self.reader.read(&self.encoder, &ReaderInput { request, tool, about, parameters: &parameters })
    }
}
