//! Pages of PDF documents that models look at.
//!
//! Blocking, because a document is read as a whole. The host reads it in a process of its own, because
//! a small file can say that it has any number of objects, and the parser has no limit for all of them.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chat::prompt::{Attachment, Content};
use chat::result_files::{ResultFile, line};
use chat::truncate::format_size;
use lopdf::{Document, LoadOptions, Object, ObjectId};

use crate::process::{limit_this_process, own_program};

/// Maximum bytes of a PDF file (32 MB).
pub(crate) const MAX_FILE: u64 = 32 * 1024 * 1024;
/// Maximum pages of a result. A page has up to 2,350 tokens, and a request to Anthropic may have 100
/// pages (platform.claude.com, "PDF support", as of 2026).
const MOST_PAGES: usize = 20;
/// Maximum bytes of a document that is sent, so that a request has room for several: the least limit
/// of a request is 32 MB (same page).
const MAX_SENT: usize = 8 * 1024 * 1024;
/// Maximum bytes of one stream of objects once it is decompressed; usual ones have 100 KB.
const MAX_STREAM: usize = 8 * 1024 * 1024;
/// Entries of the catalog that are needed to draw pages. The others, such as bookmarks, name pages
/// that are left out.
const CATALOG: [&[u8]; 4] = [b"Type", b"Version", b"Pages", b"OCProperties"];

/// The first argument of the process that reads a document; see [`read_pages`].
pub const PAGES: &str = "--pages";
/// Maximum bytes of memory of that process (512 MB), 16 times the largest file.
const MEMORY: u64 = 512 * 1024 * 1024;
/// Maximum seconds of processor time of that process.
const SECONDS: u64 = 20;

/// Held while a document is read, so that several calls need the memory of one.
static READING: Mutex<()> = Mutex::new(());

/// Pages of a document, counted from 1, with the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pages {
    first: usize,
    last: usize,
}

impl Pages {
    /// Reads pages as a model writes them: "3" or "1-5".
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (1 <= first && first <= last).then_some(Self { first, last })
    }

    fn count(self) -> usize {
        self.last - self.first + 1
    }
}

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count() {
            1 => write!(f, "page {}", self.first),
            _ => write!(f, "pages {}-{}", self.first, self.last),
        }
    }
}

/// Returns pages of a document for the result of a call, or all of them. Blocking.
///
/// # Errors
///
/// They cannot be shown: a sentence that follows the document's name.
pub(crate) fn result_file(
    name: &str,
    bytes: Vec<u8>,
    asked: Option<Pages>,
) -> Result<ResultFile, String> {
    let _one = READING.lock().unwrap_or_else(PoisonError::into_inner);
    let (fact, part) = match own_program() {
        Some(program) => {
            let mut command = Command::new(program);
            selected_by(command.arg(PAGES), &bytes, asked)?
        }
        None => selected(&bytes, asked)?,
    };
    let bytes = part.unwrap_or(bytes);
    if bytes.len() > MAX_SENT {
        let (size, limit) = (
            format_size(bytes.len() as u64),
            format_size(MAX_SENT as u64),
        );
        return Err(format!(
            "cannot be shown: {fact} have {size}, over the limit of {limit}. Read fewer pages."
        ));
    }
    let digest = blake3::hash(&bytes).to_hex();
    Ok(ResultFile {
        line: line("PDF", name, &[fact], bytes.len() as u64, &digest),
        file: Attachment {
            name: name.to_owned(),
            language: String::new(),
            content: Content::Pdf {
                base64: STANDARD.encode(bytes),
            },
        },
    })
}

/// Pages of a document, in words, and the document with only these, unless they are all.
type Selected = (String, Option<Vec<u8>>);

fn selected(bytes: &[u8], asked: Option<Pages>) -> Result<Selected, String> {
    let mut document = loaded(bytes)?;
    let count = document.get_pages().len();
    let all = Pages {
        first: 1,
        last: count,
    };
    let pages = asked.unwrap_or(all);
    check(pages, count)?;
    if pages == all {
        return Ok((plural(count), None));
    }
    let fact = format!("{pages} of {count}");
    Ok((fact, Some(only(&mut document, pages, count)?)))
}

