--- What requests took and cost since Neovim started, for your own functions:
--- `require("flemma.session")`. The figures are the host's.
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
---@field input_cost number
---@field output_cost number

---@class flemma.session.Totals
---@field requests integer
---@field input integer
---@field output integer
---@field thoughts integer
---@field cache_read integer
---@field cache_creation integer
---@field input_cost number Dollars, as far as prices are known.
---@field output_cost number
---@field unpriced integer Requests whose prices are not known.

---@type flemma.session.Request[]
local requests = {}
---@type flemma.session.Totals
local totals = {
  requests = 0,
  input = 0,
  output = 0,
  thoughts = 0,
  cache_read = 0,
  cache_creation = 0,
  input_cost = 0,
  output_cost = 0,
  unpriced = 0,
}

--- Takes over what the host noted.
---@param request flemma.session.Request
---@param session flemma.session.Totals
function M.add(request, session)
  requests[#requests + 1] = request
  totals = session
end

--- All requests, the oldest first.
---@return flemma.session.Request[]
function M.requests()
  return vim.deepcopy(requests)
end

--- The last request.
---@return flemma.session.Request?
function M.latest()
  return vim.deepcopy(requests[#requests])
end

--- How many there were.
---@return integer
function M.count()
  return #requests
end

--- Their sums, since the host was started.
---@return flemma.session.Totals
function M.totals()
  return vim.deepcopy(totals)
end

return M
