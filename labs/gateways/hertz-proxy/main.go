// A gateway in few lines on Hertz, the framework that Bifrost stands on: its server in front, its
// client with a pool of connections behind. None of what a gateway does besides.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/client"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/hlog"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "where to listen")
	to := flag.String("to", "127.0.0.1:8000", "the upstream")
	flag.Parse()

	hlog.SetLevel(hlog.LevelError)
	upstream, err := client.NewClient(client.WithMaxConnsPerHost(1024))
	if err != nil {
		log.Fatal(err)
	}
	gateway := server.New(server.WithHostPorts(*listen))
	gateway.NoRoute(func(ctx context.Context, c *app.RequestContext) {
		c.Request.Header.Set("X-Forwarded-For", c.ClientIP())
		c.Request.SetHost(*to)
		if err := upstream.Do(ctx, &c.Request, &c.Response); err != nil {
			c.AbortWithMsg("no answer from the upstream", 502)
		}
	})
	gateway.Spin()
}
