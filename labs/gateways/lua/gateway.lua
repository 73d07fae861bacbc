-- What a gateway in Lua does for each request: the longest prefix that fits is its route, and the
-- route's servers take turns.

local balancer = require("ngx.balancer")

local gateway = {}
local routes = {}

function gateway.setup(port)
  local raw = { servers = { { "127.0.0.1", tonumber(port) } }, turn = 0 }
  routes = {
    { prefix = "/static/", service = raw },
    { prefix = "/api/", service = raw },
    { prefix = "/", service = raw },
  }
end

function gateway.route()
  local path = ngx.var.uri
  for _, route in ipairs(routes) do
    if path:sub(1, #route.prefix) == route.prefix then
      ngx.ctx.service = route.service
      return
    end
  end
  return ngx.exit(ngx.HTTP_NOT_FOUND)
end

function gateway.balance()
  local service = ngx.ctx.service
  service.turn = service.turn % #service.servers + 1
  local server = service.servers[service.turn]
  local ok, reason = balancer.set_current_peer(server[1], server[2])
  if not ok then
    ngx.log(ngx.ERR, "no upstream: ", reason)
    return ngx.exit(ngx.HTTP_BAD_GATEWAY)
  end
end

return gateway
