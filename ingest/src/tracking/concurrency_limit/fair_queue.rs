//! Permits that programs get in turns: each waiting program gets the next permit in its turn, however many
//! requests it has queued.
//!
//! While several programs send, each may hold at most a share of 1 / [`PERMIT_SHARES`] of the permits, or
//! [`MIN_HELD`] if that is more. A request waits for the records in flight before it, so a program that
//! floods delays the others by as many records as it has in flight. A program that sends alone may hold all
//! permits.
//!
//! Bounds: at most `permits` permits are held at once, and at most `places` requests queue. When all places
//! are taken, a new request displaces the latest request of the program with the most places, if its own
//! program has at least two fewer.
//!
//! Lock: one `Mutex`, for operations on maps, never across an await. Readers of the counts use atomics beside
//! it.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::ids::ProgramId;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Leaves each program enough of the usual 2,048 permits for thousands of sales a second.
const PERMIT_SHARES: usize = 16;
/// Up to this many permits slow down no other program.
const MIN_HELD: usize = 64;
/// A program counts as alone again this long after requests last changed from one share to another.
const CONTENDED_FOR: Duration = Duration::from_secs(1);

/// Requests that take turns as one: those of a program, or all requests that name no program.
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
    /// The permits that each share holds.
    held: BTreeMap<Share, usize>,
    /// How many permits a program may hold while others send.
    max_held: usize,
    /// The share that sent the latest request, and until when several shares count as sending.
    latest: Option<Share>,
    contended_until: Option<Instant>,
    contended: bool,
    /// Queued requests in order of arrival. A share without requests has no entry.
    waiting: BTreeMap<Share, BTreeMap<u64, oneshot::Sender<Permit>>>,
    arrivals: u64,
    /// The share that got a permit last.
    served: Share,
}

/// When dropped, it passes to the next request.
#[derive(Debug)]
pub struct Permit {
    shared: Option<Arc<Shared>>,
    share: Share,
}

/// A place in the queue; dropping it leaves the queue.
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
    /// The queue has no place for this share.
    Refused,
}

