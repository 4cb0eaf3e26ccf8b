//! The newest of what arrived, each with its number. Older ones are forgotten.

use std::collections::VecDeque;
use std::sync::Arc;

const KEPT: usize = 300;

pub struct Newest<T> {
    newest_first: VecDeque<(u64, Arc<T>)>,
    count: u64,
}

impl<T> Default for Newest<T> {
    fn default() -> Self {
        Self {
            newest_first: VecDeque::new(),
            count: 0,
        }
    }
}

impl<T> Newest<T> {
    pub fn add(&mut self, one: T) {
        self.count += 1;
        self.newest_first.push_front((self.count, Arc::new(one)));
        self.newest_first.truncate(KEPT);
    }

    pub fn all(&self) -> Vec<(u64, Arc<T>)> {
        self.newest_first.iter().cloned().collect()
    }

    pub fn find(&self, number: u64) -> Option<Arc<T>> {
        let mut each = self.newest_first.iter();
        each.find(|(its, _)| *its == number)
            .map(|(_, one)| Arc::clone(one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_found_by_their_number() {
        let mut newest = Newest::default();
        (0..KEPT + 2).for_each(|one| newest.add(one));
        let numbers: Vec<u64> = newest.all().iter().map(|(number, _)| *number).collect();
        assert_eq!((numbers.len(), numbers[0], numbers[KEPT - 1]), (KEPT, 302, 3));
        assert_eq!(newest.find(302).as_deref(), Some(&301));
        assert_eq!(newest.find(2), None);
    }
}