/// Does the same in a process, whose program calls [`read_pages`].
fn selected_by(
    command: &mut Command,
    bytes: &[u8],
    asked: Option<Pages>,
) -> Result<Selected, String> {
    let asked = asked.map(|it| format!("{}-{}", it.first, it.last));
    let child = command
        .args(asked)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let ran = child.and_then(|mut child| {
        let input = child.stdin.take();
        std::thread::scope(|scope| {
            // If this fails, the process has ended and says why.
            scope.spawn(move || input.map(|mut it| it.write_all(bytes)));
            child.wait_with_output()
        })
    });
    let ran =
        ran.map_err(|error| format!("cannot be read, because no process can do it: {error}."))?;
    let said = ran.stdout;
    match ran.status.code() {
        Some(0) => {
            let end = said.iter().position(|byte| *byte == b'\n');
            let (fact, part) = said.split_at(end.unwrap_or(said.len()));
            let part = part.get(1..).filter(|it| !it.is_empty());
            let fact = String::from_utf8_lossy(fact).into_owned();
            Ok((fact, part.map(<[u8]>::to_vec)))
        }
        Some(1) if !said.is_empty() => Err(String::from_utf8_lossy(&said).into_owned()),
        _ => Err(format!(
            "cannot be read as a PDF: that takes more than {} of memory or {SECONDS} seconds.",
            format_size(MEMORY)
        )),
    }
}

/// Runs as a process that reads a document from its standard input, within limits of memory and time.
/// `words` are the pages, if not all. Writes what these are and, on the next line, the document with only
/// these, unless they are all; or why that is not possible.
pub fn read_pages(words: &[OsString]) -> ExitCode {
    limit_this_process(MEMORY, SECONDS);
    let asked = words.first().and_then(|it| Pages::parse(it.to_str()?));
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes);
    let found = match read {
        Ok(_) => selected(&bytes, asked),
        Err(error) => Err(format!("cannot be read: {error}.")),
    };
    let mut output = io::stdout().lock();
    let (said, code) = match found {
        Ok((fact, part)) => {
            let line = format!("{fact}\n").into_bytes();
            ([line, part.unwrap_or_default()].concat(), ExitCode::SUCCESS)
        }
        Err(why) => (why.into_bytes(), ExitCode::FAILURE),
    };
    match output.write_all(&said).and_then(|()| output.flush()) {
        Ok(()) => code,
        Err(_) => ExitCode::FAILURE,
    }
}

fn loaded(bytes: &[u8]) -> Result<Document, String> {
    let options = LoadOptions {
        max_decompressed_size: Some(MAX_STREAM),
        ..LoadOptions::default()
    };
    let document = Document::load_mem_with_options(bytes, options)
        .map_err(|error| format!("cannot be read as a PDF: {error}."))?;
    // Providers refuse these (platform.claude.com, "PDF support", as of 2026).
    if document.is_encrypted() || document.was_encrypted() {
        return Err("is encrypted. Decrypt a copy of it, and read that.".to_owned());
    }
    Ok(document)
}

fn check(pages: Pages, count: usize) -> Result<(), String> {
    if count == 0 {
        return Err("cannot be read as a PDF: it has no pages.".to_owned());
    }
    if pages.last > count {
        return Err(format!("has {}, but you asked for {pages}.", plural(count)));
    }
    if pages.count() > MOST_PAGES {
        return Err(format!(
            "has {}, and at most {MOST_PAGES} are shown at once. Say which with pages, for example \
             \"1-{MOST_PAGES}\".",
            plural(count)
        ));
    }
    Ok(())
}

/// Returns a document that has only these pages of one with `count`.
fn only(document: &mut Document, pages: Pages, count: usize) -> Result<Vec<u8>, String> {
    let is_left_out = |page: &usize| !(pages.first..=pages.last).contains(page);
    let left_out = (1..=count).filter(is_left_out);
    let left_out: Vec<u32> = left_out.filter_map(|it| u32::try_from(it).ok()).collect();
    let failed = |error: &dyn fmt::Display| format!("cannot be read as a PDF: {error}.");
    let catalog = document.catalog_mut().map_err(|error| failed(&error))?;
    let unneeded = catalog.iter().map(|(key, _)| key.clone());
    let unneeded: Vec<Vec<u8>> = unneeded
        .filter(|it| !CATALOG.contains(&it.as_slice()))
        .collect();
    for key in unneeded {
        catalog.remove(&key);
    }
    if has_loop(document) {
        return Err("cannot be read as a PDF: its page tree has a loop.".to_owned());
    }
    document.delete_pages(&left_out);
    document.prune_objects();
    let mut bytes = Vec::new();
    document
        .save_to(&mut bytes)
        .map_err(|error| failed(&error))?;
    Ok(bytes)
}

/// Returns true if a page is above itself, where the parser would search without end.
fn has_loop(document: &Document) -> bool {
    let parent = |id: ObjectId| {
        let page = document.get_dictionary(id).ok()?;
        page.get(b"Parent").and_then(Object::as_reference).ok()
    };
    let mut known = HashSet::new();
    document.get_pages().into_values().any(|page| {
        let (mut above, mut next) = (HashSet::new(), Some(page));
        while let Some(id) = next.filter(|it| !known.contains(it)) {
            if !above.insert(id) {
                return true;
            }
            next = parent(id);
        }
        known.extend(above);
        false
    })
}

