//! Checks that the decoder returns the same payload for each possible split of the input. The
//! payload must not be longer than the input.
#![no_main]

use drover_tunnel::ws::{Decoder, FrameError, Role};
use libfuzzer_sys::fuzz_target;

fn decode(bytes: &[u8], piece: usize, role: Role) -> (Vec<u8>, Result<bool, FrameError>) {
    let mut decoder = Decoder::new(role);
    let (mut payload, mut closed) = (Vec::new(), false);
    for piece in bytes.chunks(piece.max(1)) {
        let mut piece = piece.to_vec();
        match decoder.decode(&mut piece) {
            Err(error) => return (payload, Err(error)),
            Ok(found) => {
                payload.extend_from_slice(&piece[..found.payload]);
                closed |= found.closed;
            }
        }
    }
    (payload, Ok(closed))
}

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    for role in [Role::Client, Role::Server] {
        let (whole, ends_whole) = decode(bytes, usize::MAX, role);
        let (cut, ends_cut) = decode(bytes, usize::from(piece), role);
        assert_eq!(ends_whole, ends_cut);
        assert!(if ends_whole.is_ok() {
            whole == cut
        } else {
            cut.starts_with(&whole)
        });
        assert!(cut.len() <= bytes.len());
    }
});
