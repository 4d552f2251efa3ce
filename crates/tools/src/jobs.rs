//! Background jobs: calls that return at once and run on, until all of their processes have ended.
//!
//! A job belongs to a chat. It ends at the latest with this process. Its output is kept within bounds:
//! the end in memory, and a file with the start once it is long.

mod log;

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

pub use self::log::LogPart;
use self::log::{Log, NewLines};

/// Precedes the command in the description of a call that asks for a job.
pub(crate) const IN_BACKGROUND: &str = "in the background: ";
/// Maximum number of jobs that run at a time.
const MOST_RUNNING: usize = 16;
/// Maximum number of jobs that are remembered after their end.
const MOST_ENDED: usize = 32;
/// Maximum time in which a stopped job ends. Killing a process tree takes up to 2.5 seconds.
pub(crate) const STOP_WITHIN: Duration = Duration::from_secs(5);
/// A reader of new lines waits until they were followed by this time without output.
const QUIET: Duration = Duration::from_secs(1);
/// Maximum characters of a job's title.
const TITLE: usize = 200;

/// The jobs of a program. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Jobs(Arc<Mutex<Vec<Arc<Job>>>>);

/// How a call can run in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// Not at all.
    Never,
    /// If the user chooses that at its time limit.
    Possible,
    /// As its arguments say.
    Asked,
}

/// The chat that a job belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobOwner {
    /// The chat's file, if it has one.
    pub path: Option<PathBuf>,
    /// The number of its buffer.
    pub buffer: i64,
}

impl JobOwner {
    /// Returns true if both are the same chat, which may have been renamed, or opened again.
    fn is(&self, other: &Self) -> bool {
        self.buffer == other.buffer || self.path.is_some() && self.path == other.path
    }
}

/// A call that runs in the background, or that may.
pub struct Job {
    name: String,
    title: String,
    owner: JobOwner,
    started: Instant,
    pub(crate) cancel: CancellationToken,
    ends: JobEnds,
    state: Mutex<State>,
    /// Notified when the state changes.
    changed: Notify,
}

#[derive(Debug)]
struct State {
    log: Log,
    last_output: Instant,
    /// True once its process was started.
    has_started: bool,
    /// True if its call does not wait for it.
    in_background: bool,
    /// How its process ended, a clause, before what follows its end is done.
    exit: Option<String>,
    end: Option<End>,
}

/// Receives the end of a job.
pub type JobEnds = Arc<dyn Fn(&JobEnd) + Send + Sync>;

/// How a job ended.
#[derive(Debug, Clone)]
pub struct JobEnd {
    /// Its name.
    pub job: String,
    /// How it ended, a clause.
    pub how: String,
    /// A sentence about both for the user, with what the job did.
    pub sentence: String,
}

/// The end of a job.
#[derive(Debug, Clone)]
struct End {
    /// How it ended, a clause.
    how: String,
    /// Notes for the model.
    notes: Vec<String>,
    after: Duration,
}

