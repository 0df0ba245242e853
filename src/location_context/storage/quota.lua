-- Counts requests of several subjects, each in all windows of its subject or in none. The rules are
-- those of access/quota.py. Times are whole milliseconds of the caller's clock; what its machine is
-- behind Redis is added to it, unless that is less than a command may take to come.
-- KEYS: a subject each. ARGV: the time; that of the machine; the slack; then for each subject how
-- many requests, how many windows, and for each its name, quota, length and longest rest.
-- Replies: what was added; then for each subject how many requests are granted, and for each window
-- what is used and when it ends.
local time, at = redis.call('TIME'), 4
local off = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[2])
if math.abs(off) < tonumber(ARGV[3]) then off = 0 end
local now, reply = tonumber(ARGV[1]) + off, { off }
for _, key in ipairs(KEYS) do
  local wanted, windows = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  local used, ends, granted, last = {}, {}, wanted, 0
  for i = 1, windows do
    local name, quota = ARGV[at + i * 4 - 2], tonumber(ARGV[at + i * 4 - 1])
    local length, longest = tonumber(ARGV[at + i * 4]), tonumber(ARGV[at + i * 4 + 1])
    local held = redis.call('HMGET', key, name .. ':used', name .. ':ends')
    used[i], ends[i] = tonumber(held[1]) or 0, tonumber(held[2]) or 0
    if ends[i] <= now then used[i], ends[i] = 0, now + length
    elseif ends[i] - now > longest then ends[i] = now + length end
    granted = math.max(0, math.min(granted, quota - used[i]))
    last = math.max(last, ends[i])
  end
  reply[#reply + 1] = granted
  for i = 1, windows do
    local name = ARGV[at + i * 4 - 2]
    redis.call('HSET', key, name .. ':used', used[i] + granted, name .. ':ends', ends[i])
    reply[#reply + 1], reply[#reply + 2] = used[i] + granted, ends[i]
  end
  redis.call('PEXPIRE', key, last - now + 1000)
  at = at + 2 + windows * 4
end
return reply
