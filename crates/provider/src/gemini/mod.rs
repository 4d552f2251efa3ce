//! Gemini's `streamGenerateContent`, with a key or on Vertex AI.
//!
//! Knows nothing of other providers. A thought signature belongs to one part of an
//! answer. In a document it stands right before that part, in the tag of a thinking
//! block; one that has no part behind it is a part of its own, without text; and an
//! empty one says that the part behind it has none.

mod decode;
mod encode;
mod parts;
mod thinking;

pub(crate) use decode::StreamReader;
pub(crate) use encode::encode;
