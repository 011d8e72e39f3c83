//! The thread of all sessions that wait: one runtime, one task for each session.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::timeout;

use crate::answer::{Answer, Failed, FailureKind};
use crate::clock::thread_cpu_ns;
use crate::executor::{Attempt, Call, Known, Orders, no_such_task};
use crate::session::Waiting;

/// How long sessions may take to say farewell at the end of the run.
const FAREWELL: Duration = Duration::from_millis(500);

struct Message {
    target: usize,
    place: u32,
    orders: Orders,
}

/// The thread, which ends when this is dropped.
pub(crate) struct WaitingThread {
    sender: Option<UnboundedSender<Message>>,
    thread: Option<JoinHandle<()>>,
}

impl WaitingThread {
    pub(crate) fn start(known: Arc<Known>) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (sender, receiver) = unbounded_channel();
        let thread = std::thread::Builder::new().name("calls".to_owned());
        let thread = thread.spawn(move || {
            let sessions = LocalSet::new();
            sessions.block_on(&runtime, serve(known, receiver));
        })?;
        Ok(Self {
            sender: Some(sender),
            thread: Some(thread),
        })
    }

    pub(crate) fn order(&self, target: usize, place: u32, orders: Orders) {
        if let Some(sender) = &self.sender {
            // A thread that is gone has panicked; its calls end by their time-outs.
            let _ = sender.send(Message {
                target,
                place,
                orders,
            });
        }
    }
}

impl Drop for WaitingThread {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Session {
    sender: UnboundedSender<Orders>,
    task: tokio::task::JoinHandle<()>,
}

async fn serve(known: Arc<Known>, mut receiver: UnboundedReceiver<Message>) {
    let mut sessions: HashMap<u32, Session> = HashMap::new();
    while let Some(message) = receiver.recv().await {
        match message.orders {
            Orders::Abandon => {
                if let Some(session) = sessions.remove(&message.place) {
                    session.task.abort();
                }
            }
            // Its task ends, with a farewell, when nobody can order anything any more.
            Orders::Close => drop(sessions.remove(&message.place)),
            orders => {
                let session = sessions
                    .entry(message.place)
                    .or_insert_with(|| begin(&known, message.target, message.place));
                // The task ends only after its sender.
                let _ = session.sender.send(orders);
            }
        }
    }
    let tasks: Vec<_> = sessions.into_values().map(|session| session.task).collect();
    let farewell = async {
        for task in tasks {
            let _ = task.await;
        }
    };
    let _ = timeout(FAREWELL, farewell).await;
}

fn begin(known: &Arc<Known>, target: usize, place: u32) -> Session {
    let (sender, receiver) = unbounded_channel();
    let task = spawn_local(attend(Arc::clone(known), target, place, receiver));
    Session { sender, task }
}

/// One session from its first order to its last.
async fn attend(
    known: Arc<Known>,
    target: usize,
    place: u32,
    mut receiver: UnboundedReceiver<Orders>,
) {
    let mut session: Option<Box<dyn Waiting>> = None;
    while let Some(orders) = receiver.recv().await {
        match orders {
            Orders::Call(call) => make(&known, target, place, call, &mut session).await,
            Orders::Reset => {
                if let Some(open) = &mut session
                    && open.reset().await.is_err()
                {
                    session = None;
                }
            }
            Orders::Close | Orders::Abandon => break,
        }
    }
    if let Some(session) = session {
        session.close().await;
    }
}

async fn make(
    known: &Known,
    target: usize,
    place: u32,
    call: Call,
    session: &mut Option<Box<dyn Waiting>>,
) {
    let mut attempt = Attempt::begin(place, &call);
    let result = exchange(known, target, &call, session, &mut attempt).await;
    if result.as_ref().is_err_and(|failed| !failed.keeps_session()) {
        *session = None;
    }
    let is_held = session.as_ref().is_some_and(|session| session.is_held());
    let is_over = session.as_ref().is_some_and(|session| session.is_over());
    let ends = is_over || (call.is_single && !is_held);
    let is_open = session.is_some() && !ends;
    let done = attempt.end(result, is_open, is_held);
    let results = &known.results;
    results.waiting_ns.store(thread_cpu_ns(), Ordering::Relaxed);
    results.push(done);
    if ends && let Some(session) = session.take() {
        session.close().await;
    }
}

async fn exchange(
    known: &Known,
    target: usize,
    call: &Call,
    session: &mut Option<Box<dyn Waiting>>,
    attempt: &mut Attempt,
) -> Result<Answer, Failed> {
    let (server, location, task) = known.find(target, call).ok_or_else(no_such_task)?;
    // One that the server closed while nothing was asked is opened again, as a connection is; a transaction is lost.
    if let Some(open) = session.as_mut()
        && !open.is_held()
        && open.is_closed()
    {
        *session = None;
    }
    let open = if let Some(open) = session {
        open
    } else {
        let limit = Duration::from_nanos(call.connect_timeout_ns);
        let opened = timeout(limit, server.open(location)).await;
        let late = || Failed::new(FailureKind::Connect, "no session within the time");
        let opened = opened.map_err(|_| late())??;
        attempt.opened();
        session.insert(opened)
    };
    open.perform(task, call, &mut attempt.meter).await
}
