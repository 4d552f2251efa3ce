//! Large files: results of tools, and in `make prove` their time.

use std::fmt::Write as _;
use std::time::Instant;

use chat::tool::ToolOutcome;
use serde_json::{Value, json};

use crate::fixture::TestFolder;

/// Lines that are alike, at the end of each file.
const ALIKE: usize = 1200;

/// A text of this size whose last line is `end`.
fn text(megabytes: usize) -> String {
    let size = megabytes * 1_000_000;
    let mut text = String::with_capacity(size);
    let mut number = 0;
    while text.len() + ALIKE * 5 + 100 < size {
        number += 1;
        let _ = writeln!(
            text,
            "{number} some words of a line that is like many others"
        );
    }
    text.push_str(&"same\n".repeat(ALIKE));
    text.push_str("end\n");
    text
}

async fn timed(place: &TestFolder, tool: &str, input: Value, figures: &mut String) -> ToolOutcome {
    let begun = Instant::now();
    let outcome = place.call(tool, input).await;
    let _ = write!(figures, "  {tool} {:?}", begun.elapsed());
    outcome
}

fn content(outcome: ToolOutcome) -> String {
    let (ToolOutcome::Done { content, .. }
    | ToolOutcome::Failed(content)
    | ToolOutcome::Cancelled(content)) = outcome;
    content
}

#[tokio::test]
async fn a_large_file_is_read_searched_and_edited_to_its_end() {
    let all = std::env::var_os("FLEMMA_PROVE").is_some();
    for &megabytes in if all { &[1, 10, 60][..] } else { &[1] } {
        let text = text(megabytes);
        let last = text.lines().count();
        let place = TestFolder::new().with("a", &text);
        let mut figures = format!("{megabytes} MB:");
        let edit = |old: &str| json!({"label": "", "path": "a", "oldText": old, "newText": "new"});
        let several = timed(&place, "edit", edit("same"), &mut figures).await;
        let several = content(several);
        assert!(several.contains("at least 1000 places"), "{several}");
        let first = format!("lines {}, {}", last - ALIKE, last - ALIKE + 1);
        assert!(several.contains(&first), "{several}");
        let edited = timed(&place, "edit", edit("end"), &mut figures).await;
        assert_eq!(
            content(edited),
            format!("Applied the edit to a at line {last}.")
        );
        let input = json!({"label": "", "path": "a", "offset": last, "limit": null});
        let read = timed(&place, "read", input, &mut figures).await;
        assert_eq!(content(read), "new");
        let input =
            json!({"label": "", "pattern": "^new$", "path": "a", "glob": null, "limit": null});
        let found = timed(&place, "grep", input, &mut figures).await;
        assert!(content(found).starts_with(&format!("a:{last}:new\n")));
        let input = json!({"label": "", "path": "b", "content": text});
        let written = timed(&place, "write", input, &mut figures).await;
        assert!(content(written).starts_with("Wrote "));
        // The figures are printed with --nocapture and not asserted.
        eprintln!("{figures}");
    }
}
