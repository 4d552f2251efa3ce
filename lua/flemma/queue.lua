--- Keeps the host's messages to a buffer in order while Neovim cannot take
--- them: in a command-line window, behind a prompt, in the middle of an operator
--- or a completion, under a textlock. It waits; it never presses a key.
---@class flemma.queue
local M = {}

--- What a job returns when Neovim refused it and it must be tried again.
M.HOLD = "hold"

---@alias flemma.queue.Job fun(): "hold"|nil

---@type table<integer, flemma.queue.Job[]> By buffer, oldest first.
local held = {}
---@type integer? The autocommands that retry, while something is held.
local group
local scheduled = false

--- Whether a change of `buffer` would now get into the way of the user.
---@param buffer integer
---@return boolean
function M.blocked(buffer)
  local now = vim.api.nvim_get_mode()
  if now.blocking or vim.fn.getcmdwintype() ~= "" then
    return true
  end
  local mode = now.mode
  -- `:s///c` and prompts hold line numbers of their own.
  if mode:sub(1, 1) == "r" then
    return true
  end
  -- An operator waits for its motion, or a completion holds its columns.
  local busy = mode:sub(1, 2) == "no" or mode:match("^[iR]v?[cx]") ~= nil
  return busy and vim.api.nvim_get_current_buf() == buffer
end

---@param buffer integer
---@return boolean done Whether nothing is held for the buffer any more.
local function drain(buffer)
  local jobs = held[buffer]
  while jobs and jobs[1] do
    if M.blocked(buffer) or jobs[1]() == M.HOLD then
      return false
    end
    -- The job may have cleared the queue, as when the host is gone.
    if held[buffer] ~= jobs then
      return true
    end
    table.remove(jobs, 1)
  end
  held[buffer] = nil
  return true
end

local function flush()
  scheduled = false
  for _, buffer in ipairs(vim.tbl_keys(held)) do
    if vim.api.nvim_buf_is_valid(buffer) then
      drain(buffer)
    else
      held[buffer] = nil
    end
  end
  if next(held) == nil and group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
end

--- Whether something that is held could be carried out now.
---@return boolean
local function is_some_free()
  for buffer in pairs(held) do
    if not M.blocked(buffer) then
      return true
    end
  end
  return false
end

local function retry_later()
  if group then
    return
  end
  group = vim.api.nvim_create_augroup("flemma.queue", { clear = true })
  vim.api.nvim_create_autocmd({ "SafeState", "ModeChanged", "CmdwinLeave", "CompleteDone", "InsertLeave" }, {
    group = group,
    desc = "flemma: carry out what had to wait",
    callback = function(event)
      -- In a command-line window each look would bring the next one at once.
      local leaves = event.event == "CmdwinLeave"
      if not scheduled and (leaves or is_some_free()) then
        scheduled = true
        vim.schedule(flush)
      end
    end,
  })
end

--- Runs `job`, or keeps it until Neovim can take it.
---@param buffer integer
---@param job flemma.queue.Job
function M.push(buffer, job)
  local jobs = held[buffer]
  if jobs then
    jobs[#jobs + 1] = job
    return
  end
  if M.blocked(buffer) or job() == M.HOLD then
    held[buffer] = { job }
    retry_later()
  end
end

--- Drops what is held: the host that sent it is gone.
function M.clear()
  held = {}
end

return M
