--- New chats: `:Flemma new`, and `:Flemma rules` for a chat that has none.
---@class flemma.new
local M = {}

local api = vim.api
local chat_folder = require("flemma.chat_folder")

---@param message string
---@param level? "info"|"warn"|"error"
local function say(message, level)
  require("flemma.notices").notify({ level = level or "error", message = message })
end

--- Returns a path for a new chat: the minute, and a number if needed. The day alone would be
--- taken by another Neovim that did not write its chat yet.
---@param folder string
---@return string
local function unused(folder)
  local minute = os.date("%Y-%m-%d-%H%M")
  local path, count = vim.fs.joinpath(folder, minute .. ".chat"), 1
  while vim.uv.fs_stat(path) or vim.fn.bufexists(path) == 1 do
    count = count + 1
    path = vim.fs.joinpath(folder, ("%s-%d.chat"):format(minute, count))
  end
  return path
end

--- Names the project's rules that a new chat includes.
---@param lines string[]
---@param folder string
---@param project string
local function name_rules(lines, folder, project)
  local included = vim.tbl_filter(function(reference)
    return vim.list_contains(lines, reference)
  end, require("flemma.project_rules").references(folder, project))
  if #included > 0 then
    say(("The first message includes %s."):format(table.concat(included, ", ")), "info")
  end
end

--- Shows the messages about a project's skills and templates, and about words of a template
--- that look like variables.
---@param report flemma.project.Report
---@param unknown string[]
local function remark(report, unknown)
  for _, message in ipairs(report.messages) do
    say(message, "warn")
  end
  if #unknown > 0 then
    local words = "${" .. table.concat(unknown, "}, ${") .. "}"
    say(("The template's text was kept where it names no variable: %s. See |flemma-templates|."):format(words), "warn")
  end
end

--- Prepares a new chat: its text, and the folder for it.
---@param template string? Its name.
---@param place flemma.template.Place
---@param make fun(): string Makes the folder of its file, and returns it.
---@return string? path Without one, the reason was shown.
---@return flemma.template.Text? text
local function prepare(template, place, make)
  local text, problem = require("flemma.template").text(template, place)
  if not text then
    say(problem --[[@as string]])
    -- The project may have the template, and wait for trust.
    remark(place.report, {})
    return nil
  end
  local made, folder = pcall(make)
  if not made then
    say(("The folder for chats cannot be made: %s. See |flemma-chats.folder|."):format(folder))
    return nil
  end
  local path = unused(folder)
  require("flemma.template").prepare(path, text)
  return path, text
end

--- Opens a new chat.
---@param template string? Its name.
---@param split boolean Whether it gets a window of its own.
---@param range? flemma.selection.Range The text for `${selection}`.
---@return boolean opened Otherwise the reason was shown.
function M.open(template, split, range)
  local project = vim.fs.normalize(require("flemma.directory").here())
  local report = require("flemma.project").report(project)
  local folder, is_chosen = chat_folder.of_project(project)
  local base = is_chosen and folder or project
  local place = { chat = base, project = project, report = report, range = range }
  local path, text = prepare(template, place, function()
    return chat_folder.make(project)
  end)
  if not path or not text then
    return false
  end
  local opened, reason = pcall(require("flemma.window").file, path, split)
  if not opened then
    say(("The new chat cannot be opened: %s."):format(reason))
    return false
  end
  require("flemma.autosave").note(api.nvim_get_current_buf())
  name_rules(text.lines, place.chat, project)
  remark(report, text.unknown)
  if is_chosen then
    require("flemma.exclude").offer(folder)
  end
  return true
end

--- Creates a new chat that neither a window nor the list of buffers shows.
---@param folder string Absolute.
---@param template string Its name.
---@param whole string The text for `${whole}`.
---@return integer? buffer Without one, the reason was shown.
function M.hidden(folder, template, whole)
  local project = vim.fs.normalize(require("flemma.directory").here())
  local report = require("flemma.project").report(project)
  local path = prepare(template, { chat = folder, project = project, report = report, whole = whole }, function()
    vim.fn.mkdir(folder, "p")
    return folder
  end)
  if not path then
    return nil
  end
  local recent = require("flemma.recent")
  local last = recent.get()
  local buffer = vim.fn.bufadd(path)
  local loaded, reason = pcall(vim.fn.bufload, buffer)
  if not loaded then
    say(("The new chat cannot be opened: %s."):format(reason))
    return nil
  end
  -- A chat in a window is introduced when it is first shown, after the user's autocommands.
  api.nvim_clear_autocmds({ group = "flemma", event = "BufWinEnter", pattern = ("<buffer=%d>"):format(buffer) })
  require("flemma.buffer").filled(buffer)
  -- Loading it made it the current buffer for a moment.
  recent.note(last)
  return buffer
end

