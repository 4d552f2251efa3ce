//! Files in every format, open in every way, and the three tools that know open files:
//! the file, the buffer, and the result agree.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use harness::{Answer, Editor, Provider};
use rustix::buffer::spare_capacity;
use rustix::fs::{XattrFlags, getxattr, setxattr};
use serde_json::{Value as Json, json};

use crate::stage::*;

const ACL: &str = "system.posix_acl_access";

/// The forms of files, with their content.
const FORMS: [(&str, &[u8]); 11] = [
    ("lf", b"one\ntwo\nthree\n"),
    ("crlf", b"one\r\ntwo\r\nthree\r\n"),
    ("cr", b"one\rtwo\rthree\r"),
    ("mixed", b"one\r\ntwo\nthree\r\n"),
    ("unended", b"one\r\ntwo\r\nthree"),
    ("mark", b"\xef\xbb\xbfone\ntwo\nthree\n"),
    ("latin1", b"one \xe9\ntwo\nthree\n"),
    (
        "utf16",
        b"\xff\xfeo\0n\0e\0\n\0t\0w\0o\0\n\0t\0h\0r\0e\0e\0\n\0",
    ),
    ("readonly", b"one\ntwo\nthree\n"),
    ("symlink", b"one\ntwo\nthree\n"),
    ("acl", b"one\ntwo\nthree\n"),
];
const STATES: [&str; 4] = ["closed", "open", "modified", "changed"];
const TOOLS: [&str; 3] = ["read", "edit", "write"];
/// The text that `write` stores.
const NEW: &str = "new\ntext\u{20ac}";

/// A row of the table.
#[derive(Clone, Copy)]
struct Row {
    form: &'static str,
    bytes: &'static [u8],
    state: &'static str,
    tool: &'static str,
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (form, bytes) in FORMS {
        for state in STATES {
            for tool in TOOLS {
                rows.push(Row {
                    form,
                    bytes,
                    state,
                    tool,
                });
            }
        }
    }
    rows
}

/// Replaces a word in any of the encodings.
fn with(bytes: &[u8], old: &str, new: &str) -> Vec<u8> {
    let wide = |text: &str| text.bytes().flat_map(|byte| [byte, 0]).collect::<Vec<u8>>();
    for (old, new) in [(old.into(), new.into()), (wide(old), wide(new))] {
        if let Some(at) = bytes.windows(old.len()).position(|it| *it == old[..]) {
            return [&bytes[..at], &new[..], &bytes[at + old.len()..]].concat();
        }
    }
    panic!("{old} is not in {}", bytes.escape_ascii());
}

impl Row {
    fn name(&self) -> String {
        format!("{}-{}-{}", self.form, self.state, self.tool)
    }

    fn input(&self) -> Json {
        let path = self.name();
        match self.tool {
            "read" => file(&path),
            "edit" => json!({"label": "", "path": path, "oldText": "two", "newText": "2\n2"}),
            _ => json!({"label": "", "path": path, "content": NEW}),
        }
    }

    fn prepare(&self, folder: &Path) {
        let path = folder.join(self.name());
        fs::write(&path, self.bytes).unwrap();
        match self.form {
            "readonly" => fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap(),
            "symlink" => {
                let target = folder.join(format!("{}.target", self.name()));
                fs::rename(&path, &target).unwrap();
                symlink(&target, &path).unwrap();
            }
            // Some file systems don't support access control lists.
            "acl" => drop(setxattr(&path, ACL, &list(), XattrFlags::empty())),
            _ => {}
        }
    }

    /// The file on disk when the call starts.
    fn before(&self) -> Vec<u8> {
        match self.state {
            "changed" => with(self.bytes, "three", "third"),
            _ => self.bytes.to_vec(),
        }
    }

    /// Returns true if the call must fail.
    fn fails(&self) -> bool {
        self.form == "readonly" && self.tool != "read" && self.state != "modified"
    }

    /// The file on disk when the call has ended.
    fn after(&self) -> Vec<u8> {
        let newline = match self.form {
            "crlf" | "unended" => "\r\n",
            "cr" => "\r",
            _ => "\n",
        };
        match self.tool {
            _ if self.fails() || self.state == "modified" => self.before(),
            "edit" => with(&self.before(), "two", &format!("2{newline}2")),
            "write" => NEW.as_bytes().to_vec(),
            _ => self.before(),
        }
    }

