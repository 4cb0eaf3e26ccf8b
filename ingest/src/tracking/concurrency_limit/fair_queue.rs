//! Permits that programs get in turns: of those that wait, each gets the next one in its turn, however many requests it has queued.
//!
//! Bounds: `permits` are out at once, and `places` requests queue. Once all places are taken, a request takes the place of the latest one of the
//! program that has most of them, if its own has fewer.
//!
//! Lock: one `Mutex`, for operations on maps, never across an await. Who only looks reads the counts beside it.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::ids::ProgramId;
use tokio::sync::oneshot;

/// Requests that share their turns: a program's, or all that name none.
pub type Share = Option<ProgramId>;

#[derive(Debug, Clone)]
pub struct FairQueue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    places: usize,
    state: Mutex<State>,
    free: AtomicUsize,
    queued: AtomicUsize,
}

#[derive(Debug)]
struct State {
    free: usize,
    queued: usize,
    /// In order of arrival; no share is empty.
    waiting: BTreeMap<Share, BTreeMap<u64, oneshot::Sender<Permit>>>,
    arrivals: u64,
    /// The share that got a permit last.
    served: Share,
}

/// Gives itself to the next request when dropped.
#[derive(Debug)]
pub struct Permit(Option<Arc<Shared>>);

/// A place in the queue, left when dropped.
#[derive(Debug)]
pub struct Place {
    shared: Arc<Shared>,
    share: Share,
    number: u64,
    granted: oneshot::Receiver<Permit>,
}

#[derive(Debug)]
pub enum Entered {
    AtOnce(Permit),
    Queued(Place),
    /// No place is left for this share.
    Refused,
}

impl FairQueue {
    pub fn new(permits: usize, places: usize) -> Self {
        Self(Arc::new(Shared {
            places,
            state: Mutex::new(State {
                free: permits,
                queued: 0,
                waiting: BTreeMap::new(),
                arrivals: 0,
                served: None,
            }),
            free: AtomicUsize::new(permits),
            queued: AtomicUsize::new(0),
        }))
    }

    pub fn free(&self) -> usize {
        self.0.free.load(Ordering::Relaxed)
    }

    pub fn queued(&self) -> usize {
        self.0.queued.load(Ordering::Relaxed)
    }

    pub fn is_full(&self) -> bool {
        self.queued() >= self.0.places
    }

    /// Whether a request would get neither permit nor place.
    pub fn refuses(&self, share: Share) -> bool {
        let state = self.0.lock();
        state.queued >= self.0.places && state.displaceable_by(share).is_none()
    }

    pub fn enter(&self, share: Share) -> Entered {
        let mut state = self.0.lock();
        if state.free > 0 {
            state.free -= 1;
            self.0.publish(&state);
            return Entered::AtOnce(Permit(Some(Arc::clone(&self.0))));
        }
        if state.queued >= self.0.places {
            let Some(most) = state.displaceable_by(share) else {
                return Entered::Refused;
            };
            // Its receiver learns that nothing will come.
            drop(state.take(most, |requests| Some(requests.pop_last()?.1)));
        }
        let (grant, granted) = oneshot::channel();
        let number = state.arrivals;
        state.arrivals += 1;
        state.queued += 1;
        state.waiting.entry(share).or_default().insert(number, grant);
        self.0.publish(&state);
        Entered::Queued(Place {
            shared: Arc::clone(&self.0),
            share,
            number,
            granted,
        })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, state: &State) {
        self.free.store(state.free, Ordering::Relaxed);
        self.queued.store(state.queued, Ordering::Relaxed);
    }

    /// Hands a permit to the next request that still waits.
    fn release(self: Arc<Self>) {
        let mut state = self.lock();
        loop {
            let Some(next) = state.next_in_turn() else {
                state.free += 1;
                break;
            };
            let Err(unwanted) = next.send(Permit(Some(Arc::clone(&self)))) else {
                break;
            };
            // Its caller is gone. Dropping it whole would come back here, under the lock.
            unwanted.forget();
        }
        self.publish(&state);
    }
}

impl State {
    fn next_in_turn(&mut self) -> Option<oneshot::Sender<Permit>> {
        let after = self.waiting.range((Excluded(self.served), Unbounded)).next();
        let share = after
            .or_else(|| self.waiting.iter().next())
            .map(|(share, _)| *share)?;
        self.served = share;
        self.take(share, |requests| Some(requests.pop_first()?.1))
    }

    /// Takes a request of this share out of the queue.
    fn take(
        &mut self,
        share: Share,
        pick: impl FnOnce(&mut BTreeMap<u64, oneshot::Sender<Permit>>) -> Option<oneshot::Sender<Permit>>,
    ) -> Option<oneshot::Sender<Permit>> {
        let requests = self.waiting.get_mut(&share)?;
        let taken = pick(requests)?;
        if requests.is_empty() {
            self.waiting.remove(&share);
        }
        self.queued -= 1;
        Some(taken)
    }

