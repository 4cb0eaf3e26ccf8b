use super::*;
use futures::future::join_all;
use tokio::sync::Semaphore;

const BOUNDS: Bounds = Bounds {
    name: "test",
    queue: 64,
    max_records: 8,
    max_weight: 1_000,
    in_flight: 1,
    pace: Duration::ZERO,
};

/// Reports each batch, then waits for a permit before it answers with the requests themselves.
struct Stage {
    batcher: Batcher<usize, usize>,
    gate: Arc<Semaphore>,
    batches: mpsc::UnboundedReceiver<Vec<usize>>,
    tasks: TaskTracker,
}

fn stage(bounds: Bounds) -> Stage {
    let tasks = TaskTracker::new();
    let gate = Arc::new(Semaphore::new(0));
    let (report, reported) = mpsc::unbounded_channel();
    let inner = Arc::clone(&gate);
    let batcher = Batcher::spawn(
        &tasks,
        bounds,
        |weight| *weight,
        move |batch: Vec<usize>| {
            report.send(batch.clone()).unwrap();
            let gate = Arc::clone(&inner);
            async move {
                gate.acquire().await.unwrap().forget();
                batch
            }
        },
    );
    Stage {
        batcher,
        gate,
        batches: reported,
        tasks,
    }
}

type Submitted = tokio::task::JoinHandle<Result<usize, SubmitError>>;

fn submit(stage: &Stage, request: usize) -> Submitted {
    let batcher = stage.batcher.clone();
    tokio::spawn(async move { batcher.submit(request).await })
}

/// After this, the current-thread test runtime has run all ready tasks.
async fn settle() {
    for _ in 0..32 {
        yield_now().await;
    }
}

