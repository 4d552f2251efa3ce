//! The ledger of what was sent: the contents that a chat's requests had and its text does not
//! have. Later requests repeat them, so that they begin as the earlier ones did: models that
//! sign their thinking reject it after any change before it, and caches begin anew.
//!
//! It keeps the value of each reference, the files of results, answers in the form of their
//! provider, and the lists of tools, in a folder of the state folder that only the user can read.
//! The folder belongs to one chat file on one machine. Values are stored by their digest, and found
//! by the hash of everything before them in the chat, so an earlier edit makes them unfindable.

mod clean;
mod lines;
mod record;
mod store;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chat::document::{Document, Message, Role};
use chat::prompt::{Attachment, Prompt, own_text};
use chat::result_files::{self, ResultFile, Unattached};
use chat::server_tools::ExactAnswer;
use chat::summary::{SignedSummary, Summary};
use chat::tool::{ToolDefinition, ToolUseId};
use chat::{context, shorten, summary};
use policy::references::{Found, Value};
use provider::WebTools;
use tools::objects::{Hash, Hasher};

pub use self::lines::{AnswerHasher, Places, SentText, answer_hash};
pub use self::record::{Answered, SentReference, SentSummary};
use self::record::{Record, SentExact, SentTool, Signed, SignedContent};
use self::store::Store;

/// A record of what one chat sent.
#[derive(Default)]
pub struct Ledger {
    /// The chat's file; `None` if it has none so far.
    chat: Option<PathBuf>,
    /// The folder on disk; `None` for a chat without a file, or if it cannot be used.
    store: Option<Store>,
    references: HashMap<Hash, SentReference>,
    /// Content of the tools of the first request.
    tools: Option<Hash>,
    /// Contents of tools that were added later, by the place below which they were added.
    added: HashMap<Hash, Hash>,
    /// Places above which the model's thinking was refused.
    refused: HashSet<Hash>,
    /// Files that results show, by the hash of the call's id and the line about them.
    result_files: HashMap<Hash, SentReference>,
    /// Results that are sent shortened, by the hash of their id and content.
    shortened: HashSet<Hash>,
    /// Answers in the form in which their provider sent them, by the hash of their text in the chat.
    exact: HashMap<Hash, SentExact>,
    /// Summaries that count, by the hash of their comment.
    summaries: HashMap<Hash, SentSummary>,
    text: Option<SentText>,
    answered: Option<Answered>,
    /// Contents that are not on disk.
    contents: HashMap<Hash, Vec<u8>>,
    /// Tools as they were read from their contents, because each request needs them.
    definitions: HashMap<Hash, Arc<[ToolDefinition]>>,
    /// Records that are not on disk.
    unwritten: Vec<Record>,
    is_text_unwritten: bool,
}

/// The contents of a request, to be recorded.
#[derive(Default)]
pub struct Sending {
    /// Values that were found, with their places.
    pub found: Vec<(Hash, Found)>,
    /// The tools of the request, if it is the chat's first.
    pub tools: Option<Vec<ToolDefinition>>,
    /// Tools that this request offers in addition, with the place below which they are added.
    pub added: Option<(Hash, Vec<ToolDefinition>)>,
    /// The lines that are sent.
    pub text: SentText,
    /// The summary that the request begins with, if it is not recorded yet.
    pub summary: Option<NewSummary>,
}

/// A summary that begins to count.
#[derive(Debug)]
pub struct NewSummary {
    /// The hash of its comment.
    comment: Hash,
    sent: SentSummary,
    /// The contents that `sent` names.
    contents: Vec<(Hash, Vec<u8>)>,
}

/// A summary that the provider wrote, as it was requested.
#[derive(Debug, Clone)]
pub struct WrittenSummary {
    /// The summary as it came.
    pub summary: SignedSummary,
    /// Digest of the system prompt and of the tools of its request, from [`basis`].
    pub basis: Hash,
    /// True if an earlier summary went with the request as its provider signed it.
    pub is_above_signed: bool,
}

/// A content that was sent and is damaged or missing.
#[derive(Debug, PartialEq, Eq)]
pub struct Damaged;

