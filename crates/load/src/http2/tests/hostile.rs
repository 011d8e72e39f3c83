//! Servers that violate the protocol. The client must detect each violation while using bounded memory.

use super::*;

/// Passes `bytes` to a connection with two open requests, and returns the result of the connection.
fn outcome(bytes: &[u8]) -> Result<(), Broken> {
    let mut pair = Pair::ready();
    pair.request();
    pair.request();
    let result = pair.server(bytes);
    if result.is_err() {
        assert_eq!(pair.kinds().last(), Some(&kind::GOAWAY), "GOAWAY is sent");
    }
    result
}

fn after_head(bytes: &[u8]) -> Vec<u8> {
    [head(1, 0, &[OK]).as_slice(), bytes].concat()
}

#[test]
fn who_breaks_the_rules_of_the_connection_breaks_it() {
    use ErrorCode::{CompressionError, FlowControlError, FrameSizeError, ProtocolError};
    let number = |value: u32| value.to_be_bytes();
    let open_block = frame(kind::HEADERS, 0, 1, &block(&[OK]));
    let cases = [
        (
            frame(
                kind::PUSH_PROMISE,
                flag::END_HEADERS,
                1,
                &[0, 0, 0, 2, 0x88],
            ),
            ProtocolError,
        ),
        (frame(kind::DATA, 0, 0, b"x"), ProtocolError),
        (frame(kind::DATA, 0, 2, b"x"), ProtocolError),
        (frame(kind::DATA, 0, 5, b"x"), ProtocolError),
        (
            after_head(&frame(kind::DATA, flag::PADDED, 1, b"\x05abc")),
            ProtocolError,
        ),
        (
            after_head(&frame(kind::DATA, 0, 1, &[0; 1001])),
            FlowControlError,
        ),
        (head(0, 0, &[OK]), ProtocolError),
        (head(2, 0, &[OK]), ProtocolError),
        (head(5, 0, &[OK]), ProtocolError),
        (
            frame(kind::HEADERS, flag::END_HEADERS, 1, &[0xbe]),
            CompressionError,
        ),
        (
            frame(kind::HEADERS, flag::END_HEADERS, 1, &[0x88, 0x00]),
            CompressionError,
        ),
        (
            frame(kind::CONTINUATION, flag::END_HEADERS, 1, &[0x88]),
            ProtocolError,
        ),
        (
            [open_block.as_slice(), &head(3, 0, &[OK])].concat(),
            ProtocolError,
        ),
        (
            [open_block.as_slice(), &frame(kind::PING, 0, 0, &[0; 8])].concat(),
            ProtocolError,
        ),
        (
            [open_block.as_slice(), &frame(kind::CONTINUATION, 4, 3, &[])].concat(),
            ProtocolError,
        ),
        (frame(kind::RST_STREAM, 0, 1, &[0; 3]), FrameSizeError),
        (frame(kind::RST_STREAM, 0, 5, &[0; 4]), ProtocolError),
        (frame(kind::SETTINGS, 0, 0, &[0; 5]), FrameSizeError),
        (frame(kind::SETTINGS, 0, 1, &[]), ProtocolError),
        (frame(kind::SETTINGS, flag::ACK, 0, &[0; 6]), FrameSizeError),
        (settings(&[(setting::ENABLE_PUSH, 1)]), ProtocolError),
        (
            settings(&[(setting::MAX_FRAME_SIZE, 16_383)]),
            ProtocolError,
        ),
        (
            settings(&[(setting::MAX_FRAME_SIZE, 1 << 24)]),
            ProtocolError,
        ),
        (
            settings(&[(setting::INITIAL_WINDOW_SIZE, 1 << 31)]),
            FlowControlError,
        ),
        (frame(kind::PING, 0, 0, &[0; 7]), FrameSizeError),
        (frame(kind::PING, 0, 1, &[0; 8]), ProtocolError),
        (frame(kind::GOAWAY, 0, 0, &[0; 7]), FrameSizeError),
        (frame(kind::GOAWAY, 0, 1, &[0; 8]), ProtocolError),
        (frame(kind::WINDOW_UPDATE, 0, 0, &[0; 3]), FrameSizeError),
        (frame(kind::WINDOW_UPDATE, 0, 0, &number(0)), ProtocolError),
        (
            frame(kind::WINDOW_UPDATE, 0, 0, &number(u32::MAX >> 1)),
            FlowControlError,
        ),
        (frame(kind::WINDOW_UPDATE, 0, 5, &number(1)), ProtocolError),
        (
            frame(kind::DATA, 0, 1, &vec![0; FRAME_BYTES + 1]),
            FrameSizeError,
        ),
    ];
    for (number, (bytes, code)) in cases.into_iter().enumerate() {
        assert_eq!(
            outcome(&bytes),
            Err(Broken::Protocol(code)),
            "case {number}"
        );
    }
}

