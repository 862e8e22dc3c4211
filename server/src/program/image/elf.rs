//! What an ELF header says: for which processor, and whether a loader is needed.
//!
//! Only the fields that decide; from the System V ABI, 64-bit, little-endian.

use super::Platform;

const MAGIC: &[u8; 4] = b"\x7fELF";
const CLASS_64: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;
const MACHINE_X86_64: u16 = 62;
const MACHINE_AARCH64: u16 = 183;
/// Program header that names the dynamic loader.
const PT_INTERP: u32 = 3;

/// Why a file is not fit to be the only file of an image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ElfError {
    /// It is no Linux program.
    #[error("it is no 64-bit Linux program")]
    NotElf,
    /// It ends within its headers.
    #[error("it is cut off; build or copy it again")]
    CutOff,
    /// No cluster that Drover knows runs it.
    #[error("it is for processor type {0}; drover makes images for amd64 and arm64")]
    Machine(u16),
    /// The image has no loader and no C library.
    #[error(
        "it needs the system's dynamic loader, and the image holds nothing else; build it for x86_64-unknown-linux-musl or aarch64-unknown-linux-musl"
    )]
    Dynamic,
}

/// What decides about a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elf {
    machine: u16,
    dynamic: bool,
}

impl Elf {
    /// Reads the headers.
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
                .ok_or(ElfError::CutOff)?;
            dynamic |= u32::from_le_bytes(at(bytes, offset)?) == PT_INTERP;
        }
        Ok(Self { machine, dynamic })
    }

    /// The platform of an image that holds nothing but this program.
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
    let end = offset.checked_add(N).ok_or(ElfError::CutOff)?;
    bytes
        .get(offset..end)
        .and_then(|slice| slice.try_into().ok())
        .ok_or(ElfError::CutOff)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A header with the given program headers.
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
    fn only_static_programs_for_known_processors_are_fit() {
        assert_eq!(platform(&program(62, &[1, 2])), Ok(Platform::Amd64));
        assert_eq!(platform(&program(183, &[])), Ok(Platform::Arm64));
        assert_eq!(platform(&program(62, &[1, 3])), Err(ElfError::Dynamic));
        assert_eq!(platform(&program(243, &[1])), Err(ElfError::Machine(243)));
        assert_eq!(platform(b"#!/bin/sh\n"), Err(ElfError::NotElf));
        assert_eq!(platform(&program(62, &[1])[..70]), Ok(Platform::Amd64));
        assert_eq!(
            platform(&program(62, &[1, 1])[..100]),
            Err(ElfError::CutOff)
        );
    }

    #[test]
    fn this_test_needs_a_loader() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(platform(&bytes), Err(ElfError::Dynamic));
    }

    proptest! {
        #[test]
        fn no_bytes_upset_the_reader(tail in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = program(62, &[]);
            bytes.truncate(16);
            bytes.extend(tail);
            drop(Elf::parse(&bytes));
        }
    }
}
