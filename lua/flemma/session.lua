--- What requests took and cost since Neovim started: the public functions of
--- `require("flemma.session")`.
---@class flemma.session
local M = {}

---@class flemma.session.Request
---@field provider string
---@field model string
---@field path string? The chat's file.
---@field started_at integer Milliseconds since 1970.
---@field completed_at integer
---@field cost number? Dollars; nil when the prices are not known.
---@field input integer Tokens read, without those from or into a cache.
---@field output integer Tokens written, thinking included.
---@field thoughts integer Of `output`.
---@field cache_read integer
---@field cache_creation integer
---@field searches integer Of the provider's own tools.
---@field input_cost number
---@field output_cost number

---@class flemma.session.Totals
---@field requests integer
---@field input integer
---@field output integer
---@field thoughts integer
---@field cache_read integer
---@field cache_creation integer
---@field searches integer
---@field input_cost number Dollars, as far as prices are known.
---@field output_cost number
---@field unpriced integer Requests whose prices are not known.

---@type flemma.session.Request[]
local requests = {}
---@type flemma.session.Totals
local totals = {}
local counts = { "requests", "input", "output", "thoughts", "cache_read", "cache_creation", "searches", "unpriced" }
for _, name in ipairs(counts) do
  totals[name] = 0
end
totals.input_cost, totals.output_cost = 0, 0

--- Adds a request.
---@param request flemma.session.Request
---@param session flemma.session.Totals
function M.add(request, session)
  requests[#requests + 1] = request
  totals = session
end

--- Returns all requests, the oldest first.
---@return flemma.session.Request[]
function M.requests()
  return vim.deepcopy(requests)
end

--- Returns the last request.
---@return flemma.session.Request?
function M.latest()
  return vim.deepcopy(requests[#requests])
end

--- Returns the number of requests.
---@return integer
function M.count()
  return #requests
end

--- Returns the sums of all requests since the host was started.
---@return flemma.session.Totals
function M.totals()
  return vim.deepcopy(totals)
end

return M
