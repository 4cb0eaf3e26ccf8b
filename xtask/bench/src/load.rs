//! The load generator: many connections, one schedule, one thread.
//!
//! With a rate (open loop), requests are due at times that are fixed ahead, and latency is measured from the
//! due time: requests that a stalled service delays are counted too. Without one (closed loop), every
//! connection sends as soon as it is answered. A connection has one request at a time.
//!
//! The loop shares the machine with the service, so its own cost is part of each figure. It uses few system
//! calls: one write and one read a request, and a share of an `epoll_wait`. With 1,000 connections it costs 8
//! µs a request where hyper's client costs 20 and reqwest 29; with 64 it is 6.5, 11 and 17.
//!
//! Bounds: a request without a free connection within [`PATIENCE`] is dropped and counted; answers are
//! awaited until [`GRACE`] after the end.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use harness::interrupt::Interrupt;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use super::answer::Answer;
use super::outcome::{Outcome, float, is_ok};

const PATIENCE: Duration = Duration::from_secs(2);
/// The service answers within five seconds.
const GRACE: Duration = Duration::from_secs(6);
/// Requests due within this time are sent together, to save wake-ups.
const SHORTEST_NAP: Duration = Duration::from_micros(100);
const LONGEST_NAP: Duration = Duration::from_millis(100);
const ANSWER_BYTES: usize = 256 * 1024;

/// Makes requests by number.
pub(super) trait Requests {
    /// A request as it is sent.
    fn request(&mut self, number: u64) -> String;
}

#[derive(Debug, Clone)]
pub(super) struct Load {
    pub(super) address: SocketAddr,
    /// Concurrency.
    pub(super) connections: usize,
    /// Requests a second; `None`: closed loop.
    pub(super) rate: Option<f64>,
    pub(super) length: Duration,
    /// Of several loads, each with a number of its own: each request is due at some moment of its turn.
    /// Otherwise at the turn's beginning, and loads of one rate send theirs together.
    pub(super) scattered: Option<u64>,
}

impl Load {
    pub(super) fn closed(address: SocketAddr, connections: usize, length: Duration) -> Self {
        Self {
            address,
            connections,
            rate: None,
            length,
            scattered: None,
        }
    }

    pub(super) fn open(address: SocketAddr, connections: usize, rate: f64, length: Duration) -> Self {
        Self {
            rate: Some(rate),
            ..Self::closed(address, connections, length)
        }
    }

    /// Blocks this thread until the load is over.
    pub(super) fn run(&self, requests: &mut dyn Requests, interrupt: &Interrupt) -> Result<Outcome> {
        let mut run = Run::open(self, requests)?;
        let cpu_before = thread_cpu();
        run.started = Instant::now();
        loop {
            interrupt.check()?;
            run.send_due()?;
            let now = run.started.elapsed();
            if run.is_over(now) {
                break;
            }
            run.receive(run.nap(now))?;
        }
        let elapsed = run.started.elapsed();
        let mut outcome = run.outcome;
        outcome.dropped += self.due_before_end(run.next);
        outcome.late = run.waiting;
        outcome.lasted = outcome.lasted.max(self.length.min(elapsed));
        outcome.driver_cpu = thread_cpu().saturating_sub(cpu_before);
        Ok(outcome)
    }

    /// When a request is due, since the start; `None` after the end.
    fn due(&self, number: u64) -> Option<Duration> {
        let within_turn = self.scattered.map_or(0.0, |load| moment(load, number));
        let due = Duration::from_secs_f64((float(number) + within_turn) / self.rate?);
        (due < self.length).then_some(due)
    }

    /// The number of requests that are still due.
    fn due_before_end(&self, next: u64) -> u64 {
        (next..u64::MAX)
            .take_while(|number| self.due(*number).is_some())
            .fold(0, |count, _| count + 1)
    }
}

/// From 0 to 1, the same in every run.
fn moment(load: u64, number: u64) -> f64 {
    let mut hasher = DefaultHasher::new();
    (load, number).hash(&mut hasher);
    float(hasher.finish()) / float(u64::MAX)
}

struct Run<'a> {
    load: &'a Load,
    requests: &'a mut dyn Requests,
    epoll: OwnedFd,
    events: Vec<Event>,
    connections: Vec<Connection>,
    /// The longest idle one first, so that none reaches the idle timeout.
    idle: VecDeque<usize>,
    started: Instant,
    /// The number of the next request.
    next: u64,
    waiting: u64,
    outcome: Outcome,
    answer: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    /// When the request in flight was due.
    sent_due: Option<Duration>,
    /// The start of an incomplete response.
    received: Vec<u8>,
}

