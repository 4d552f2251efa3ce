--- Delays the host's messages to a buffer, in order, while Neovim cannot apply them: in a
--- command-line window, during a prompt, an operator, a completion, or a textlock.
---@class flemma.queue
local M = {}

--- A job returns this if Neovim refused it, to be run again.
M.HOLD = "hold"

---@alias flemma.queue.Job fun(): "hold"|nil

---@type table<integer, flemma.queue.Job[]> By buffer, oldest first.
local held = {}
---@type integer? Group of the autocommands that retry, while jobs are held.
local group
local scheduled = false

--- Returns true if a change of `buffer` would now disturb the user.
---@param buffer integer
---@return boolean
function M.blocked(buffer)
  local now = vim.api.nvim_get_mode()
  if now.blocking or vim.fn.getcmdwintype() ~= "" then
    return true
  end
  local mode = now.mode
  -- `:s///c` and prompts remember line numbers.
  if mode:sub(1, 1) == "r" then
    return true
  end
  -- An operator waits for its motion, or a completion remembers columns.
  local busy = mode:sub(1, 2) == "no" or mode:match("^[iR]v?[cx]") ~= nil
  return busy and vim.api.nvim_get_current_buf() == buffer
end

--- Runs the held jobs of a buffer, as far as Neovim takes them.
local function drain(buffer)
  local jobs = vim.api.nvim_buf_is_valid(buffer) and held[buffer] or {}
  while jobs[1] do
    if M.blocked(buffer) or jobs[1]() == M.HOLD then
      return
    end
    -- The job may have cleared the queue.
    if held[buffer] ~= jobs then
      return
    end
    table.remove(jobs, 1)
  end
  held[buffer] = nil
end

local function flush()
  scheduled = false
  vim.tbl_map(drain, vim.tbl_keys(held))
  if next(held) == nil and group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
end

--- Returns true if a held job could run now.
local function is_some_free()
  return vim.iter(vim.tbl_keys(held)):any(function(buffer)
    return not M.blocked(buffer)
  end)
end

local function retry_later()
  if group then
    return
  end
  group = vim.api.nvim_create_augroup("flemma.queue", { clear = true })
  vim.api.nvim_create_autocmd({ "SafeState", "ModeChanged", "CmdwinLeave", "CompleteDone", "InsertLeave" }, {
    group = group,
    desc = "flemma: apply delayed messages",
    callback = function(event)
      -- In a command-line window each flush would cause the next one at once.
      local leaves = event.event == "CmdwinLeave"
      if not scheduled and (leaves or is_some_free()) then
        scheduled = true
        vim.schedule(flush)
      end
    end,
  })
end

--- Runs `job`, or holds it until Neovim can take it.
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

--- Drops all held jobs after the host that sent them has exited.
function M.clear()
  held = {}
end

return M
