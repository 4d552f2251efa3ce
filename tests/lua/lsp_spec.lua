--- The language server: every request gets an answer.
-- luacheck: globals test same

local chat = require("chat")
local lookup = require("flemma.lookup")
local lsp = require("flemma.lsp")

--- Attaches the client to a new chat.
---@return integer buffer
---@return vim.lsp.Client client
local function served()
  local buffer = chat.new({ "@You:", "Go." })
  lsp.start(buffer)
  -- Ready at once, so that a key can start it and use it.
  local client = assert(vim.lsp.get_clients({ bufnr = buffer, name = "flemma" })[1])
  same(client.initialized, true)
  chat.sent = {}
  return buffer, client
end

--- Asks for the outline.
---@param buffer integer
---@param client vim.lsp.Client
---@return { done: boolean, result: any, id: integer } answer Filled in later.
local function ask(buffer, client)
  local answer = { done = false }
  local params = { textDocument = { uri = vim.uri_from_bufnr(buffer) } }
  local _, id = client:request("textDocument/documentSymbol", params, function(_, result)
    answer.done, answer.result = true, result
  end, buffer)
  answer.id = id
  return answer
end

test("a request goes to the host with the number of the text, and its answer comes back", function()
  local buffer, client = served()
  vim.api.nvim_buf_set_lines(buffer, 1, 2, false, { "Stop." })
  local answer = ask(buffer, client)
  local sent = chat.messages("lookup")[1]
  same({ sent.kind, sent.buffer, sent.seq }, { "symbols", buffer, require("flemma.mirror").seq(buffer) })
  same(answer.done, false)
  chat.host("looked_up", { lookup = sent.lookup, result = { { name = "x" } } })
  same(answer.result, { { name = "x" } })
  same(vim.tbl_count(client.requests), 0)
end)

test("a request ends without a result when the host is lost, the chat is closed, or it is cancelled", function()
  local buffer, client = served()
  local others = {
    {
      ask(buffer, client),
      function()
        lookup.forget()
      end,
    },
    {
      ask(buffer, client),
      function()
        lookup.forget(buffer)
      end,
    },
  }
  for _, other in ipairs(others) do
    other[2]()
    same({ other[1].done, other[1].result }, { true, nil })
  end
  local cancelled = ask(buffer, client)
  client:cancel_request(cancelled.id)
  -- Not at once, because the client may cancel while text cannot be changed.
  same(cancelled.done, false)
  assert(vim.wait(2000, function()
    return cancelled.done
  end, 1))
  -- A late answer of the host is dropped.
  chat.host("looked_up", { lookup = chat.messages("lookup")[3].lookup, result = {} })
  same(cancelled.result, nil)
end)

test("without a host there is an empty answer", function()
  local buffer, client = served()
  local host = require("flemma.host")
  local send = host.send
  host.send = function()
    return false
  end
  local answer = ask(buffer, client)
  host.send = send
  assert(vim.wait(2000, function()
    return answer.done
  end, 1))
  same(answer.result, nil)
end)
