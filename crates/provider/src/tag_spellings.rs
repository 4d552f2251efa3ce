//! The tags with which models mark their thinking, if their server does not separate it.

/// An opening tag, its closing tag, and which models write them (November 2026). Letters
/// of any case count.
const TAGS: &[(&str, &str, &str)] = &[
    (
        "<think>",
        "</think>",
        "DeepSeek R1, Qwen 3, QwQ, GLM, MiniMax, Kimi",
    ),
    ("<thinking>", "</thinking>", "Claude by prompt, Nova"),
    (
        "<thought>",
        "</thought>",
        "Gemini through OpenAI's protocol, Gemma",
    ),
    ("<reasoning>", "</reasoning>", "fine-tuned models"),
    ("<seed:think>", "</seed:think>", "Seed-OSS"),
    ("[THINK]", "[/THINK]", "Magistral"),
    ("◁think▷", "◁/think▷", "Kimi-VL"),
    ("<|START_THINKING|>", "<|END_THINKING|>", "Command A"),
    ("<|begin_of_thought|>", "<|end_of_thought|>", "OpenThinker"),
    ("<|channel|>analysis<|message|>", "<|end|>", "gpt-oss"),
];

/// Marks of gpt-oss around the answer, which are not part of it. The longest come first.
const DROPPED: [&str; 4] = [
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
    "<|start|>assistant",
    "<|return|>",
];

/// Characters with which a tag begins.
pub(crate) const FIRST: [char; 3] = ['<', '[', '◁'];

/// The beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TagFound {
    /// Not a tag.
    Nothing,
    /// Perhaps a tag, if more of it follows.
    Partial,
    /// An opening tag with this length, and the tag that closes it.
    Opening(usize, &'static str),
    /// A closing tag with this length.
    Closing(usize),
    /// A mark of this length that is dropped.
    Dropped(usize),
}

/// Returns the tag with which `text` begins.
pub(crate) fn tag_at(text: &str) -> TagFound {
    let mut found = TagFound::Nothing;
    let closing = TAGS
        .iter()
        .map(|tag| (tag.1, TagFound::Closing(tag.1.len())));
    let opening = TAGS
        .iter()
        .map(|tag| (tag.0, TagFound::Opening(tag.0.len(), tag.1)));
    let dropped = DROPPED
        .iter()
        .map(|mark| (*mark, TagFound::Dropped(mark.len())));
    for (tag, meaning) in opening.chain(closing).chain(dropped) {
        match begins_with(text, tag) {
            // A longer mark may begin in the same way.
            Some(true) if found != TagFound::Partial => return meaning,
            Some(false) => found = TagFound::Partial,
            Some(true) | None => {}
        }
    }
    found
}

/// Returns true if `text` contains an opening tag.
pub(crate) fn has_opening(text: &str) -> bool {
    let starts = text.match_indices(FIRST);
    starts
        .into_iter()
        .any(|(at, _)| matches!(tag_at(&text[at..]), TagFound::Opening(..)))
}

/// Returns whether `text` begins with `tag`: `Some(false)` if it is only the beginning of
/// one, and `None` if it is not.
pub(crate) fn begins_with(text: &str, tag: &str) -> Option<bool> {
    let length = text.len().min(tag.len());
    let same = text.as_bytes()[..length].eq_ignore_ascii_case(&tag.as_bytes()[..length]);
    same.then_some(text.len() >= tag.len())
}
