-- Takes units out of a provider's budget if every window allows it. The rules, and the form of what
-- is known, are those of upstream/budget.py; the time is that of Redis.
-- KEYS: what was spent; the machines heard of. ARGV: the machine; for how many ms it is remembered;
-- units, 0 to ask alone; 1 for public traffic; what the caller knows; then for each window its name,
-- seconds, limit, limit of public traffic, and 1 for a pace.
-- Replies: 1 if the units were taken, machines, the time, what was spent, windows to be logged.
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
redis.call('ZADD', KEYS[2], now + ARGV[2] / 1000, ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
local units, public = tonumber(ARGV[3]), ARGV[4] == '1'
local stored = redis.call('GET', KEYS[1])
local spent = stored and cjson.decode(stored).windows or {}
local given = cjson.decode(ARGV[5]).windows or {}
local windows, all, refusing, longest, changed = {}, {}, {}, 0, false
for at = 6, #ARGV, 5 do
  local window = { name = ARGV[at], seconds = tonumber(ARGV[at + 1]), pace = ARGV[at + 4] == '1' }
  local newest = math.floor(now / window.seconds * 60)
  local buckets, told, sum, share = {}, { 0, 0 }, 0, 0
  for source, state in ipairs({ spent[window.name] or {}, given[window.name] or {} }) do
    for number, one in pairs(state.buckets or {}) do
      local place = math.min(tonumber(number), newest)
      if place >= newest - 60 then
        local key = string.format('%.0f', place)
        local held = buckets[key] or { 0, 0 }
        changed = changed or (source == 2 and (one[1] > held[1] or one[2] > held[2]))
        buckets[key] = { math.max(held[1], one[1]), math.max(held[2], one[2]) }
      end
    end
    for kind = 1, 2 do
      local known = state.told and state.told[kind] or 0
      told[kind] = math.min(now + window.seconds, math.max(told[kind], known))
    end
  end
  for _, one in pairs(buckets) do sum, share = sum + one[1], share + one[2] end
  window.charge = (window.pace and units > 0) and 1 or units
  window.newest = string.format('%.0f', newest)
  windows[window.name] = { buckets = buckets, told = told }
  all[#all + 1] = window
  longest = math.max(longest, window.seconds)
  local over = sum + window.charge > tonumber(ARGV[at + 2])
  if over or (public and share + window.charge > tonumber(ARGV[at + 3])) then
    refusing[#refusing + 1] = window
  end
end
local news, taken = {}, 0
if units > 0 and #refusing == 0 then
  taken, changed = 1, true
  for _, window in ipairs(all) do
    local buckets = windows[window.name].buckets
    local held = buckets[window.newest] or { 0, 0 }
    buckets[window.newest] = { held[1] + window.charge, held[2] + (public and window.charge or 0) }
  end
elseif units > 0 then
  local kind = public and 2 or 1
  for _, window in ipairs(refusing) do
    local told = windows[window.name].told
    if not window.pace and now >= told[kind] then
      told[kind], changed = now + window.seconds, true
      news[#news + 1] = window.name
    end
  end
end
local text = cjson.encode({ windows = windows })
if changed then redis.call('SET', KEYS[1], text, 'PX', math.ceil(longest * 1000 * 61 / 60)) end
return { taken, redis.call('ZCARD', KEYS[2]), string.format('%.6f', now), text, news }