impl Ledger {
    /// Takes over the file that the chat has now, and what other programs recorded for it.
    /// Blocking.
    pub fn follow(&mut self, state: &Path, chat: Option<&Path>) {
        let Some(chat) = chat else {
            return;
        };
        if self.chat.as_deref() == Some(chat) {
            self.write();
            if self.store.as_ref().is_some_and(Store::has_news) {
                self.read();
            }
            return;
        }
        // A chat that got a name or another one takes along what was sent.
        let mine = std::mem::take(self);
        self.open(state, chat);
        self.adopt(&mine);
    }

    fn open(&mut self, state: &Path, chat: &Path) {
        clean::once(state);
        self.chat = Some(chat.to_owned());
        self.store = Some(Store::of(state, chat));
        self.read();
    }

    fn read(&mut self) {
        let Some(store) = &mut self.store else { return };
        let records = store.read();
        self.text = store.read_text();
        self.references.clear();
        self.added.clear();
        self.refused.clear();
        self.shortened.clear();
        self.summaries.clear();
        self.result_files.clear();
        self.exact.clear();
        (self.tools, self.answered) = (None, None);
        for record in records {
            self.apply(record);
        }
    }

    fn apply(&mut self, record: Record) {
        match record {
            Record::Reference(reference) => {
                drop(self.references.insert(reference.place, reference))
            }
            Record::ResultFile(file) => drop(self.result_files.insert(file.place, file)),
            Record::Exact { answer, exact } => drop(self.exact.insert(answer, exact)),
            Record::Tools(content) => self.tools = Some(content),
            Record::Added { place, content } => drop(self.added.insert(place, content)),
            Record::Answered(answered) => self.answered = Some(answered),
            Record::ThinkingRefused(place) => drop(self.refused.insert(place)),
            Record::Shortened(result) => drop(self.shortened.insert(result)),
            Record::Whole => self.shortened.clear(),
            Record::Summary { comment, summary } => {
                // The earlier answer says nothing about the request that the summary begins.
                if self.summaries.insert(comment, summary).is_none() {
                    self.answered = None;
                }
            }
            Record::Forgotten => {
                self.references.clear();
                self.added.clear();
                self.tools = None;
            }
        }
    }

    /// Adds everything that another ledger has.
    fn adopt(&mut self, other: &Self) {
        let contents = |hash: Hash| other.content(hash).ok().map(|it| (hash, it));
        let all: Vec<_> = other.contents_in_use().into_iter().collect();
        let kept = all.into_iter().filter_map(contents).collect();
        if !other.is_empty() {
            self.record(other.records(), kept);
        }
        if let Some(text) = &other.text {
            self.set_text(text.clone());
        }
        self.write();
    }

    fn is_empty(&self) -> bool {
        self.references.is_empty()
            && self.tools.is_none()
            && self.shortened.is_empty()
            && self.summaries.is_empty()
            && self.result_files.is_empty()
            && self.exact.is_empty()
    }

    fn records(&self) -> Vec<Record> {
        let references = self.references.values().cloned().map(Record::Reference);
        let tools = self.tools.map(Record::Tools);
        let added = self.added.iter();
        let added = added.map(|(&place, &content)| Record::Added { place, content });
        let refused = self.refused.iter().copied().map(Record::ThinkingRefused);
        let answered = self.answered.map(Record::Answered);
        let shortened = self.shortened.iter().copied().map(Record::Shortened);
        let files = self.result_files.values().cloned().map(Record::ResultFile);
        let exact = self.exact.clone().into_iter();
        let exact = exact.map(|(answer, exact)| Record::Exact { answer, exact });
        let summaries = self.summaries.iter();
        let summaries = summaries.map(|(&comment, &summary)| Record::Summary { comment, summary });
        // The answer last, because a summary ends what an earlier one says.
        let others = refused.chain(shortened).chain(files).chain(exact);
        let others = others.chain(summaries).chain(answered);
        references.chain(tools).chain(added).chain(others).collect()
    }

    fn contents_in_use(&self) -> HashSet<Hash> {
        let references = self.references.values().chain(self.result_files.values());
        let references = references.map(|it| it.content);
        let tools = self.tools.iter().chain(self.added.values());
        let exact = self.exact.values().map(|it| &it.content);
        let others = tools.chain(exact).copied();
        let summaries = self.summaries.values();
        let summaries =
            summaries.flat_map(|it| it.tools.into_iter().chain(it.signed.map(|it| it.content)));
        references.chain(others).chain(summaries).collect()
    }

