//! Checks the HTTP/2 client: the server sends any bytes, split into pieces anywhere. The client must not panic or store
//! more than allowed. The result must not depend on the split, and each exchange must end at most once.

use towtank_load::http::response::{Answer, Limits, Wanted};
use towtank_load::http2::{Bounds, Broken, Connection, Ended, Exchanges};
use towtank_load::program::body::Outgoing;

const LIMITS: Limits = Limits {
    header_bytes: 4_096,
    body_bytes: 65_536,
    capture_bytes: 256,
};
const BOUNDS: Bounds = Bounds {
    streams: 4,
    stream_window: 1_000,
    connection_window: 70_000,
    header_bytes: 4_096,
};
const REQUESTS: usize = 4;

struct Side(Vec<(Answer, Outgoing)>);

impl Exchanges for Side {
    fn received(&mut self, token: u32, _: usize) -> &mut Answer {
        &mut self.0[token as usize].0
    }

    fn sent(&mut self, token: u32, _: usize) -> &mut Outgoing {
        &mut self.0[token as usize].1
    }
}

/// A frame: its kind, flags, stream number and payload.
pub type Frame = (u8, u8, u8, Vec<u8>);

/// Error of the connection, ended exchanges, responses (status, length, stored body), and all output.
type Outcome = (
    Result<(), Broken>,
    Vec<Ended>,
    Vec<(u16, u64, Vec<u8>)>,
    Vec<u8>,
);

fn outcome(pieces: &[&[u8]], body_bytes: usize) -> Outcome {
    let mut connection = Connection::new(BOUNDS);
    let mut side = Side(Vec::new());
    for token in 0..REQUESTS {
        let mut answer = Answer::new(LIMITS);
        answer.begin(Wanted {
            head: true,
            body: true,
            method_is_head: token == 1,
        });
        let mut out = Outgoing::default();
        if token == 2 {
            out.push_shared(vec![7; body_bytes].into());
        }
        side.0.push((answer, out));
        connection.open(token as u32, &mut side, |_, out| out.push(0x82));
    }
    let (mut ended, mut said, mut result) = (Vec::new(), Vec::new(), Ok(()));
    for piece in pieces {
        result = connection.receive(piece, &mut side, &mut ended);
        while !connection.pending().is_empty() {
            said.extend_from_slice(connection.pending());
            connection.advance(connection.pending().len());
            connection.pump(&mut side);
        }
        if result.is_err() {
            break;
        }
    }
    let mut tokens: Vec<u32> = ended.iter().map(|ended| ended.token).collect();
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), ended.len());
    assert_eq!(connection.in_hand() + ended.len(), REQUESTS);
    let kept = side
        .0
        .iter()
        .map(|(answer, _)| (answer.status(), answer.body_bytes(), answer.body().to_vec()));
    let kept: Vec<_> = kept.collect();
    assert!(
        kept.iter()
            .all(|(_, bytes, body)| *bytes <= LIMITS.body_bytes
                && body.len() <= LIMITS.capture_bytes)
    );
    (result, ended, kept, said)
}

/// Returns the bytes that a server sends: an empty SETTINGS frame, then `frames` with correct lengths. Without the
/// SETTINGS frame, the client would reject most inputs at once.
fn server(frames: &[Frame]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 4, 0, 0, 0, 0, 0];
    for (kind, flags, stream, payload) in frames {
        let length = payload.len().min(16_384);
        bytes.extend_from_slice(&(length as u32).to_be_bytes()[1..]);
        bytes.extend_from_slice(&[kind % 11, *flags, 0, 0, 0, stream % 11]);
        bytes.extend_from_slice(&payload[..length]);
    }
    bytes
}

/// Runs the client with one input (bytes and frames of the server) and checks the result.
pub fn check(input: (u16, Vec<Frame>, Vec<u8>)) {
    let (split, frames, rest) = input;
    let mut bytes = server(&frames);
    bytes.extend_from_slice(&rest);
    let (first, second) = bytes.split_at(usize::from(split).min(bytes.len()));
    // A body of 300,000 bytes waits until the server enlarges the flow-control windows. The output then depends on the
    // split of the input, so this case is only tested for panics. A body of 1,000 bytes is sent before the first piece,
    // so its outcomes can be compared.
    let _ = outcome(&[first, second], 300_000);
    let (whole, parts) = (outcome(&[&bytes], 1_000), outcome(&[first, second], 1_000));
    assert_eq!(
        (&whole.0, &whole.1, &whole.2),
        (&parts.0, &parts.1, &parts.2)
    );
}
