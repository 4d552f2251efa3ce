//! Tests of how an answer is written in pieces.

use super::*;

fn pieces(text: &str) -> Vec<String> {
    let mut open = Open::new(1, CancellationToken::new());
    open.unwritten = text.to_owned();
    let piece = std::iter::from_fn(|| Some(open.take_piece()).filter(|it| !it.is_empty()));
    piece.collect()
}

#[test]
fn a_long_text_is_written_in_pieces_that_end_with_a_line() {
    let text = "a line of an answer\n".repeat(2_000);
    let pieces = pieces(&text);
    assert_eq!(pieces.concat(), text);
    assert_eq!(pieces.len(), 5);
    let fits = |piece: &String| piece.len() <= PIECE && piece.ends_with('\n');
    assert!(pieces.iter().all(fits));
}

#[test]
fn a_line_longer_than_a_piece_is_cut_between_characters() {
    let text = "é".repeat(PIECE);
    let pieces = pieces(&format!("x{text}"));
    assert_eq!(pieces.concat(), format!("x{text}"));
    assert_eq!(pieces[0].len(), PIECE - 1);
}

#[test]
fn the_next_piece_of_a_long_text_waits_for_no_frame() {
    let mut open = Open::new(1, CancellationToken::new());
    open.unwritten = "line\n".repeat(PIECE / 4);
    open.last_write = Some(Instant::now());
    open.take_piece();
    let now = Instant::now() + FRAME / 4;
    assert!(open.next_write(false).is_some_and(|due| due < now));
    open.take_piece();
    open.unwritten.push('x');
    assert!(open.next_write(false).is_some_and(|due| due > now));
}

#[test]
fn a_growing_answer_is_written_in_every_second_frame_and_its_end_in_the_next() {
    let mut open = Open::new(1, CancellationToken::new());
    let now = Instant::now();
    open.last_write = Some(now);
    open.unwritten.push('x');
    assert_eq!(open.next_write(false), Some(now + 2 * FRAME));
    open.end = Some(AnswerEnd::Complete);
    assert_eq!(open.next_write(false), Some(now + FRAME));
}
