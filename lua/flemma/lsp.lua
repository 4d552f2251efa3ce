--- A language server without a process: it passes the requests of Neovim's LSP client to the
--- host as `lookup` messages, and the answers back. Outline, folds, definition, hover, code
--- actions, and completion of a chat work by the user's own keys and plugins for LSP.
---
--- Text is not synchronized, because the host has it already. Every request is answered: with
--- nothing if there is no host.
---@class flemma.lsp
local M = {}

local api = vim.api
local host = require("flemma.host")
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
  completionProvider = { triggerCharacters = { "@", "/", ".", "=", '"', "'" } },
}

---@class flemma.lsp.Waiting
---@field buffer integer
---@field uri string
---@field kind string
---@field answer fun(result: any)

---@type table<integer, flemma.lsp.Waiting> Requests that the host has not answered, by number.
local waiting = {}
local last_number = 0
---@type integer? Id of the client that serves all chats.
local client_id
local serving ---@type table? The server of that client.
---@type table<integer, true> Chats that the client will be attached to.
local starting = {}

--- Ends a request.
---@param number integer
---@param result any
local function answer(number, result)
  local request = waiting[number]
  waiting[number] = nil
  if request then
    request.answer(result)
  end
end

--- Ends all requests about a buffer, or all, without a result.
---@param buffer integer?
local function answer_all(buffer)
  for number, request in pairs(waiting) do
    if not buffer or request.buffer == buffer then
      answer(number, nil)
    end
  end
end

--- Ends a request that the client cancelled, soon: it may cancel while text cannot be changed,
--- and takes an answer of completion as a menu to open.
---@param number integer
local function cancel(number)
  local request = waiting[number]
  waiting[number] = nil
  if request then
    vim.schedule(function()
      request.answer(nil)
    end)
  end
end

--- Returns the chat with an address. Chats without a name share one.
---@param uri string
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

--- Passes a request to the host.
---@param number integer
---@param kind string
---@param params table
---@param callback fun(result: any)
local function look_up(number, kind, params, callback)
  local uri = params.textDocument.uri
  local buffer = buffer_of(uri)
  local range = params.range
  local first = params.position or range and range.start or { line = 0, character = 0 }
  waiting[number] = { buffer = buffer or -1, uri = uri, kind = kind, answer = callback }
  local sent = buffer
    and host.send("lookup", {
      lookup = number,
      buffer = buffer,
      seq = mirror.seq(buffer),
      kind = kind,
      line = first.line,
      column = first.character,
      last = range and range["end"].line or first.line,
    })
  if not sent then
    -- Later, because the client expects no answer before the request has returned.
    vim.schedule(function()
      answer(number, nil)
    end)
  end
end

--- Receives the answer of the host.
---@param message flemma.protocol.LookedUp
function M.looked_up(message)
  local request, result = waiting[message.lookup], message.result
  if request and request.kind == "link" and result then
    result.uri = result.path and vim.uri_from_fname(result.path) or request.uri
    result.path = nil
  end
  answer(message.lookup, result)
end

---@param method string
---@param params table
---@param callback fun(err: any, result: any)
---@param replied? fun(number: integer)
---@return boolean sent
---@return integer number
local function request(method, params, callback, replied)
  last_number = last_number + 1
  local number = last_number
  local function reply(result)
    if replied then
      replied(number)
    end
    callback(nil, result)
  end
  local kind = KINDS[method]
  if kind then
    look_up(number, kind, params, reply)
    return true, number
  end
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
---@param dispatchers vim.lsp.rpc.Dispatchers
---@return vim.lsp.rpc.PublicClient
local function server(dispatchers)
  local closing, this = false, {}
  serving = this
  --- From now on, another client is started for what is requested.
  local function leave()
    if serving == this then
      serving, client_id = nil, nil
      answer_all()
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

--- Answers the requests about a chat that was closed, or all of them when the host has exited.
---@param buffer integer?
function M.forget(buffer)
  answer_all(buffer)
end

return M