--- Returns where the first message begins, below the frontmatter.
---@param lines string[]
---@return integer index
local function first_message(lines)
  local fence = (lines[1] or ""):match("^```+")
  local at = 1
  if fence then
    repeat
      at = at + 1
    until not lines[at] or vim.trim(lines[at]) == fence
  end
  while lines[at] and not lines[at]:find("^@%u%l+:") do
    at = at + 1
  end
  return at
end

--- Returns where the message begins that rules are added to: the first of the user, or the
--- last one if the model has answered, because what was sent should not change.
---@param lines string[]
---@return integer? index
local function user_message(lines)
  local found, answered
  for at = first_message(lines), #lines do
    answered = answered or vim.startswith(lines[at], "@Assistant:")
    if vim.startswith(lines[at], "@You:") and (answered or not found) then
      found = at
    end
  end
  return found
end

--- Puts lines at the beginning of a message, which is made if there is none.
---@param buffer integer
---@param marker "@System:"|"@You:"
---@param added string[]
local function put(buffer, marker, added)
  local lines = api.nvim_buf_get_lines(buffer, 0, -1, false)
  local first = first_message(lines)
  local at = marker == "@You:" and user_message(lines) or first
  if not vim.startswith(lines[at] or "", marker) then
    local text = vim.list_extend({ marker }, added)
    text[#text + 1] = ""
    return api.nvim_buf_set_lines(buffer, at - 1, at - 1, false, text)
  end
  -- Directly below the marker, where no fence of the prompt can be open.
  local text = vim.list_extend({ lines[at] }, added)
  if lines[at + 1] and lines[at + 1] ~= "" then
    text[#text + 1] = ""
  end
  api.nvim_buf_set_lines(buffer, at - 1, at, false, text)
end

--- Adds those of some lines that the current chat does not have to a message, and reports it.
---@param marker "@System:"|"@You:"
---@param lines string[]
---@param messages { none: string, known: string, added: string } For no lines, no new lines, and new lines; `%s` is the new lines.
local function add_to(marker, lines, messages)
  local buffer = api.nvim_get_current_buf()
  local text = api.nvim_buf_get_lines(buffer, 0, -1, false)
  local added = vim.tbl_filter(function(line)
    return not vim.list_contains(text, line)
  end, lines)
  if #lines == 0 then
    return say(messages.none, "warn")
  elseif #added == 0 then
    return say(messages.known, "info")
  elseif not vim.bo[buffer].modifiable then
    return say("The chat is locked while a tool runs. Try again when it is done.", "warn")
  end
  put(buffer, marker, added)
  -- A function, because a line may contain `%`.
  say((messages.added:gsub("%%s", function()
    return table.concat(added, ", ")
  end)), "info")
end

--- Adds the list of skills to this chat, in `@System:`.
function M.add_skills()
  local report = require("flemma.project").report(vim.fs.normalize(require("flemma.directory").here()))
  remark(report, {})
  add_to("@System:", require("flemma.template.variables").skill_lines(report), {
    none = "No skills were found. See |flemma-skills|.",
    known = "This chat lists the skills already.",
    added = "Added the skills to @System:.",
  })
end

--- Returns references to the rules that apply to a chat.
---@param buffer integer
---@return string[]
local function rules_of(buffer)
  local folder = chat_folder.base(vim.fn.fnamemodify(api.nvim_buf_get_name(buffer), ":p"))
  return require("flemma.project_rules").references(folder, vim.fs.normalize(require("flemma.directory").here()))
end

--- Adds references to the project's rules to this chat, in `@You:`: others can edit these files,
--- and their text is no instruction of the user's own.
function M.add_rules()
  add_to("@You:", rules_of(api.nvim_get_current_buf()), {
    none = "No rules were found: there is no AGENTS.md, CLAUDE.md, or .github/copilot-instructions.md.",
    known = "This chat includes the project's rules already.",
    added = "Added to @You: %s",
  })
end

---@type table<string, true> Paths of the chats to which rules were offered.
local offered = {}

--- Says once that a new chat that `:Flemma new` did not make lacks the project's rules.
---@param buffer integer
function M.offer_rules(buffer)
  local path = api.nvim_buf_is_loaded(buffer) and api.nvim_buf_get_name(buffer)
  -- The user's own autocommands may have filled it.
  if not path or offered[path] or table.concat(api.nvim_buf_get_lines(buffer, 0, -1, false), "\n") ~= "@You:\n" then
    return
  end
  local rules = rules_of(buffer)
  if #rules > 0 then
    offered[path] = true
    require("flemma.notices").notify({
      buffer = buffer,
      level = "info",
      message = ("This chat does not include %s. :Flemma rules adds it; :Flemma new makes chats with it and a system prompt."):format(
        table.concat(rules, ", ")
      ),
    })
  end
end

return M