#[test]
fn the_window_of_the_connection_is_watched_over_all_streams() {
    let mut pair = Pair::ready();
    pair.requests(100);
    // The flow-control window of the connection is 1500 bytes and is not replenished. One stream alone stays within it,
    // but two streams together exceed it.
    pair.client.receive_left = 1500;
    pair.client.bounds.connection_window = 0;
    pair.server(&[head(1, 0, &[OK]), frame(kind::DATA, 0, 1, &[0; 1000])].concat())
        .expect("within it");
    let second = [head(3, 0, &[OK]), frame(kind::DATA, 0, 3, &[0; 600])].concat();
    assert_eq!(
        pair.server(&second),
        Err(Broken::Protocol(ErrorCode::FlowControlError))
    );
}

#[test]
fn malformed_heads_fail_their_request_only() {
    let large = "v".repeat(LIMITS.header_bytes);
    let cases: [&[(&str, &str)]; 20] = [
        &[],
        &[("x", "y")],
        &[(":status", "20")],
        &[(":status", "099")],
        &[(":status", "2000")],
        &[(":status", "abc")],
        &[(":status", "101")],
        &[OK, OK],
        &[("x", "y"), OK],
        &[(":path", "/"), OK],
        &[OK, ("Upper", "case")],
        &[OK, ("", "nameless")],
        &[OK, ("bl ank", "x")],
        &[OK, ("x", "a\r\nb")],
        &[OK, ("x", "a\0b")],
        &[OK, ("connection", "close")],
        &[OK, ("transfer-encoding", "chunked")],
        &[OK, ("content-length", "1"), ("content-length", "2")],
        &[OK, ("content-length", "x")],
        &[OK, ("x", &large)],
    ];
    for (number, fields) in cases.into_iter().enumerate() {
        let mut pair = Pair::ready();
        pair.requests(2);
        pair.server(&head(1, 0, fields))
            .expect("the connection goes on");
        pair.server(&head(3, flag::END_STREAM, &[OK]))
            .expect("another answer");
        let expected = [(0, End::Failed(Failure::Protocol)), (1, End::Whole)];
        assert_eq!(pair.end(), expected, "case {number}");
        assert!(pair.kinds().contains(&kind::RST_STREAM));
    }
}

#[test]
fn what_cannot_follow_fails_its_request_only() {
    let trailers_without_end = after_head(&head(1, 0, &[("x", "y")]));
    let status_in_trailers = after_head(&head(1, flag::END_STREAM, &[OK]));
    let body_before_head = frame(kind::DATA, flag::END_STREAM, 1, b"x");
    let informational_at_the_end = head(1, flag::END_STREAM, &[(":status", "103")]);
    let no_window = frame(kind::WINDOW_UPDATE, 0, 1, &[0; 4]);
    let too_much_window = frame(kind::WINDOW_UPDATE, 0, 1, &(u32::MAX >> 1).to_be_bytes());
    for bytes in [
        trailers_without_end,
        status_in_trailers,
        body_before_head,
        informational_at_the_end,
        no_window,
        too_much_window,
    ] {
        let mut pair = Pair::ready();
        pair.request();
        pair.server(&bytes).expect("the connection goes on");
        assert_eq!(pair.end(), [(0, End::Failed(Failure::Protocol))]);
    }
}

#[test]
fn a_body_beyond_the_limit_fails_its_request_only() {
    let mut pair = Pair::ready();
    pair.request();
    pair.server(&head(1, 0, &[OK])).expect("a head");
    let mut sent = 0;
    while pair.ended.is_empty() {
        pair.server(&frame(kind::DATA, 0, 1, &[0; 500]))
            .expect("the connection goes on");
        pair.said();
        sent += 500;
    }
    assert_eq!(pair.end(), [(0, End::Failed(Failure::Protocol))]);
    assert!((1 << 20..(1 << 20) + 1000).contains(&sent), "{sent}");
}

#[test]
fn who_only_keeps_this_side_busy_is_told_to_calm_down() {
    let empty_continuation = frame(kind::CONTINUATION, 0, 1, &[]);
    let open_block = frame(kind::HEADERS, 0, 1, &block(&[OK]));
    let floods = [
        (Vec::new(), settings(&[])),
        (Vec::new(), frame(kind::PING, 0, 0, &[0; 8])),
        (Vec::new(), frame(kind::PRIORITY, 0, 1, &[0; 5])),
        (Vec::new(), frame(0xee, 0, 0, &[])),
        (Vec::new(), head(1, 0, &[(":status", "100")])),
        (head(1, 0, &[OK]), frame(kind::DATA, 0, 1, &[])),
        (head(1, 0, &[OK]), frame(kind::DATA, flag::PADDED, 1, &[0])),
        (
            frame(kind::RST_STREAM, 0, 1, &[0; 4]),
            frame(kind::RST_STREAM, 0, 1, &[0; 4]),
        ),
        (frame(kind::RST_STREAM, 0, 1, &[0; 4]), head(1, 0, &[OK])),
        (
            frame(kind::RST_STREAM, 0, 1, &[0; 4]),
            frame(kind::DATA, flag::END_STREAM, 1, &[]),
        ),
        (open_block.clone(), empty_continuation),
        (open_block, frame(kind::CONTINUATION, 0, 1, &[b'x'; 1000])),
    ];
    for (number, (before, again)) in floods.into_iter().enumerate() {
        let mut pair = Pair::ready();
        pair.request();
        pair.said();
        pair.server(&before).expect("nothing wrong yet");
        let flooded = (0..20_000).find_map(|_| pair.server(&again).err());
        assert_eq!(
            flooded,
            Some(Broken::Protocol(ErrorCode::EnhanceYourCalm)),
            "case {number}"
        );
        assert!(pair.client.pending().len() < 1 << 20 && pair.client.block.len() < 1 << 16);
    }
}