impl FairQueue {
    pub fn new(permits: usize, places: usize) -> Self {
        Self(Arc::new(Shared {
            places,
            state: Mutex::new(State {
                free: permits,
                queued: 0,
                held: BTreeMap::new(),
                max_held: (permits / PERMIT_SHARES).max(MIN_HELD),
                latest: None,
                contended_until: None,
                contended: false,
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

    /// Whether a request would get neither a permit nor a place.
    pub fn refuses(&self, share: Share) -> bool {
        let state = self.0.lock();
        state.queued >= self.0.places && state.displaceable_by(share).is_none()
    }

    pub fn enter(&self, share: Share, now: Instant) -> Entered {
        let mut state = self.0.lock();
        if state.note_arrival(share, now) {
            self.0.hand_out(&mut state);
        }
        if state.free > 0 && state.may_hold(share) && !state.waiting.contains_key(&share) {
            state.lend(share);
            self.0.publish(&state);
            return Entered::AtOnce(self.0.permit(share));
        }
        if state.queued >= self.0.places {
            let Some(most) = state.displaceable_by(share) else {
                return Entered::Refused;
            };
            // The receiver of the displaced request learns that no permit will come.
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

    fn permit(self: &Arc<Self>, share: Share) -> Permit {
        Permit {
            shared: Some(Arc::clone(self)),
            share,
        }
    }

    fn release(self: Arc<Self>, share: Share) {
        let mut state = self.lock();
        state.give_back(share);
        self.hand_out(&mut state);
        self.publish(&state);
    }

    /// Hands permits to the next requests that still wait and may hold more.
    fn hand_out(self: &Arc<Self>, state: &mut State) {
        while state.free > 0 {
            let Some((share, next)) = state.next_in_turn() else {
                break;
            };
            match next.send(self.permit(share)) {
                Ok(()) => state.lend(share),
                // The caller is gone. An ordinary drop would come back here while the lock is held.
                Err(unwanted) => unwanted.forget(),
            }
        }
    }
}

impl State {
    /// Records a request. Returns whether contention has ended since the previous request: only one program
    /// sends again.
    fn note_arrival(&mut self, share: Share, now: Instant) -> bool {
        if self.latest.replace(share).is_some_and(|latest| latest != share) {
            self.contended_until = Some(now + CONTENDED_FOR);
        }
        let was_contended = self.contended;
        self.contended = self.contended_until.is_some_and(|until| now < until);
        was_contended && !self.contended
    }

    /// Requests without a program come from many callers, so their permits are not limited.
    fn may_hold(&self, share: Share) -> bool {
        let held = || self.held.get(&share).copied().unwrap_or_default();
        !self.contended || share.is_none() || held() < self.max_held
    }

    fn lend(&mut self, share: Share) {
        self.free -= 1;
        *self.held.entry(share).or_default() += 1;
    }

    fn give_back(&mut self, share: Share) {
        self.free += 1;
        if let Some(held) = self.held.get_mut(&share) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&share);
            }
        }
    }

    fn next_in_turn(&mut self) -> Option<(Share, oneshot::Sender<Permit>)> {
        let after = self.waiting.range((Excluded(self.served), Unbounded));
        let mut shares = after
            .chain(self.waiting.range(..=self.served))
            .map(|(share, _)| *share);
        let share = shares.find(|share| self.may_hold(*share))?;
        self.served = share;
        Some((share, self.take(share, |requests| Some(requests.pop_first()?.1))?))
    }

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

    /// The share with the most requests, if it would have at least as many as `share` after losing one
    /// request and `share` gaining one.
    fn displaceable_by(&self, share: Share) -> Option<Share> {
        let own = self.waiting.get(&share).map_or(0, BTreeMap::len);
        let (most, requests) = self.waiting.iter().max_by_key(|(_, requests)| requests.len())?;
        (own + 2 <= requests.len()).then_some(*most)
    }
}

impl Permit {
    fn forget(mut self) {
        self.shared = None;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            shared.release(self.share);
        }
    }
}

impl Place {
    /// Waits for the permit; `None` if a request of another program took the place.
    pub async fn permit(mut self) -> Option<Permit> {
        (&mut self.granted).await.ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        // A place that was granted or displaced has left the queue already. An unread permit is dropped with
        // its channel, after the lock is released.
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
            .map(|_| match queue.enter(share, Instant::now()) {
                Entered::Queued(place) => place,
                entered => panic!("{entered:?}"),
            })
            .collect()
    }

    fn at_once(queue: &FairQueue, share: Share) -> Permit {
        match queue.enter(share, Instant::now()) {
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
    fn a_full_queue_makes_room_for_programs_that_have_less_of_it() {
        let queue = FairQueue::new(1, 4);
        let _permit = at_once(&queue, FLOOD);
        let mut flood = queue_of(&queue, FLOOD, 4);
        assert!(queue.is_full() && queue.refuses(FLOOD) && !queue.refuses(OTHER));
        assert!(matches!(queue.enter(FLOOD, Instant::now()), Entered::Refused));
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
        // The permit was granted, but its receiver never read it.
        drop(places.remove(0));
        assert!(granted(places.remove(0)).is_some());
        assert_eq!((queue.free(), queue.queued()), (1, 0));
    }

    #[test]
    fn a_program_holds_all_permits_only_while_it_is_alone() {
        let queue = FairQueue::new(PERMIT_SHARES * MIN_HELD, 100);
        let now = Instant::now();
        let enter = |share, now| match queue.enter(share, now) {
            Entered::AtOnce(permit) => Ok(permit),
            Entered::Queued(place) => Err(place),
            Entered::Refused => panic!("there is room"),
        };
        let mut flood: Vec<_> = (0..2 * MIN_HELD).map(|_| enter(FLOOD, now).unwrap()).collect();
        let _other = enter(OTHER, now).unwrap();
        let place = enter(FLOOD, now).unwrap_err();
        flood.truncate(MIN_HELD);
        assert!(
            place.permit().now_or_never().is_none(),
            "a sixteenth is out already"
        );
        let waiting = enter(FLOOD, now).unwrap_err();
        flood.pop();
        assert!(granted(waiting).is_some());
        let _alone_again = enter(FLOOD, now + CONTENDED_FOR).unwrap();
    }

    proptest! {
        /// Each step queues a request for one of three programs, or drops a permit or a place.
        #[test]
        fn no_permit_and_no_place_is_lost(steps in prop::collection::vec((0..5_u8, any::<prop::sample::Index>()), 0..200)) {
            let queue = FairQueue::new(3, 6);
            let mut now = Instant::now();
            let (mut permits, mut places) = (Vec::new(), Vec::new());
            for (step, which) in steps {
                now += CONTENDED_FOR / 3;
                match step {
                    3 if !permits.is_empty() => drop(permits.swap_remove(which.index(permits.len()))),
                    4 if !places.is_empty() => {
                        let place: Place = places.swap_remove(which.index(places.len()));
                        permits.extend(granted(place));
                    }
                    program => match queue.enter(Some(ProgramId::new(program.into())), now) {
                        Entered::AtOnce(permit) => permits.push(permit),
                        Entered::Queued(place) => places.push(place),
                        Entered::Refused => assert!(queue.is_full()),
                    },
                }
                prop_assert!(permits.len() <= 3 && queue.queued() <= 6);
                prop_assert!(queue.queued() == 0 || queue.free() < 3, "somebody gets on");
            }
            drop((permits, places));
            prop_assert_eq!((queue.free(), queue.queued()), (3, 0));
        }
    }
}
