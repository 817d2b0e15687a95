//! What the children do.

use std::cell::Cell;
use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use tokio::task::JoinSet;

use super::{Files, client, number};

tokio::task_local! {
    /// How many points the turn of this task has come to.
    static POINTS: Cell<usize>;
}

/// The point at which a child is killed, when all of its turns are there, or stopped.
pub(super) struct Gate {
    at: usize,
    stops: bool,
    at_once: usize,
    arrived: AtomicUsize,
    files: Files,
}

impl Gate {
    fn of_environment(files: &Files) -> Arc<Self> {
        Arc::new(Self {
            at: number("RUN_AT", usize::MAX),
            stops: env::var("RUN_ACT").is_ok_and(|act| act == "stop"),
            at_once: number("RUN_AT_ONCE", 1),
            arrived: AtomicUsize::new(0),
            files: files.clone(),
        })
    }

    pub(super) fn reach(&self, here: &str) {
        if POINTS.with(|points| points.replace(points.get() + 1) + 1) != self.at {
            return;
        }
        self.files.add("acted", here);
        // The thread waits; the other turns go on with other threads.
        tokio::task::block_in_place(|| {
            if self.stops {
                kill_process(getpid(), Signal::STOP).unwrap();
                // The signal may take a moment to arrive.
                thread::sleep(Duration::from_millis(20));
                return;
            }
            if self.arrived.fetch_add(1, SeqCst) + 1 == self.at_once {
                kill_process(getpid(), Signal::KILL).unwrap();
            }
            thread::sleep(Duration::from_secs(60));
        });
    }
}

/// In an ordinary run of the tests there is nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_process() {
    let Ok(folder) = env::var("RUN_FOLDER") else { return };
    let files = Files(folder.into());
    let (url, kind) = (env::var("RUN_URL").unwrap(), env::var("RUN_KIND").unwrap());
    let gate = Gate::of_environment(&files);
    let hooked = gate.clone();
    let journal = files.open(move |point| hooked.reach(point.as_str())).await;
    let client = client(&files, &url, &kind, Some(&gate), journal.clone());
    let mut turns = JoinSet::new();
    for number in 0..gate.at_once {
        let request = match env::var("RUN_ID") {
            Ok(id) => client.resume_run(id),
            Err(_) => client.prompt(files.prompt(number)),
        };
        let (files, streams) = (files.clone(), gate.at % 2 != number % 2);
        turns.spawn(POINTS.scope(Cell::new(0), async move {
            let ended = if streams { request.stream().finish().await } else { request.call().await };
            match ended {
                Ok(response) => files.add("answers", &format!("{:?} {}", response.end(), response.text())),
                Err(error) => files.add("answers", &format!("error: {error}")),
            }
        }));
    }
    while let Some(ended) = turns.join_next().await {
        ended.unwrap();
    }
    journal.close().await;
}
