--- What the plugin relies on in Neovim beyond its documented interface. All of it is in this
--- file, each behavior with a probe, which `:checkhealth flemma` runs in a new Neovim.
---@class flemma.neovim
local M = {}

local api = vim.api

--- The versions with which the whole test suite passed, oldest first. The last one is of
--- 6 July 2026, commit 732bf4db97.
M.TESTED = { "0.11.4", "0.12.2", "0.13.0-dev" }

--- The error of an API call that a Ctrl-C interrupts.
M.INTERRUPTED = "Keyboard interrupt"

--- How long a notifier may keep a message before it passes it on. lazy.nvim, for example, keeps
--- those of the first 500 ms.
local LATE_MS = 2000

---@class flemma.neovim.Message
---@field text string
---@field show fun(text: string)
---@field late boolean Whether the notifier has returned.

---@type flemma.neovim.Message[] Messages that a notifier got and may still pass on.
local passed = {}

---@return boolean removed False if it was passed on before.
local function remove(message)
  for index, other in ipairs(passed) do
    if other == message then
      table.remove(passed, index)
      return true
    end
  end
  return false
end

--- Returns the message that is part of a text, as a notifier may add the time to it.
local function find(text)
  -- What comes late may be another's, and needs no help if it fits into one line.
  local fits = not text:find("\n", 1, true) and api.nvim_strwidth(text) <= vim.v.echospace
  for _, message in ipairs(passed) do
    if text:find(message.text, 1, true) and not (message.late and fits) then
      return message
    end
  end
end

--- Watches `nvim_echo` for messages that were passed on.
---@return fun() stop
local function watch_echo()
  -- Each watcher has its own, because a plugin may have replaced one meanwhile.
  local before = api.nvim_echo
  local function echo(chunks, ...)
    local texts = {}
    for index, chunk in ipairs(chunks) do
      texts[index] = tostring(chunk[1])
    end
    local text = table.concat(texts)
    local message = find(text)
    if not message then
      return before(chunks, ...)
    end
    remove(message)
    message.show(text)
    -- The id of a message that is not shown.
    return -1
  end
  api.nvim_echo = echo
  return function()
    if api.nvim_echo == echo then
      api.nvim_echo = before
    end
  end
end

