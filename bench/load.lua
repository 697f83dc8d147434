-- Script for wrk: sends the requests of the file named by REQUESTS in turn. Its first line is the headers and each further
-- one a request, parts separated by tabs: "Name: value", ... then "METHOD", "path", "body", and headers of its own.
-- Ends with one line: RESULT requests/s, p50 ms, p99 ms, requests, failed.

local prepared, count, at = {}, 0, 0

local function parts(line)
  local found = {}
  for part in (line .. "\t"):gmatch("([^\t]*)\t") do found[#found + 1] = part end
  return found
end

local function collect(headers, lines, first)
  for index = first, #lines do
    local name, value = lines[index]:match("^([^:]+): (.*)$")
    if name then headers[name] = value end
  end
end

function init()
  local file = assert(io.open(os.getenv("REQUESTS")))
  local shared = parts(file:read("*l"))
  for line in file:lines() do
    local fields = parts(line)
    local method, path, body = unpack(fields, 1, 3)
    if body == "" then body = nil end
    local headers = {}
    collect(headers, shared, 1)
    collect(headers, fields, 4)
    count = count + 1
    prepared[count] = wrk.format(method, path, headers, body)
  end
  file:close()
end

function request()
  at = at % count + 1
  return prepared[at]
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format("RESULT %.2f %.3f %.3f %d %d",
    summary.requests / (summary.duration / 1e6),
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, summary.requests,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
