//! An HTTP/2 server that is based on another library and responds as a test requires.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use h2::{Reason, RecvStream, server};
use http::{HeaderMap, Request, Response};

#[derive(Debug, Clone)]
pub struct Seen {
    pub connection: usize,
    /// Number of other requests of the same connection that are not yet answered.
    pub beside: usize,
    pub request: Request<()>,
    pub body: Vec<u8>,
}

/// Reaction of the HTTP/2 server to a request.
pub enum Reply {
    /// Sends this response with this body, and with these trailers if they are not `None`.
    Answer(Response<()>, Vec<u8>, Option<HeaderMap>),
    /// Sends an interim response with status `103`, and then this response.
    Early(Response<()>),
    /// Resets the stream of the request for this reason.
    Reset(Reason),
    /// Sends this response, and accepts no further request over this connection (GOAWAY).
    GoAway(Response<()>),
    /// Never responds to the request.
    Hang,
}

pub type Handler = dyn Fn(&Seen) -> Reply + Send + Sync;

pub struct Server {
    pub address: SocketAddr,
    log: Arc<Mutex<Vec<Seen>>>,
    pub most_at_once: Arc<AtomicUsize>,
}

impl Server {
    /// Starts the server. Its thread ends when the test process ends.
    pub fn start(
        builder: server::Builder,
        handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = Self {
            address,
            log: Arc::default(),
            most_at_once: Arc::default(),
        };
        let (log, most) = (Arc::clone(&server.log), Arc::clone(&server.most_at_once));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            let local = tokio::task::LocalSet::new();
            local.block_on(
                &runtime,
                accept(listener, builder, Arc::from(handler), log, most),
            );
        });
        server
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.log.lock().expect("the log").clone()
    }
}

async fn accept(
    listener: TcpListener,
    builder: server::Builder,
    handler: Arc<Handler>,
    log: Arc<Mutex<Vec<Seen>>>,
    most: Arc<AtomicUsize>,
) {
    listener.set_nonblocking(true).expect("a mode");
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    for connection in 0.. {
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        let (builder, handler) = (builder.clone(), Arc::clone(&handler));
        let (log, most) = (Arc::clone(&log), Arc::clone(&most));
        tokio::task::spawn_local(async move {
            let Ok(mut client) = builder.handshake::<_, Bytes>(stream).await else {
                return;
            };
            let at_once = Arc::new(AtomicUsize::new(0));
            while let Some(Ok((request, respond))) = client.accept().await {
                let beside = at_once.fetch_add(1, Ordering::SeqCst);
                most.fetch_max(beside + 1, Ordering::SeqCst);
                let (head, body) = request.into_parts();
                let seen = Seen {
                    connection,
                    beside,
                    request: Request::from_parts(head, ()),
                    body: Vec::new(),
                };
                if matches!(handler(&seen), Reply::GoAway(_)) {
                    client.graceful_shutdown();
                }
                tokio::task::spawn_local(serve(
                    seen,
                    body,
                    respond,
                    Arc::clone(&handler),
                    Arc::clone(&log),
                    Arc::clone(&at_once),
                ));
            }
        });
    }
}

async fn serve(
    mut seen: Seen,
    mut body: RecvStream,
    mut respond: server::SendResponse<Bytes>,
    handler: Arc<Handler>,
    log: Arc<Mutex<Vec<Seen>>>,
    at_once: Arc<AtomicUsize>,
) {
    while let Some(Ok(piece)) = body.data().await {
        let _ = body.flow_control().release_capacity(piece.len());
        seen.body.extend_from_slice(&piece);
    }
    log.lock().expect("the log").push(seen.clone());
    // The pause of 1 ms lets other requests arrive before the response, as on a real server.
    tokio::time::sleep(Duration::from_millis(1)).await;
    at_once.fetch_sub(1, Ordering::SeqCst);
    match handler(&seen) {
        Reply::Answer(response, body, trailers) => answer(respond, response, body, trailers).await,
        Reply::GoAway(response) => answer(respond, response, Vec::new(), None).await,
        Reply::Early(response) => {
            let early = Response::builder()
                .status(103)
                .header("link", "</style.css>")
                .body(())
                .expect("a head");
            respond.send_informational(early).expect("an early head");
            answer(respond, response, Vec::new(), None).await;
        }
        Reply::Reset(reason) => respond.send_reset(reason),
        Reply::Hang => {
            let _ = std::future::poll_fn(|context| respond.poll_reset(context)).await;
        }
    }
}

async fn answer(
    mut respond: server::SendResponse<Bytes>,
    response: Response<()>,
    body: Vec<u8>,
    trailers: Option<HeaderMap>,
) {
    let ends = body.is_empty() && trailers.is_none();
    let Ok(mut stream) = respond.send_response(response, ends) else {
        return;
    };
    let mut rest = Bytes::from(body);
    while !rest.is_empty() {
        stream.reserve_capacity(rest.len());
        let Some(Ok(room)) = std::future::poll_fn(|context| stream.poll_capacity(context)).await
        else {
            return;
        };
        let piece = rest.split_to(room.min(rest.len()));
        let last = rest.is_empty() && trailers.is_none();
        if stream.send_data(piece, last).is_err() {
            return;
        }
    }
    if let Some(trailers) = trailers {
        let _ = stream.send_trailers(trailers);
    }
}
