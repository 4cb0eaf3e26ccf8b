//! A seeded random number generator (`SplitMix64`).

#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to `bound`, exclusive; 0 for an empty range.
    #[expect(clippy::cast_possible_truncation, reason = "less than 2³²")]
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u32
    }

    pub fn of_hundred(&mut self, hits: u32) -> bool {
        self.below(100) < hits
    }

    /// A random index of the list, by weight; 0 for an empty list.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (place, weight) in weights.iter().enumerate() {
            if left < *weight {
                return place;
            }
            left -= weight;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_comes_as_often_as_its_weight_says() {
        let mut chance = Chance::new(1);
        let mut seen = [0_u32; 3];
        for _ in 0..6_000 {
            seen[chance.weighted(&[1, 0, 2])] += 1;
        }
        assert!((1_800..2_200).contains(&seen[0]) && seen[1] == 0, "{seen:?}");
        assert_eq!(chance.weighted(&[]), 0);
        assert_eq!(chance.below(0), 0);
    }
}
