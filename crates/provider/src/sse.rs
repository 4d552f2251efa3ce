//! Decoder for server-sent events, in linear time and for any chunking.
//!
//! Follows "9.2 Server-sent events" of the HTML standard, with three additions: the last
//! event needs no blank line; `error:` is read as an event with that name (llama.cpp sends
//! it); and lines that are not fields are kept, because they may be an error page. Knows
//! nothing of JSON.

use std::mem;

use memchr::memchr2;

/// Maximum bytes of one line, and of all lines of one event (16 MiB).
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// Maximum bytes kept of lines that are not fields, unless they are JSON; more than any
/// error message.
const MAX_STRAY_BYTES: usize = 64 * 1024;
const BOM: &[u8] = "\u{feff}".as_bytes();

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// The `event:` field, or empty.
    pub name: String,
    /// The `data:` fields, joined by newlines.
    pub text: String,
}

/// A line or an event exceeds [`MAX_LINE_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// Decoder state between two chunks.
#[derive(Debug, Default)]
pub(crate) struct SseDecoder {
    /// The line so far, without its end.
    line: Vec<u8>,
    /// True if a line feed that follows belongs to the preceding carriage return.
    after_cr: bool,
    /// True if the first line is complete, so that no byte order mark can follow.
    past_first_line: bool,
    name: String,
    /// The event's text so far; `None` before its first `data:`.
    text: Option<String>,
    stray: Vec<u8>,
}

