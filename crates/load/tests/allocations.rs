//! Checks that requests allocate no heap memory after the warm-up, and that a stall of the server allocates little. A
//! counting allocator measures this while a test server receives the requests.
#![allow(unsafe_code)] // The trait `GlobalAlloc` is unsafe. This allocator counts the calls and passes them on.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use support::{closed, get, plan_of, run};

/// Length of a period, in requests. Allocations are counted per period, and most periods must have none. The exceptions
/// are the few periods in which the recorder writes the line of an interval, as this may allocate memory.
const STRETCH: u64 = 200;
/// Number of periods at the start that are ignored, since connections, buffers and histograms still grow in them.
const WARM_UP: usize = 5;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// Heap memory in use by this process. [B]
static TAKEN_BYTES: AtomicU64 = AtomicU64::new(0);

struct Counting;

// Safety: all calls are passed to the system's allocator with unchanged arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        TAKEN_BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // Safety: the caller fulfils the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        TAKEN_BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // Safety: `place` was returned by `alloc` or `realloc` of the allocator `System`.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        TAKEN_BYTES.fetch_add(size as u64, Ordering::Relaxed);
        TAKEN_BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // Safety: `place` was returned by `System`; the caller guarantees that the size is valid.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Answers every read with the same response without allocating memory. After each period of `STRETCH` requests, the
/// number of allocations so far is recorded.
fn serve(mut stream: TcpStream, looks: &Mutex<Vec<u64>>) {
    let mut buffer = [0; 4096];
    let mut requests = 0;
    while stream.read(&mut buffer).is_ok_and(|length| length > 0) {
        requests += 1;
        note(requests, looks);
        if stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            .is_err()
        {
            return;
        }
    }
}

type Serve = fn(TcpStream, &Mutex<Vec<u64>>);

fn start(looks: &'static Mutex<Vec<u64>>, serve: Serve) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream, looks));
        }
    });
    address
}

/// Returns a plan with two weighted transactions, one status check in each, and no think time.
fn plain(address: SocketAddr) -> Value {
    let with_check = |step: usize, path: &str| {
        let mut request = get(step, &json!([path]));
        request["checks"] = json!([{"kind": "status", "in": [200]}]);
        request
    };
    let mut plan = plan_of(address, &json!([with_check(0, "/first")]));
    plan["steps"] =
        json!([{"name": "one", "transaction": "t0"}, {"name": "two", "transaction": "t1"}]);
    plan["transactions"] = json!([{"name": "t0", "ops": [with_check(0, "/first")]},
                                  {"name": "t1", "ops": [with_check(1, "/second")]}]);
    plan["groups"][0]["think"] = Value::Null;
    plan["groups"][0]["mix"] =
        json!([{"transaction": 0, "weight": 70.0}, {"transaction": 1, "weight": 30.0}]);
    plan["load"] = closed(1, 2.5);
    plan
}

/// Serves HTTP/2: answers every request contained in a read without allocating memory. After each period of `STRETCH`
/// requests, the number of allocations so far is recorded.
fn serve_http2(mut stream: TcpStream, looks: &Mutex<Vec<u64>>) {
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let (mut buffer, mut requests) = ([0; 4096], 0);
    let mut begun = false;
    while let Ok(length) = stream.read(&mut buffer) {
        let mut bytes = &buffer[..length];
        if !begun {
            begun = true;
            bytes = bytes
                .strip_prefix(towtank_load::http2::frames::PREFACE)
                .expect("a preface");
            stream.write_all(&SETTINGS).expect("a client");
        }
        while let [_, middle, low, kind, _, stream_id @ ..] = bytes {
            if *kind == 1 {
                requests += 1;
                note(requests, looks);
                let id = &stream_id[..4];
                // The response consists of a HEADERS frame with status 200 and a content length of 2, and of the body.
                let mut answer = *b"\0\0\x05\x01\x04....\x88\x0f\x0d\x012\0\0\x02\0\x01....ok";
                answer[5..9].copy_from_slice(id);
                answer[19..23].copy_from_slice(id);
                if stream.write_all(&answer).is_err() {
                    return;
                }
            }
            bytes = &bytes[9 + usize::from(*middle) * 256 + usize::from(*low)..];
        }
        if length == 0 {
            return;
        }
    }
}