#[test]
fn for_a_request_that_was_given_up_no_more_comes_than_fitted_its_window() {
    let body = |bytes: usize| frame(kind::DATA, 0, 1, &vec![0; bytes]);
    let reset = frame(kind::RST_STREAM, 0, 1, &[0; 4]);
    // Each case gives the frames before the request ends, and `true` if the client cancels the request. The last value
    // is the number of bytes that the server may still send within the request's window of 1000 bytes.
    let endings: [(&[u8], bool, usize); 5] = [
        (&[], true, 1000),
        (&after_head(&body(400)), true, 600),
        // Half of the window was used, so the client has replenished it to 1000 bytes.
        (&after_head(&body(500)), true, 1000),
        (&reset, false, 0),
        (&head(1, flag::END_STREAM, &[OK]), false, 0),
    ];
    for (number, (before, gives_up, left)) in endings.into_iter().enumerate() {
        let mut pair = Pair::ready();
        pair.requests(2);
        pair.server(before).expect("nothing wrong yet");
        if gives_up {
            pair.client.cancel(1);
        }
        for _ in 0..left / 100 {
            pair.server(&body(100))
                .expect("data that was sent before the cancellation");
        }
        assert_eq!(
            pair.server(&body(1)),
            Err(Broken::Protocol(ErrorCode::StreamClosed)),
            "case {number}"
        );
    }
}

#[test]
fn fields_that_unfold_are_not_kept() {
    // The block adds a field of 3 KB to the dynamic table. Each further byte of the block refers to this field.
    let mut bomb = vec![0x88, 0x40, 1, b'x', 0x7f];
    let length = 3000_usize - 127;
    bomb.extend([(length % 128) as u8 | 128, (length / 128) as u8]);
    bomb.extend([b'v'; 3000]);
    bomb.extend([0xbe; 10_000]);
    let mut pair = Pair::ready();
    pair.request();
    pair.server(&frame(kind::HEADERS, flag::END_HEADERS, 1, &bomb))
        .expect("the connection goes on");
    assert_eq!(pair.end(), [(0, End::Failed(Failure::Protocol))]);
    assert!(pair.answer(0).headers("x").map(<[u8]>::len).sum::<usize>() <= LIMITS.header_bytes);
}

#[test]
fn who_reads_nothing_gets_no_more_requests_than_memory_bears() {
    let mut pair = Pair::ready();
    pair.request();
    let value = vec![b'v'; 16_000];
    let mut give_up_one = || {
        let stream = pair.client.open(0, &mut pair.side, |_, out| {
            Encoder::varying(&Name::new(b"cookie"), &value, out);
        });
        pair.client.cancel(stream);
        pair.client.is_draining()
    };
    assert!((0..10_000).any(|_| give_up_one()));
    let unread = pair.client.pending().len();
    assert!(unread < 65 << 20, "{unread}");
    // The connection is draining, so the client opens no further request even after the server has read everything.
    pair.client.advance(unread);
    assert_eq!((pair.client.limit(), pair.client.in_hand()), (0, 1));
}

#[test]
fn who_does_not_speak_it_is_told_from_who_breaks_it() {
    let unfitting = [
        b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".to_vec(),
        frame(kind::PING, 0, 0, &[0; 8]),
        frame(kind::SETTINGS, flag::ACK, 0, &[]),
        frame(kind::SETTINGS, 0, 0, &[0; 5]),
    ];
    for bytes in unfitting {
        let mut pair = Pair::new();
        pair.request();
        assert_eq!(pair.server(&bytes), Err(Broken::NotHttp2));
    }
}

#[test]
fn one_setting_after_the_other_may_not_overflow_a_window() {
    let mut pair = Pair::ready();
    pair.request();
    pair.server(&frame(kind::WINDOW_UPDATE, 0, 1, &1000_u32.to_be_bytes()))
        .expect("a window");
    let largest = settings(&[(setting::INITIAL_WINDOW_SIZE, (1 << 31) - 1)]);
    assert_eq!(
        pair.server(&largest),
        Err(Broken::Protocol(ErrorCode::FlowControlError))
    );
}
