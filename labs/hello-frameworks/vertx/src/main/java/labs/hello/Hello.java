package labs.hello;

import io.vertx.core.Vertx;
import io.vertx.ext.web.Router;

/** Hello on vert.x-web, one event loop: Hello PORT. */
public final class Hello {
    private Hello() {}

    public static void main(String[] args) {
        Vertx vertx = Vertx.vertx();
        Router router = Router.router(vertx);
        router.get("/").handler(context ->
            context.response().putHeader("content-type", "text/plain").end("hello world"));
        vertx.createHttpServer()
            .requestHandler(router)
            .listen(Integer.parseInt(args[0]), "127.0.0.1")
            .onFailure(cause -> {
                System.err.println(cause);
                System.exit(1);
            });
    }
}
