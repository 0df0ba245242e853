-- Counts requests of several subjects (API keys or clients); each request is counted in all windows
-- of its subject or in none. The rules are those of access/quota.py. Times are whole milliseconds
-- of the caller's clock; if Redis' clock is ahead of the caller's machine or behind it by more than
-- the slack, the difference is added.
-- KEYS: one for each subject. ARGV: the caller's time, its machine's time, the slack; then for each
-- subject: the number of requests, the cost of each request, the number of windows; and for each
-- window: its name, quota, length, and the longest time that it can have left.
-- Reply: the added difference; then for each subject: the number of granted requests, and for each
-- window: the used requests and the end.
local time, at = redis.call('TIME'), 4
local off = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[2])
if math.abs(off) < tonumber(ARGV[3]) then off = 0 end
local now, reply = tonumber(ARGV[1]) + off, { off }
for _, key in ipairs(KEYS) do
  local wanted, cost = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  local windows = tonumber(ARGV[at + 2])
  local used, ends, granted, last = {}, {}, wanted, 0
  for i = 1, windows do
    local name, quota = ARGV[at + i * 4 - 1], tonumber(ARGV[at + i * 4])
    local length, longest = tonumber(ARGV[at + i * 4 + 1]), tonumber(ARGV[at + i * 4 + 2])
    local held = redis.call('HMGET', key, name .. ':used', name .. ':ends')
    used[i], ends[i] = tonumber(held[1]) or 0, tonumber(held[2]) or 0
    if ends[i] <= now then used[i], ends[i] = 0, now + length
    elseif ends[i] - now > longest then ends[i] = now + length end
    if cost > 0 then
      granted = math.max(0, math.min(granted, math.floor((quota - used[i]) / cost)))
    end
    last = math.max(last, ends[i])
  end
  reply[#reply + 1] = granted
  for i = 1, windows do
    local name, total = ARGV[at + i * 4 - 1], used[i] + granted * cost
    redis.call('HSET', key, name .. ':used', total, name .. ':ends', ends[i])
    reply[#reply + 1], reply[#reply + 2] = total, ends[i]
  end
  redis.call('PEXPIRE', key, last - now + 1000)
  at = at + 3 + windows * 4
end
return reply
