//! Which SMs use which instance of a cache that each of them shares with some others.

use strata_model::attribute::Counts;

/// Groups of SMs, each of which shares one instance. Every SM is in one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instances {
    of_sms: Vec<u64>,
}

impl Instances {
    /// From groups of the SMs of a device with so many. Nothing, if an SM is in none of them or in several.
    pub fn new<'g>(groups: impl IntoIterator<Item = &'g [u32]>, sms: u32) -> Option<Self> {
        let mut groups: Vec<&[u32]> = groups.into_iter().collect();
        groups.sort_unstable_by_key(|group| group.iter().min().copied());
        let mut of_sms = vec![None; sms as usize];
        for (number, group) in (0..).zip(groups) {
            for &sm in group {
                if of_sms.get_mut(sm as usize)?.replace(number).is_some() {
                    return None;
                }
            }
        }
        Some(Instances { of_sms: of_sms.into_iter().collect::<Option<_>>()? })
    }

    /// Instances.
    pub fn count(&self) -> u64 {
        self.of_sms.iter().max().map_or(0, |most| most + 1)
    }

    /// How many SMs share each instance, in ascending order.
    pub fn sizes(&self) -> Counts {
        let mut sizes = vec![0; self.count() as usize];
        self.of_sms.iter().for_each(|&instance| sizes[instance as usize] += 1);
        sizes.sort_unstable();
        Counts(sizes)
    }

    /// The instance of each SM, counted in the order of their first SMs.
    pub fn of_sms(&self) -> Counts {
        Counts(self.of_sms.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_counted_by_their_first_sms() {
        let instances = Instances::new([&[4, 1][..], &[3, 0, 2]], 5).unwrap();
        assert_eq!(instances.sizes(), Counts(vec![2, 3]));
        assert_eq!(instances.of_sms(), Counts(vec![0, 1, 0, 0, 1]));
    }

    #[test]
    fn every_sm_is_in_one_group() {
        assert_eq!(Instances::new([&[0, 1][..]], 3), None);
        assert_eq!(Instances::new([&[0, 1][..], &[1, 2]], 3), None);
        assert_eq!(Instances::new([&[0, 1][..], &[2, 3]], 3), None);
    }
}