/// Records the number of allocations so far after each period of `STRETCH` requests.
fn note(requests: u64, looks: &Mutex<Vec<u64>>) {
    if requests.is_multiple_of(STRETCH) {
        let mut looks = looks.lock().expect("the looks");
        // If the list had to grow, it would itself allocate memory.
        if looks.len() < looks.capacity() {
            looks.push(ALLOCATIONS.load(Ordering::Relaxed));
        }
    }
}

/// Number of the request at which the server stalls.
const BEFORE_STALL: u64 = 500;
/// Heap memory of each thread of the server: its handle, its name and its entry in the list of threads. [B]
const SERVER_THREAD_BYTES: u64 = 1_000;
/// Heap memory that the load engine may allocate in addition during the stall, for lines and lists that grow. [B]
const STALL_BYTES: u64 = 100_000;

/// Heap memory in use before and after the stall of the server, and numbers of connections and requests of the server.
#[derive(Debug, Default)]
struct Stall {
    requests: u64,
    connections: u64,
    before: u64,
    after: u64,
}

static STALL: Mutex<Stall> = Mutex::new(Stall {
    requests: 0,
    connections: 0,
    before: 0,
    after: 0,
});

/// Serves requests and stalls once. It holds a lock during the stall, which also delays all other connections.
fn serve_with_a_stall(mut stream: TcpStream, _: &Mutex<Vec<u64>>) {
    let mut buffer = [0; 4096];
    STALL.lock().expect("the stall").connections += 1;
    while stream.read(&mut buffer).is_ok_and(|length| length > 0) {
        let mut stall = STALL.lock().expect("the stall");
        stall.requests += 1;
        if stall.requests == BEFORE_STALL {
            stall.before = TAKEN_BYTES.load(Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(600));
        }
        stall.after = TAKEN_BYTES.load(Ordering::Relaxed);
        drop(stall);
        if stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            .is_err()
        {
            return;
        }
    }
}

fn check_stall() {
    let looks: &'static Mutex<Vec<u64>> = Box::leak(Box::default());
    let mut plan = plain(start(looks, serve_with_a_stall));
    plan["load"] = json!({"kind": "open", "arrivals": "constant", "users_at_most": 1000,
        "backlog_at_most": 1000, "stages": [
        {"name": "hold", "phase": "steady", "level": 0, "duration_s": 3.0, "rate": 500.0}]});
    run(plan).check_identity();
    let stall = STALL.lock().expect("the stall");
    assert!(stall.requests > BEFORE_STALL, "{stall:?}");
    // Without memory allocated in advance, each of the 300 requests during the stall would allocate a kilobyte, and
    // recorders that wait for the disk would allocate more.
    let grown = stall.after.saturating_sub(stall.before);
    assert!(
        grown <= STALL_BYTES + stall.connections * SERVER_THREAD_BYTES,
        "{stall:?}"
    );
}

/// All cases run one after the other in this test, since they use the same counters of allocations.
#[test]
fn a_request_of_a_plain_workload_allocates_nothing() {
    check_stall();
    for (http, serve) in [("1.1", serve as Serve), ("2", serve_http2)] {
        let looks: &'static Mutex<Vec<u64>> =
            Box::leak(Box::new(Mutex::new(Vec::with_capacity(4096))));
        let mut plan = plain(start(looks, serve));
        plan["targets"][0]["http"] = json!(http);
        run(plan).check_identity();
        check(&looks.lock().expect("the looks"), http);
    }
}

fn check(looks: &[u64], http: &str) {
    assert!(
        looks[0] > 0,
        "the counter counts: a run begins with allocations"
    );
    let stretches: Vec<u64> = looks
        .windows(2)
        .skip(WARM_UP)
        .map(|pair| pair[1] - pair[0])
        .collect();
    assert!(
        stretches.len() >= 5,
        "too few periods of {STRETCH} requests over HTTP/{http}: {}",
        stretches.len()
    );
    let quiet = stretches.iter().filter(|count| **count == 0).count();
    assert!(
        quiet * 2 > stretches.len(),
        "allocations in each period of {STRETCH} requests over HTTP/{http}, of which most must be 0: {stretches:?}"
    );
}
