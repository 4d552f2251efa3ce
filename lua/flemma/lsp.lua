--- A language server without a process: it passes the requests of Neovim's LSP client to the
--- host as `lookup` messages, and the answers back. Outline, folds, definition, hover, code
--- actions, and completion of a chat work by the user's own keys and plugins for LSP.
---
--- Text is not synchronized, because the host has it already. Every request is answered: with
--- nothing if there is no host.
---@class flemma.lsp
local M = {}

local api = vim.api
local lookup = require("flemma.lookup")
local mirror = require("flemma.mirror")

--- Wait after a chat was opened until the client starts. Loading it takes milliseconds, and
--- nothing may be late for it.
local START_MS = 150

--- The lookup of each request.
---@type table<string, string>
local KINDS = {
  ["textDocument/documentSymbol"] = "symbols",
  ["textDocument/foldingRange"] = "folds",
  ["textDocument/definition"] = "link",
  ["textDocument/hover"] = "hover",
  ["textDocument/codeAction"] = "actions",
  ["textDocument/codeLens"] = "lenses",
  ["textDocument/completion"] = "menu",
}

local CAPABILITIES = {
  -- Columns of the host are bytes.
  positionEncoding = "utf-8",
  documentSymbolProvider = true,
  foldingRangeProvider = true,
  definitionProvider = true,
  hoverProvider = true,
  codeActionProvider = { codeActionKinds = { "quickfix" } },
  codeLensProvider = {},
  completionProvider = { triggerCharacters = { "@", "/", ":", ".", "=", '"', "'" } },
}

---@type integer? Id of the client that serves all chats.
local client_id
local serving ---@type table? The server of that client.
---@type table<integer, true> Chats that the client will be attached to.
local starting = {}

--- Ends a request that the client cancelled, soon: it may cancel while text cannot be changed,
--- and takes an answer of completion as a menu to open.
local function cancel(number)
  vim.schedule(lookup.cancel(number) or function() end)
end

--- Returns the chat with an address. Chats without a name share one.
---@return integer? buffer
local function buffer_of(uri)
  local client = client_id and vim.lsp.get_client_by_id(client_id)
  local current = api.nvim_get_current_buf()
  local attached = client and client.attached_buffers or {}
  if attached[current] and vim.uri_from_bufnr(current) == uri then
    return current
  end
  for buffer in pairs(attached) do
    if vim.uri_from_bufnr(buffer) == uri then
      return buffer
    end
  end
end

--- Passes a request to the host. A result that is a link gets the address of its file.
---@return integer number
local function look_up(kind, params, reply)
  local uri = params.textDocument.uri
  local buffer = buffer_of(uri)
  if not buffer then
    vim.schedule(reply)
    return lookup.number()
  end
  local range = params.range
  local first = params.position or range and range.start or { line = 0, character = 0 }
  local place = { column = first.character, last = range and range["end"].line or first.line }
  return lookup.ask("lookup", lookup.at(buffer, kind, first.line, place), function(result)
    if kind == "link" and result then
      result.uri = result.path and vim.uri_from_fname(result.path) or uri
      result.path = nil
    end
    reply(result)
  end)
end

---@return boolean sent
---@return integer number
local function request(method, params, callback, replied)
  local number
  local function reply(result)
    if replied then
      replied(number)
    end
    callback(nil, result)
  end
  local kind = KINDS[method]
  if kind then
    number = look_up(kind, params, reply)
    return true, number
  end
  number = lookup.number()
  if method == "initialize" then
    -- At once, so that a key can use the client that it has started.
    reply({ capabilities = CAPABILITIES, serverInfo = { name = "flemma" } })
    return true, number
  end
  -- `shutdown`, and what we did not announce.
  vim.schedule(function()
    reply(nil)
  end)
  return true, number
end

--- The server as the client sees it, see |vim.lsp.ClientConfig|.
local function server(dispatchers)
  local closing, this = false, {}
  serving = this
  --- From now on, another client is started for what is requested.
  local function leave()
    if serving == this then
      serving, client_id = nil, nil
      lookup.forget()
    end
  end
  local function close()
    if not closing then
      closing = true
      leave()
      dispatchers.on_exit(0, 0)
    end
  end
  return {
    request = function(method, params, callback, replied)
      -- All clients may be stopped at any time, as by `vim.lsp.stop_client()`.
      if method == "shutdown" then
        leave()
      end
      return request(method, params, callback, replied)
    end,
    notify = function(method, params)
      if method == "$/cancelRequest" then
        cancel(params.id)
      elseif method == "exit" then
        close()
      end
      return true
    end,
    is_closing = function()
      return closing
    end,
    terminate = close,
  }
end

--- Carries out a code action or a code lens.
---@param command lsp.Command Its arguments are the name of a `:Flemma` command, and a line.
local function run(command)
  local name, line = command.arguments[1], command.arguments[2]
  if name == "reject" then
    require("flemma.commands").reject(line)
  else
    require("flemma.buffer").command(name, nil, line)
  end
end

--- Attaches the client to a chat, unless it is. It can take requests afterwards, so keys that
--- need it call this first.
---@param buffer integer
function M.start(buffer)
  starting[buffer] = nil
  if not api.nvim_buf_is_loaded(buffer) or not mirror.attached(buffer) then
    return
  end
  client_id = vim.lsp.start({
    name = "flemma",
    cmd = server,
    commands = { ["flemma.command"] = run },
    reuse_client = function(client)
      return client.id == client_id
    end,
  }, { bufnr = buffer, silent = true })
end

--- Attaches the client to a chat when Neovim has had time to draw it.
---@param buffer integer
function M.start_soon(buffer)
  if not starting[buffer] then
    starting[buffer] = true
    vim.defer_fn(function()
      M.start(buffer)
    end, START_MS)
  end
end

return M
