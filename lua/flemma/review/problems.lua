--- Lines of a review that cannot be applied: diagnostics, each until the user edits its hunk.
---@class flemma.review.problems
local M = {}

local api = vim.api
local wrap = require("flemma.wrap")

local DIAGNOSTICS = api.nvim_create_namespace("flemma.review")
--- Columns that Neovim draws before a message below its line.
local LEAD = 8
--- Most lines that are searched for the end of a hunk.
local SEARCHED = 1000

---@class flemma.review.problems.Problem
---@field line integer From 0. Kept up to date, because a diagnostic does not move with its line.
---@field message string

---@type table<integer, flemma.review.problems.Problem[]> By buffer.
local problems = {}

--- Breaks a message to the width of the review's window.
local function shown(diagnostic)
  local window = vim.fn.bufwinid(diagnostic.bufnr)
  local info = window ~= -1 and vim.fn.getwininfo(window)[1]
  local room = info and info.width - info.textoff - LEAD or 60
  return table.concat(wrap.wrap(diagnostic.message, room), "\n")
end

local function show(buffer)
  vim.diagnostic.config({ virtual_text = false, virtual_lines = { format = shown } }, DIAGNOSTICS)
  vim.diagnostic.set(
    DIAGNOSTICS,
    buffer,
    vim.tbl_map(function(problem)
      return {
        lnum = problem.line,
        col = 0,
        message = problem.message,
        severity = vim.diagnostic.severity.ERROR,
        source = "flemma",
      }
    end, problems[buffer])
  )
end

local function is_head(line)
  return vim.startswith(line, "@@") or vim.startswith(line, "diff ")
end

--- Returns the lines of the hunks that a change touches.
---@param last integer The line below the change.
---@return integer first
---@return integer last The line below the last of them.
local function hunks_of(buffer, first, last)
  local above = api.nvim_buf_get_lines(buffer, math.max(0, first - SEARCHED), first, false)
  local from = 0
  for at = #above, 1, -1 do
    if is_head(above[at]) then
      from = first - #above + at - 1
      break
    end
  end
  for at, line in ipairs(api.nvim_buf_get_lines(buffer, last, last + SEARCHED, false)) do
    if is_head(line) then
      return from, last + at - 1
    end
  end
  return from, api.nvim_buf_line_count(buffer)
end

--- Takes a change of the text: what was wrong with its hunks is no longer known.
---@param last integer The line below the change, before it.
---@param new_last integer The same after it.
local function on_change(buffer, first, last, new_last)
  if #problems[buffer] == 0 then
    return
  end
  local from, to = hunks_of(buffer, first, new_last)
  local left, moved = {}, new_last - last ---@type flemma.review.problems.Problem[], integer
  for _, problem in ipairs(problems[buffer]) do
    if problem.line < from then
      left[#left + 1] = problem
    elseif problem.line >= to - moved then
      left[#left + 1] = { line = problem.line + moved, message = problem.message }
    end
  end
  problems[buffer] = left
  vim.schedule(function()
    if problems[buffer] == left then
      show(buffer)
    end
  end)
end

--- Shows problems instead of those before.
---@param buffer integer
---@param found { line: integer, message: string }[] In order. Lines below the last count as the last.
---@return integer? first The line of the first, from 0.
function M.set(buffer, found)
  local is_known = problems[buffer] ~= nil
  local last = api.nvim_buf_line_count(buffer) - 1
  problems[buffer] = vim.tbl_map(function(problem)
    return { line = math.min(problem.line, last), message = problem.message }
  end, found)
  show(buffer)
  if not is_known then
    api.nvim_buf_attach(buffer, false, {
      on_lines = function(_, _, _, first, before, after)
        if not problems[buffer] then
          return true
        end
        on_change(buffer, first, before, after)
      end,
    })
  end
  return found[1] and math.min(found[1].line, last)
end

---@param buffer integer
function M.forget(buffer)
  problems[buffer] = nil
end

return M
