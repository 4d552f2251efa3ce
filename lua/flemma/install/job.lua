--- Programs that a coroutine waits for.
---@class flemma.install.job
local M = {}

--- Runs a program without blocking the editor. Call it in a coroutine.
---@param command string[]
---@param options? vim.SystemOpts
---@return vim.SystemCompleted result `code` is -1 if the program does not start; `stderr` says why.
function M.run(command, options)
  local thread = coroutine.running()
  local ok, problem = pcall(
    vim.system,
    command,
    options or { text = true },
    vim.schedule_wrap(function(result)
      coroutine.resume(thread, result)
    end)
  )
  if not ok then
    return { code = -1, signal = 0, stdout = "", stderr = tostring(problem) }
  end
  return coroutine.yield()
end

return M