fn plural(count: usize) -> String {
    match count {
        1 => "1 page".to_owned(),
        count => format!("{count} pages"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use lopdf::{Object, Stream, dictionary};

    use super::*;

    /// Returns a document with this many pages, whose contents are their numbers.
    fn pdf(count: usize) -> Vec<u8> {
        let mut document = Document::with_version("1.5");
        let tree = document.new_object_id();
        let pages = (1..=count).map(|number| {
            let text = format!("% page {number} of the test\n").into_bytes();
            let contents = document.add_object(Stream::new(dictionary! {}, text));
            let page = dictionary! {
                "Type" => "Page", "Parent" => tree, "Contents" => contents,
                "MediaBox" => vec![0.into(), 0.into(), 100.into(), 100.into()],
            };
            Object::Reference(document.add_object(page))
        });
        let pages: Vec<Object> = pages.collect();
        let bookmarks: Vec<Object> = pages.clone();
        let count = i64::try_from(count).unwrap();
        let kids = dictionary! {"Type" => "Pages", "Kids" => pages, "Count" => count};
        document.objects.insert(tree, kids.into());
        let catalog = dictionary! {"Type" => "Catalog", "Pages" => tree, "Threads" => bookmarks};
        let catalog = document.add_object(catalog);
        document.trailer.set("Root", catalog);
        let mut bytes = Vec::new();
        document.save_to(&mut bytes).unwrap();
        bytes
    }

    fn sent(file: &ResultFile) -> Vec<u8> {
        let Content::Pdf { base64 } = &file.file.content else {
            panic!("{file:?}");
        };
        STANDARD.decode(base64).unwrap()
    }

    fn pages(text: &str) -> Option<Pages> {
        let pages = Pages::parse(text);
        assert!(pages.is_some(), "{text}");
        pages
    }

    #[test]
    fn a_short_document_is_sent_as_it_is() {
        let bytes = pdf(3);
        for asked in [None, pages("1-3")] {
            let file = result_file("a.pdf", bytes.clone(), asked).unwrap();
            assert_eq!(sent(&file), bytes);
            assert!(
                file.line.starts_with("[PDF a.pdf, 3 pages, "),
                "{}",
                file.line
            );
        }
    }

    #[test]
    fn a_part_of_a_document_has_only_its_pages() {
        let bytes = pdf(5000);
        for (asked, shown, count) in [
            ("2-4", "pages 2-4 of 5000", 3),
            ("5000", "page 5000 of 5000", 1),
        ] {
            let file = result_file("a.pdf", bytes.clone(), pages(asked)).unwrap();
            assert!(
                file.line.starts_with(&format!("[PDF a.pdf, {shown}, ")),
                "{}",
                file.line
            );
            let part = sent(&file);
            assert!(part.len() < 2000, "{}", part.len());
            let part = Document::load_mem(&part).unwrap();
            assert_eq!(part.get_pages().len(), count);
            let first = part.get_page_content(part.get_pages()[&1]);
            let number = asked.split('-').next().unwrap();
            let text = String::from_utf8(first).unwrap();
            assert!(text.starts_with(&format!("% page {number} of")), "{text}");
        }
    }

    #[test]
    fn too_many_pages_are_asked_about() {
        let failed = |asked| result_file("a.pdf", pdf(30), asked).unwrap_err();
        let why = "has 30 pages, and at most 20 are shown at once. Say which with pages, for example \"1-20\".";
        assert_eq!(failed(None), why);
        assert_eq!(failed(pages("1-21")), why);
        assert_eq!(
            failed(pages("29-31")),
            "has 30 pages, but you asked for pages 29-31."
        );
    }

    #[test]
    fn pages_above_themselves_are_no_search_without_end() {
        let mut document = Document::load_mem(&pdf(2)).unwrap();
        let tree = document.catalog().unwrap().get(b"Pages").unwrap();
        let tree = tree.as_reference().unwrap();
        let pages_of = document.get_object_mut(tree).unwrap();
        pages_of.as_dict_mut().unwrap().set("Parent", tree);
        let mut bytes = Vec::new();
        document.save_to(&mut bytes).unwrap();
        assert_eq!(
            result_file("a.pdf", bytes, pages("1")).unwrap_err(),
            "cannot be read as a PDF: its page tree has a loop."
        );
    }

    #[test]
    fn a_broken_document_is_refused() {
        for bytes in [
            &b"%PDF-1.7\n"[..],
            b"%PDF-1.7\nhello\n%%EOF\n",
            &pdf(3)[..60],
        ] {
            let why = result_file("a.pdf", bytes.to_vec(), None).unwrap_err();
            assert!(why.starts_with("cannot be read as a PDF: "), "{why}");
        }
    }

    #[test]
    fn pages_are_a_number_or_two() {
        for wrong in ["", "0", "a", "3-2", "-2", "1-", "1,2", "0-3", "-"] {
            assert_eq!(Pages::parse(wrong), None, "{wrong}");
        }
        assert_eq!(pages("7"), pages("7 - 7"));
    }
}