/// A job as front ends show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSummary {
    /// Its name.
    pub name: String,
    /// What it does, on one line.
    pub title: String,
    /// The chat.
    pub owner: JobOwner,
    /// How long it has run, or ran.
    pub age: Duration,
    /// How it ended, a clause; `None` while it runs.
    pub end: Option<String>,
    /// The last line of its output that is not blank.
    pub last_line: String,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("name", &self.name).finish()
    }
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Job>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all jobs that are known, the first one first.
    pub fn list(&self) -> Vec<JobSummary> {
        let jobs = self.lock().clone();
        jobs.iter().map(|it| it.summary()).collect()
    }

    /// Returns the output of a job from byte `from`; see [`LogPart`]. `None` if there is no such job.
    pub fn log(&self, name: &str, from: u64) -> Option<LogPart> {
        let job = self.lock().iter().find(|it| it.name == name).cloned()?;
        let state = job.state();
        let end = state.end.as_ref().map(|it| job.ended(it));
        Some(state.log.part(from, end))
    }

    /// Stops all jobs that run, and waits for them. Returns their names.
    pub async fn stop_all(&self) -> Vec<String> {
        let jobs = self.lock().clone();
        let running: Vec<_> = jobs.into_iter().filter(|it| it.is_running()).collect();
        running.iter().for_each(|it| it.cancel.cancel());
        let until = Instant::now() + STOP_WITHIN;
        for job in &running {
            job.wait_for_end(until.saturating_duration_since(Instant::now()))
                .await;
        }
        running.iter().map(|it| it.name.clone()).collect()
    }

    /// Stops a job without waiting for it. Returns false if it is not running.
    pub fn stop(&self, name: &str) -> bool {
        let jobs = self.lock();
        let job = jobs.iter().find(|it| it.name == name && it.is_running());
        job.inspect(|it| it.cancel.cancel()).is_some()
    }

    /// Finds a chat's job by its name.
    ///
    /// # Errors
    ///
    /// The chat has no such job; a sentence for the model.
    pub(crate) fn find(&self, name: &str, owner: &JobOwner) -> Result<Arc<Job>, String> {
        let jobs = self.lock();
        let own = jobs.iter().filter(|it| it.owner.is(owner));
        if let Some(job) = own.clone().find(|it| it.name == name) {
            return Ok(job.clone());
        }
        let known: Vec<&str> = own.map(|it| it.name.as_str()).collect();
        let known = if known.is_empty() {
            "This chat has no jobs".to_owned()
        } else {
            format!("Jobs of this chat: {}", known.join(", "))
        };
        Err(format!(
            "This chat has no job named \"{name}\". A job ends with the program that started it, such \
             as Neovim, so one that was started before a restart has ended. {known}."
        ))
    }

    /// Adds a job.
    ///
    /// # Errors
    ///
    /// Too many are running; a sentence for the model.
    fn add(&self, job: &Arc<Job>) -> Result<(), String> {
        let mut jobs = self.lock();
        let running = jobs.iter().filter(|it| it.is_running()).count();
        if running >= MOST_RUNNING {
            return Err(format!(
                "{running} background jobs are running, which is the most. Stop one with job_stop."
            ));
        }
        while jobs.len() - running >= MOST_ENDED {
            let Some(oldest) = jobs.iter().position(|it| !it.is_running()) else {
                break;
            };
            jobs.remove(oldest);
        }
        jobs.push(job.clone());
        Ok(())
    }

    /// Forgets a job.
    pub(crate) fn remove(&self, job: &Arc<Job>) {
        self.lock().retain(|it| !Arc::ptr_eq(it, job));
    }

    /// Returns a random name, which an earlier process has hardly given: a chat may still name its jobs.
    fn new_name(&self) -> String {
        let jobs = self.lock();
        let mut numbers = (0_u32..).map(|it| RandomState::new().hash_one(it));
        loop {
            // The standard library seeds it randomly, so no crate for random numbers is needed.
            let number = numbers.next().unwrap_or_default();
            let name = format!("job-{:05x}", number & 0xf_ffff);
            if jobs.iter().all(|it| it.name != name) {
                return name;
            }
        }
    }
}

