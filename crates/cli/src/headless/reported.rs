//! The calls and results of a chat that were reported. They are found in the document,
//! because the events of an answer have only the model's text.

use std::collections::HashSet;

use chat::document::{Document, PairedCall, ResultKind};
use chat::tool::ToolUseId;

/// A call's message in the document, and its ID.
type Key = (usize, ToolUseId);

/// The calls and results that were reported.
#[derive(Debug, Default)]
pub struct ReportedBlocks {
    calls: HashSet<Key>,
    results: HashSet<Key>,
}

/// A block that was not reported yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewBlock {
    /// A call.
    Call {
        /// The call's ID.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments, as written in the document.
        input: String,
    },
    /// The result of a call.
    Result {
        /// The call's ID.
        id: String,
        /// The tool's name.
        name: String,
        /// The text for the model.
        text: String,
        /// True if the call failed.
        is_error: bool,
    },
}

impl ReportedBlocks {
    /// Creates a record in which all blocks of `document` are reported.
    pub fn all(document: &Document<'_>) -> Self {
        let mut reported = Self::default();
        drop(reported.new_blocks(document));
        reported
    }

    /// Returns the blocks that were not reported yet, in the order of the document, and
    /// records them.
    pub fn new_blocks(&mut self, document: &Document<'_>) -> Vec<NewBlock> {
        let mut blocks = Vec::new();
        for turn in document.turns() {
            for call in &turn.calls {
                // Providers may repeat an ID in a chat, so the message is a part of the key.
                let key = (turn.assistant, call.tool_use.id.clone());
                if self.calls.insert(key.clone()) {
                    blocks.push(NewBlock::Call {
                        id: call.tool_use.id.to_string(),
                        name: call.tool_use.name.to_string(),
                        input: document.lossy(call.tool_use.body.clone()).into_owned(),
                    });
                }
                let result = final_result(document, call);
                blocks.extend(result.filter(|_| self.results.insert(key)));
            }
        }
        blocks
    }
}

fn final_result(document: &Document<'_>, call: &PairedCall<'_>) -> Option<NewBlock> {
    let result = call.result?;
    let ResultKind::Final { is_error } = result.kind else {
        return None;
    };
    Some(NewBlock::Result {
        id: call.tool_use.id.to_string(),
        name: call.tool_use.name.to_string(),
        text: document.lossy(result.body.clone()).into_owned(),
        is_error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use chat::text::Text;

    const CALL: &str = "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `bash` (`t`)\n\n```json\n{\"command\":\"ls\"}\n```\n";

    #[test]
    fn a_call_and_its_result_are_reported_once_each() {
        let text = Text::from(CALL);
        let mut reported = ReportedBlocks::default();
        let call = NewBlock::Call {
            id: "t".to_owned(),
            name: "bash".to_owned(),
            input: r#"{"command":"ls"}"#.to_owned(),
        };
        assert_eq!(reported.new_blocks(&Document::parse(&text)), [call]);
        let answered = format!("{CALL}\n@You:\n**Tool Result:** `t` (error)\n\n```\nno\n```\n");
        let text = Text::from(answered.as_str());
        let document = Document::parse(&text);
        let result = NewBlock::Result {
            id: "t".to_owned(),
            name: "bash".to_owned(),
            text: "no".to_owned(),
            is_error: true,
        };
        assert_eq!(reported.new_blocks(&document), [result]);
        assert_eq!(reported.new_blocks(&document), []);
        assert_eq!(ReportedBlocks::all(&document).new_blocks(&document), []);
    }
}
