//! Checks HPACK with any sequence of field blocks. The decoder must not panic, and its memory must be bounded. Decoded
//! fields must not change when they are encoded and decoded again.

use towtank_load::http2::hpack::{Constant, Decoder, Encoder, Name, huffman};

type Field = (Vec<u8>, Vec<u8>);

fn decoded(decoder: &mut Decoder, block: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    let mut bytes = 0;
    let result = decoder.decode(block, |name, value| {
        // Each byte of a block can refer to a field of up to 4 KiB, so a small block can expand to very many bytes. At
        // most 1 MiB of fields is therefore stored.
        bytes += name.len() + value.len();
        if bytes < 1 << 20 {
            fields.push((name.to_vec(), value.to_vec()));
        }
    });
    result.ok().filter(|()| bytes < 1 << 20).map(|()| fields)
}

/// Decodes one sequence of field blocks and checks the result.
pub fn check(blocks: &[Vec<u8>]) {
    let mut decoder = Decoder::new(4096);
    let (mut encoder, mut back) = (Encoder::default(), Decoder::new(4096));
    let mut constants: Vec<(Field, Constant)> = Vec::new();
    for block in blocks {
        let mut text = Vec::new();
        if huffman::decode(block, &mut text).is_ok() {
            let mut code = Vec::new();
            huffman::encode(&text, &mut code);
            assert_eq!(&code, block, "a text has one code");
        }
        let Some(fields) = decoded(&mut decoder, block) else {
            return;
        };
        let mut out = Vec::new();
        encoder.allow(block.len() * 16);
        encoder.begin(&mut out);
        for (place, field) in fields.iter().enumerate() {
            if place % 2 == 0 {
                Encoder::varying(&Name::new(&field.0), &field.1, &mut out);
                continue;
            }
            let known = constants.iter().position(|(known, _)| known == field);
            let number = known.unwrap_or_else(|| {
                constants.push((
                    field.clone(),
                    Constant::new(constants.len(), &field.0, &field.1),
                ));
                constants.len() - 1
            });
            encoder.constant(&constants[number].1, &mut out);
        }
        assert_eq!(decoded(&mut back, &out), Some(fields));
    }
}