    /// Copies what was sent to the ledger of another chat file. Blocking.
    pub fn copy_to(&self, state: &Path, chat: &Path) {
        let mut copy = Self::default();
        copy.open(state, chat);
        copy.adopt(self);
    }

    /// Returns the value that was sent at a place; `None` if there was none.
    ///
    /// # Errors
    ///
    /// It was sent, and its content is gone or damaged.
    pub fn value(&self, place: Hash) -> Option<Result<Value, Damaged>> {
        let reference = self.references.get(&place)?;
        let content = self.content(reference.content);
        let value = content.ok().and_then(|it| reference.value(it));
        Some(value.ok_or(Damaged))
    }

    /// Returns what was recorded about the reference at a place.
    pub fn reference(&self, place: Hash) -> Option<&SentReference> {
        self.references.get(&place)
    }

    /// Returns the tools of the chat's first request.
    pub fn tools(&mut self) -> Option<Arc<[ToolDefinition]>> {
        self.definitions(self.tools?)
    }

    /// Returns the tools that were added below a place.
    pub fn added(&mut self, place: Hash) -> Option<Arc<[ToolDefinition]>> {
        self.definitions(*self.added.get(&place)?)
    }

    /// Returns true if tools were added after the first request.
    pub fn has_added(&self) -> bool {
        !self.added.is_empty()
    }

    /// Returns the tools that were added to messages above the summary in a message.
    pub fn added_above(&mut self, document: &Document<'_>, summary: usize) -> Vec<ToolDefinition> {
        match self.recorded(document, summary) {
            Some(sent) => self.tools_of(sent),
            None => self.find_added(document, summary),
        }
    }

    /// Returns the tools that were added to messages above `end`, of which a summary may keep some.
    fn find_added(&mut self, document: &Document<'_>, end: usize) -> Vec<ToolDefinition> {
        let mut summaries = (0..end).rev();
        let earlier = summaries.find_map(|at| Some((at, self.recorded(document, at)?)));
        let mut tools = earlier.map_or_else(Vec::new, |(_, sent)| self.tools_of(sent));
        let first = earlier.map_or(0, |(at, _)| at);
        let mut places = self.places(document);
        let messages = document.messages[..end].iter().skip(first);
        for message in messages.filter(|it| it.role == Role::You && !it.is_summary) {
            let added = self.added(places.above(message.lines.end));
            tools.extend(added.iter().flat_map(|it| it.iter().cloned()));
        }
        tools
    }

    fn tools_of(&mut self, summary: SentSummary) -> Vec<ToolDefinition> {
        let tools = summary.tools.and_then(|it| self.definitions(it));
        tools.as_deref().unwrap_or_default().to_vec()
    }

    /// Returns true if the model's thinking above the place was refused.
    pub fn is_refused(&self, place: Hash) -> bool {
        self.refused.contains(&place)
    }

    /// Returns true if thinking of the model was refused.
    pub fn has_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Records that the model's thinking above a place was refused. [`Ledger::write`] stores it.
    pub fn note_refused(&mut self, place: Hash) {
        self.record(vec![Record::ThinkingRefused(place)], Vec::new());
    }

    /// Returns the short form of the result of a call if it is sent shortened.
    pub fn shortened(&self, id: &ToolUseId, content: &str) -> Option<String> {
        // Most chats have none, and a hash of every result takes a while.
        let is_shortened =
            !self.shortened.is_empty() && self.shortened.contains(&result_hash(id, content));
        is_shortened.then(|| shorten::shortened(content)).flatten()
    }