#[tokio::test]
async fn the_next_batch_collects_while_one_runs() {
    let mut stage = stage(BOUNDS);
    let first = submit(&stage, 0);
    assert_eq!(stage.batches.recv().await.unwrap(), [0]);
    let rest: Vec<_> = (1..=5).map(|n| submit(&stage, n)).collect();
    settle().await;
    assert!(stage.batches.try_recv().is_err(), "only one batch may run");
    stage.gate.add_permits(2);
    assert_eq!(first.await.unwrap(), Ok(0));
    assert_eq!(stage.batches.recv().await.unwrap(), [1, 2, 3, 4, 5]);
    let answers: Vec<_> = join_all(rest)
        .await
        .into_iter()
        .map(|joined| joined.unwrap().unwrap())
        .collect();
    assert_eq!(answers, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn a_group_of_callers_forms_one_batch() {
    let mut stage = stage(Bounds {
        max_records: 64,
        ..BOUNDS
    });
    stage.gate.add_permits(100);
    // Each task is ready one turn after the one before it.
    let all: Vec<_> = (1..=8)
        .map(|n| {
            let batcher = stage.batcher.clone();
            tokio::spawn(async move {
                for _ in 0..n {
                    yield_now().await;
                }
                batcher.submit(n).await
            })
        })
        .collect();
    join_all(all).await;
    assert_eq!(stage.batches.recv().await.unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[tokio::test]
async fn records_and_weight_bound_a_batch() {
    let mut stage = stage(Bounds {
        max_records: 3,
        max_weight: 10,
        ..BOUNDS
    });
    stage.gate.add_permits(100);
    let all: Vec<_> = [4, 5, 6, 50, 1, 1, 1, 1]
        .into_iter()
        .map(|n| submit(&stage, n))
        .collect();
    join_all(all).await;
    drop(stage.batcher);
    let mut batches = Vec::new();
    while let Some(batch) = stage.batches.recv().await {
        assert!(batch.len() <= 3);
        assert!(batch.iter().sum::<usize>() <= 10 || batch.len() == 1);
        batches.extend(batch);
    }
    assert_eq!(batches, [4, 5, 6, 50, 1, 1, 1, 1]);
}

#[tokio::test]
async fn beside_another_a_batch_waits_until_it_is_as_large_or_the_other_ends() {
    let mut stage = stage(Bounds {
        in_flight: 2,
        ..BOUNDS
    });
    let mut all = vec![submit(&stage, 0)];
    assert_eq!(stage.batches.recv().await.unwrap(), [0]);
    all.extend((1..=3).map(|n| submit(&stage, n)));
    assert_eq!(stage.batches.recv().await.unwrap(), [1, 2, 3]);
    // Both batches run. The first two requests of the next batch wait for the slot, then for more requests.
    all.extend((4..=5).map(|n| submit(&stage, n)));
    stage.gate.add_permits(1);
    settle().await;
    assert!(stage.batches.try_recv().is_err(), "smaller than the one before");
    all.push(submit(&stage, 6));
    settle().await;
    assert_eq!(stage.batches.try_recv().unwrap(), [4, 5, 6]);
    all.push(submit(&stage, 7));
    stage.gate.add_permits(2);
    settle().await;
    assert_eq!(stage.batches.try_recv().unwrap(), [7]);
    stage.gate.add_permits(1);
    for handle in all {
        handle.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn few_requests_keep_the_pace_and_many_do_not() {
    let mut stage = stage(Bounds {
        pace: Duration::from_hours(1),
        ..BOUNDS
    });
    stage.gate.add_permits(100);
    submit(&stage, 0).await.unwrap().unwrap();
    assert_eq!(stage.batches.try_recv().unwrap(), [0], "the first does not wait");
    let few = submit(&stage, 1);
    settle().await;
    assert!(stage.batches.try_recv().is_err(), "one of eight is few");
    let many = submit(&stage, 2);
    for handle in [few, many] {
        handle.await.unwrap().unwrap();
    }
    assert_eq!(stage.batches.try_recv().unwrap(), [1, 2]);
}

#[tokio::test]
async fn a_batch_of_all_callers_keeps_no_pace() {
    let bounds = Bounds {
        pace: Duration::from_hours(1),
        ..BOUNDS
    };
    let run = |batch: Vec<usize>| async move { batch };
    let alone = Batcher::spawn_among(&TaskTracker::new(), bounds, || 1, |_| 1, run);
    for request in 0..3 {
        assert_eq!(alone.submit(request).await, Ok(request));
    }
    let beside_another = Batcher::spawn_among(&TaskTracker::new(), bounds, || 2, |_| 1, run);
    assert_eq!(beside_another.submit(0).await, Ok(0), "the first does not wait");
    let (second, third) = tokio::join!(beside_another.submit(1), beside_another.submit(2));
    assert_eq!((second, third), (Ok(1), Ok(2)));
}

#[tokio::test]
async fn few_requests_leave_when_the_pace_allows() {
    let pace = Duration::from_millis(1);
    let stage = stage(Bounds { pace, ..BOUNDS });
    stage.gate.add_permits(100);
    let started = Instant::now();
    for request in 0..3 {
        submit(&stage, request).await.unwrap().unwrap();
    }
    assert!(started.elapsed() >= 2 * pace);
}

#[tokio::test]
async fn a_full_queue_refuses_at_once() {
    let mut stage = stage(Bounds { queue: 1, ..BOUNDS });
    let running = submit(&stage, 1);
    stage.batches.recv().await.unwrap();
    // The collector holds one request and waits for a slot; another one fills the queue.
    let held = submit(&stage, 2);
    settle().await;
    let queued = submit(&stage, 3);
    settle().await;
    assert_eq!(stage.batcher.submit(4).await, Err(SubmitError::Overloaded));
    stage.gate.add_permits(3);
    for handle in [running, held, queued] {
        handle.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_dropped_submitter_cancels_nothing() {
    let mut stage = stage(BOUNDS);
    let submitter = submit(&stage, 1);
    stage.batches.recv().await.unwrap();
    submitter.abort();
    assert!(submitter.await.unwrap_err().is_cancelled());
    stage.gate.add_permits(2);
    assert_eq!(submit(&stage, 2).await.unwrap(), Ok(2));
    assert_eq!(stage.gate.available_permits(), 0, "both batches ran to their end");
}

#[tokio::test]
async fn a_panic_fails_only_its_own_batch() {
    let tasks = TaskTracker::new();
    let batcher = Batcher::spawn(
        &tasks,
        BOUNDS,
        |_| 1,
        |batch: Vec<u32>| async move {
            assert!(!batch.contains(&13), "unlucky");
            batch
        },
    );
    assert_eq!(batcher.submit(13).await, Err(SubmitError::Closed));
    assert_eq!(batcher.submit(1).await, Ok(1));
}

#[tokio::test]
async fn a_wrong_number_of_answers_is_no_answer() {
    let tasks = TaskTracker::new();
    let batcher = Batcher::spawn(&tasks, BOUNDS, |_| 1, |_: Vec<u32>| async { vec![1, 2] });
    assert_eq!(batcher.submit(1).await, Err(SubmitError::Closed));
}

#[tokio::test]
async fn dropping_the_last_handle_drains_and_ends() {
    let stage = stage(BOUNDS);
    let waiting: Vec<_> = (0..20).map(|n| submit(&stage, n)).collect();
    settle().await;
    drop(stage.batcher);
    stage.gate.add_permits(100);
    for handle in waiting {
        handle.await.unwrap().unwrap();
    }
    stage.tasks.close();
    stage.tasks.wait().await;
}
