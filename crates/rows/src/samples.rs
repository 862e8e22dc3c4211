//! The last samples of the usage of an object, for the small charts of lists.

use serde::{Deserialize, Serialize};

use crate::usage::Resource;

/// The maximum number of samples of an object.
pub const MAX_SAMPLES: usize = 20;

/// The number of significant bits of a [`RoundedAmount`].
const SIGNIFICANT_BITS: u32 = 11;
/// The number of values that have the same shift.
const PER_SHIFT: u16 = 1 << (SIGNIFICANT_BITS - 1);
/// The largest shift of an amount of 64 bits.
const MAX_SHIFT: u16 = 53;

/// An amount with 11 significant bits in 2 bytes. Amounts below 2,048 are exact. The error of other
/// amounts is below 0.1 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RoundedAmount(u16);

impl RoundedAmount {
    /// Rounds down an amount.
    pub fn new(amount: u64) -> Self {
        let bits = u64::BITS - amount.leading_zeros();
        let shift = bits.saturating_sub(SIGNIFICANT_BITS);
        // The sum is below 2^16, because the shift is at most 53 and 11 bits of the amount remain.
        let code = u64::from(shift) * u64::from(PER_SHIFT) + (amount >> shift);
        Self(u16::try_from(code).unwrap_or(u16::MAX))
    }

    /// Returns the amount. An invalid value of a message is the largest amount of its digits.
    pub fn amount(self) -> u64 {
        let shift = (self.0 / PER_SHIFT).saturating_sub(1);
        let digits = self.0 - shift * PER_SHIFT;
        u64::from(digits) << shift.min(MAX_SHIFT)
    }
}

/// The last samples of the usage of an object, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageSamples {
    /// The time between the first and the last sample in seconds.
    pub seconds: u32,
    /// CPU in millicores.
    pub cpu: Vec<RoundedAmount>,
    /// Memory in bytes.
    pub memory: Vec<RoundedAmount>,
}

impl UsageSamples {
    /// Returns the samples of a resource.
    pub fn of(&self, resource: Resource) -> &[RoundedAmount] {
        match resource {
            Resource::Cpu => &self.cpu,
            Resource::Memory => &self.memory,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_of_usual_objects_are_exact() {
        for amount in [0, 1, 250, 2_047, 300 << 20, 2_047 << 20, 1 << 60] {
            assert_eq!(RoundedAmount::new(amount).amount(), amount);
        }
    }

    proptest! {
        #[test]
        fn rounded_amount_differs_by_less_than_a_thousandth(amount: u64) {
            let rounded = RoundedAmount::new(amount).amount();
            prop_assert!(rounded <= amount && amount - rounded <= amount / 1000);
        }

        #[test]
        fn rounded_amounts_have_the_order_of_the_amounts(low: u64, high: u64) {
            let (low, high) = (low.min(high), low.max(high));
            prop_assert!(RoundedAmount::new(low) <= RoundedAmount::new(high));
        }

        #[test]
        fn each_value_of_a_message_is_an_amount(code: u16) {
            let sent: RoundedAmount = serde_json::from_str(&code.to_string()).unwrap();
            prop_assert!(sent.amount() > 0 || code == 0);
        }
    }
}