    #[track_caller]
    fn check(&self, editor: &Editor, said: &str) {
        let path = editor.dir().join(self.name());
        let (disk, name) = (fs::read(&path).unwrap(), self.name());
        let expected = self.after();
        assert!(disk == expected, "{name}: {} {said}", disk.escape_ascii());
        assert_eq!(said.contains("(error)"), self.fails(), "{name}: {said}");
        let unsaved = self.state == "modified" && self.tool != "read";
        assert_eq!(said.contains("not on disk yet"), unsaved, "{name}: {said}");
        if self.tool == "read" {
            let third = if self.state == "changed" {
                "third"
            } else {
                "three"
            };
            assert!(
                said.contains("two") && said.contains(third),
                "{name}: {said}"
            );
            assert_eq!(
                said.contains("mine"),
                self.state == "modified",
                "{name}: {said}"
            );
        }
        if self.tool == "write" && !self.fails() {
            let size = format!("Wrote {} bytes", NEW.len());
            assert!(said.contains(&size), "{name}: {said}");
        }
        if self.form == "symlink" {
            assert!(fs::symlink_metadata(&path).unwrap().is_symlink(), "{name}");
        }
        if self.form == "acl" {
            let kept = attribute(&path);
            assert!(kept.is_none_or(|it| it == list()), "{name}");
        }
        if self.state != "closed" {
            self.check_buffer(editor, &expected);
        }
    }

    #[track_caller]
    fn check_buffer(&self, editor: &Editor, disk: &[u8]) {
        let code = "local buffer = vim.fn.bufnr(...)\n\
                    local text = require('flemma.files.text')\n\
                    local form = text.form_of(buffer)\n\
                    local bytes = text.encode(text.of(buffer), form.encoding) or ''\n\
                    return { vim.text.hexencode(bytes), vim.bo[buffer].modified }";
        let found = editor.lua(code, &json!([self.name()]));
        let (name, modified) = (self.name(), self.state == "modified");
        assert_eq!(found[1], json!(modified), "{name}");
        let held = found[0].as_str().unwrap().to_lowercase();
        let hex: String = disk.iter().map(|byte| format!("{byte:02x}")).collect();
        if !modified {
            assert_eq!(held, hex, "{name}");
        } else if self.tool == "write" {
            let new: String = NEW.bytes().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(held, new, "{name}");
        } else {
            assert_ne!(held, hex, "{name}");
        }
    }
}

/// An access control list in Linux's format: another user may read, and the group has no access.
fn list() -> Vec<u8> {
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in [
        (1u16, 6u16, u32::MAX),
        (2, 4, 12_345),
        (4, 0, u32::MAX),
        (16, 6, u32::MAX),
        (32, 0, u32::MAX),
    ] {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

fn attribute(path: &Path) -> Option<Vec<u8>> {
    let mut value = Vec::with_capacity(1024);
    getxattr(path, ACL, spare_capacity(&mut value)).ok()?;
    Some(value)
}

#[test]
fn file_buffer_and_result_agree_in_every_case() {
    let rows = rows();
    let answer = |(number, row): (usize, &Row)| (format!("t_{number}"), row.tool, row.input());
    let calls = rows.iter().enumerate().map(answer);
    let answer = calls.fold(Answer::new(), |all, (id, tool, input)| {
        all.tool_use(&id, tool, &input)
    });
    let provider = Provider::anthropic([answer]);
    let options = json!({"tools": {"require_approval": false}});
    let setup = with_options(&provider, options).file("question.chat", QUESTION);
    // One session runs all rows, which takes long on a busy machine.
    let editor = setup.patience(Duration::from_secs(60)).start();
    editor.command("set noautoread hidden");
    for row in &rows {
        row.prepare(&editor.dir());
    }
    let open: Vec<_> = rows.iter().filter(|row| row.state != "closed").collect();
    for row in &open {
        let mac = if row.form == "cr" { "++ff=mac " } else { "" };
        editor.command(&format!("silent edit {mac}{}", row.name()));
        if row.state == "modified" {
            // With 'readonly', Neovim would warn and wait at the first change.
            editor.command("set noreadonly | call append('$', 'mine')");
        }
    }
    editor.command("buffer question.chat");
    for row in rows.iter().filter(|row| row.state == "changed") {
        let path = editor.dir().join(row.name());
        // Needed unless the tests run as root.
        let mode = fs::metadata(&path).unwrap().permissions();
        if row.form == "readonly" {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        }
        fs::write(&path, row.before()).unwrap();
        fs::set_permissions(&path, mode).unwrap();
    }
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nDone.");
    let text = editor.text();
    for (number, row) in rows.iter().enumerate() {
        let start = text
            .find(&format!("**Tool Result:** `t_{number}`"))
            .unwrap();
        let rest = &text[start..];
        let end = rest[1..]
            .find("**Tool Result:**")
            .map_or(rest.len(), |at| at + 1);
        row.check(&editor, &rest[..end]);
    }
}
