-- One request that never changes: method, body and headers. Costs nothing per request.

wrk.method = "POST"
wrk.body = '{"name": "plimsoll", "lines": 6}'
wrk.headers["Content-Type"] = "application/json"
