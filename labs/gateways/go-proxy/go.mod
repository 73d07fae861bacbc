module labs/go-proxy

go 1.21
