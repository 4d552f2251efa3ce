//! Lone surrogates in JSON: replaced, or joined if a pair was split between two deltas.
//!
//! Servers that slice JavaScript strings send half a character in one delta and the other
//! half in the next, each as an escape such as `\ud83d`, which JSON parsers reject.
//! [`repair`] replaces such an escape with a placeholder. [`mend`] replaces a pair of
//! placeholders with its character and a single one with U+FFFD. [`Joiner`] does so across
//! deltas.

use std::borrow::Cow;

use memchr::memmem;

use crate::{StopReason, StreamEvent};

/// Starts a placeholder: a noncharacter, which must not occur in exchanged text.
const MARK: char = '\u{10ffff}';
/// The character after [`MARK`] for U+D800; those up to U+DFFF follow.
const FIRST: u32 = 0x10_f000;
const HIGH: std::ops::Range<u32> = 0xd800..0xdc00;
const LOW: std::ops::Range<u32> = 0xdc00..0xe000;

/// Replaces lone surrogates among the escapes of a JSON text with placeholders.
pub(crate) fn repair(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let may_hold_one = |name: &[u8]| memmem::find(bytes, name).is_some();
    // Most events contain no escape of this kind and are not copied.
    if !may_hold_one(b"\\ud") && !may_hold_one(b"\\uD") {
        return Cow::Borrowed(json);
    }
    let mut repaired = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        let escape = at + found;
        let code = surrogate(bytes, escape);
        let Some(code) = code else {
            // Skip an escaped backslash, which does not start another escape.
            at = (escape + 2).min(bytes.len());
            continue;
        };
        at = escape + 6;
        let next = surrogate(bytes, at).filter(|next| LOW.contains(next));
        // A whole pair is valid JSON.
        if HIGH.contains(&code) && next.is_some() {
            at += 6;
            continue;
        }
        repaired.push_str(&json[copied..escape]);
        repaired.push(MARK);
        repaired.extend(char::from_u32(FIRST + code - HIGH.start));
        copied = at;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    repaired.push_str(&json[copied..]);
    Cow::Owned(repaired)
}

/// Replaces placeholders: a pair with its character, a single one with U+FFFD.
pub(crate) fn mend(text: &str) -> Cow<'_, str> {
    if !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        mended.push_str(&rest[..at]);
        rest = &rest[at..];
        // Without a valid code after it, the mark was part of the original text.
        let Some((half, behind)) = placeholder(rest) else {
            mended.push(MARK);
            rest = &rest[MARK.len_utf8()..];
            continue;
        };
        let pair = placeholder(behind).and_then(|(low, after)| Some((joined(half, low)?, after)));
        let (char, after) = pair.unwrap_or((char::REPLACEMENT_CHARACTER, behind));
        mended.push(char);
        rest = after;
    }
    mended.push_str(rest);
    Cow::Owned(mended)
}

/// Returns a complete JSON text without lone surrogates.
pub(crate) fn without(json: &str) -> Cow<'_, str> {
    match repair(json) {
        Cow::Borrowed(json) => Cow::Borrowed(json),
        Cow::Owned(repaired) => Cow::Owned(mend(&repaired).into_owned()),
    }
}

/// Replaces the placeholders in the events of one answer. Half a character is buffered until
/// the next delta.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    /// The placeholder at the end of the last text.
    buffered: Option<Buffered>,
}

#[derive(Debug)]
struct Buffered {
    half: String,
    event: fn(String) -> StreamEvent,
}

impl Joiner {
    /// Replaces the placeholders in the events from `start` on.
    pub(crate) fn join(&mut self, start: usize, events: &mut Vec<StreamEvent>) {
        for event in events.split_off(start) {
            match event {
                StreamEvent::Text(text) => self.text(text, StreamEvent::Text, events),
                StreamEvent::Thinking(text) => self.text(text, StreamEvent::Thinking, events),
                // These may arrive between two deltas of one text.
                StreamEvent::Usage(_) | StreamEvent::Remark(_) => events.push(event),
                other => {
                    self.release(events);
                    events.push(mended(other));
                }
            }
        }
    }