    /// Records that these results are sent shortened, the first of them at `line`. Blocking.
    pub fn shorten<'r>(
        &mut self,
        document: &Document<'_>,
        first: usize,
        line: usize,
        results: impl Iterator<Item = (&'r ToolUseId, &'r str)>,
    ) {
        let records = results.map(|(id, it)| Record::Shortened(result_hash(id, it)));
        self.record(records.collect(), Vec::new());
        self.forget_text_from(document, first, line);
        self.write();
    }

    /// Records that all results are sent whole, of which the first was shortened at `line`. Blocking.
    pub fn send_whole(&mut self, document: &Document<'_>, first: usize, line: usize) {
        self.record(vec![Record::Whole], Vec::new());
        self.forget_text_from(document, first, line);
        self.write();
    }

    /// Notes that the next request, which begins with the message `first`, equals the last one only
    /// above a line.
    fn forget_text_from(&mut self, document: &Document<'_>, first: usize, line: usize) {
        if let Some(text) = &self.text {
            self.set_text(text.above(document, first, line));
        }
    }

    /// Returns the summary that the next request begins with, by its message; 0 if none counts.
    /// `typed` are those whose comment the user typed in this session.
    pub fn summary(&self, document: &Document<'_>, typed: &HashSet<usize>) -> usize {
        let mut summaries = summary::comments(document).map(|(at, _)| at);
        let is_known = |at| key(document, at).is_some_and(|it| self.summaries.contains_key(&it));
        let found = summaries.find(|at| typed.contains(at) || is_known(*at));
        found.unwrap_or(0)
    }

    /// Returns the places of a chat. Those below a summary do not depend on what is above it.
    pub fn places<'d>(&self, document: &'d Document<'d>) -> Places<'d> {
        let summaries = document.messages.iter().enumerate();
        let summaries = summaries.filter(|(_, it)| it.is_summary);
        let starts = summaries.filter_map(|(at, _)| {
            let sent = self.summaries.get(&key(document, at)?)?;
            Some((at, sent.above?))
        });
        Places::new(document, starts.collect())
    }

    /// Returns what was recorded about the summary in a message, unless that was done before
    /// summaries had places.
    fn recorded(&self, document: &Document<'_>, summary: usize) -> Option<SentSummary> {
        let sent = self.summaries.get(&key(document, summary)?)?;
        sent.above.is_some().then_some(*sent)
    }

    /// Returns the place above which the model's thinking is bound to messages that the summary in a
    /// message replaces, if that is sent `as_signed` or as text.
    pub fn bound_thinking(
        &self,
        document: &Document<'_>,
        summary: usize,
        as_signed: bool,
    ) -> Option<Hash> {
        let Some(known) = self.summaries.get(&key(document, summary)?) else {
            // One that was just typed replaces what all answers so far are bound to.
            return (summary > 0).then(|| self.last_answer(document)).flatten();
        };
        match known.signed.filter(|_| as_signed) {
            Some(signed) => signed.thinking,
            None => known.thinking,
        }
    }

    /// Returns the summary in a message as the provider signed it, if neither it nor the system prompt
    /// and the tools, whose digest is `basis`, have changed.
    pub fn signed(
        &self,
        document: &Document<'_>,
        summary: usize,
        basis: impl FnOnce() -> Hash,
    ) -> Option<SignedSummary> {
        let signed = self.summaries.get(&key(document, summary)?)?.signed?;
        let text = own_text(document, &document.messages[summary])?;
        if signed.text != Hash::of(text.as_bytes()) || signed.basis != basis() {
            return None;
        }
        let content = self.content(signed.content).ok()?;
        let SignedContent { content, signature } = serde_json::from_slice(&content).ok()?;
        Some(SignedSummary { content, signature })
    }

    /// Returns the place above the end of the last answer.
    fn last_answer(&self, document: &Document<'_>) -> Option<Hash> {
        let mut messages = document.messages.iter();
        let last = messages.rfind(|it| it.role == Role::Assistant)?;
        Some(self.places(document).above(last.lines.end))
    }

    /// Returns the summary in a message, to be recorded; `None` if it is recorded.
    pub fn new_summary(&mut self, document: &Document<'_>, summary: usize) -> Option<NewSummary> {
        let comment = key(document, summary)?;
        let is_known = self.summaries.contains_key(&comment);
        (!is_known).then(|| self.summary_above(document, summary, comment))
    }

    /// Returns a summary with this comment above the message `end`, or in it.
    fn summary_above(&mut self, document: &Document<'_>, end: usize, comment: Hash) -> NewSummary {
        let line = document.messages.get(end).map(|it| it.lines.start);
        let line = line.unwrap_or_else(|| document.text().line_count());
        let mut sent = SentSummary {
            // Nothing is bound to what a first message replaces.
            thinking: (end > 0).then(|| self.last_answer(document)).flatten(),
            above: Some(self.places(document).above(line)),
            ..SentSummary::default()
        };
        let tools = self.find_added(document, end);
        let contents = keep_tools(&mut sent, tools);
        NewSummary {
            comment,
            sent,
            contents,
        }
    }

    /// Records that a summary counts, which gets its place now, and that the next request equals the
    /// last one only in its instructions. `written` is the summary as the provider wrote it, if it was
    /// not edited. Blocking.
    pub fn note_summary(
        &mut self,
        document: &Document<'_>,
        summary: &Summary,
        written: Option<WrittenSummary>,
    ) {
        let comment = comment_key(&summary.comment());
        let mut new = self.summary_above(document, summary.end(), comment);
        let text = summary.sent_text().unwrap_or_default();
        if let Some(WrittenSummary {
            summary: it,
            basis,
            is_above_signed,
        }) = written
        {
            let content = SignedContent {
                content: it.content,
                signature: it.signature,
            };
            // Strings can always be written.
            let content = serde_json::to_vec(&content).unwrap_or_default();
            // The tools of its request were the first ones. Those that were added since then are
            // offered again below it.
            let tools = self.added_above(document, summary.start());
            new.contents = keep_tools(&mut new.sent, tools);
            new.sent.signed = Some(Signed {
                content: Hash::of(&content),
                text: Hash::of(text.as_bytes()),
                basis,
                thinking: self.bound_thinking(document, summary.start(), is_above_signed),
            });
            new.contents.push((Hash::of(&content), content));
        }
        self.record_summary(new);
        self.set_text(SentText::of(document, document.messages.len()));
        self.write();
    }

    fn record_summary(&mut self, new: NewSummary) {
        let NewSummary {
            comment,
            sent: summary,
            contents,
        } = new;
        self.record(vec![Record::Summary { comment, summary }], contents);
    }

    /// Keeps the files that the result of a call shows. Blocking.
    pub fn keep_files(&mut self, id: &ToolUseId, files: Vec<ResultFile>) {
        let (mut records, mut contents) = (Vec::new(), Vec::new());
        for ResultFile { line, file } in files {
            let found = Found {
                value: Value::File(file),
                file: None,
                is_secret: false,
            };
            let (file, content) = SentReference::of(result_hash(id, &line), found);
            contents.push((file.content, content));
            records.push(Record::ResultFile(file));
        }
        self.record(records, contents);
        self.write();
    }

    /// Returns the file about which the result of a call has a line.
    ///
    /// # Errors
    ///
    /// There was none, or its content is gone or damaged.
    pub fn result_file(&self, id: &ToolUseId, line: &str) -> Result<Attachment, Unattached> {
        let place = result_hash(id, line);
        let file = self.result_files.get(&place).ok_or(Unattached::Unknown)?;
        let content = self.content(file.content).ok();
        match content.and_then(|it| file.value(it)) {
            Some(Value::File(file)) => Ok(file),
            Some(Value::Text(_)) | None => Err(Unattached::Lost),
        }
    }

    /// Keeps an answer in the form in which its provider sent it. `answer` is the hash of its
    /// text in the chat. [`Ledger::write`] stores it.
    pub fn keep_exact(&mut self, answer: Hash, exact: &ExactAnswer) {
        // Strings can always be written.
        let blocks = serde_json::to_vec(&exact.blocks).unwrap_or_default();
        let exact = SentExact {
            provider: exact.provider.clone(),
            content: Hash::of(&blocks),
        };
        let content = (exact.content, blocks);
        self.record(vec![Record::Exact { answer, exact }], vec![content]);
    }

    /// Returns true if the answer of a message is known in the form in which this provider sent it.
    pub fn has_exact(&self, document: &Document<'_>, message: &Message, provider: &str) -> bool {
        self.known_exact(document, message, provider).is_some()
    }

    /// Returns the answer of a message in the form in which this provider sent it; `None` if there is
    /// none, its text was edited, or its content is gone.
    pub fn exact(
        &self,
        document: &Document<'_>,
        message: &Message,
        provider: &str,
    ) -> Option<ExactAnswer> {
        let exact = self.known_exact(document, message, provider)?;
        let blocks = serde_json::from_slice(&self.content(exact.content).ok()?).ok()?;
        Some(ExactAnswer {
            provider: exact.provider.clone(),
            blocks,
        })
    }

    fn known_exact(
        &self,
        document: &Document<'_>,
        message: &Message,
        provider: &str,
    ) -> Option<&SentExact> {
        // Most chats have none, and a hash of every answer takes a while.
        if self.exact.is_empty() {
            return None;
        }
        let exact = self.exact.get(&answer_hash(document, message))?;
        (exact.provider == provider).then_some(exact)
    }

    /// Returns about how many tokens the result of a call has as it is sent.
    pub fn result_tokens(&self, id: &ToolUseId, content: &str) -> f64 {
        let short = self.shortened(id, content);
        let text = short.as_deref().unwrap_or(content);
        let files = result_files::found(id, text, |id, line| {
            let file = self.result_files.get(&result_hash(id, line));
            file.map_or(0.0, SentReference::tokens)
        });
        context::tokens(text.len()) + files.iter().sum::<f64>()
    }

    /// Returns the lines of the latest request.
    pub fn text(&self) -> Option<&SentText> {
        self.text.as_ref()
    }

    /// Returns what the latest answer showed, if its provider counted tokens.
    pub fn answered(&self) -> Option<Answered> {
        self.answered
    }

    /// Returns the tokens that the latest answer counted, if its request began with the summary in a
    /// message; 0 is none.
    pub fn answered_with(&self, document: &Document<'_>, summary: usize) -> Option<u64> {
        let answered = self.answered?;
        (answered.summary == key(document, summary)).then_some(answered.tokens)
    }

    /// Records what a request contained. [`Ledger::write`] stores it.
    pub fn sent(&mut self, sending: Sending) {
        let (mut records, mut contents) = (Vec::new(), Vec::new());
        for (place, found) in sending.found {
            // The user agreed to send the secret once, not to keep a copy of it.
            if found.is_secret {
                continue;
            }
            let (reference, content) = SentReference::of(place, found);
            if self.is_known(&reference) {
                continue;
            }
            contents.push((reference.content, content));
            records.push(Record::Reference(reference));
        }
        if let Some(tools) = sending.tools {
            let (hash, content) = encoded(tools);
            if self.tools != Some(hash) {
                contents.push((hash, content));
                records.push(Record::Tools(hash));
            }
        }
        if let Some((place, tools)) = sending.added {
            let (content, bytes) = encoded(tools);
            contents.push((content, bytes));
            records.push(Record::Added { place, content });
        }
        self.record(records, contents);
        // One that the user typed counts from now on, also in another session.
        if let Some(summary) = sending.summary {
            self.record_summary(summary);
        }
        self.set_text(sending.text);
    }

    /// Returns true if this is what the ledger has at the place already.
    fn is_known(&self, reference: &SentReference) -> bool {
        let known = self.references.get(&reference.place);
        known.is_some_and(|it| it.is_same(reference))
    }

    /// Records that the model knows of a change of a file, because it made the change itself.
    /// Blocking.
    pub fn note_file(&mut self, place: Hash, file: policy::references::SourceFile) {
        if let Some(mut reference) = self.references.get(&place).cloned() {
            reference.file = Some(file);
            self.record(vec![Record::Reference(reference)], Vec::new());
            self.write();
        }
    }

    /// Records what an answer showed. Blocking.
    pub fn note_answer(&mut self, answered: Answered) {
        if self.answered != Some(answered) {
            self.record(vec![Record::Answered(answered)], Vec::new());
            self.write();
        }
    }

    /// Forgets all values and tools, so that the next request reads them anew. Blocking.
    pub fn forget(&mut self) {
        self.record(vec![Record::Forgotten], Vec::new());
        self.write();
    }

    fn record(&mut self, records: Vec<Record>, contents: Vec<(Hash, Vec<u8>)>) {
        for record in &records {
            self.apply(record.clone());
        }
        self.unwritten.extend(records);
        self.contents.extend(contents);
    }

    fn set_text(&mut self, text: SentText) {
        self.is_text_unwritten = self.text.as_ref() != Some(&text);
        self.text = Some(text);
    }

    /// Writes to disk what is not there. If that fails, it stays in memory, and is read anew
    /// only after a restart. Blocking.
    pub fn write(&mut self) {
        let Some(store) = &mut self.store else { return };
        if let Err(error) = store.write(&self.unwritten, &self.contents) {
            tracing::warn!(%error, "the ledger of what was sent cannot be written");
            return;
        }
        self.unwritten.clear();
        self.contents.clear();
        if let Some(text) = self.text.as_ref().filter(|_| self.is_text_unwritten) {
            self.is_text_unwritten = false;
            if let Err(error) = store.write_text(text) {
                tracing::warn!(%error, "the lines that were sent cannot be written");
            }
        }
        self.compact();
    }

    /// Replaces the journal when most of it no longer counts, and removes contents that it no
    /// longer refers to.
    fn compact(&mut self) {
        let places = self.references.len() + self.added.len() + self.refused.len();
        let count = places + self.shortened.len() + self.summaries.len();
        let count = count + self.result_files.len() + self.exact.len() + 2;
        if self.store.as_ref().is_none_or(|it| !it.is_long(count)) {
            return;
        }
        let (records, in_use) = (self.records(), self.contents_in_use());
        if let Some(store) = &mut self.store
            && let Err(error) = store.replace(&records, &in_use)
        {
            tracing::warn!(%error, "the ledger of what was sent cannot be shortened");
        }
    }

    fn content(&self, hash: Hash) -> io::Result<Vec<u8>> {
        match (self.contents.get(&hash), &self.store) {
            (Some(content), _) => Ok(content.clone()),
            (None, Some(store)) => store.content(hash),
            (None, None) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn definitions(&mut self, hash: Hash) -> Option<Arc<[ToolDefinition]>> {
        if let Some(known) = self.definitions.get(&hash) {
            return Some(known.clone());
        }
        let content = self.content(hash).ok()?;
        let tools: Vec<SentTool> = serde_json::from_slice(&content).ok()?;
        let tools: Arc<[_]> = tools.into_iter().map(ToolDefinition::from).collect();
        self.definitions.insert(hash, tools.clone());
        Some(tools)
    }
}

/// Returns the hash of a result, or of a line in it. With the id of its call: the model may call the tool
/// again to see the same result whole, and what another call prints shows no file.
fn result_hash(id: &ToolUseId, content: &str) -> Hash {
    let mut hasher = Hasher::default();
    hasher.update(&(id.as_str().len() as u64).to_le_bytes());
    hasher.update(id.as_str().as_bytes());
    hasher.update(content.as_bytes());
    hasher.finish()
}

/// Returns the digest of the system prompt and of the tools of a request, also the provider's own.
pub fn basis(prompt: &Prompt, web: &WebTools) -> Hash {
    let system = prompt.system.as_deref().unwrap_or_default();
    let (_, tools) = encoded(prompt.tools.clone());
    let mut hasher = Hasher::default();
    hasher.update(&(system.len() as u64).to_le_bytes());
    hasher.update(system.as_bytes());
    hasher.update(&tools);
    // Strings, booleans, and numbers can always be written.
    hasher.update(&serde_json::to_vec(web).unwrap_or_default());
    hasher.finish()
}

/// Returns the hash of the comment of the summary in a message.
pub fn key(document: &Document<'_>, message: usize) -> Option<Hash> {
    let message = document.messages.get(message).filter(|it| it.is_summary)?;
    let line = message.lines.start + 1;
    Some(comment_key(&document.lossy(line..line + 1)))
}

/// Returns the hash of the comment of a summary.
pub fn comment_key(comment: &str) -> Hash {
    Hash::of(comment.trim_end().as_bytes())
}

/// Notes the tools that were added above a summary, and returns their content.
fn keep_tools(sent: &mut SentSummary, tools: Vec<ToolDefinition>) -> Vec<(Hash, Vec<u8>)> {
    let content = (!tools.is_empty()).then(|| encoded(tools));
    sent.tools = content.as_ref().map(|(hash, _)| *hash);
    content.into_iter().collect()
}

fn encoded(tools: Vec<ToolDefinition>) -> (Hash, Vec<u8>) {
    let tools: Vec<SentTool> = tools.into_iter().map(SentTool::from).collect();
    // Strings, booleans, and JSON values can always be written.
    let content = serde_json::to_vec(&tools).unwrap_or_default();
    (Hash::of(&content), content)
}

#[cfg(test)]
mod tests;
