//! Parses ELF headers to find the processor, and to detect programs that need a dynamic loader.
//! Source: System V ABI, 64-bit, little-endian.

use super::Platform;

const MAGIC: &[u8; 4] = b"\x7fELF";
const CLASS_64: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;
const MACHINE_X86_64: u16 = 62;
const MACHINE_AARCH64: u16 = 183;
/// Type of the program header that contains the path of the dynamic loader (`PT_INTERP`).
const PT_INTERP: u32 = 3;

/// The reason why a program cannot run in an image that contains only the program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ElfError {
    /// The file is not a 64-bit Linux program.
    #[error("the file is not a 64-bit Linux program")]
    NotElf,
    /// The file ends within its headers.
    #[error("the file is truncated; build or copy the file again")]
    Truncated,
    /// The processor is not supported.
    #[error(
        "the program is for processor type {machine}; images support amd64 and arm64",
        machine = .0
    )]
    Machine(u16),
    /// The program is dynamically linked, but the image has no dynamic loader and no C library.
    #[error(
        "the program is dynamically linked, and the image contains no libraries; build the \
         program for x86_64-unknown-linux-musl or aarch64-unknown-linux-musl"
    )]
    Dynamic,
}

/// The headers that determine the platform and the dynamic loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elf {
    machine: u16,
    dynamic: bool,
}

impl Elf {
    /// Parses the ELF header and the program headers.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ElfError> {
        if !bytes.starts_with(MAGIC)
            || bytes.get(4) != Some(&CLASS_64)
            || bytes.get(5) != Some(&LITTLE_ENDIAN)
        {
            return Err(ElfError::NotElf);
        }
        let machine = u16::from_le_bytes(at(bytes, 18)?);
        let table = u64::from_le_bytes(at(bytes, 32)?);
        let entry_size = u64::from(u16::from_le_bytes(at(bytes, 54)?));
        let count = u64::from(u16::from_le_bytes(at(bytes, 56)?));
        let mut dynamic = false;
        for i in 0..count {
            let offset = table
                .checked_add(i * entry_size)
                .and_then(|offset| usize::try_from(offset).ok())
                .ok_or(ElfError::Truncated)?;
            dynamic |= u32::from_le_bytes(at(bytes, offset)?) == PT_INTERP;
        }
        Ok(Self { machine, dynamic })
    }

    /// Returns the platform for an image that contains only this program. Returns an error if the
    /// program needs a dynamic loader.
    pub(crate) fn platform(self) -> Result<Platform, ElfError> {
        if self.dynamic {
            return Err(ElfError::Dynamic);
        }
        match self.machine {
            MACHINE_X86_64 => Ok(Platform::Amd64),
            MACHINE_AARCH64 => Ok(Platform::Arm64),
            other => Err(ElfError::Machine(other)),
        }
    }
}

fn at<const N: usize>(bytes: &[u8], offset: usize) -> Result<[u8; N], ElfError> {
    let end = offset.checked_add(N).ok_or(ElfError::Truncated)?;
    bytes
        .get(offset..end)
        .and_then(|slice| slice.try_into().ok())
        .ok_or(ElfError::Truncated)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns an ELF file with these program headers.
    fn program(machine: u16, kinds: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[4] = CLASS_64;
        bytes[5] = LITTLE_ENDIAN;
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&u16::try_from(kinds.len()).unwrap().to_le_bytes());
        for kind in kinds {
            bytes.extend(kind.to_le_bytes());
            bytes.extend([0; 52]);
        }
        bytes
    }

    fn platform(bytes: &[u8]) -> Result<Platform, ElfError> {
        Elf::parse(bytes).and_then(Elf::platform)
    }

    #[test]
    fn image_accepts_only_static_programs_for_supported_processors() {
        assert_eq!(platform(&program(62, &[1, 2])), Ok(Platform::Amd64));
        assert_eq!(platform(&program(183, &[])), Ok(Platform::Arm64));
        assert_eq!(platform(&program(62, &[1, 3])), Err(ElfError::Dynamic));
        assert_eq!(platform(&program(243, &[1])), Err(ElfError::Machine(243)));
        assert_eq!(platform(b"#!/bin/sh\n"), Err(ElfError::NotElf));
        assert_eq!(platform(&program(62, &[1])[..70]), Ok(Platform::Amd64));
        assert_eq!(
            platform(&program(62, &[1, 1])[..100]),
            Err(ElfError::Truncated)
        );
    }

    #[test]
    fn dynamically_linked_program_is_rejected() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(platform(&bytes), Err(ElfError::Dynamic));
    }

    proptest! {
        #[test]
        fn elf_parser_does_not_panic_on_arbitrary_bytes(tail in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = program(62, &[]);
            bytes.truncate(16);
            bytes.extend(tail);
            drop(Elf::parse(&bytes));
        }
    }
}