    fn text(
        &mut self,
        text: String,
        event: fn(String) -> StreamEvent,
        events: &mut Vec<StreamEvent>,
    ) {
        let is_same = |buffered: &mut Buffered| {
            // Comparing function pointers is unreliable, so compare the variants that they
            // build.
            std::mem::discriminant(&(buffered.event)(String::new()))
                == std::mem::discriminant(&event(String::new()))
        };
        let mut text = match self.buffered.take_if(is_same) {
            Some(buffered) => buffered.half + &text,
            None => {
                self.release(events);
                text
            }
        };
        if let Some(at) = ends_in_half(&text) {
            let half = text.split_off(at);
            self.buffered = Some(Buffered { half, event });
        }
        if !text.is_empty() {
            events.push(event(mend(&text).into_owned()));
        }
    }

    fn release(&mut self, events: &mut Vec<StreamEvent>) {
        if let Some(buffered) = self.buffered.take() {
            events.push((buffered.event)(mend(&buffered.half).into_owned()));
        }
    }
}

fn mended(event: StreamEvent) -> StreamEvent {
    let mend = |text: String| match mend(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(mended) => mended,
    };
    match event {
        StreamEvent::ToolUseStart { name } => StreamEvent::ToolUseStart { name: mend(name) },
        StreamEvent::ToolUse(mut call) => {
            (call.id, call.name) = (mend(call.id), mend(call.name));
            // The arguments are JSON inside JSON, with separate escapes.
            call.input = mend(repair(&call.input).into_owned());
            StreamEvent::ToolUse(call)
        }
        StreamEvent::Error(problem) => {
            StreamEvent::Error(chat::Problem::new(mend(problem.what), problem.fix))
        }
        StreamEvent::Stop(StopReason::Other(word)) => {
            StreamEvent::Stop(StopReason::Other(mend(word)))
        }
        other => other,
    }
}

/// Returns the offset of a half character at the end of a text.
fn ends_in_half(text: &str) -> Option<usize> {
    let at = text.rfind(MARK)?;
    let (half, behind) = placeholder(&text[at..])?;
    (behind.is_empty() && HIGH.contains(&half)).then_some(at)
}

/// Returns the surrogate of the placeholder at the start of a text, and the text after it.
fn placeholder(text: &str) -> Option<(u32, &str)> {
    let mut chars = text.strip_prefix(MARK)?.chars();
    let code = u32::from(chars.next()?).checked_sub(FIRST)? + HIGH.start;
    (code < LOW.end).then_some((code, chars.as_str()))
}

fn joined(high: u32, low: u32) -> Option<char> {
    let is_pair = HIGH.contains(&high) && LOW.contains(&low);
    let code = is_pair.then(|| 0x1_0000 + ((high - HIGH.start) << 10) + (low - LOW.start));
    char::from_u32(code?)
}

