//! Encodes WebSocket frames, and masks and unmasks payloads.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use bytes::{BufMut, BytesMut};

use super::frame::{FIN, LENGTH_16, LENGTH_64, MASKED, MAX_HEADER, Role, header_len};

/// A masking key, rotated to the current offset. Zero disables masking.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mask(u32);

impl Mask {
    const NONE: Self = Self(0);

    pub(super) fn read(header: &[u8; MAX_HEADER]) -> Self {
        if header[1] & MASKED == 0 {
            return Self::NONE;
        }
        let end = header_len(header[1]);
        let mut key = [0; 4];
        key.copy_from_slice(&header[end - 4..end]);
        Self(u32::from_le_bytes(key))
    }

    /// Masks or unmasks the next bytes of the payload.
    pub(super) fn apply(&mut self, bytes: &mut [u8]) {
        if self.0 == 0 {
            return;
        }
        let wide = (u64::from(self.0) << 32) | u64::from(self.0);
        let (words, rest) = bytes.as_chunks_mut::<8>();
        for word in words {
            *word = (u64::from_le_bytes(*word) ^ wide).to_le_bytes();
        }
        let key = self.0.to_le_bytes();
        for (byte, key) in rest.iter_mut().zip(key.iter().cycle()) {
            *byte ^= key;
        }
        let turn = u32::try_from(rest.len() % 4).expect("the remainder is less than four") * 8;
        self.0 = self.0.rotate_right(turn);
    }
}

/// Encoder of frames. Masks the payload if this end is the client.
#[derive(Debug)]
pub(super) struct Encoder {
    /// Hash key and counter from which masking keys are derived. `None` for the server, which does
    /// not mask.
    ///
    /// The keys are unpredictable for the peer, as RFC 6455 §5.3 requires. The derivation is
    /// cheaper than a system call for each frame.
    keys: Option<(RandomState, u64)>,
}

impl Encoder {
    pub(super) fn new(role: Role) -> Self {
        Self {
            keys: (role == Role::Client).then(|| (RandomState::new(), 0)),
        }
    }

    /// Appends one complete frame. Its payload is the concatenation of `slices`, which is `length`
    /// bytes long.
    pub(super) fn frame<'a>(
        &mut self,
        opcode: u8,
        length: usize,
        slices: impl Iterator<Item = &'a [u8]>,
        out: &mut BytesMut,
    ) {
        out.reserve(MAX_HEADER + length);
        let mask_bit = if self.keys.is_some() { MASKED } else { 0 };
        out.put_u8(FIN | opcode);
        match (u8::try_from(length), u16::try_from(length)) {
            (Ok(short @ ..126), _) => out.put_u8(mask_bit | short),
            (_, Ok(long)) => {
                out.put_u8(mask_bit | LENGTH_16);
                out.put_u16(long);
            }
            _ => {
                out.put_u8(mask_bit | LENGTH_64);
                out.put_u64(length as u64);
            }
        }
        let mask = self.next_key().map_or(Mask::NONE, |key| {
            out.put_slice(&key);
            Mask(u32::from_le_bytes(key))
        });
        let start = out.len();
        for slice in slices {
            out.put_slice(slice);
        }
        let mut mask = mask;
        mask.apply(&mut out[start..]);
    }

    fn next_key(&mut self) -> Option<[u8; 4]> {
        let (secret, counter) = self.keys.as_mut()?;
        *counter += 1;
        let mut hasher = secret.build_hasher();
        hasher.write_u64(*counter);
        let [a, b, c, d, ..] = hasher.finish().to_le_bytes();
        Some([a, b, c, d])
    }
}
