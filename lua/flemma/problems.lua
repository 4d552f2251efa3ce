--- Problems of a file before and after a call changed it: syntax errors, which tree-sitter finds in
--- both texts, and diagnostics of the language servers of its buffer. The host compares them.
---@class flemma.problems
local M = {}

local api = vim.api
local host = require("flemma.host")
local syntax = require("flemma.problems.syntax")

--- Most problems of a text. Of more than that, none are compared.
local MOST = 1000
--- Longest text of a line, and of a message.
local LONGEST = 400
--- Longest wait for a language server to publish, and how long others may follow the first.
local WAIT_MS, QUIET_MS = 1000, 100
--- How long the diagnostics before a change stay valid. The host asks at once.
local VALID_MS = 5000

---@class flemma.problems.Change A change of a buffer that has language servers.
---@field at number When it was made.
---@field before flemma.protocol.FoundProblem[]?
---@field published integer How often diagnostics were published since.
---@field heard fun()? Called when that happens.

---@type table<integer, flemma.problems.Change> By buffer.
local changes = {}

local function found(kind, line, text, message)
  return { kind = kind, line = line, text = text:sub(1, LONGEST), message = message:sub(1, LONGEST) }
end

--- Returns the errors and warnings of a buffer.
---@return flemma.protocol.FoundProblem[]? items Nil if there are too many.
local function diagnostics(buffer)
  local severity = vim.diagnostic.severity
  local all = vim.diagnostic.get(buffer, { severity = { min = severity.WARN } })
  if #all > MOST then
    return nil
  end
  return vim.tbl_map(function(item)
    local text = api.nvim_buf_get_lines(buffer, item.lnum, item.lnum + 1, false)[1] or ""
    local message = item.source and ("%s (%s)"):format(item.message, item.source) or item.message
    return found(item.severity == severity.ERROR and "error" or "warning", item.lnum, text, message)
  end, all)
end

--- Counts what is published for buffers that were changed.
local function watch()
  api.nvim_create_autocmd("DiagnosticChanged", {
    group = api.nvim_create_augroup("flemma.problems", { clear = true }),
    desc = "flemma: which diagnostics a change of a file caused",
    callback = function(event)
      local change = changes[event.buf]
      if change then
        change.published = change.published + 1
        if change.heard then
          change.heard()
        end
      end
    end,
  })
end

--- Keeps the diagnostics of a buffer, which a call is about to change.
---@param buffer integer
function M.before_change(buffer)
  if #vim.lsp.get_clients({ bufnr = buffer }) == 0 then
    return
  end
  local now, change = vim.uv.now(), changes[buffer]
  -- A call may change a file twice; both count as one change.
  if not change or now - change.at > VALID_MS then
    watch()
    changes[buffer] = { at = now, before = diagnostics(buffer), published = 0 }
  end
end

--- Waits until language servers have published diagnostics of a changed buffer.
local function when_published(buffer, done)
  local change = buffer and changes[buffer]
  if not buffer or not change then
    return done({}, {})
  end
  local ended = false
  local function finish()
    if ended then
      return
    end
    ended = true
    if changes[buffer] == change then
      changes[buffer] = nil
    end
    local after = api.nvim_buf_is_loaded(buffer) and diagnostics(buffer)
    if change.before and after and change.published > 0 then
      done(change.before, after)
    else
      done({}, {})
    end
  end
  change.heard = function()
    local count = change.published
    vim.defer_fn(function()
      -- Otherwise another server published meanwhile, and its own timer runs.
      if count == change.published then
        finish()
      end
    end, QUIET_MS)
  end
  if change.published > 0 then
    change.heard()
  end
  vim.defer_fn(finish, WAIT_MS)
end

--- Finds the syntax errors of a text.
---@param done fun(items: flemma.protocol.FoundProblem[]?) Gets nil if they are not known.
local function parse(parser, text, done)
  if not parser then
    return done(nil)
  elseif not text then
    return done({})
  end
  syntax.find(parser, text, LONGEST, function(items)
    done(items and vim.tbl_map(function(item)
      return found("syntax", item.row, item.text, item.message)
    end, items))
  end)
end

--- Returns the parser of a file, if it is installed.
local function parser_for(buffer, message)
  local filetype = buffer and vim.bo[buffer].filetype or ""
  if filetype == "" then
    local lines = vim.split(message.after:sub(1, LONGEST), "\n")
    filetype = require("flemma.syntax.names").filetype_of_file(message.path, lines) or ""
  end
  return syntax.parser(filetype)
end

--- Answers with the problems of a file before and after a change.
---@param message flemma.protocol.FindProblems
function M.find_problems(message)
  local asker = host.channel()
  local answer = { ask = message.ask, before = {}, after = {} }
  local left = 2
  local function add(before, after)
    if before and after then
      vim.list_extend(answer.before, before)
      vim.list_extend(answer.after, after)
    end
    left = left - 1
    if left == 0 then
      host.answer(asker, "problems_found", answer)
    end
  end
  local buffer = require("flemma.files").buffer_of(message.path)
  when_published(buffer, add)
  local parser = parser_for(buffer, message)
  parse(parser, message.after, function(after)
    if not after or #after == 0 then
      -- Without errors, nothing is left to compare.
      return add({}, {})
    end
    parse(parser, message.before, function(before)
      add(before, after)
    end)
  end)
end

return M
