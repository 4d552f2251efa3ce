--- What `:checkhealth flemma` says about Neovim itself: its version, its behavior, parsers, the
--- terminal, and keys.
---@class flemma.health.editor
local M = {}

local api = vim.api
local neovim = require("flemma.neovim")

--- Longest wait for the probes, which take 50 ms.
local PATIENCE_MS = 5000
--- Runs the probes of |flemma.neovim|. The plugin's folder is in $FLEMMA_ROOT.
local PROBE = "lua vim.opt.runtimepath:prepend(vim.env.FLEMMA_ROOT) "
  .. 'io.stdout:write(vim.json.encode(require("flemma.neovim").probe()))'
--- Parsers of every chat: its text, its frontmatter, and the arguments of calls.
local PARSERS = { "markdown", "markdown_inline", "lua", "json", "bash", "diff" }
--- Most lines of a chat in which languages of fences are searched.
local MOST_LINES = 5000

--- Reports on the version of Neovim.
function M.check_version()
  vim.health.start("Neovim")
  local version, tested = vim.version(), neovim.TESTED
  local text = ("Version %s; tested with %s."):format(tostring(version), table.concat(tested, ", "))
  if vim.fn.has("nvim-0.11") == 0 then
    vim.health.error(text, "Install Neovim 0.11 or later.")
  elseif vim.version.gt(version, tested[#tested]) then
    vim.health.warn(
      text .. " It is newer than what was tested.",
      "If something does not work, try " .. tested[#tested] .. "."
    )
  else
    vim.health.ok(text)
  end
end

--- Runs the probes in a new Neovim without configuration.
---@return boolean[]? results Nil if they did not run.
local function probe()
  local ok, results = pcall(function()
    local command = { vim.v.progpath, "--clean", "--headless", "-c", PROBE, "-c", "qall!" }
    local env = { FLEMMA_ROOT = require("flemma.host").root() }
    local ended = vim.system(command, { text = true, env = env, timeout = PATIENCE_MS }):wait()
    return vim.json.decode(ended.stdout)
  end)
  return ok and results or nil
end

--- Reports on the behavior of Neovim that the plugin relies on and that is not documented.
function M.check_behavior()
  local results, wrong = probe(), 0
  if not results then
    vim.health.warn("The behavior that Flemma relies on could not be tested.", "Run `:checkhealth flemma` again.")
    return
  end
  for index, reliance in ipairs(neovim.RELIANCES) do
    if not results[index] then
      wrong = wrong + 1
      vim.health.warn(
        ("Not true of this Neovim: %s %s"):format(reliance.name, reliance.without),
        "Use Neovim " .. neovim.TESTED[#neovim.TESTED] .. ", or a newer Flemma."
      )
    end
  end
  if wrong == 0 then
    vim.health.ok(("Behaves as expected in all %d points that are not documented."):format(#results))
  end
end

--- Returns the languages of fences in open chats that have neither a parser nor a syntax file.
---@return string[] names
local function unknown_fences()
  local names = require("flemma.syntax.names")
  local found = {}
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].filetype == "chat" then
      for _, line in ipairs(api.nvim_buf_get_lines(buffer, 0, MOST_LINES, false)) do
        local info = line:match("^%s*```+%s*([%w_+-]+)%s*$")
        if info and not names.of_fence(info) then
          found[info] = true
        end
      end
    end
  end
  local list = vim.tbl_keys(found)
  table.sort(list)
  return list
end

--- Returns true if a parser with highlights is installed.
local function has_parser(name)
  local ok, added = pcall(vim.treesitter.language.add, name)
  local _, query = pcall(vim.treesitter.query.get, name, "highlights")
  return ok and added == true and type(query) == "table"
end

--- Reports on the parsers that color chats.
function M.check_parsers()
  vim.health.start("Parsers")
  if not require("flemma.config").get().highlight then
    vim.health.info("Colors of Markdown and code are off (ui.highlight = false).")
    return
  end
  local found, missing = {}, {}
  for _, name in ipairs(PARSERS) do
    table.insert(has_parser(name) and found or missing, name)
  end
  if #found > 0 then
    vim.health.ok("Tree-sitter parsers: " .. table.concat(found, ", ") .. ".")
  end
  if #missing > 0 then
    vim.health.info(
      ("No tree-sitter parser for %s, so Vim's syntax files color that. To install: `:TSInstall %s` of nvim-treesitter."):format(
        table.concat(missing, ", "),
        table.concat(missing, " ")
      )
    )
  end
  local unknown = unknown_fences()
  if #unknown > 0 then
    local text = "Code of open chats without colors, as there is neither a parser nor a syntax file: %s."
    vim.health.info(text:format(table.concat(unknown, ", ")))
  end
end

--- Returns the name of a mapping's key if it is one of Alt.
local function is_alt(key)
  return type(key) == "string" and key:lower():find("^<[ma]%-") ~= nil
end

--- Reports on keys that a terminal may keep or delay.
local function check_keys()
  local normal = require("flemma.config").get().keymaps.normal
  local alt = vim.tbl_filter(is_alt, { normal.tool_execute, normal.approve_all, normal.reject })
  if #alt == 0 then
    return
  end
  local names = table.concat(alt, ", ")
  if vim.env.WT_SESSION then
    vim.health.warn(
      "Windows Terminal keeps Alt-Enter for full screen, so <M-CR> does not arrive.",
      'Unbind it there, or set keymaps.normal.tool_execute to another key, such as "<Leader>x".'
    )
  elseif not vim.o.ttimeout then
    vim.health.warn(
      ("'ttimeout' is off, so a terminal without its own codes for %s sends Esc and the key."):format(names),
      "Set 'ttimeout'."
    )
  else
    local text = "Keys with Alt: %s. To try one: press Ctrl-V and the key in Insert mode, which shows its name."
    vim.health.info(text:format(names))
  end
  if vim.env.TMUX and not vim.env.TMUX:match("^%s*$") and vim.o.ttimeoutlen > 100 then
    vim.health.info(("In tmux, Esc waits for 'ttimeoutlen' (%d ms)."):format(vim.o.ttimeoutlen))
  end
end

--- Reports on what the terminal can show and send.
function M.check_terminal()
  vim.health.start("Terminal")
  local ui = api.nvim_list_uis()[1]
  if not ui then
    vim.health.info("No terminal or other user interface is attached.")
  elseif vim.o.termguicolors or ui.rgb then
    vim.health.ok("24-bit colors ('termguicolors').")
  else
    vim.health.info("'termguicolors' is off, so a chat has the colors of the terminal.")
  end
  -- Ctrl-] is a character of ASCII, so there is nothing that a terminal could lack.
  vim.health.ok("Ctrl-] is sent by every terminal.")
  check_keys()
  if vim.o.encoding ~= "utf-8" or vim.o.ambiwidth ~= "single" then
    vim.health.warn("Signs such as ✓ may be two columns wide.", "Set 'ambiwidth' to \"single\".")
  end
end

return M