impl SseDecoder {
    /// Decodes a chunk up to the end of the next event.
    ///
    /// Removes the decoded part from `chunk`. Returns `None` at the end of the chunk.
    ///
    /// # Errors
    ///
    /// A line or event is too large.
    pub(crate) fn next(&mut self, chunk: &mut &[u8]) -> Result<Option<SseEvent>, TooLarge> {
        while let Some(&first) = chunk.first() {
            // CR LF is one line end, even if a chunk ends between them.
            if mem::take(&mut self.after_cr) && first == b'\n' {
                *chunk = &chunk[1..];
                continue;
            }
            let rest = *chunk;
            let Some(end) = memchr2(b'\n', b'\r', rest) else {
                *chunk = &[];
                self.extend_line(rest)?;
                return Ok(None);
            };
            *chunk = &rest[end + 1..];
            self.after_cr = rest[end] == b'\r';
            let event = if self.line.is_empty() {
                // A line within one chunk is read in place, without a copy.
                self.check_size(end)?;
                self.end_line(&rest[..end])
            } else {
                self.extend_line(&rest[..end])?;
                self.end_held_line()
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    /// Returns the last event if the stream ends without a blank line.
    pub(crate) fn finish(&mut self) -> Option<SseEvent> {
        // A stream may end without a line end.
        if !self.line.is_empty() {
            self.end_held_line();
        }
        self.dispatch()
    }

    /// Returns the beginning of the lines that are not fields.
    pub(crate) fn stray(&self) -> &[u8] {
        &self.stray
    }

    /// Checks that `more` bytes fit into the limit.
    fn check_size(&self, more: usize) -> Result<(), TooLarge> {
        let held = self.line.len() + self.text.as_ref().map_or(0, String::len);
        if held + more > MAX_LINE_BYTES {
            Err(TooLarge)
        } else {
            Ok(())
        }
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        self.check_size(bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Ends a line that arrived in pieces.
    fn end_held_line(&mut self) -> Option<SseEvent> {
        let mut line = mem::take(&mut self.line);
        let event = self.end_line(&line);
        // Reuse the allocation for the next line.
        line.clear();
        self.line = line;
        event
    }

    fn end_line(&mut self, line: &[u8]) -> Option<SseEvent> {
        let is_first = !mem::replace(&mut self.past_first_line, true);
        let line = if is_first {
            line.strip_prefix(BOM).unwrap_or(line)
        } else {
            line
        };
        if line.is_empty() {
            return self.dispatch();
        }
        self.accept_field(line);
        None
    }

    fn accept_field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|&byte| byte == b':');
        let field = &line[..colon.unwrap_or(line.len())];
        let value = colon.map_or(&[][..], |at| &line[at + 1..]);
        // The standard removes one space after the colon, and no more.
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.append_text(value),
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"error" => {
                // llama.cpp writes the JSON of an error after `error:` instead of `data:`.
                self.name = "error".to_owned();
                self.append_text(value);
            }
            // Comments, and fields for reconnecting, which we never do.
            b"" | b"id" | b"retry" => {}
            _ => self.keep_stray(line),
        }
    }

    fn append_text(&mut self, value: &[u8]) {
        // The line is complete, so no character is split.
        let value = String::from_utf8_lossy(value);
        match &mut self.text {
            None => self.text = Some(value.into_owned()),
            Some(text) => {
                text.push('\n');
                text.push_str(&value);
            }
        }
    }

    fn keep_stray(&mut self, line: &[u8]) {
        let first = self.stray.first().or(line.first());
        // The body may be a complete answer in JSON.
        let most = match first {
            Some(b'{' | b'[') => MAX_LINE_BYTES,
            _ => MAX_STRAY_BYTES,
        };
        let room = most.saturating_sub(self.stray.len());
        self.stray.extend_from_slice(&line[..line.len().min(room)]);
        if line.len() < room {
            self.stray.push(b'\n');
        }
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let name = mem::take(&mut self.name);
        // An event without data is not an event, as the standard says.
        self.text.take().map(|text| SseEvent { name, text })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    /// Decodes a whole chunk.
    fn push(decoder: &mut SseDecoder, mut chunk: &[u8]) -> Result<Vec<SseEvent>, TooLarge> {
        let mut events = Vec::new();
        while let Some(event) = decoder.next(&mut chunk)? {
            events.push(event);
        }
        Ok(events)
    }

    fn decode(chunks: &[&[u8]]) -> Vec<(String, String)> {
        let mut decoder = SseDecoder::default();
        let mut events = Vec::new();
        for chunk in chunks {
            events.extend(push(&mut decoder, chunk).unwrap());
        }
        events.extend(decoder.finish());
        events
            .into_iter()
            .map(|event| (event.name, event.text))
            .collect()
    }

    /// Decodes `stream` split in two at every byte; `expected` are the events' texts.
    #[track_caller]
    fn check(stream: &str, expected: &[&str]) {
        let bytes = stream.as_bytes();
        for at in 0..=bytes.len() {
            let events = decode(&[&bytes[..at], &bytes[at..]]);
            let texts: Vec<&str> = events.iter().map(|(_, text)| text.as_str()).collect();
            assert_eq!(texts, expected, "split at byte {at}");
        }
    }

    #[test]
    fn lines_may_end_in_any_way() {
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
        check("data: a\r\rdata: b\r\r", &["a", "b"]);
        check("data: a\r\ndata: b\r\n\r\n", &["a\nb"]);
    }

    #[test]
    fn several_lines_make_one_text() {
        check("data: a\ndata:  b\ndata\n\n", &["a\n b\n"]);
    }

    #[test]
    fn the_space_after_the_colon_is_optional() {
        check("data:a\n\n", &["a"]);
    }

    #[test]
    fn comments_other_fields_and_blank_lines_are_skipped() {
        check(": hello\n\nid: 1\nretry: 2\n\n\ndata: a\n\n", &["a"]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_only_at_the_start() {
        check("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["a"]);
    }

    #[test]
    fn the_last_event_needs_no_blank_line() {
        check("data: a\n\ndata: b\n", &["a", "b"]);
        check("data: a\n\ndata: ü", &["a", "ü"]);
    }

    #[test]
    fn an_error_field_is_an_event_with_that_name() {
        assert_eq!(
            decode(&[b"error: {}\n\n"]),
            [("error".to_owned(), "{}".to_owned())]
        );
    }

    #[test]
    fn lines_that_are_not_fields_are_kept() {
        let mut decoder = SseDecoder::default();

        let events = push(&mut decoder, b"<html>\r\n<p>: x\r\n").unwrap();

        assert_eq!(decoder.stray(), b"<html>\n<p>: x\n");
        assert_eq!(events, []);
    }

    #[test]
    fn a_line_over_the_limit_fails_after_the_events_before_it() {
        let mut decoder = SseDecoder::default();
        let piece = vec![b'a'; 1024 * 1024];

        let events = push(&mut decoder, b"data: a\n\ndata: ").unwrap();
        let refused = (0..17).find_map(|_| push(&mut decoder, &piece).err());

        assert_eq!(refused, Some(TooLarge));
        assert_eq!(events.len(), 1);
        assert!(decoder.line.len() <= MAX_LINE_BYTES);
    }

    #[test]
    fn the_lines_of_an_event_share_the_limit() {
        let mut decoder = SseDecoder::default();
        let line = [b"data: ".as_slice(), &vec![b'a'; 1024 * 1024], b"\n"].concat();

        let refused = (0..17).find_map(|_| push(&mut decoder, &line).err());

        assert_eq!(refused, Some(TooLarge));
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_chunks_give_the_same_events(
            lines in prop::collection::vec("(data|event|error|:|x)?:? ?[a-zä\r\n]{0,5}[\r\n]{0,3}", 0..12),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let stream = lines.concat();
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            ends.push(stream.len());
            ends.sort_unstable();
            let mut start = 0;
            let chunks: Vec<&[u8]> = ends
                .into_iter()
                .map(|end| &stream.as_bytes()[mem::replace(&mut start, end)..end])
                .collect();

            prop_assert_eq!(decode(&chunks), decode(&[stream.as_bytes()]));
        }
    }
}