impl Job {
    /// Creates a job for a call, which is not listed yet. `cancel` stops it, and `ends` is called when it
    /// has ended.
    pub(crate) fn new(
        jobs: &Jobs,
        title: &str,
        owner: JobOwner,
        cancel: CancellationToken,
        ends: JobEnds,
    ) -> Arc<Self> {
        let title = title.strip_prefix(IN_BACKGROUND).unwrap_or(title);
        Arc::new(Self {
            name: jobs.new_name(),
            title: chat::preview::one_line(title, TITLE),
            owner,
            started: Instant::now(),
            cancel,
            ends,
            state: Mutex::new(State {
                log: Log::default(),
                last_output: Instant::now(),
                has_started: false,
                in_background: false,
                exit: None,
                end: None,
            }),
            changed: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_waiters();
    }

    /// Lets it run on after its call.
    ///
    /// # Errors
    ///
    /// Too many jobs are running; a sentence for the model.
    pub(crate) fn detach(self: &Arc<Self>, jobs: &Jobs) -> Result<(), String> {
        jobs.add(self)?;
        self.change(|it| it.in_background = true);
        Ok(())
    }

    /// Returns true if its call does not wait for it.
    pub(crate) fn is_in_background(&self) -> bool {
        self.state().in_background
    }

    /// Returns the result of the call that becomes this job.
    pub(crate) fn introduce(&self, is_asked: bool) -> String {
        let name = &self.name;
        let rest = "job_output reads what it prints, and job_stop stops it. It ends at the latest with the \
                    program that runs this chat.";
        if is_asked {
            return format!("The command runs in the background as {name}. {rest}");
        }
        let new = self.state().log.take_new(false);
        let mut before = self.left_out(&new).unwrap_or_default();
        if !new.text.is_empty() {
            before += &(new.text + "\n\n");
        }
        let age = duration(self.started.elapsed());
        format!(
            "{before}[The command has not ended after {age}. At its time limit, the user let it run on in the \
             background as {name}. {rest}]"
        )
    }

    /// Says that lines before these are left out, and where they are.
    fn left_out(&self, new: &NewLines) -> Option<String> {
        let file = new.is_cut.then(|| self.state().log.file.clone())?;
        let place = file.map(|it| format!(" The first 100 MB of the output: {}", it.display()));
        let place = place.unwrap_or_default();
        Some(format!("[Lines before these are left out.{place}]\n\n"))
    }

    /// Notes that its process runs.
    pub(crate) fn has_started(&self) {
        self.change(|it| it.has_started = true);
    }

    /// Takes output.
    pub(crate) fn output(&self, text: &str) {
        self.change(|it| {
            it.log.push(text);
            it.last_output = Instant::now();
        });
    }

    /// Takes the path of the file with its output, of which memory has only the end.
    pub(crate) fn has_file(&self, path: &Path) {
        self.state().log.file.get_or_insert_with(|| path.to_owned());
    }

    /// Takes how all of its processes ended, a clause.
    pub(crate) fn exited(&self, how: String) {
        self.state().exit = Some(how);
    }

    /// Stops it, if it runs.
    pub(crate) fn ask_to_stop(&self) {
        // One that has ended keeps the way in which it did.
        if self.is_running() {
            self.cancel.cancel();
        }
    }

    fn is_running(&self) -> bool {
        self.state().end.is_none()
    }

    fn summary(&self) -> JobSummary {
        let state = self.state();
        let end = state.end.as_ref();
        JobSummary {
            name: self.name.clone(),
            title: self.title.clone(),
            owner: self.owner.clone(),
            age: end.map_or_else(|| self.started.elapsed(), |it| it.after),
            end: end.map(|it| it.how.clone()),
            last_line: state.log.last_line(),
        }
    }

    /// Waits until its process runs and its call does not wait for it.
    pub(crate) async fn wait_until_detached(&self) {
        self.wait_until(|state| state.in_background && state.has_started)
            .await;
    }

    /// Waits until it has ended, at most for `patience`.
    pub(crate) async fn wait_for_end(&self, patience: Duration) {
        let ended = self.wait_until(|state| state.end.is_some());
        // The caller looks whether it has.
        let _ = timeout(patience, ended).await;
    }

    async fn wait_until(&self, is_so: impl Fn(&State) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Before the look, so that no change is missed.
            changed.as_mut().enable();
            if is_so(&self.state()) {
                return;
            }
            changed.await;
        }
    }

    /// Says how it ended, in a sentence.
    fn ended(&self, end: &End) -> String {
        let after = duration(end.after);
        format!("{} has ended after {after}: {}.", self.name, end.how)
    }

    /// Notes its end: the clause `why` if its process did not say how, and notes for the model.
    pub(crate) fn end(&self, why: &str, notes: Vec<String>) {
        let after = self.started.elapsed();
        let exit = self.state().exit.take();
        let how = exit.unwrap_or_else(|| {
            if self.cancel.is_cancelled() {
                "it was stopped".to_owned()
            } else {
                why.to_owned()
            }
        });
        let sentence = format!(
            "The background job {} has ended after {}: {how}. ({})",
            self.name,
            duration(after),
            self.title
        );
        let job = self.name.clone();
        let end = JobEnd { job, how, sentence };
        // First, because the program may end once the job has.
        (self.ends)(&end);
        let how = end.how;
        self.change(|it| it.end = Some(End { how, notes, after }));
    }

    /// Waits for new lines and the silence after them, or for the end.
    pub(crate) async fn wait_for_lines(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let ended = |state: &State| state.end.is_some();
        let news = self.wait_until(|state| ended(state) || state.log.has_news());
        if timeout_at(deadline, news).await.is_err() {
            return;
        }
        while !ended(&self.state()) {
            let quiet = self.state().last_output + QUIET;
            if Instant::now() >= quiet.min(deadline) {
                return;
            }
            // Output that comes meanwhile moves the time.
            let _ = timeout_at(quiet.min(deadline), self.wait_until(ended)).await;
        }
    }

    /// Returns the lines that the model has not read, and the state of the job.
    pub(crate) fn report(&self) -> String {
        let mut state = self.state();
        let end = state.end.clone();
        let new = state.log.take_new(end.is_some());
        drop(state);
        let left_out = self.left_out(&new).unwrap_or_default();
        let mut parts = vec![if new.text.is_empty() {
            left_out + "(no new output)"
        } else {
            left_out + &new.text
        }];
        if !new.unfinished.is_empty() {
            parts.push(format!(
                "[Line that is not complete yet: {}]",
                new.unfinished
            ));
        }
        match end {
            Some(end) => {
                parts.push(format!("[{}]", self.ended(&end)));
                parts.extend(end.notes);
            }
            None => {
                let age = duration(self.started.elapsed());
                let asked = if self.cancel.is_cancelled() {
                    " It was asked to stop."
                } else {
                    ""
                };
                parts.push(format!(
                    "[{} has been running for {age}.{asked}]",
                    self.name
                ));
            }
        }
        parts.join("\n\n")
    }
}

/// Formats a duration, such as `12 s`, `3 min`, and `2 h 5 min`.
pub fn duration(it: Duration) -> String {
    let seconds = it.as_secs();
    match (seconds / 3600, seconds / 60) {
        (0, 0 | 1) => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min"),
        (hours, minutes) => format!("{hours} h {} min", minutes % 60),
    }
}