--- Passes a message to a notifier. Neovim's own writes it with `nvim_echo`; the message goes
--- to `show` then, at once or later, through any notifier around it. A message whose notifier
--- fails goes there, too.
---@param notifier fun(text: string, level?: integer, options?: table): any
---@param show fun(text: string)
---@param text any Notifiers of users may take more than strings.
---@param level? integer
---@param options? table
---@return any result Of the notifier.
function M.notify(notifier, show, text, level, options)
  if text == "" then
    return notifier(text, level, options)
  end
  local message = { text = tostring(text), show = show, late = false }
  passed[#passed + 1] = message
  local stop = watch_echo()
  local ok, result = pcall(notifier, text, level, options)
  if not vim.list_contains(passed, message) then
    stop()
  elseif ok then
    message.late = true
    vim.defer_fn(function()
      stop()
      remove(message)
    end, LATE_MS)
  else
    stop()
    remove(message)
    show(message.text)
  end
  return ok and result or nil
end

--- Draws a part of the screen again, when Neovim draws next. See |nvim__redraw()|, which is
--- experimental.
---@param options table
function M.redraw(options)
  options.flush = false
  api.nvim__redraw(options)
end

--- Returns true while `on_lines` of |nvim_buf_attach()| reports an undo or a redo.
---@param buffer integer
---@return boolean
function M.is_undoing(buffer)
  return vim.fn.undotree(buffer).synced == 1
end

--- Returns true if |vim.treesitter.start()| colors a buffer. Loads nothing.
---@param buffer integer
---@return boolean
function M.has_highlighter(buffer)
  local highlighter = package.loaded["vim.treesitter.highlighter"]
  return highlighter ~= nil and highlighter.active[buffer] ~= nil
end

--- Does |vim.treesitter.language.register()|. Its module alone loads in 0.1 ms, `vim.treesitter`
--- in 3 ms.
---@param language string
---@param filetype string
function M.register_language(language, filetype)
  local ok, module = pcall(require, "vim.treesitter.language")
  module = ok and module or vim.treesitter.language
  module.register(language, filetype)
end

--- Returns the error of a Lua autocommand in |v:errmsg|, where other commands leave theirs, too.
---@param errmsg string
---@return string? line
function M.autocommand_error(errmsg)
  return errmsg:match("[Ll]ua callback:%s*([^\n]*)")
end

---@class flemma.neovim.Reliance
---@field name string The behavior, as a sentence.
---@field without string What happens without it, as a sentence.
---@field probe fun(): boolean Called in a Neovim without a user.

--- Makes a buffer with these lines the current one.
---@return integer buffer
local function scratch(lines)
  local buffer = api.nvim_create_buf(true, true)
  api.nvim_set_current_buf(buffer)
  api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  return buffer
end

---@type flemma.neovim.Reliance[]
M.RELIANCES = {
  {
    name = "vim.notify() writes with nvim_echo().",
    without = "Messages that are wider than the screen wait for Enter.",
    probe = function()
      local shown
      M.notify(vim.notify, function(text)
        shown = text
      end, "probe", vim.log.levels.WARN)
      return shown == "probe"
    end,
  },
  {
    name = "nvim__redraw() draws lines of a buffer again.",
    without = "Colors and folds are out of date until the next key.",
    probe = function()
      local buffer = scratch({ "" })
      M.redraw({ buf = buffer, range = { 0, 1 } })
      M.redraw({ buf = buffer, valid = false })
      return true
    end,
  },
  {
    name = "undotree().synced is 1 only during an undo or a redo.",
    without = "An approval that an undo restores may count as typed.",
    probe = function()
      local buffer = scratch({ "" })
      local seen = {}
      api.nvim_buf_attach(buffer, false, {
        on_lines = function()
          seen[#seen + 1] = M.is_undoing(buffer)
        end,
      })
      vim.cmd.normal({ "ix", bang = true })
      local typed = #seen > 0 and not vim.list_contains(seen, true)
      seen = {}
      vim.cmd("silent undo")
      return typed and #seen > 0 and not vim.list_contains(seen, false)
    end,
  },
  {
    name = "vim.treesitter.highlighter.active has the buffers with colors of tree-sitter.",
    without = "Chats have two kinds of colors if vim.treesitter.start() is used.",
    probe = function()
      local buffer = scratch({ "" })
      vim.treesitter.start(buffer, "markdown")
      local started = M.has_highlighter(buffer)
      vim.treesitter.stop(buffer)
      return started and not M.has_highlighter(buffer)
    end,
  },
  {
    name = "The module vim.treesitter.language registers languages.",
    without = "The first chat opens some milliseconds later.",
    probe = function()
      require("vim.treesitter.language").register("markdown", "probe")
      return vim.treesitter.language.get_lang("probe") == "markdown"
    end,
  },
  {
    name = 'Errors of Lua autocommands are in v:errmsg after the words "Lua callback".',
    without = "Errors of your autocommands for Flemma's events are not shown.",
    probe = function()
      api.nvim_create_autocmd("User", {
        pattern = "FlemmaProbe",
        callback = function()
          error("probe", 0)
        end,
      })
      vim.v.errmsg = ""
      vim.cmd("silent! doautocmd User FlemmaProbe")
      return M.autocommand_error(vim.v.errmsg) == "probe"
    end,
  },
  {
    name = 'A Ctrl-C fails an API call with "Keyboard interrupt".',
    without = "A Ctrl-C while something is drawn may report an error.",
    probe = function()
      local ok, why = pcall(vim.fn.interrupt)
      return not ok and why == M.INTERRUPTED
    end,
  },
  {
    name = "Manual folds move with their lines, and grow with lines inside.",
    without = "Folds of chats are at wrong lines until the next answer.",
    probe = function()
      scratch({ "1", "2", "3", "4", "5" })
      vim.wo.foldmethod = "manual"
      vim.cmd("2,4fold")
      api.nvim_buf_set_lines(0, 0, 0, false, { "above", "above" })
      api.nvim_buf_set_lines(0, 4, 4, false, { "inside" })
      return vim.fn.foldclosed(5) == 4 and vim.fn.foldclosedend(5) == 7
    end,
  },
  {
    name = 'An LSP client takes an answer to "initialize" before the request returns.',
    without = "The first key for a definition or a completion in a chat does nothing.",
    probe = function()
      local server = {
        request = function(_, _, answer)
          answer(nil, { capabilities = {} })
          return true, 1
        end,
        notify = function()
          return true
        end,
        is_closing = function()
          return false
        end,
        terminate = function() end,
      }
      local config = {
        name = "probe",
        cmd = function()
          return server
        end,
      }
      local id = vim.lsp.start(config, { bufnr = scratch({ "" }) })
      local client = id and vim.lsp.get_client_by_id(id)
      return client ~= nil and client.initialized == true
    end,
  },
  {
    name = "The pattern <buffer=N> of nvim_create_autocmd() is a buffer.",
    without = "New chats and reviews are not followed.",
    probe = function()
      local calls = 0
      api.nvim_create_autocmd("BufWinEnter", {
        pattern = ("<buffer=%d>"):format(scratch({ "" })),
        callback = function()
          calls = calls + 1
        end,
      })
      vim.cmd("doautocmd BufWinEnter")
      scratch({ "" })
      vim.cmd("doautocmd BufWinEnter")
      return calls == 1
    end,
  },
  {
    name = "Decoration providers may have on_line, which Neovim 0.12 deprecates.",
    without = "Chats and reviews have no colors.",
    probe = function()
      api.nvim_set_decoration_provider(api.nvim_create_namespace("flemma.probe"), { on_line = function() end })
      return true
    end,
  },
}

--- Runs the probes in this Neovim, which they change.
---@return boolean[] results In the order of `RELIANCES`.
function M.probe()
  return vim.tbl_map(function(reliance)
    local ok, result = pcall(reliance.probe)
    return ok and result == true
  end, M.RELIANCES)
end

return M