impl<'a> Run<'a> {
    fn open(load: &'a Load, requests: &'a mut dyn Requests) -> Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let mut connections = Vec::with_capacity(load.connections);
        for index in 0..load.connections {
            let stream = connect(load.address)?;
            watch(&epoll, &stream, index)?;
            connections.push(Connection {
                stream,
                sent_due: None,
                received: Vec::new(),
            });
        }
        Ok(Self {
            load,
            requests,
            epoll,
            events: Vec::with_capacity(256),
            idle: (0..connections.len()).collect(),
            connections,
            started: Instant::now(),
            next: 0,
            waiting: 0,
            outcome: Outcome::default(),
            answer: vec![0; ANSWER_BYTES],
        })
    }

    fn send_due(&mut self) -> Result<()> {
        loop {
            let now = self.started.elapsed();
            let due = match self.load.rate {
                None if now < self.load.length => now,
                None => return Ok(()),
                Some(_) => match self.load.due(self.next) {
                    Some(due) if due <= now => due,
                    _ => return Ok(()),
                },
            };
            if now.saturating_sub(due) > PATIENCE {
                self.outcome.dropped += 1;
                self.next += 1;
                continue;
            }
            let Some(index) = self.idle.pop_front() else {
                return Ok(());
            };
            self.send(index, due)?;
        }
    }

    fn send(&mut self, index: usize, due: Duration) -> Result<()> {
        let number = self.next;
        self.next += 1;
        let request = self.requests.request(number);
        let connection = self.connections.get_mut(index).context("no such connection")?;
        // A small request into an empty socket buffer: it is written completely or not at all.
        if connection.stream.write_all(request.as_bytes()).is_err() {
            self.outcome.broken += 1;
            return self.reopen(index);
        }
        connection.sent_due = Some(due);
        self.waiting += 1;
        Ok(())
    }

    fn receive(&mut self, nap: Duration) -> Result<()> {
        let timeout = Timespec::try_from(nap)?;
        self.events.clear();
        match epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(&mut self.events),
            Some(&timeout),
        ) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let events = std::mem::take(&mut self.events);
        let received = events
            .iter()
            .try_for_each(|event| self.read(usize::try_from({ event.data }.u64())?));
        self.events = events;
        received
    }

    fn read(&mut self, index: usize) -> Result<()> {
        let connection = self.connections.get_mut(index).context("no such connection")?;
        let length = match connection.stream.read(&mut self.answer) {
            Ok(0) => return self.lose(index),
            Ok(length) => length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(());
            }
            Err(_) => return self.lose(index),
        };
        let at = self.started.elapsed();
        let fresh = self.answer.get(..length).unwrap_or_default();
        let whole = if connection.received.is_empty() {
            fresh
        } else {
            connection.received.extend_from_slice(fresh);
            &connection.received
        };
        let Some(answer) = Answer::parse(whole) else {
            if connection.received.is_empty() {
                connection.received.extend_from_slice(fresh);
            }
            return Ok(());
        };
        let Some(due) = connection.sent_due.take() else {
            return self.lose(index);
        };
        self.outcome.lasted = at;
        self.outcome
            .answers
            .answered(answer.status, at.saturating_sub(due));
        self.outcome.answers.shed += u64::from(answer.status == 503 && answer.has_retry_after);
        if !is_ok(answer.status) && self.outcome.first_refusal.is_empty() {
            let said = answer.body.get(..200).unwrap_or(answer.body);
            self.outcome.first_refusal = String::from_utf8_lossy(said).into_owned();
        }
        let closes = answer.closes;
        self.waiting -= 1;
        connection.received.clear();
        if closes {
            return self.reopen(index);
        }
        self.idle.push_back(index);
        Ok(())
    }

    /// Replaces a connection that the service closed; an error only if a request was in flight.
    fn lose(&mut self, index: usize) -> Result<()> {
        let connection = self.connections.get_mut(index).context("no such connection")?;
        if connection.sent_due.take().is_some() {
            self.waiting -= 1;
            self.outcome.broken += 1;
        } else {
            self.idle.retain(|idle| *idle != index);
        }
        self.reopen(index)
    }

    fn reopen(&mut self, index: usize) -> Result<()> {
        let stream = connect(self.load.address)?;
        watch(&self.epoll, &stream, index)?;
        let connection = self.connections.get_mut(index).context("no such connection")?;
        // Closing the old one removes it from the epoll.
        connection.stream = stream;
        connection.received.clear();
        self.idle.push_back(index);
        Ok(())
    }

    fn is_over(&self, now: Duration) -> bool {
        let all_sent = match self.load.rate {
            None => now >= self.load.length,
            Some(_) => self.load.due(self.next).is_none(),
        };
        (all_sent && self.waiting == 0) || now >= self.load.length + GRACE
    }

    fn nap(&self, now: Duration) -> Duration {
        match self.load.due(self.next) {
            Some(due) if !self.idle.is_empty() => due.saturating_sub(now).clamp(SHORTEST_NAP, LONGEST_NAP),
            _ => LONGEST_NAP,
        }
    }
}

fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
    ensure!(
        stream.peer_addr()?.ip().is_loopback(),
        "load goes to this machine only"
    );
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

fn watch(epoll: &OwnedFd, stream: &TcpStream, index: usize) -> Result<()> {
    epoll::add(
        epoll,
        stream,
        EventData::new_u64(u64::try_from(index)?),
        EventFlags::IN,
    )?;
    Ok(())
}

fn thread_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(rate: f64) -> Load {
        Load::open(([127, 0, 0, 1], 1).into(), 1, rate, Duration::from_secs(2))
    }

    #[test]
    fn the_timetable_is_fixed_ahead() {
        let load = load(4.0);
        let due: Vec<_> = (0..)
            .map_while(|number| load.due(number))
            .map(|due| due.as_millis())
            .collect();
        assert_eq!(due, [0, 250, 500, 750, 1000, 1250, 1500, 1750]);
        assert_eq!(load.due_before_end(5), 3);
        assert_eq!(load.due_before_end(8), 0);
    }

    #[test]
    fn scattered_loads_keep_their_rate_and_no_common_time() {
        let [one, other] = [1, 2].map(|number| Load {
            scattered: Some(number),
            ..load(4.0)
        });
        for number in 0..7 {
            let [first, second] = [&one, &other].map(|load| load.due(number).unwrap());
            assert_ne!(first, second);
            for due in [first, second] {
                assert!(
                    (0..250).contains(&(due.as_millis() - u128::from(number) * 250)),
                    "{due:?}"
                );
            }
        }
    }

    #[test]
    fn without_a_rate_nothing_is_due() {
        let load = Load {
            rate: None,
            ..load(1.0)
        };
        assert_eq!(load.due(0), None);
        assert_eq!(load.due_before_end(0), 0);
    }
}
