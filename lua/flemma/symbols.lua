--- The symbols of open buffers: functions, types, and the like, from their language servers or
--- from tree-sitter.
---@class flemma.symbols
local M = {}

local api = vim.api

--- For how long a language server may take.
local PATIENCE_MS = 2000
--- Nodes of a syntax tree that are looked at, which takes a few milliseconds.
local NODES = 20000
local METHOD = "textDocument/documentSymbol"
--- What contains symbols that are worth naming. Inside functions, there are variables.
local CONTAINERS = { module = true, namespace = true, package = true, class = true, struct = true }
CONTAINERS = vim.tbl_extend("error", CONTAINERS, { interface = true, enum = true, object = true, file = true })

---@class flemma.symbols.Symbol
---@field line integer From 1.
---@field kind string Such as `function`.
---@field name string With those of the symbols that contain it: `Lexer.next`.

--- Returns the name of a kind in words.
---@param kind integer Of the protocol of language servers.
local function kind_of(kind)
  local name = vim.lsp.protocol.SymbolKind[kind] or "symbol"
  return (name:gsub("(%l)(%u)", "%1 %2"):lower())
end

--- Adds symbols as a language server describes them.
local function add_answer(all, symbols, prefix)
  for _, it in ipairs(symbols) do
    local range = it.selectionRange or (it.location or {}).range
    if type(it.name) == "string" and range then
      local outer = type(it.containerName) == "string" and it.containerName ~= "" and it.containerName .. "." or ""
      local name, kind = prefix .. outer .. it.name, kind_of(it.kind)
      all[#all + 1] = { line = range.start.line + 1, kind = kind, name = name }
      if CONTAINERS[kind] then
        add_answer(all, it.children or {}, name .. ".")
      end
    end
  end
end

--- Words in the type of a node of a syntax tree, and what the node is.
local WORDS = { "function", "method", "constructor", "class", "struct", "enum", "trait", "interface" }
vim.list_extend(WORDS, { "module", "namespace", "type" })
--- Ends of the types of nodes that define something.
local ENDS = { "_definition", "_declaration", "_item", "_specifier", "_spec" }

--- Returns what a node of a syntax tree defines. Grammars name such nodes alike, as in
--- `function_definition`.
local function defines(node)
  local type = node:type()
  local is_definition = vim.iter(ENDS):any(function(ending)
    return vim.endswith(type, ending)
  end)
  -- `struct point p;` only names the type.
  is_definition = is_definition and not (vim.endswith(type, "_specifier") and not node:field("body")[1])
  return is_definition and vim.iter(WORDS):find(function(word)
    return type:find(word, 1, true) ~= nil
  end) or nil
end

--- Returns the node with the name of a definition. In C, that is inside declarators.
local function name_in(node)
  local name = node:field("name")[1]
  local inner = node:field("declarator")[1]
  while not name and inner do
    name = vim.endswith(inner:type(), "identifier") and inner or nil
    inner = inner:field("declarator")[1]
  end
  return name
end

---@class flemma.symbols.Walk
---@field buffer integer
---@field all flemma.symbols.Symbol[]
---@field left integer How many nodes may still be looked at.

--- Adds what a node of a syntax tree contains, in order.
local function add_tree(walk, node, prefix)
  for child in node:iter_children() do
    walk.left = walk.left - 1
    if walk.left < 0 then
      return
    end
    local kind = child:named() and defines(child) or nil
    local name = kind and name_in(child)
    local inner = prefix
    if kind and name then
      local text = prefix .. vim.treesitter.get_node_text(name, walk.buffer):gsub("%s+", " ")
      walk.all[#walk.all + 1] = { line = name:start() + 1, kind = kind, name = text }
      inner = text .. "."
    end
    -- A type without a name contains the parts of it, such as in Go.
    if child:named() and (not kind or CONTAINERS[kind] or not name and kind == "type") then
      add_tree(walk, child, inner)
    end
  end
end

--- Finds the symbols in the syntax tree of a buffer.
local function from_tree(buffer, done)
  local ok, parser = pcall(vim.treesitter.get_parser, buffer, nil, { error = false })
  if not ok or not parser then
    return done({})
  end
  -- In slices, because a large file takes long.
  parser:parse(nil, function(_, trees)
    local walk = { buffer = buffer, all = {}, left = NODES }
    if trees and trees[1] and api.nvim_buf_is_valid(buffer) then
      add_tree(walk, trees[1]:root(), "")
    end
    done(walk.all)
  end)
end

--- Finds the symbols of a buffer.
local function find(buffer, done)
  local client = vim.lsp.get_clients({ bufnr = buffer, method = METHOD })[1]
  local is_answered = false
  local function answer(symbols)
    if is_answered then
      return
    end
    is_answered = true
    if symbols then
      local all = {}
      add_answer(all, symbols, "")
      done(all)
    elseif api.nvim_buf_is_loaded(buffer) then
      from_tree(buffer, done)
    else
      done({})
    end
  end
  local params = { textDocument = vim.lsp.util.make_text_document_params(buffer) }
  local is_asked = client
    and client:request(METHOD, params, function(problem, symbols)
      answer(not problem and type(symbols) == "table" and symbols or nil)
    end, buffer)
  if not is_asked then
    return answer(nil)
  end
  vim.defer_fn(answer, PATIENCE_MS)
end

--- Finds the symbols of buffers.
---@param buffers integer[]
---@param done fun(found: flemma.symbols.Symbol[][]) Gets those of each buffer.
function M.find(buffers, done)
  local found, missing = {}, #buffers
  if missing == 0 then
    return done(found)
  end
  for at, buffer in ipairs(buffers) do
    find(buffer, function(symbols)
      found[at], missing = symbols, missing - 1
      if missing == 0 then
        done(found)
      end
    end)
  end
end

return M
