//! Inspects an editor: text, cursor, messages, and virtual text; all of them after a failed wait.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::Editor;

/// Virtual text or a virtual line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// The line of its extmark, zero-based.
    pub line: usize,
    /// The text without highlights.
    pub text: String,
}

/// Returns the extmarks of the current buffer as `{line, text}`: virtual lines if the argument is
/// true, and otherwise virtual text.
const DRAWN: &str = r#"
    local want_lines = ...
    local drawn = {}
    local function add(line, chunks)
      local text = {}
      for _, chunk in ipairs(chunks) do
        table.insert(text, chunk[1])
      end
      table.insert(drawn, { line = line, text = table.concat(text) })
    end
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true })) do
      local details = mark[4]
      if want_lines then
        for _, chunks in ipairs(details.virt_lines or {}) do
          add(mark[2], chunks)
        end
      elseif details.virt_text then
        add(mark[2], details.virt_text)
      end
    end
    return drawn
"#;

impl Editor {
    /// The lines of the current buffer.
    #[track_caller]
    pub fn lines(&self) -> Vec<String> {
        strings(&self.request("nvim_buf_get_lines", json!([0, 0, -1, true])))
    }

    /// The text of the current buffer, each line with its newline.
    #[track_caller]
    pub fn text(&self) -> String {
        self.lines().join("\n") + "\n"
    }

    /// The line and byte column of the cursor, zero-based.
    #[track_caller]
    pub fn cursor(&self) -> (usize, usize) {
        let at = self.request("nvim_win_get_cursor", json!([0]));
        let part = |index: usize| at[index].as_u64().unwrap_or(0) as usize;
        (part(0).saturating_sub(1), part(1))
    }

    /// The output of `:messages`.
    #[track_caller]
    pub fn messages(&self) -> String {
        let output = self.request("nvim_exec2", json!(["messages", {"output": true}]));
        output["output"].as_str().unwrap_or_default().to_owned()
    }

    /// The virtual lines of the current buffer, from top to bottom.
    #[track_caller]
    pub fn virtual_lines(&self) -> Vec<Drawn> {
        drawn(&self.lua(DRAWN, &json!([true])))
    }

    /// The virtual text in the current buffer.
    #[track_caller]
    pub fn virtual_text(&self) -> Vec<Drawn> {
        drawn(&self.lua(DRAWN, &json!([false])))
    }

    /// The rows of the screen in the last frame.
    pub fn screen(&self) -> Vec<String> {
        self.screen.rows()
    }

    /// The highlight groups of the cell `columns` right of where `text` first starts on the screen, topmost
    /// last. `None` if the text is not on the screen. Text and groups are of the same frame.
    pub fn highlight_of(&self, text: &str, columns: usize) -> Option<Vec<String>> {
        self.screen.groups_of(text, columns)
    }

    /// The number of frames that Neovim has drawn.
    pub fn frames(&self) -> u64 {
        self.screen.frames()
    }

    /// Waits until the number of frames differs from `seen`, for at most `patience`.
    pub fn wait_frame(&self, seen: u64, patience: Duration) {
        self.screen.wait_frame(seen, patience);
    }

    /// The state to print after a failure. Neither fails nor hangs if Neovim is blocked or gone.
    pub(crate) fn report(&self) -> String {
        let mut report = String::new();
        let mut section = |title: &str, text: &str| {
            let _ = writeln!(report, "--- {title}\n{}", text.trim_end());
        };
        section("mode", &self.peek("nvim_get_mode", json!([])));
        let code = "return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n')";
        section("buffer", &self.peek("nvim_exec_lua", json!([code, []])));
        section("screen", &self.screen().join("\n"));
        let code = "return vim.fn.execute('messages')";
        section("messages", &self.peek("nvim_exec_lua", json!([code, []])));
        for (name, text) in logs(&self.state()) {
            section(&name, &text);
        }
        report
    }

    fn peek(&self, method: &str, parameters: Json) -> String {
        match self.try_request(method, parameters, Duration::from_secs(1)) {
            Some(Ok(value)) => match value.as_str() {
                Some(text) => text.to_owned(),
                None => value.to_string(),
            },
            Some(Err(error)) => format!("(error: {error})"),
            None => "(no answer: Neovim waits for a key, is busy, or is gone)".to_owned(),
        }
    }
}

fn strings(list: &Json) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items
        .map(|item| item.as_str().unwrap_or_default().to_owned())
        .collect()
}

fn drawn(list: &Json) -> Vec<Drawn> {
    let items = list.as_array().into_iter().flatten();
    items
        .map(|item| Drawn {
            line: item["line"].as_u64().unwrap_or(0) as usize,
            text: item["text"].as_str().unwrap_or_default().to_owned(),
        })
        .collect()
}

/// The name and last 60 lines of each log below `folder`.
fn logs(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(logs(&path));
        } else if path.extension().is_some_and(|extension| extension == "log") {
            let text = fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            let lines: Vec<&str> = text.lines().collect();
            let tail = lines[lines.len().saturating_sub(60)..].join("\n");
            found.push((entry.file_name().to_string_lossy().into_owned(), tail));
        }
    }
    found
}