    /// The share with most requests, if it would still have at least as many as `share` once one of them gave way.
    fn displaceable_by(&self, share: Share) -> Option<Share> {
        let own = self.waiting.get(&share).map_or(0, BTreeMap::len);
        let (most, requests) = self.waiting.iter().max_by_key(|(_, requests)| requests.len())?;
        (own + 2 <= requests.len()).then_some(*most)
    }
}

impl Permit {
    fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            shared.release();
        }
    }
}

impl Place {
    /// `None`: a request of another program took the place.
    pub async fn permit(mut self) -> Option<Permit> {
        (&mut self.granted).await.ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        // Nothing is left to take where it was granted or displaced; an unread permit goes with its channel, after the lock.
        drop(state.take(self.share, |requests| requests.remove(&self.number)));
        self.shared.publish(&state);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use proptest::prelude::*;

    use super::*;

    const FLOOD: Share = Some(ProgramId::new(1));
    const OTHER: Share = Some(ProgramId::new(2));

    fn queue_of(queue: &FairQueue, share: Share, count: usize) -> Vec<Place> {
        (0..count)
            .map(|_| match queue.enter(share) {
                Entered::Queued(place) => place,
                entered => panic!("{entered:?}"),
            })
            .collect()
    }

    fn at_once(queue: &FairQueue, share: Share) -> Permit {
        match queue.enter(share) {
            Entered::AtOnce(permit) => permit,
            entered => panic!("{entered:?}"),
        }
    }

    fn granted(place: Place) -> Option<Permit> {
        place.permit().now_or_never().flatten()
    }

    #[test]
    fn a_program_waits_for_its_turn_and_not_for_anothers_queue() {
        let queue = FairQueue::new(2, 100);
        let permits = [at_once(&queue, FLOOD), at_once(&queue, FLOOD)];
        let flood = queue_of(&queue, FLOOD, 50);
        let mut other = queue_of(&queue, OTHER, 1);
        drop(permits);
        let other = granted(other.remove(0));
        assert!(other.is_some(), "one of two turns");
        assert_eq!(queue.queued(), 49);
        drop(other);
        drop(flood);
        assert_eq!((queue.free(), queue.queued()), (2, 0));
    }

    #[test]
    fn requests_of_one_program_are_served_in_order() {
        let queue = FairQueue::new(1, 10);
        let first = at_once(&queue, FLOOD);
        let mut places = queue_of(&queue, FLOOD, 2);
        drop(first);
        let last = places.pop().unwrap();
        assert!(granted(places.pop().unwrap()).is_some());
        assert!(granted(last).is_some(), "once the one before it is answered");
    }

    #[test]
    fn a_full_queue_makes_room_for_programs_that_have_less_of_it() {
        let queue = FairQueue::new(1, 4);
        let _permit = at_once(&queue, FLOOD);
        let mut flood = queue_of(&queue, FLOOD, 4);
        assert!(queue.is_full() && queue.refuses(FLOOD) && !queue.refuses(OTHER));
        assert!(matches!(queue.enter(FLOOD), Entered::Refused));
        let _other = queue_of(&queue, OTHER, 2);
        assert!(queue.refuses(OTHER), "half each");
        assert_eq!(queue.queued(), 4);
        for place in flood.split_off(2) {
            assert!(
                place.permit().now_or_never().unwrap().is_none(),
                "the latest gave way"
            );
        }
    }

    #[test]
    fn a_permit_nobody_waits_for_any_more_goes_on() {
        let queue = FairQueue::new(1, 10);
        let permit = at_once(&queue, FLOOD);
        let mut places = queue_of(&queue, FLOOD, 3);
        drop(places.remove(0));
        drop(permit);
        // Granted, and not looked at.
        drop(places.remove(0));
        assert!(granted(places.remove(0)).is_some());
        assert_eq!((queue.free(), queue.queued()), (1, 0));
    }

    proptest! {
        /// Each step enters for one of three programs, or drops a permit or a place.
        #[test]
        fn no_permit_and_no_place_is_lost(steps in prop::collection::vec((0..5_u8, any::<prop::sample::Index>()), 0..200)) {
            let queue = FairQueue::new(3, 6);
            let (mut permits, mut places) = (Vec::new(), Vec::new());
            for (step, which) in steps {
                match step {
                    3 if !permits.is_empty() => drop(permits.swap_remove(which.index(permits.len()))),
                    4 if !places.is_empty() => {
                        let place: Place = places.swap_remove(which.index(places.len()));
                        permits.extend(granted(place));
                    }
                    program => match queue.enter(Some(ProgramId::new(program.into()))) {
                        Entered::AtOnce(permit) => permits.push(permit),
                        Entered::Queued(place) => places.push(place),
                        Entered::Refused => assert!(queue.is_full()),
                    },
                }
                prop_assert!(permits.len() <= 3 && queue.queued() <= 6);
                prop_assert!(queue.free() == 0 || queue.queued() == 0, "nobody waits beside a free permit");
            }
            drop((permits, places));
            prop_assert_eq!((queue.free(), queue.queued()), (3, 0));
        }
    }
}
