//! The commands that only print: `flemma project`, `log`, `usage`, and `local`.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use policy::project;
use serde::Serialize;
use session::audit::{self, Audit, Log};
use session::new_chats::ProjectReport;
use session::projects::template_names;
use session::usage::log::{self as usage_log, UsageLog, UsageReport};
use tools::state_dir;

use crate::problems;
use crate::terminal::{self, Code};

/// The report, which is also printed as JSON.
#[derive(Debug, Serialize)]
struct Printed {
    /// The file of options.
    options: Option<String>,
    #[serde(flatten)]
    report: ProjectReport,
}

/// Prints the report.
pub fn print_project(json: bool) -> ExitCode {
    let folder = match problems::current_folder() {
        Ok(folder) => folder,
        Err(problem) => return Code::Error.report(&problem),
    };
    let printed = Printed {
        options: project::config_path(&folder).map(|it| it.to_string_lossy().into_owned()),
        report: ProjectReport::around(&folder),
    };
    if json {
        return terminal::print(&serde_json::to_string(&printed).unwrap_or_default()).into();
    }
    let messages = printed.report.messages.iter();
    let messages: Vec<String> = messages.map(|it| problems::in_a_shell(it)).collect();
    problems::warn(&messages);
    terminal::print(&lines(&printed).join("\n")).into()
}

fn lines(printed: &Printed) -> Vec<String> {
    let Printed { options, report } = printed;
    let options = options.iter();
    let mut lines: Vec<String> = options.map(|it| format!("options    {it}")).collect();
    let skills = report.skills.iter();
    lines.extend(skills.map(|it| {
        let (name, description, path) = (&it.name, &it.description, it.path.display());
        format!("skill      {name}: {description} ({path})")
    }));
    if let Some(folder) = &report.templates {
        let names = template_names(folder).join(", ");
        lines.push(format!("templates  {names} ({})", folder.display()));
    }
    if lines.is_empty() {
        lines.push("There are no options, skills, or templates here.".to_owned());
    }
    lines
}

/// Prints the last `count` records, as text or as JSON lines, and reports damaged lines on
/// standard error.
///
/// With `diffs`, also prints what calls changed in files. The exit code is 1 if there are
/// damaged lines, or if the log cannot be read.
pub fn print_log(count: usize, as_json: bool, diffs: bool) -> ExitCode {
    let audit = Audit::open(&state_dir::path());
    let written = audit.read_last(count).and_then(|log| {
        // Above the records, because a reader may stop at the end of the first page.
        log.problems.iter().for_each(|it| terminal::report(it));
        if as_json {
            write_json(&log)?
        } else {
            write_records(&audit, &log, diffs)?
        }
        Ok(log.problems.is_empty())
    });
    match written {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // A reader such as `head` closes the pipe early.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            terminal::report(&format!("The log cannot be shown: {error}."));
            ExitCode::FAILURE
        }
    }
}

fn write_json(log: &Log) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for record in &log.records {
        let record = serde_json::to_string(record)?;
        writeln!(out, "{}", terminal::json(&record))?;
    }
    out.flush()
}

fn write_records(audit: &Audit, log: &Log, diffs: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    // A log without records has one line that says so.
    let records = log.records.iter().map(Some).chain([None]);
    for (line, record) in audit::lines(&log.records).iter().zip(records) {
        writeln!(out, "{}", terminal::for_stdout(line))?;
        let diff = record.filter(|_| diffs).and_then(|it| audit.diff_file(it));
        if let Some(Ok(diff)) = diff.map(fs::read_to_string) {
            write!(out, "{}", terminal::for_stdout(&diff))?;
        }
    }
    out.flush()
}

/// Prints the usage of the last days, as a table or as one JSON object, and reports damaged
/// lines of the log on standard error.
pub fn print_usage(days: u32, as_json: bool) -> ExitCode {
    let mut report = match UsageReport::read(&UsageLog::open(&state_dir::path()), Some(days)) {
        Ok(report) => report,
        Err(error) => {
            return Code::Error.report(&format!("The usage log cannot be read: {error}."));
        }
    };
    if as_json {
        let json = serde_json::to_string(&report).unwrap_or_default();
        return terminal::print(&terminal::json(&json)).into();
    }
    // Above the table, because a reader may stop at the end of the first page.
    for problem in std::mem::take(&mut report.problems) {
        terminal::report(&problem);
    }
    terminal::print(usage_log::lines(&report).join("\n").trim_end()).into()
}

const GUIDE: &str = "\
The provider \"local\" runs a model on this machine, without a network.

1. llama.cpp's server, `llama-server`:
     macOS, Linux  brew install llama.cpp
     Windows       winget install llama.cpp
     otherwise     a release of github.com/ggml-org/llama.cpp, unpacked; name the
                   program in parameters.local.server, or put it on $PATH
2. A model as a GGUF file that can call tools, such as a Qwen3 or gpt-oss in a
   quantization that fits: it takes about as much memory as on disk.
3. In your configuration:

     require(\"flemma\").setup({
       provider = \"local\",
       parameters = { [\"local\"] = {
         model_path = \"~/models/NAME.gguf\",
         -- server = \"/path/to/llama-server\",
         -- extra_args = { \"--ctx-size\", \"32768\" },
       } },
     })
";

/// Prints the guide, and where `llama-server` is.
pub fn print_local_guide() -> ExitCode {
    let path = tools::variable_os("PATH").unwrap_or_default();
    let found: Option<PathBuf> = std::env::split_paths(&path)
        .map(|folder| folder.join("llama-server"))
        .find(|file| file.is_file());
    let found = match found {
        Some(file) => format!("llama-server was found: {}", file.display()),
        None => "llama-server is not on $PATH.".to_owned(),
    };
    terminal::print(&format!("{GUIDE}\n{found}")).into()
}
