//! Tests flow control: the client sends data only within the server's windows, and replenishes its own windows.

use super::*;

#[test]
fn a_body_goes_out_as_windows_allow() {
    let mut pair = Pair::ready();
    pair.server(&settings(&[(setting::INITIAL_WINDOW_SIZE, 10)]))
        .expect("settings");
    pair.request_with(&[7; 30], false);
    let data = |pair: &mut Pair| -> Vec<(usize, bool)> {
        let said = pair
            .said()
            .into_iter()
            .filter(|(head, _)| head.kind == kind::DATA);
        said.map(|(head, _)| (head.length, head.has(flag::END_STREAM)))
            .collect()
    };
    assert_eq!(data(&mut pair), [(10, false)]);
    pair.server(&frame(kind::WINDOW_UPDATE, 0, 1, &5_u32.to_be_bytes()))
        .expect("a window");
    assert_eq!(data(&mut pair), [(5, false)]);
    // The stream has used up its window. The reduced initial window makes it negative, so the client sends nothing
    // until later updates make it positive again.
    pair.server(&settings(&[(setting::INITIAL_WINDOW_SIZE, 3)]))
        .expect("settings");
    assert_eq!(data(&mut pair), []);
    pair.server(&frame(kind::WINDOW_UPDATE, 0, 1, &7_u32.to_be_bytes()))
        .expect("a window");
    assert_eq!(data(&mut pair), []);
    pair.server(&settings(&[(setting::INITIAL_WINDOW_SIZE, 100)]))
        .expect("settings");
    assert_eq!(data(&mut pair), [(15, true)]);
}

#[test]
fn the_window_of_the_connection_is_shared_in_turns() {
    let mut pair = Pair::ready();
    pair.server(&settings(&[(setting::INITIAL_WINDOW_SIZE, 1 << 20)]))
        .expect("settings");
    let more = |bytes: u32| frame(kind::WINDOW_UPDATE, 0, 0, &bytes.to_be_bytes());
    pair.server(&more(100_000)).expect("a window");
    pair.request_with(&vec![1; 300_000], false);
    pair.request_with(&vec![2; 300_000], false);
    let mut frames = Vec::new();
    let mut sent = |pair: &mut Pair| -> usize {
        let said = pair.said().into_iter().map(|(head, _)| head);
        let data: Vec<_> = said.filter(|head| head.kind == kind::DATA).collect();
        frames.extend(data.iter().map(|head| (head.stream, head.length)));
        data.iter().map(|head| head.length).sum()
    };
    assert_eq!(sent(&mut pair), 165_535);
    assert_eq!(sent(&mut pair), 0);
    pair.server(&more(1_000_000)).expect("a window");
    assert_eq!(sent(&mut pair), 600_000 - 165_535);
    let of = |stream| {
        frames
            .iter()
            .filter(move |frame| frame.0 == stream)
            .map(|frame| frame.1)
            .sum::<usize>()
    };
    assert_eq!((of(1), of(3)), (300_000, 300_000));
    let first = frames.iter().position(|frame| frame.0 == 3);
    let last = frames.iter().rposition(|frame| frame.0 == 1);
    assert!(
        first < last,
        "the bodies are sent in alternation: {frames:?}"
    );
}

#[test]
fn windows_are_given_back_by_halves() {
    let mut pair = Pair::ready();
    pair.request();
    pair.said();
    pair.server(&head(1, 0, &[OK])).expect("a head");
    pair.server(&frame(kind::DATA, 0, 1, &[0; 400]))
        .expect("data");
    assert!(pair.kinds().is_empty());
    pair.server(&frame(kind::DATA, 0, 1, &[0; 100]))
        .expect("data");
    let said = pair.said();
    assert_eq!((said[0].0.kind, said[0].0.stream), (kind::WINDOW_UPDATE, 1));
    assert_eq!(frames::number(&said[0].1), Some(500));
}
