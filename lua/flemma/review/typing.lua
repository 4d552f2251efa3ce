--- Finds out whether the user typed the command that writes a review. Neither a mapping, nor a
--- macro, nor a plugin does: their keys are not typed.
---@class flemma.review.typing
local M = {}

local api = vim.api

local KEYS = api.nvim_create_namespace("flemma.review.typing")
--- Commands that approve.
local APPROVES = {
  w = true,
  write = true,
  wq = true,
  x = true,
  xit = true,
  exit = true,
}
--- Abbreviations of these are as good.
local SHORTENED = { wr = "write", wri = "write", writ = "write", xi = "xit", exi = "exit" }

---@type table<integer, boolean> By buffer: whether the command that runs now approves its review.
local approving = {}
--- What the user typed last for a key, empty if the key came from elsewhere.
local typed = ""
--- Number of keys that the user typed in the current command line.
local in_line = 0

--- Returns true if a command line is a command that approves.
---@param line string
---@return boolean
function M.approves(line)
  local name = line:match("^[%s:]*(%a+)!?%s*$")
  return name ~= nil and APPROVES[SHORTENED[name] or name] == true
end

--- Notes that a command approves, until it ends.
local function note(buffer)
  approving[buffer] = true
  vim.schedule(function()
    approving[buffer] = approving[buffer] and false
  end)
end

--- Watches what is typed in the windows of a review.
---@param buffer integer
function M.watch(buffer)
  if next(approving) == nil then
    vim.on_key(function(_, keys)
      typed = keys or ""
      in_line = in_line + (typed == "" and 0 or 1)
    end, KEYS)
  end
  approving[buffer] = false
  local group = api.nvim_create_augroup("flemma.review.typing." .. buffer, {})
  api.nvim_create_autocmd("CmdlineEnter", {
    group = group,
    pattern = ":",
    desc = "flemma: whether a review is approved",
    callback = function()
      in_line = 0
    end,
  })
  api.nvim_create_autocmd("CmdlineLeave", {
    group = group,
    pattern = ":",
    desc = "flemma: whether a review is approved",
    callback = function()
      local is_here = api.nvim_get_current_buf() == buffer and not vim.v.event.abort
      -- Not whether the last key was typed: a mapping of <CR> may produce two.
      if is_here and in_line > 0 and M.approves(vim.fn.getcmdline()) then
        -- `:x` writes only what was changed, but approves a diff as it is, too.
        vim.bo[buffer].modified = true
        note(buffer)
      end
    end,
  })
end

--- Notes keys that approve, if they were typed.
---@param buffer integer
---@param keys string
function M.note_keys(buffer, keys)
  if typed == keys then
    note(buffer)
  end
end

--- Returns true if the command that writes the buffer now was typed in its window. Only once.
---@param buffer integer
---@return boolean
function M.take(buffer)
  local approves = approving[buffer] == true
  if approving[buffer] then
    approving[buffer] = false
  end
  return approves
end

---@param buffer integer
function M.forget(buffer)
  approving[buffer] = nil
  pcall(api.nvim_del_augroup_by_name, "flemma.review.typing." .. buffer)
  if next(approving) == nil then
    vim.on_key(nil, KEYS)
  end
end

return M
