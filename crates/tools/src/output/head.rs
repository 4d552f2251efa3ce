//! A text that a tool returns whole: its beginning for the model, all of it on disk when
//! that is not everything.

use std::path::Path;

use chat::truncate::{MAX_BYTES, floor_char_boundary, format_size, truncate_head};

use super::capture::FullOutput;
use super::overflow::Overflow;

/// The text, or its beginning with a notice. The file will be in `directory`, named
/// after the tool and the call.
pub(crate) async fn head(text: String, directory: &Path, name: &str, id: &str) -> String {
    let text = text.replace('\0', "␀");
    let kept = truncate_head(&text);
    if kept.truncated_by.is_none() {
        return text;
    }
    let mut overflow = Overflow::new(directory, name, id);
    overflow.open().await;
    overflow.write(&text).await;
    let full = match overflow.finish(false).await {
        Some(FullOutput::Whole(path)) => format!("Full result: {}", path.display()),
        Some(FullOutput::Start(path)) => format!("The first 100 MB: {}", path.display()),
        Some(FullOutput::Lost(why)) => format!("The full result could not be kept: {why}"),
        None => String::new(),
    };
    let (content, shown) = if kept.first_line_exceeds_limit {
        // One long line, as JSON is.
        let content = &text[..floor_char_boundary(&text, MAX_BYTES)];
        let size = format_size(content.len() as u64);
        (
            content,
            format!("the first {size} of line 1 of {}", kept.total_lines),
        )
    } else {
        let shown = format!("lines 1-{} of {}", kept.output_lines, kept.total_lines);
        (kept.content, shown)
    };
    format!("{content}\n\n[Showing {shown}. {full}]")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_long_result_is_on_disk_whole_and_says_where() {
        let folder = tempfile::tempdir().unwrap();
        for (text, shown) in [
            (
                "x\n".repeat(2001),
                "Showing lines 1-2000 of 2001. Full result: ",
            ),
            (
                "é".repeat(40_000),
                "Showing the first 50.0 KB of line 1 of 1. Full result: ",
            ),
        ] {
            let told = head(text.clone(), folder.path(), "t", "id").await;
            assert!(told.contains(shown), "{}", &told[told.len() - 200..]);
            let path = told.rsplit(": ").next().unwrap().trim_end_matches(']');
            assert_eq!(std::fs::read_to_string(path).unwrap(), text);
        }
        assert_eq!(
            head("a\nb".to_owned(), folder.path(), "t", "id").await,
            "a\nb"
        );
    }
}