/// Returns the surrogate escaped at this offset.
fn surrogate(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    let is_hex = digits.bytes().all(|it| it.is_ascii_hexdigit());
    let code = u32::from_str_radix(digits, 16).ok()?;
    (is_hex && (HIGH.contains(&code) || LOW.contains(&code))).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ToolUse, Usage};
    use proptest::prelude::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        assert_eq!(without(json), expected, "{json}");
    }

    #[test]
    fn lone_surrogates_are_replaced_and_pairs_stay() {
        check(r#""a\ud83d""#, "\"a\u{fffd}\"");
        check(r#""\uDE00b""#, "\"\u{fffd}b\"");
        check(r#""\ud83d\ude00""#, r#""\ud83d\ude00""#);
        check(
            r#""\ud83d\ud83d\ude00\ude00""#,
            "\"\u{fffd}\\ud83d\\ude00\u{fffd}\"",
        );
        check(r#""\ude00\ud83d""#, "\"\u{fffd}\u{fffd}\"");
    }

    #[test]
    fn an_escaped_backslash_starts_no_escape() {
        check(r#""\\ud83d""#, r#""\\ud83d""#);
        check(r#""\\\ud83d""#, "\"\\\\\u{fffd}\"");
        check(r#""\ud8""#, r#""\ud8""#);
        check(r#""\ud83"#, r#""\ud83"#);
        check(r#""\"#, r#""\"#);
        check(r#""\ud83é""#, r#""\ud83é""#);
    }

    #[test]
    fn a_mark_without_a_surrogate_stays() {
        for text in [
            "\u{10ffff}",
            "\u{10ffff}x",
            "a\u{10ffff}\u{10ffff}b",
            // Neighbors of the placeholder characters.
            "\u{10ffff}\u{10efff}",
            "\u{10ffff}\u{10f800}",
        ] {
            assert_eq!(mend(text), text);
        }
    }

    /// Returns the halves of a character as [`repair`] leaves them.
    fn halves() -> (String, String) {
        let half = |code: u32| {
            let second = char::from_u32(FIRST + code - HIGH.start);
            MARK.to_string() + &second.unwrap_or_default().to_string()
        };
        (half(0xd83d), half(0xde00))
    }

    #[test]
    fn usage_does_not_separate_two_halves_and_another_text_does() {
        let (high, low) = halves();
        let usage = StreamEvent::Usage(Usage::default());
        let text = |text: &str| StreamEvent::Text(text.to_owned());
        let thinking = |text: &str| StreamEvent::Thinking(text.to_owned());
        for (between, after, expected) in [
            (None, text(&low), vec![text("\u{1f600}")]),
            (
                Some(usage.clone()),
                text(&low),
                vec![usage, text("\u{1f600}")],
            ),
            (
                None,
                thinking(&low),
                vec![text("\u{fffd}"), thinking("\u{fffd}")],
            ),
        ] {
            let mut events = vec![text(&high)];
            events.extend(between);
            events.push(after);
            Joiner::default().join(0, &mut events);
            assert_eq!(events, expected);
        }
    }

    #[test]
    fn no_event_contains_a_placeholder() {
        let (high, _) = halves();
        let call = |text: &str| {
            StreamEvent::ToolUse(ToolUse {
                id: text.to_owned(),
                name: text.to_owned(),
                input: format!("{{\"a\":\"{text}\"}}"),
            })
        };
        let begins = |name: &str| StreamEvent::ToolUseStart {
            name: name.to_owned(),
        };
        let fails = |what: &str| StreamEvent::Error(chat::Problem::new(what, "Try again."));
        let stops = |word: &str| StreamEvent::Stop(StopReason::Other(word.to_owned()));
        let all = |text: &str| vec![begins(text), call(text), fails(text), stops(text)];
        let mut events = all(&high);
        Joiner::default().join(0, &mut events);
        assert_eq!(events, all("\u{fffd}"));
    }

    proptest! {
        #[test]
        fn the_pieces_of_a_split_string_give_its_text(
            units in prop::collection::vec(
                prop::sample::select(vec![0x61_u16, 0xd83d, 0xde00, 0xd800, 0xdfff, 0x5c, 0xfffd]),
                0..12,
            ),
            cut in 0_usize..13,
        ) {
            let json = |units: &[u16]| -> String {
                let escapes = units.iter().map(|unit| format!("\\u{unit:04x}"));
                format!("\"{}\"", escapes.collect::<String>())
            };
            let (first, second) = units.split_at(cut.min(units.len()));
            let read = |units: &[u16]| {
                serde_json::from_str::<String>(&repair(&json(units))).unwrap_or_default()
            };
            let mut joiner = Joiner::default();
            let mut events = Vec::new();
            for piece in [first, second] {
                let start = events.len();
                events.push(StreamEvent::Text(read(piece)));
                joiner.join(start, &mut events);
            }
            let start = events.len();
            events.push(StreamEvent::Stop(StopReason::EndTurn));
            joiner.join(start, &mut events);
            let text: String = events.iter().filter_map(|event| match event {
                StreamEvent::Text(text) => Some(text.as_str()),
                _ => None,
            }).collect();
            prop_assert_eq!(text, String::from_utf16_lossy(&units));
        }
    }
}
